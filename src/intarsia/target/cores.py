"""How many threads may compute at one time: the budget that all engines of a plan share.

Scheduler affinity and the container's CPU quota both bound it; the number of cores that the machine shows does not.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def thread_budget(root: Path = CGROUP) -> int:
    """Cores this process may use: affinity, rounded-down CPU quota (cgroup v1 or v2), at least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not a Linux
        cores = os.cpu_count() or 1
    quota = cpu_quota(root)
    return max(1, cores if quota is None else min(cores, math.floor(quota)))


def cpu_quota(root: Path = CGROUP) -> float | None:
    """CPUs that the container may use, or ``None`` without a limit."""
    unified = _read(root / "cpu.max").split()
    if len(unified) == 2 and unified[0] != "max":
        return int(unified[0]) / int(unified[1])
    quota, period = _read(root / "cpu/cpu.cfs_quota_us"), _read(root / "cpu/cpu.cfs_period_us")
    if quota and period and int(quota) > 0:
        return int(quota) / int(period)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
