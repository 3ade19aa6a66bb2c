"""What is rewritten where there are few rows, before ONNX Runtime optimises: attention, and products."""
