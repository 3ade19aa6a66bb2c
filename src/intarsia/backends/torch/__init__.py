"""The engine PyTorch, run eagerly."""
