"""The engine ncnn."""
