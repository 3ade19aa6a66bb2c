"""The rules of an engine whose library is installed in another interpreter only: in ``library`` beside this file.

It is installed like any plug-in: this folder, with the distribution in it, is put on the path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from intarsia.backends.contract import Availability, EngineArtifact, Executable, guard
from intarsia.backends.package_probe import installed
from intarsia.backends.reference import ReferenceBackend
from intarsia.errors import LoadError
from intarsia.target import engine_kind

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config import RunSettings
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

AWAY = engine_kind("away", "lives elsewhere", serves=("llvm",))


class AwayBackend(ReferenceBackend):
    """The reference, for those who have the library and the variable that it reads; and no Softmax."""

    name = "away"
    extra = "away"

    def probe(self) -> Availability:
        return installed("away-engine", self.extra, module="away_engine", version=lambda: "7.0")

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        return {"AWAY_THREADS": str(settings.threads)}

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        return "away has no Softmax" if node.op_type == "Softmax" else super().refusal(node, graph, target)

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        with guard(LoadError, self.name):
            import_module("away_engine").check(os.environ["AWAY_THREADS"], settings.threads)
        return super().load(artifact, weights, target, settings)
