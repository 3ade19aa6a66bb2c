"""The plan for a microcontroller: which kernel computes which instruction, by counting on an emulated board."""
