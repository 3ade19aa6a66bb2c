"""A nested configuration as a backend to those that ask one: its engines compile, load and run what it is given.

The plan inside of a step says which of them runs what (`intarsia.runtime`); who takes which node is for
`intarsia.partitioning.nested_capability` to say. What is here is how such a step treats its buffers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn

from intarsia.backends.contract import Arrays, Availability, Backend, EngineArtifact, Executable, Gap, Traits
from intarsia.errors import CompileError, LoadError
from intarsia.target.kinds.catalogue import NESTED

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NO_PLAN = "it has no plan inside that says which of its engines runs what"


class NestedBackend(Backend):
    """Stands for the engines of a nested configuration. Each step on it has a plan inside, which they run."""

    name = NESTED
    extra = ""
    licence = ""
    machine_code = ()
    meta_name = "INSIDE"
    traits = Traits(writes_in_place=True, any_shape=True, spins=True)
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.not_implemented("files of its own", "each engine inside has its own format"),
        Gap.not_implemented("partitions inside another engine's session", "its steps are called in turn"),
    )
    native_lack = "the runtime cpp drives no plan inside another one"

    def probe(self) -> Availability:
        """Always there; whether its engines are is asked of each."""
        return Availability(usable=True)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """None: its engines are asked."""
        return None

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> NoReturn:
        """Never by itself."""
        raise CompileError(self.name, _NO_PLAN)

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Never by itself."""
        raise LoadError(self.name, _NO_PLAN)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> NoReturn:
        """Never: there is no one format."""
        raise CompileError(self.name, "a nested configuration has no format of its own; name one of its engines")
