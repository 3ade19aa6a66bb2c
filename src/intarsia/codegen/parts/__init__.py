"""Parts of a network that engines wrote, some of them as assembly, put together as one program."""
