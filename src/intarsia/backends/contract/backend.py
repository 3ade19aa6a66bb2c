"""The engine contract: what one file under ``backends/`` must say and do.

An engine is asked in this order: ``probe`` (are you here), ``capability`` (which nodes), ``compile`` (a sub-graph to
an `EngineArtifact`), ``load`` (that to an `Executable`), ``bind`` (buffers), and then the bound call, many times.
Failures of the foreign library are translated in one place, `guard`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.errors import BackendError, ExecutionError, IntarsiaError, ModelError
from intarsia.partitioning.capability import Capability

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

    from intarsia.backends.contract.device_memory import DeviceMemory
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel, Value
    from intarsia.target import Target


class GapReason(StrEnum):
    """Whose move it is to close a gap."""

    NOT_IMPLEMENTED = "not implemented here"
    UPSTREAM = "not supported by the engine"
    NEVER = "left out on purpose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One thing an engine cannot do, and whose move it is.

    Attributes:
        what: Operator or feature, e.g. ``LSTM[bidirectional]``.
        why: Whose move it is.
        evidence: The error it gives, or the upstream issue.
        until: Version range in which the gap holds; ``None`` for all.
    """

    what: str
    why: GapReason
    evidence: str
    until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkFault:
    """Why an engine does not work in a process that was forked from one in which it was loaded.

    Attributes:
        library: What holds the threads that do not come along. Engines of one library share the fault.
        evidence: What was measured.
    """

    library: str
    evidence: str


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
        runs_elsewhere: It runs in another process, so that buffers in memory which both share spare copies.
        compiles_once: ``compile`` looks at the sub-graph alone: target options and settings only matter at ``load``.
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
    runs_elsewhere: bool = False
    compiles_once: bool = False
    device_values: bool = False
    dtypes: frozenset[str] = frozenset({"float32"})
    max_opset: int | None = None
    max_ir: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArtifact:
    """What an engine compiled a sub-graph to.

    Attributes:
        files: Named contents, in the engine's own format.
        weights: Names of the graph's weights that are handed over again at ``load`` instead of being copied into
            ``files``, so that an artifact stores each weight once.
        meta: JSON-able facts that ``load`` needs.
    """

    files: Mapping[str, bytes]
    weights: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Name, dtype (numpy name) and shape of one border value; a shape is ``None`` where only running tells it."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


def signature_rows(values: Iterable[Value]) -> list[list[Any]]:
    """Border values as JSON-able rows, for ``EngineArtifact.meta``; `signatures` reads them back."""
    return [[value.name, value.dtype, None if value.shape is None else list(value.shape)] for value in values]


def signatures(rows: Iterable[Sequence[Any]]) -> tuple[Signature, ...]:
    """What `signature_rows` wrote."""
    return tuple(
        Signature(name=name, dtype=dtype, shape=None if shape is None else tuple(shape)) for name, dtype, shape in rows
    )


class Slot:
    """Stands for a value whose shape only running tells: the call that computes it puts a fresh array into it."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: np.ndarray | None = None


class Port(Slot):
    """Stands for an input or output whose array is swapped between calls, for one of the same dtype and shape.

    So values are read and written where others have them. Who swaps an array in keeps it alive until the next swap.
    """

    __slots__ = ("block",)
    array: np.ndarray
    block: int | None
    """If set, channels lie in blocks of so many: an array of shape (1, c, h, w) holds its values in the order
    (1, c / block, h, w, block). Only for an engine that says so in `Backend.follows_blocks`."""

    def __init__(self, array: np.ndarray, block: int | None = None) -> None:
        self.array = array
        self.block = block


BoundCall = Callable[[], None]
"""Runs once, from the bound inputs to the bound outputs."""


class Executable(ABC):
    """A loaded sub-graph. ``bind`` once, call many times; ``close`` frees the engine's memory.

    Attributes:
        inputs: What it reads.
        outputs: What it writes.
        memory: Of engines with the trait ``device_values``: the device's memory, if that is not the host's.
    """

    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    memory: DeviceMemory | None = None

    @abstractmethod
    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Fix the buffers.

        Arrays, and what a `Port` holds, are C-contiguous, of the signature's dtype and shape, and outlive the call;
        arrays are page-aligned. Their *contents* change between calls; each call reads the inputs afresh and fills
        every output. Ports only come to engines with the trait ``follows_ports``, residents to those that have a
        ``memory``, which leave what they read as it is, and other slots to those with ``any_shape``. The call raises
        `ExecutionError` if the engine fails (see `guarded`).
        """

    def close(self) -> None:  # noqa: B027 - optional: most engines free memory with the object
        """Free what the engine holds. Calling it twice is fine."""


