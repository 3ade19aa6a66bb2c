"""The engine OpenVINO."""
