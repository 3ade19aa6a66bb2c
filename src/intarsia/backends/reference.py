"""The evaluator of the onnx package as an engine: slow, always there, the last resort."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    Gap,
    Places,
    Traits,
    border_rows,
    by_copy,
    guard,
    guarded,
    reading,
)
from intarsia.backends.contract.node_facts import inner_operators, words
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NAME = "reference"
_SMALL_BYTES = 1024
_DTYPES = (
    "float16 float32 float64 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
    "float4_e2m1fn int8 int16 int32 int64 uint8 uint16 uint32 uint64 int2 uint2 int4 uint4 bool string "
    "complex64 complex128"
)
_FOLDERS: Mapping[str, str] = {
    "": "onnx.reference.ops",
    "ai.onnx.ml": "onnx.reference.ops.aionnxml",
    "ai.onnx.preview": "onnx.reference.ops.aionnx_preview",
    "ai.onnx.preview.training": "onnx.reference.ops.aionnx_preview_training",
}
"""The evaluator's package for each domain."""
_SCAN_WITHOUT_BATCH = 9
"""The opset from which on Scan has no batch axis."""
_DRAWING = words("Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike")


class ReferenceBackend(Backend):
    """Takes every operator that the evaluator implements, at any shape."""

    name = _NAME
    reads = reading({})
    extra = ""
    licence = "Apache-2.0"
    machine_code = ()
    meta_name = "BORDERS"
    traits = Traits(writes_in_place=False, compiles_once=True, any_shape=True, dtypes=words(_DTYPES))
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream("operators of other domains", "the evaluator implements only what ONNX defines"),
        Gap.never(
            "random numbers", "ONNX names no generator, so what one evaluation draws cannot be compared with another"
        ),
        Gap.upstream(
            "Scan[other axes, backwards, or of before opset 9]", "Scan is not implemented for other input axes than 0"
        ),
    )

    def probe(self) -> Availability:
        """Always usable: onnx is a dependency of Intarsia."""
        return Availability(usable=True, version=metadata.version("onnx"), devices=("cpu",))

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """Whether the evaluator has an implementation, of nested operators too."""
        return _own_refusal(node, graph) or _nested_refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Serialise."""
        with guard(CompileError, _NAME):
            content = model.to_bytes(weights="inputs", small_bytes=_SMALL_BYTES)
        return EngineArtifact(
            files={"model.onnx": content},
            weights=tuple(weight.name for weight in model.weights.values() if weight.nbytes > _SMALL_BYTES),
            meta=border_rows(model),
        )

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Parse."""
        with guard(LoadError, _NAME):
            from onnx.reference import ReferenceEvaluator

            from intarsia.graph.reference.operators import REPLACEMENTS

            evaluator = ReferenceEvaluator(artifact.files["model.onnx"], new_ops=list(REPLACEMENTS))
        return _Evaluation(evaluator, artifact.meta, {name: weights[name] for name in artifact.weights})

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.onnx``; there are no options."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        model.save(path)
        return (path,)


class _Evaluation(Executable):
    """An evaluator, and the weights it is fed with the inputs."""

    let_go = ("_evaluator", "_weights")

    def __init__(self, evaluator: Any, meta: Mapping[str, Any], weights: Arrays) -> None:
        super().__init__(meta)
        self._evaluator = evaluator
        self._weights = weights

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Every call evaluates, then copies."""
        evaluator, weights = self._evaluator, self._weights
        return guarded(by_copy(lambda names, feeds: evaluator.run(names, {**weights, **feeds}), inputs, outputs), _NAME)


def _own_refusal(node: Node, graph: Graph) -> str | None:
    if node.domain == "" and node.op_type == "ImageDecoder" and util.find_spec("PIL") is None:
        return "the reference evaluator decodes images with Pillow: pip install pillow"
    if node.domain == "" and node.op_type == "Scan" and not _scans_plainly(node, graph):
        return "the reference evaluator's Scan runs forwards along first axes, as opset 9 defined it"
    return _operator_refusal(node.domain, node.op_type, graph, typed=True)


def _nested_refusal(node: Node, graph: Graph) -> str | None:
    reasons = (_operator_refusal(domain, op_type, graph, typed=False) for domain, op_type in inner_operators(node))
    return next(filter(None, reasons), None)


def _operator_refusal(domain: str, op_type: str, graph: Graph, *, typed: bool) -> str | None:
    if domain == "" and op_type in _DRAWING:
        return f"{op_type} draws random numbers, which no other evaluation draws"
    if not _is_implemented(domain, op_type, graph.opsets.get(domain, 1), typed=typed):
        name = f"{domain}.{op_type}" if domain else op_type
        return f"the reference evaluator does not implement {name}"
    return None


def _scans_plainly(node: Node, graph: Graph) -> bool:
    stated = ("scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions")
    return graph.opsets.get("", 1) >= _SCAN_WITHOUT_BATCH and not any(
        number for name in stated for number in node.attributes.get(name, ())
    )


def _is_implemented(domain: str, op_type: str, version: int, *, typed: bool) -> bool:
    """``typed`` says that the inputs' types are written in the model: some operators are functions that need them."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import RuntimeContextError

    if domain not in _FOLDERS:
        return False
    load_op = import_module(_FOLDERS[domain]).load_op
    try:
        if domain == "":
            load_op(domain, op_type, version, evaluator_cls=ReferenceEvaluator)
        else:
            load_op(domain, op_type, version)
    except RuntimeContextError:
        return typed
    except (RuntimeError, ValueError, TypeError, KeyError):  # what it raises for what it does not know
        return False
    return True
