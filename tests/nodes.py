"""Nodes of a file system that are no files, for tests of what is written to them."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def null_device(folder: Path) -> Path:
    """A null device, by a node of its own where there may be one: a fault must not take this machine's away."""
    device = folder / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.close(os.open(device, os.O_WRONLY))
    except OSError:
        device.unlink(missing_ok=True)
        device.symlink_to(os.devnull)
    return device
