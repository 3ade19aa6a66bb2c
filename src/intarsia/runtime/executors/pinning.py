"""Binds the calling thread, and those that it starts meanwhile, to the cores of one processor."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager


def pin(cores: Collection[int]) -> None:
    """Bind the calling thread to these logical cores for good; with none, leave it where it is."""
    if cores:
        os.sched_setaffinity(0, cores)


@contextmanager
def pinned(cores: Collection[int]) -> Iterator[None]:
    """Have the calling thread bound for a while: threads that an engine starts meanwhile are bound for good."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
