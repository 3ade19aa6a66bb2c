"""The version of the package, where every other file may import it from."""

__version__ = "0.1.0"
