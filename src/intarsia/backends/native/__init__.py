"""Operators of ours that run inside ONNX Runtime: their C++ sources, and what builds them."""
