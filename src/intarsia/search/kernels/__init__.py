"""Which of an engine's kernels computes which layer: by what each takes here, and what lies between them."""
