"""C code: what a partition is as C, where its values lie in memory, and the text of the files."""
