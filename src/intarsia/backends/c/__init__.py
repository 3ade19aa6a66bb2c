"""The engine `c`: a program as C99 with kernels of our own, compiled by a C compiler or handed out as source."""
