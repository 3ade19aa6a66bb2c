"""The kinds of targets: devices and engines, the options of each, and how another one is declared."""
