"""An engine that computes another model than it is given: the one with the fault that its target names planted in it.

That model it computes rightly, by ONNX Runtime without optimisation; one in bf16, by the evaluator of the onnx package.
It is installed like any plug-in: this folder, with the distribution beside it, is put on the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from intarsia.backends.contract import (
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    Slot,
    Traits,
    guarded,
    signature_rows,
    signatures,
)
from intarsia.config import RunSettings
from intarsia.errors import CompileError
from intarsia.graph import Graph, Node, SubModel
from intarsia.spec import Enum, Option
from intarsia.target import Target, engine_kind
from networks.quantised.faults import FAULTS, planted

WRONG = engine_kind(
    "wrong",
    "computes another model",
    (Option(name="fault", type=Enum(tuple(FAULTS)), default="none", meaning="what is wrong with it"),),
)
_DTYPES = "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 int4 uint4 bool"
Run = Callable[[Mapping[str, np.ndarray]], Sequence[np.ndarray]]


class WrongBackend(Backend):
    """Accepts all, and answers wrongly as its target says."""

    name: ClassVar[str] = "wrong"
    extra: ClassVar[str] = "wrong"
    licence: ClassVar[str] = "Apache-2.0"
    traits: ClassVar[Traits] = Traits(writes_in_place=False, dtypes=frozenset(_DTYPES.split()))

    def probe(self) -> Availability:
        return Availability(usable=True, version="0.1", devices=("cpu",))

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        return None

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        faulty = planted(model.to_message(weights="inline"), target["fault"])
        if faulty is None:
            raise CompileError(self.name, f"there is no place for the fault {target['fault']}")
        has_bf16 = any(value.dtype == "bfloat16" for value in model.graph.values.values())
        return EngineArtifact(
            files={"model.onnx": faulty.SerializeToString()},
            meta={
                "inputs": signature_rows(model.inputs),
                "outputs": signature_rows(model.outputs),
                "has_bf16": has_bf16,
            },
        )

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        return _Faulty(artifact)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        return ()


class _Faulty(Executable):
    """What is wrong with it was compiled into it."""

    def __init__(self, artifact: EngineArtifact) -> None:
        self.inputs, self.outputs = signatures(artifact.meta["inputs"]), signatures(artifact.meta["outputs"])
        prepared = _evaluator if artifact.meta["has_bf16"] else _session
        self._run = prepared(artifact.files["model.onnx"], [value.name for value in self.outputs])

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        names = [value.name for value in self.outputs]

        def call() -> None:
            feeds = {name: given for name, given in inputs.items() if isinstance(given, np.ndarray)}
            for name, result in zip(names, self._run(feeds), strict=True):
                place = outputs[name]
                assert isinstance(place, np.ndarray)
                place[...] = result

        return guarded(call, "wrong")


def _session(model: bytes, names: Sequence[str]) -> Run:
    import onnxruntime

    from intarsia.backends.onnxruntime.unsigned_weights import with_unsigned_weights

    model = with_unsigned_weights(model, {})
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(names, dict(feeds))


def _evaluator(model: bytes, names: Sequence[str]) -> Run:
    from onnx.reference import ReferenceEvaluator

    from intarsia.graph.reference.operators import REPLACEMENTS

    evaluator: Any = ReferenceEvaluator(model, new_ops=list(REPLACEMENTS))
    return lambda feeds: evaluator.run(names, dict(feeds))
