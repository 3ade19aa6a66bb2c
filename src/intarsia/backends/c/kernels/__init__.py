"""Kernels in C, by family: each file makes the functions of some instructions, as text specialised to the shapes."""
