"""The engine XLA, through JAX."""
