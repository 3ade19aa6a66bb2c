"""Networks that are compiled ahead of time: written as C, built by a compiler, and run here or on an emulated board."""
