"""How values share memory: who is alive when, what may lie where, and in which order calls need least."""
