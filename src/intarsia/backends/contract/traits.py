"""What an engine says of itself: whether it is here, how it treats buffers, its kernels, what it cannot do."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from intarsia.light_dataclass import dataclass


class GapReason(StrEnum):
    """Whose move it is to close a gap."""

    NOT_IMPLEMENTED = "not implemented here"
    UPSTREAM = "not supported by the engine"
    NEVER = "left out on purpose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One thing an engine cannot do, e.g. ``LSTM[bidirectional]``; whose move it is; its error or upstream issue."""

    what: str
    why: GapReason
    evidence: str

    @classmethod
    def upstream(cls, what: str, evidence: str) -> Self:
        """The engine itself does not support it."""
        return cls(what=what, why=GapReason.UPSTREAM, evidence=evidence)

    @classmethod
    def not_implemented(cls, what: str, evidence: str) -> Self:
        """The engine supports it; nobody has written it here."""
        return cls(what=what, why=GapReason.NOT_IMPLEMENTED, evidence=evidence)

    @classmethod
    def never(cls, what: str, evidence: str) -> Self:
        """It is left out on purpose."""
        return cls(what=what, why=GapReason.NEVER, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkFault:
    """Why an engine does not work in a process that was forked from one in which it was loaded, as was measured.

    ``library`` holds the threads that do not come along. Engines of one library share the fault.
    """

    library: str
    evidence: str

    @classmethod
    def of_threads(cls, library: str, whose: str) -> Self:
        """A run there never ends."""
        return cls(library=library, evidence=f"a run there waits for ever for {whose} threads, which do not come along")


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether an engine is usable here, or why not and what fixes it.

    ``devices`` are the device types that it runs on where there is such a device, which is not asked here: a driver
    takes long to start. `intarsia.backends.registry.devices` looks.
    """

    usable: bool
    version: str | None = None
    devices: tuple[str, ...] = ()
    reason: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How an engine treats the buffers it is bound to.

    Attributes:
        writes_in_place: Outputs are computed straight into the bound arrays, not copied there.
        compiles_slowly: Compiling takes seconds whatever the sub-graph, so it is looked at on one part of a model
            before it is measured on the whole.
        first_part_s: Seconds until the first part of a model is compiled and ran in a fresh process, at least.
        compiles_slowly_from: Bytes of weights from which compiling takes so long; ``None`` if at no size.
        runs_elsewhere: It runs in another process, so that buffers in memory which both share spare copies.
        compiles_once: ``compile`` looks at the sub-graph alone: target options and settings only matter at ``load``.
        compiled_by: Options of the target that ``compile`` reads all the same, where it compiles once.
        mutates_inputs: The engine may overwrite its inputs, so it must be given arrays nobody else reads.
        any_shape: It takes values whose shape is only known after they were computed, in and out.
        follows_ports: It takes a `Port` for an input or output, and uses whatever array it holds at each call, at the
            cost of microseconds.
        spins: Its threads look for work for a while after a call unless they are told not to, so that `Spin.FREE`
            and `Spin.CALL` differ.
        dtypes: ONNX element types it takes at its borders, by numpy name.
        max_opset: Newest default-domain opset it reads; newer models are lowered or refused.
        max_ir: Newest ONNX IR version it reads.
    """

    writes_in_place: bool
    mutates_inputs: bool = False
    any_shape: bool = False
    follows_ports: bool = False
    spins: bool = False
    compiles_slowly: bool = False
    first_part_s: float = 0.0
    compiles_slowly_from: int | None = None
    runs_elsewhere: bool = False
    compiles_once: bool = False
    compiled_by: tuple[str, ...] = ()
    device_values: bool = False
    dtypes: frozenset[str] = frozenset({"float32"})
    max_opset: int | None = None
    max_ir: int | None = None


EVERY_NODE = "*"
"""Stands for all nodes of a graph where kernels are asked for by node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelChoice:
    """A kernel.

    Attributes:
        name: What it is called where it is asked for; empty for the usual one, which is what runs unless another is.
        layout: How the values lie that it reads and writes: between kernels of unlike layouts they are reordered.
        also: Further nodes, by their ids, that the same choice is about: some kernel computes all of them at one time.
    """

    name: str
    layout: str
    also: tuple[str, ...] = ()
