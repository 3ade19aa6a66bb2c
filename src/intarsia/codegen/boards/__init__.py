"""Boards: their memories and processors as tables, what a program needs to start on one, and the linker's script."""
