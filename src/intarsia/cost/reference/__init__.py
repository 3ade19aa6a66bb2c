"""Reference inputs and outputs, and whether an engine's answers agree with them."""
