"""Passes that give every model one form: one opset, functions inlined, constants folded, nodes named."""
