"""Keeps values in blocks of channels in a model that ONNX Runtime optimised, and joins what works on them."""
