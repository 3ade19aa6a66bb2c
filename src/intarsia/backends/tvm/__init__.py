"""The engine Apache TVM, by its kernels."""
