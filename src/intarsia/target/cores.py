"""What this process may use of the machine: threads that compute at one time, which all engines share, and memory.

Scheduler affinity and the container's limits bound it; the number of cores that the machine shows does not.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from intarsia.files import AnyPath
from intarsia.light_dataclass import dataclass

CGROUP = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """The cores of this machine, and what bounds their use.

    Attributes:
        shown: Logical cores of the machine.
        affinity: Those that the scheduler may put this process on.
        quota: CPUs that the container may use, as a share of time; ``None`` without a limit.
    """

    shown: int
    affinity: int
    quota: float | None

    @property
    def budget(self) -> int:
        """Threads that may compute at one time: affinity, rounded-down quota, at least 1."""
        return max(1, self.affinity if self.quota is None else min(self.affinity, math.floor(self.quota)))


def cores_here(root: AnyPath = CGROUP) -> Cores:
    """The cores as this process finds them now."""
    shown = os.cpu_count() or 1
    try:
        affinity = len(os.sched_getaffinity(0))
    except AttributeError:  # not a Linux
        affinity = shown
    return Cores(shown=shown, affinity=affinity, quota=cpu_quota(root))


def thread_budget(root: AnyPath = CGROUP) -> int:
    """Cores this process may use."""
    return cores_here(root).budget


def memory_bytes(root: AnyPath = CGROUP, membership: AnyPath = MEMBERSHIP) -> int:
    """Memory of the machine, or what this process may use of it: by its control groups (v1 or v2) and its own limits.

    Args:
        root: Where the control groups are mounted.
        membership: The file that says in which of them this process is (``cgroups(7)``).
    """
    import psutil

    limits = (_read(path) for path in _memory_limits(root, membership))
    allowed = [*(int(limit) for limit in limits if limit.isdigit()), *_process_limits()]
    return min([int(psutil.virtual_memory().total), *allowed])


def _memory_limits(root: AnyPath, membership: AnyPath) -> Iterator[str]:
    """The files that may hold a limit: of each group that this process is in, and of all groups around it."""
    from pathlib import PurePosixPath

    yield from (os.path.join(root, name) for name in ("memory.max", "memory/memory.limit_in_bytes"))
    for line in _read(membership).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        inside = PurePosixPath(group.lstrip("/"))
        if ".." in inside.parts:  # outside of what is mounted here
            continue
        for part in (inside, *inside.parents):
            if not controllers:
                yield os.path.join(root, part, "memory.max")
            elif "memory" in controllers.split(","):
                yield os.path.join(root, "memory", part, "memory.limit_in_bytes")


def _process_limits() -> list[int]:
    """The limits of this process itself on its address space and its data (``getrlimit(2)``), where it has any."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    found = (resource.getrlimit(name)[0] for name in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return [limit for limit in found if limit != resource.RLIM_INFINITY]


def cpu_quota(root: AnyPath = CGROUP) -> float | None:
    """CPUs that the container may use, or ``None`` without a limit."""
    unified = _read(os.path.join(root, "cpu.max")).split()
    if len(unified) == 2 and unified[0] != "max":
        return int(unified[0]) / int(unified[1])
    quota, period = (_read(os.path.join(root, f"cpu/cpu.cfs_{name}_us")) for name in ("quota", "period"))
    if quota and period and int(quota) > 0:
        return int(quota) / int(period)
    return None


def _read(path: AnyPath) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
