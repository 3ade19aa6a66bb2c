"""What stands for the engines inside ``If``, ``Loop`` and ``Scan`` where these are run step by step.

The plans of the bodies are said by the nodes themselves (`intarsia.graph.bodies`); the runtime compiles, loads and runs
them (`intarsia.runtime`). What is here is which nodes it takes, and how such a step treats its buffers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn

from intarsia.backends.contract import Arrays, Availability, Backend, EngineArtifact, Executable, Gap, Traits
from intarsia.backends.contract.node_facts import words
from intarsia.errors import CompileError, LoadError
from intarsia.target.kinds.catalogue import CONTROL_FLOW

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_DTYPES = (
    "float16 float32 float64 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int8 int16 int32 int64 "
    "uint8 uint16 uint32 uint64 bool string complex64 complex128"
)
_NO_PLAN = "no body in it has a plan"


class ControlFlowBackend(Backend):
    """Takes the nodes whose bodies have plans."""

    name = CONTROL_FLOW
    extra = ""
    licence = ""
    machine_code = ()
    meta_name = "CONTROL_FLOW"
    traits = Traits(writes_in_place=False, any_shape=True, follows_ports=True, spins=True, dtypes=words(_DTYPES))
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.not_implemented("files of its own", "each engine inside has its own format"),
        Gap.not_implemented("bodies inside another engine's session", "its steps are called in turn"),
    )
    native_lack = "the runtime cpp drives no plan inside another one"

    def probe(self) -> Availability:
        """Always there; whether the engines inside are is asked of each."""
        return Availability(usable=True, devices=("cpu",))

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """Whether there is a plan for its bodies."""
        from intarsia.graph.bodies import holds_bodies
        from intarsia.graph.graph import PLANS_KEY

        if not holds_bodies(node):
            return "it runs If, Loop and Scan alone"
        return None if PLANS_KEY in node.metadata else _NO_PLAN

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> NoReturn:
        """Never by itself."""
        raise CompileError(self.name, _NO_PLAN)

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Never by itself."""
        raise LoadError(self.name, _NO_PLAN)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> NoReturn:
        """Never: there is no one format."""
        raise CompileError(self.name, "bodies with plans of their own have no one format; compile without executor vm")
