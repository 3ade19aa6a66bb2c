"""tinygrad, on the CPU and on OpenCL."""
