"""The engine Core ML."""
