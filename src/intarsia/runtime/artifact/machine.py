"""What this machine is, as far as a measured time or a compiled blob depends on it."""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict

from intarsia.light_dataclass import dataclass
from intarsia.target.cores import thread_budget

ISA_FEATURES = frozenset(
    {
        *("sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16"),
        *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
        *("asimd", "asimdhp", "asimddp", "fphp", "sve", "sve2", "i8mm", "bf16"),
    }
)
"""The instruction-set features that inference engines choose kernels by, by their Linux names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The facts that a time or a blob depends on."""

    architecture: str
    """As ``uname -m`` says."""
    isa: tuple[str, ...]
    """Those of `ISA_FEATURES` that it has, sorted."""
    cpu: str
    cores: int
    """Threads this process may use."""
    system: str

    @property
    def fingerprint(self) -> str:
        """Short stable name of the machine, a part of every measurement's key."""
        import hashlib
        import json

        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def blocking(self, built_on: Machine) -> list[str]:
        """Why something built on ``built_on`` must not run here; empty if it may."""
        if built_on.architecture != self.architecture:
            return [f"architecture: built for {built_on.architecture}, this machine is {self.architecture}"]
        missing = sorted(set(built_on.isa) - set(self.isa))
        return [f"instruction sets: built with {', '.join(missing)}, which this machine lacks"] if missing else []

    def remarks(self, built_on: Machine) -> list[str]:
        """Differences that may change times but not results."""
        pairs = (("CPU", built_on.cpu, self.cpu), ("cores", built_on.cores, self.cores))
        return [f"{what}: measured on {then}, here {now}" for what, then, now in pairs if then != now]


@functools.cache
def this_machine() -> Machine:
    """The machine that runs this process."""
    model, flags = "", frozenset[str]()
    with suppress(FileNotFoundError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        model, flags = _cpuinfo(file)
    return Machine(
        architecture=platform.machine(),
        isa=tuple(sorted(ISA_FEATURES & flags)),
        cpu=model or platform.processor() or "unknown",
        cores=thread_budget(),
        system=platform.system(),
    )


def _cpuinfo(lines: Iterable[str]) -> tuple[str, frozenset[str]]:
    model, flags = "", frozenset[str]()
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name" and not model:
            model = value.strip()
        elif key.strip() in ("flags", "Features"):
            return model, frozenset(value.split())
    return model, flags
