"""Our own kernels inside ONNX Runtime: a native library of custom operators, how it is built, and how it travels."""

KERNELS = "kernels.so"
"""The file of an artifact that holds the library."""
