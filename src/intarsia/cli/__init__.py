"""The command line: one verb per file. It parses, calls the driver or the runtime, and prints; it decides nothing."""
