"""An engine, as a class: what one file or folder under ``backends/`` must say and do.

It is asked in this order: ``probe`` (are you here), ``capability`` (which nodes), ``compile`` (a sub-graph to an
`EngineArtifact`), ``load`` (that to an `Executable`), ``bind`` (buffers), and then the bound call, many times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract.artifact import EngineArtifact
from intarsia.backends.contract.embedding import Embedding
from intarsia.backends.contract.executable import Executable
from intarsia.backends.contract.native import NativeRequest, NativeStep
from intarsia.backends.contract.options import Reads
from intarsia.backends.contract.slots import Arrays
from intarsia.backends.contract.traits import Availability, ForkFault, Gap, KernelChoice, Traits
from intarsia.errors import LoadError, ModelError
from intarsia.light_dataclass import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from intarsia.config.emulated import InstructionSet
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.json_types import JsonType
    from intarsia.partitioning import Capability
    from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """What is to be run under an engine's own profiler: an artifact, with at least the weights that it names, on these
    feeds, for the target and by the settings that it was compiled for; and how many runs to report.
    """

    artifact: EngineArtifact
    weights: Arrays
    feeds: Arrays
    target: Target
    settings: RunSettings
    runs: int


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
    meta_name: ClassVar[str | None] = None
    """What `intarsia.backends.contract.metadata` calls the type of an artifact's ``meta``; ``None``: not checked."""
    native_lack: ClassVar[str | None] = "the runtime cpp has no loader for it"
    """Why the runtime `cpp` cannot load it; ``None`` where it can: then `native` says how."""
    needs_features: ClassVar[tuple[str, ...]] = ()
    """Features of a processor, by their LLVM names, without which it runs nowhere."""
    runs_elsewhere: ClassVar[str | None] = None
    """Why what it writes runs on other machines alone; ``None`` where it runs here too."""
    packs_12_bits: ClassVar[bool] = False
    """Whether it keeps constant weights in 12 bits packed in memory, as those in 8 and 4."""
    extends: ClassVar[str | None] = None
    """The engine that this one is, with kernels of its own added to that one's."""
    reads: ClassVar[Reads | None] = None
    """The options of its own kind and of its bases that change what it compiles or how it runs. A compile remarks on
    all others that are stated, but on none where an engine does not say."""
    native_unread: ClassVar[frozenset[str]] = frozenset()
    """Those of them that its loader for the runtime `cpp` is not told."""

    @abstractmethod
    def probe(self) -> Availability:
        """Whether the engine is usable here. Quick; never raises."""

    def probe_loading(self) -> Availability:
        """As ``probe``, for loading an artifact only, which may need less: no compiler, for example."""
        return self.probe()

    @abstractmethod
    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """The reason why this node is not taken, or ``None``. Pure: compiles nothing, imports no engine."""

    def with_few_bits(self, model: SubModel) -> SubModel:
        """The sub-graph, whose weights were put in few bits because an error is allowed, as the engine runs it fastest.

        It may add to that error: what comes of it is measured.
        """
        return model

    def in_less(self, target: Target, graph: Graph) -> Target | None:
        """A target whose options make the engine compute in less than fp32, as it computes a graph fastest.

        ``None`` where nothing in the graph computes otherwise than in fp32.
        """
        return target

    @abstractmethod
    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Compiles a sub-graph. May take long. The result depends on the arguments alone."""

    @abstractmethod
    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Makes an artifact runnable. ``weights`` holds at least ``artifact.weights``; they may be mapped files."""

    @abstractmethod
    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """Writes the sub-graph in the engine's own format, with the options it ran with; returns the paths."""

    def meta_type(self, meta: Mapping[str, Any]) -> JsonType | None:
        """The type that `meta_name` names. What is read from a file is checked by it, so that ``load`` need not."""
        from intarsia.backends.contract import metadata

        found: JsonType | None = None if self.meta_name is None else getattr(metadata, self.meta_name)
        return found

    def variants(self, target: Target) -> tuple[Target, ...]:
        """The target with each combination of options that is worth measuring. Options that the user stated stay."""
        return (target,)

    def kernel_choices(self, graph: Graph, target: Target) -> Mapping[str, tuple[KernelChoice, ...]]:
        """The kernels for each node that it has several for, by the node's id, the usual one first.

        What the user stated stays: none are told for a target that asks for kernels.
        """
        return {}

    def with_kernels(self, target: Target, kernels: Mapping[str, str]) -> Target:
        """The target, asking for these kernels by the ids of nodes; by `EVERY_NODE` for all that have such a one."""
        return target

    def at_defaults(self, target: Target, isa: Collection[str]) -> Target:
        """The target with the options that the engine has on a processor with these features if nobody sets any.

        Only options that make its results less exact than ours matter here. Options that the user stated stay.
        """
        return target

    def native(self, request: NativeRequest) -> NativeStep:
        """How the runtime `cpp` loads what was compiled; a `LoadError` if it cannot load that."""
        raise LoadError(self.name, self.native_lack or "it does not say how the runtime cpp loads it")

    def library_folder(self) -> Path | None:
        """Where its package has the library that the runtime `cpp` opens; ``None`` if it needs none, or has none."""
        return None

    def fork_fault_on(self, target: Target) -> ForkFault | None:
        """`fork_fault` on the device of a target; other devices may have other libraries."""
        return self.fork_fault

    @property
    def tells_kernel_times(self) -> bool:
        """Whether there is a profiler behind `kernel_times`."""
        return type(self).kernel_times is not Backend.kernel_times

    def embedding(self, *, loading: bool = False) -> Embedding | None:
        """How its session holds partitions of others; ``None`` if it cannot here. ``loading``: only to load them."""
        return None

    def follows_blocks(self, target: Target) -> bool:
        """Whether its ports may hold channels in blocks as wide as the machine's vectors (`Port.block`)."""
        return False

    def kernel_times(self, request: ProfileRequest) -> Sequence[Sequence[tuple[str, float]]] | None:
        """The time of each kernel by the engine's own profiler; ``None`` if it has none.

        Returns:
            For each run the name and milliseconds of each kernel, in running order. A kernel is named after
            one of the nodes that it computes, perhaps with something behind a ``/`` or ``_``, or after several, parted
            by commas.
        """
        return None

    def observe(
        self, model: SubModel, names: Sequence[str], feeds: Arrays, target: Target, settings: RunSettings
    ) -> Sequence[np.ndarray] | None:
        """The values of these names inside a model, after one run of it; ``None`` if the engine cannot show them.

        For custom operators: the engine alone knows the types and shapes of their results.
        """
        return None

    def openmp_files(self) -> tuple[Path, Path] | None:
        """The engine's library and its libgomp, if its OpenMP loops can run on another engine's threads."""
        return None

    def is_prepared(self) -> bool:
        """Whether there is nothing left for `prepare`."""
        return True

    def prepare(self, within_s: float) -> None:
        """Make what the engine makes once on a machine, such as a library that it builds there.

        What is not done after ``within_s`` seconds is left for later: nothing is raised. Only engines that may not be
        prepared have this.
        """
        raise NotImplementedError

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """Variables that the library reads *while it loads*; ``None`` means: must be absent."""
        return {}

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        """Variables by which its library uses no more of an x86 processor than this; empty if it cannot be told."""
        return {}

    def capability(self, graph: Graph, target: Target) -> Capability:
        """Which nodes of a graph the engine refuses, each with the reason; it takes the others."""
        from intarsia.partitioning.capability import Capability

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
