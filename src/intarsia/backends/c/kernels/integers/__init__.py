"""Kernels of the `q_*` instructions: portable C, and what Cortex-M's packed products and vectors make of it."""
