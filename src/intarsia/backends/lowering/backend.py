"""What engines on the shared lowering have in common: what they refuse, and what an artifact of theirs holds."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.contract import Backend, EngineArtifact, Gap, border_rows, guard
from intarsia.errors import CompileError

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.backends.lowering.program import Instruction
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

NOT_LOWERED = Gap.not_implemented(
    "operators that the shared lowering does not know, and what only running tells",
    "docs/engines.md: control flow, sequences, strings, random numbers; axes and shapes that are computed",
)


class LoweredBackend(Backend):
    """Stores the program; what is left to an engine is to judge instructions, and to run them."""

    meta_name = "BORDERS"
    natives: ClassVar[frozenset[str]] = frozenset()
    """Operations beyond the primitives that the engine has as one."""

    @abstractmethod
    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """Why the engine cannot do an instruction on what these compute, or ``None``. Pure, as ``refusal``."""

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By what the node is lowered to."""
        from intarsia.backends.lowering.lower import refusal

        return refusal(node, graph, self.natives, self.judge)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Lower."""
        from intarsia.backends.lowering.lower import lower

        with guard(CompileError, self.name):
            program = lower(model, self.natives)
        return EngineArtifact(
            files=program.files(),
            weights=tuple(program.weights),
            meta=border_rows(model),
        )

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """The program as text, and ``model.onnx``: for engines without a file of their own for a graph."""
        from intarsia.backends.lowering.lower import lower

        folder.mkdir(parents=True, exist_ok=True)
        program, path = folder / "program.txt", folder / "model.onnx"
        program.write_text(f"{lower(model, self.natives)}\n", encoding="utf-8")
        model.save(path)
        return (program, path)
