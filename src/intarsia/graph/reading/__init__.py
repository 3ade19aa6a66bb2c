"""Reads model files: formats, external data, and the declared interface."""
