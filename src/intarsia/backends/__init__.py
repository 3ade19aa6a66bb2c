"""The engines: one contract (`base`), one list (`registry`), one file for each engine."""
