"""What engines share that are only ever a part of a program compiled ahead of time, and take quantised groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from intarsia.backends.c import quantised_units
from intarsia.backends.contract import Availability, Backend, EngineArtifact, Executable
from intarsia.backends.contract.source import WritesSource
from intarsia.errors import BackendUnavailableError

if TYPE_CHECKING:
    import numpy as np

    from intarsia.backends.c.site import Site
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.partitioning.capability import Capability
    from intarsia.target import Target

_AHEAD = "what it computes is a part of programs in C alone"
_STATE = "state the executor aot and the runtime crt"


class PartBackend(Backend, WritesSource):
    """An engine that writes its part of a program, and neither compiles, loads nor exports by itself."""

    @abstractmethod
    def fault(self, site: Site) -> str | None:
        """Why it does not compute an instruction, or ``None``."""

    def probe(self) -> Availability:
        """It computes nothing by itself."""
        return Availability(usable=False, reason=_AHEAD, fix=_STATE)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By what the node is lowered to, together with those that it is one integer function with."""
        return quantised_units.refusal(node, graph, self.name, self.fault)

    def capability(self, graph: Graph, target: Target) -> Capability:
        """Quantised groups are taken or refused as one."""
        return quantised_units.capability(graph, self.name, self.fault)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Not by itself: always a `BackendUnavailableError`."""
        self._refuse()

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        """Not by itself: always a `BackendUnavailableError`."""
        self._refuse()

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """Not by itself: always a `BackendUnavailableError`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise BackendUnavailableError(f"the engine {self.name!r} cannot be used here: {_AHEAD}; {_STATE}")
