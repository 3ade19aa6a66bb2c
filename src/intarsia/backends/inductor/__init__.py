"""The engine PyTorch's compiler Inductor."""
