"""The engine IREE."""