Visit = Callable[[int, Sequence[int], Sequence[int], Sequence[int]], None]
"""Runs a partition embedded in another engine: its number, the addresses of its inputs, those of its outputs, and
how many elements lie at each of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBlocks:
    """Which borders of an embedded partition are handed over in blocks of channels.

    Attributes:
        size: Channels in a block.
        inputs: Positions among its inputs.
        outputs: Positions among its outputs.
    """

    size: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Embedding(ABC):
    """How an engine holds partitions of others inside its own session.

    Its layouts and fusions then reach from one of its parts to the next, and its threads serve the partitions.
    """

    @abstractmethod
    def compile(
        self,
        model: SubModel,
        partitions: Sequence[SubModel],
        able: Collection[int],
        target: Target,
        settings: RunSettings,
    ) -> EngineArtifact:
        """Compile the model with holes where the partitions are; `takes` has accepted each of them.

        ``able`` has the positions of partitions whose engines can read and write blocks (`Backend.follows_blocks`).
        """

    @abstractmethod
    def blocks(self, artifact: EngineArtifact) -> Sequence[PartitionBlocks]:
        """For each partition of what was compiled, which of its borders are handed over in blocks."""

    @abstractmethod
    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
        visit: Visit,
    ) -> Executable:
        """Make it runnable; each run visits every partition once, on the thread that runs, one after the other."""

    @abstractmethod
    def takes(self, inputs: Sequence[Signature], outputs: Sequence[Signature]) -> bool:
        """Whether a partition with these borders can be embedded."""

    @abstractmethod
    def share_openmp(self, artifact: EngineArtifact, library: Path, libgomp: Path) -> None:
        """Have a library that is loaded run its OpenMP regions on the session's threads during a visit.

        ``artifact`` is what will be loaded as that session.
        """


class Backend(ABC):
    """One engine. Class attributes are data, methods are stages; an instance holds no state of a graph."""

    name: ClassVar[str]
    """Stable id: equals the target kind and the file's name."""
    extra: ClassVar[str]
    """The pip extra that installs it."""
    licence: ClassVar[str]
    traits: ClassVar[Traits]
    machine_code: ClassVar[tuple[str, ...]] = ("*",)
    """Which of the files of its artifacts its loader may run as code, as patterns: all of them, unless it says less.

    ``()`` promises that they hold data alone, graph and weights. Callers may refuse artifacts that hold machine code.
    """
    gaps: ClassVar[tuple[Gap, ...]] = ()
    fork_fault: ClassVar[ForkFault | None] = None
    """Why it cannot be loaded in a fork of a process that had loaded it; ``None`` where it can, as was measured."""
    extends: ClassVar[str | None] = None
    """The engine that this one is, with kernels of its own added to that one's."""

    @abstractmethod
    def probe(self) -> Availability:
        """Say whether the engine is usable. Cheap; never raises."""

    def probe_loading(self) -> Availability:
        """As ``probe``, where what was compiled before is only to be loaded: that may need less, as no compiler."""
        return self.probe()

    @abstractmethod
    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """The reason why this node is not taken, or ``None``. Pure: compiles nothing, imports no engine."""

    @abstractmethod
    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Compile a sub-graph. Slow; no hidden inputs."""

    @abstractmethod
    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """Make an artifact runnable. ``weights`` holds at least ``artifact.weights``; they may be mapped files."""

    @abstractmethod
    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """Write the sub-graph as the engine's native files plus the options it ran with; returns the paths."""

    def meta_type(self, meta: Mapping[str, Any]) -> type[BaseModel] | None:
        """The type of what ``compile`` puts into an artifact's ``meta``, one of `intarsia.backends.contract.metadata`.

        What is read from a file is checked by it, so that ``load`` need not; ``None`` if it is not checked.
        """
        return None

    def variants(self, target: Target) -> tuple[Target, ...]:
        """The target with each setting of its options that is worth timing; options the user stated stay."""
        return (target,)

    @property
    def tells_kernel_times(self) -> bool:
        """Whether there is a profiler behind `kernel_times`."""
        return type(self).kernel_times is not Backend.kernel_times

    def embedding(self, *, loading: bool = False) -> Embedding | None:
        """How it holds partitions of other engines, if it can here; ``loading``: what was compiled before."""
        return None

    def follows_blocks(self, target: Target) -> bool:
        """Whether its ports may hold channels in blocks as wide as the machine's vectors (`Port.block`)."""
        return False

    def kernel_times(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        feeds: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
        runs: int,
    ) -> Sequence[Sequence[tuple[str, float]]] | None:
        """Run with the engine's own profiler on; ``None`` if it has none.

        Returns:
            For each of so many runs the name and milliseconds of each kernel, in running order. A kernel is named after
            one of the nodes that it computes, perhaps with something behind a ``/`` or ``_``, or after several, parted
            by commas.
        """
        return None

    def observe(
        self,
        model: SubModel,
        names: Sequence[str],
        feeds: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Sequence[np.ndarray] | None:
        """Run a model once and tell values inside it, of whatever type and shape; ``None`` if it cannot.

        For operators that ONNX does not define: nobody but the engine knows what comes out of them.
        """
        return None

    def openmp_files(self) -> tuple[Path, Path] | None:
        """The library that computes and its libgomp, where its OpenMP regions may run on threads of others."""
        return None

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """Variables that the library reads *while it loads*; ``None`` means: must be absent."""
        return {}

    def capability(self, graph: Graph, target: Target) -> Capability:
        """Each node's acceptance or refusal with its reason."""
        refusals = {}
        for node in graph.nodes:
            reason = (
                self._border_refusal(node, graph)
                or self.version_refusal(node, graph)
                or self.refusal(node, graph, target)
            )
            if reason is not None:
                refusals[node.id] = reason
        return Capability(refusals=refusals)

    def _border_refusal(self, node: Node, graph: Graph) -> str | None:
        for name in filter(None, (*node.reads, *node.outputs)):
            value = graph.values[name]
            if value.dtype not in self.traits.dtypes and not value.is_weight:
                return f"{self.name} takes no {value.dtype or 'untyped'} value ({name})"
            if value.shape is None and not self.traits.any_shape:
                return f"the shape of {name} is only known after it was computed"
        return None

    def version_refusal(self, node: Node, graph: Graph) -> str | None:
        """Why the node cannot be brought down to an operator set that the engine reads, or ``None``."""
        newest = self.traits.max_opset
        if newest is None or graph.opsets.get("", 0) <= newest:
            return None
        from intarsia.graph.normalisation.opset import lowered

        try:
            lowered((node,), graph, newest, self.traits.max_ir)
        except ModelError as error:
            return str(error)
        return None


def thread_count(target: Target, settings: RunSettings) -> int:
    """Threads an engine may use: the plan's budget, or less where the target caps it."""
    cap = target["threads"]
    return settings.threads if cap is None else min(int(cap), settings.threads)


def following(places: Iterable[tuple[Callable[[Any], object], np.ndarray | Slot]], run: BoundCall) -> BoundCall:
    """``run``, after binding each place by the function beside it: arrays once, ports whenever they hold another."""
    ports: list[tuple[Callable[[Any], object], Port]] = []
    for point, place in places:
        if isinstance(place, Port):
            ports.append((point, place))
        else:
            point(place)
    if not ports:
        return run
    bound: list[np.ndarray | None] = [None] * len(ports)

    def call() -> None:
        for index, (point, port) in enumerate(ports):
            if port.array is not bound[index]:
                point(port.array)
                bound[index] = port.array
        run()

    return call


def as_port(place: np.ndarray | Slot) -> Port:
    """A place of known shape as a port, for engines that copy anyway."""
    if isinstance(place, Port):
        return place
    assert not isinstance(place, Slot), "other slots only come to engines with the trait any_shape"
    return Port(place)


@contextmanager
def guard(error: type[BackendError], backend: str) -> Iterator[None]:
    """The one place where a foreign exception becomes ours: named by engine and stage, the cause kept."""
    try:
        yield
    except IntarsiaError:
        raise
    except Exception as raised:
        raise _translated(error, backend, raised) from raised


def guarded(call: BoundCall, backend: str, owners: tuple[object, ...] = ()) -> BoundCall:
    """``call`` under the same guard, keeping alive the owners of memory that the engine knows only by pointer.

    A plain ``try`` costs nothing while nothing fails; a context manager costs a microsecond.
    """

    def bound(_owners: tuple[object, ...] = owners) -> None:
        try:
            call()
        except IntarsiaError:
            raise
        except Exception as raised:
            raise _translated(ExecutionError, backend, raised) from raised

    return bound


def _translated(error: type[BackendError], backend: str, raised: Exception) -> BackendError:
    text = str(raised).strip() or type(raised).__name__
    return error(backend, text[:2000])
