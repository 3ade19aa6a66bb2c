"""The engine ONNX Runtime."""
