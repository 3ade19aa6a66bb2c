"""The engine MNN."""
