"""tinygrad on the CPU and on OpenCL: the shared lowering is traced once, its kernels are compiled and replayed.

On the CPU Clang compiles them; on OpenCL the driver of the device does.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Traits,
    guard,
    reading,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.program import Instruction, Program, strange_type
from intarsia.backends.package_probe import installed
from intarsia.backends.tinygrad import opencl
from intarsia.backends.tinygrad.executable import LOCK, Captured
from intarsia.backends.tinygrad.kernels import KERNELS
from intarsia.errors import LoadError
from intarsia.files import cache_folder
from intarsia.target import KINDS
from intarsia.target.device_index import index_of
from intarsia.target.hardware.opencl import load_loader

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_NAME = "tinygrad"
_COMPILERS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
"""As distributions call it; PoCL's packages bring the second form alone."""
_DEVICE = "CPU"
_TYPES = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")


class TinygradBackend(LoweredBackend):
    """Kernels are compiled when an artifact is loaded; what Clang made of a source is kept in our cache."""

    name = _NAME
    reads = reading({"tinygrad": "device-index", "opencl": "supports_float16 supports_float64"})
    extra = _NAME
    natives = words("relu sigmoid")
    licence = "MIT"
    machine_code = ()
    traits = Traits(writes_in_place=False, compiles_slowly=True, compiles_once=True, follows_ports=True, dtypes=_TYPES)
    gaps: ClassVar[tuple[Gap, ...]] = (
        NOT_LOWERED,
        Gap.upstream(
            "more than one thread",
            "runtime/ops_cpu.py: one worker runs the commands of all its threads, one after the other",
        ),
        Gap.upstream(
            "Mod of floats, Pow of integers",
            "mixin/elementwise.py: a - a.div(b).floor() * b; clang refuses what int32 ** int32 is rendered to",
        ),
        Gap.upstream(
            "bfloat16, and elements of float8 and of less than 8 bits",
            "clang 14: error: __bf16 is not supported on this target; ClangRenderer supports no dtypes.fp8s",
        ),
        *opencl.GAPS,
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel, then of what compiles its kernels: Clang, or a driver of OpenCL."""
        if _compiler() is not None:
            return installed(_NAME, self.extra, devices=KINDS[_NAME].runs_on)
        found = installed(_NAME, self.extra, devices=(opencl.OPENCL,))
        if found.usable and load_loader() is None:
            return Availability(
                usable=False, reason="there is no clang to compile its kernels with", fix="apt-get install clang"
            )
        return found

    def fork_fault_on(self, target: Target) -> ForkFault | None:
        """On OpenCL the driver's threads; on the CPU it works in a fork."""
        return opencl.FORK_FAULT if opencl.runs_on_opencl(target) else None

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """Its own compiler and device whatever the user's shell names, our caches, and no processes beside ours."""
        folder = cache_folder() / _NAME
        return {
            "CC": _compiler(), "DEV": _DEVICE, "CACHEDB": str(folder / "cache.db"),
            "PARALLEL": "0", "NUM_CPU_THREADS": "1",
            **opencl.environment(settings),
        }  # fmt: skip

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By what the node is lowered to, and by the element types of the device."""
        from intarsia.backends.lowering.lower import refusal

        types = opencl.types_of(target, _TYPES)
        found = {str(graph.values[name].dtype) for name in (*node.reads, *node.outputs) if name}
        if absent := min(found & (_TYPES - types), default=None):
            return f"the target does not say that its device computes in {absent} (-supports_{absent})"
        return refusal(node, graph, self.natives, partial(_judge, types))

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By primitive, and by element type."""
        return _judge(_TYPES, each, reads)

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Trace and compile."""
        with guard(LoadError, _NAME), LOCK:
            on_opencl = opencl.runs_on_opencl(target)
            device = opencl.device_name(index_of(target)) if on_opencl else _DEVICE
            return Captured(Program.of_files(artifact.files), weights, artifact.meta, device)


def _compiler() -> str | None:
    return next(filter(shutil.which, _COMPILERS), None)


def _judge(types: frozenset[str], each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
    if each.name not in KERNELS:
        return f"tinygrad has no {each.name} here"
    is_float = "float" in each.dtype
    if each.name == "pow" and not is_float:
        return "tinygrad raises to a power in floating point"
    if each.name in ("mod", "fmod") and is_float:
        return f"tinygrad takes {each.name} of floats from a rounded quotient"
    strange = strange_type(each, reads, types)
    return f"tinygrad has no {each.name} of {strange}" if strange else None
