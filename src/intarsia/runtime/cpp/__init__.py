"""The runtime `cpp`: what an artifact holds for it, and the project that runs one from C or C++."""
