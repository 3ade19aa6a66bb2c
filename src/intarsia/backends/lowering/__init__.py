"""One lowering for all engines that read no ONNX: a sub-graph becomes a flat list of primitives."""
