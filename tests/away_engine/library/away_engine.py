"""The library of the engine ``away``."""

from __future__ import annotations


def check(variable: str, threads: int) -> None:
    """Refuse to work with other threads than the environment says."""
    if variable != str(threads):
        raise RuntimeError(f"started for {variable} threads, asked for {threads}")
