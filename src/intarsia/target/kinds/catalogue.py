"""The table of target kinds: what can be described. Whether an engine is installed is never asked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from intarsia.errors import SpecError
from intarsia.registered import Registered, found, named
from intarsia.spec import ExecutedPath, Int, ListOf, Option, Registry, Str, list_of_specs, schema
from intarsia.spec.schema import flag, text, whole
from intarsia.target.device_index import DEVICE_INDEX
from intarsia.target.kinds.accelerators import ACCELERATORS
from intarsia.target.kinds.declare import HOST, chosen, engine_kind
from intarsia.target.kinds.devices import PROCESSORS
from intarsia.target.kinds.gpus import GPUS
from intarsia.target.kinds.kind import TargetKind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGIN_GROUP = "intarsia.kinds"
"""Entry points of this group name target kinds that other packages bring: kind name → `TargetKind`."""

_ONNXRUNTIME = (
    *chosen("onnxruntime"),
    Option(
        name="custom-ops", type=ListOf(ExecutedPath()), meaning="libraries that bring operators of their own, by path"
    ),
)
_INDEX = Option(
    name=DEVICE_INDEX,
    type=Int(minimum=0),
    meaning="which device of the type that its base names, numbered from 0; a list says it as vulkan:1",
)
_NCNN = (
    _INDEX,
    flag("winograd", "Winograd convolution where it applies", default=True),
    flag("sgemm", "convolution by matrix product where it applies", default=True),
    flag("packing", "channels interleaved to the vector width", default=True),
    flag("fp16", "store and compute in float16", default=False),
)
_KERNELS = Option(
    name="kernels",
    type=ListOf(Str()),
    meaning="layers for which another kernel is taken than the usual one, as NODE=KERNEL, such as conv1=host; * is any",
)
_TVM = (whole("opt-level", "effort of its passes", 3), text("tuning-records", "file of schedules found earlier"))

ENGINES = (
    engine_kind("onnxruntime", "ONNX Runtime", _ONNXRUNTIME, serves=("llvm", "cuda", "rocm", "webgpu")),
    engine_kind("openvino", "OpenVINO", chosen("openvino"), serves=("llvm", "opencl")),
    engine_kind("mnn", "MNN", chosen("mnn"), serves=("llvm", "cuda", "opencl", "vulkan", "metal")),
    engine_kind("ncnn", "ncnn", _NCNN, serves=("llvm", "vulkan"), runs_on=("cpu", "vulkan")),
    engine_kind(
        "winograd", "ONNX Runtime with kernels of our own inside it", (*chosen("winograd"), _KERNELS), serves=("llvm",)
    ),
    engine_kind("iree", "IREE", chosen("iree"), serves=("llvm", "cuda", "rocm", "vulkan", "metal", "webgpu")),
    engine_kind(
        "tvm",
        "Apache TVM",
        _TVM,
        serves=("llvm", "c", "cuda", "nvptx", "rocm", "opencl", "vulkan", "metal", "webgpu", "hexagon"),
    ),
    engine_kind("inductor", "torch.compile", chosen("inductor"), serves=("llvm", "cuda", "rocm")),
    engine_kind(
        "torch", "PyTorch, operator by operator", serves=("llvm", "cuda", "rocm", "metal"), runs_on=("cpu", "cuda")
    ),
    engine_kind("xla", "XLA, by way of JAX", serves=("llvm", "cuda", "rocm")),
    engine_kind("litert", "LiteRT, formerly TensorFlow Lite", serves=("llvm", "opencl", "metal")),
    engine_kind(
        "tinygrad",
        "tinygrad",
        (_INDEX,),
        serves=("llvm", "cuda", "rocm", "opencl", "metal", "webgpu"),
        runs_on=("cpu", "opencl"),
    ),
    engine_kind("triton", "Triton", device_type="cuda", keys=("cuda", "gpu"), serves=("cuda", "rocm"), runs_on=()),
    engine_kind("reference", "the evaluator of the onnx package: slow, and defines correct", is_reference=True),
    *ACCELERATORS,
)
"""Those that generate code for devices, in the order in which they are named."""
_COMPOSITE = TargetKind(
    name="composite",
    meaning="several targets of one machine, most preferred first",
    level="syntax",
    device_type="cpu",
    options=schema(
        (Option(name="devices", type=list_of_specs("target"), meaning="the targets, most preferred first"), HOST)
    ),
)

CONTROL_FLOW = "control-flow"
"""The kind of the steps that run ``If``, ``Loop`` and ``Scan``, with a plan for each body."""
_CONTROL_FLOW = TargetKind(
    name=CONTROL_FLOW,
    meaning="If, Loop and Scan run step by step, as the executor vm does: each body is a plan over several engines",
    level="syntax",
    device_type="cpu",
    options=schema(()),
)


NESTED = "nested"
"""The kind that stands for a nested configuration in plans: what is around that sees one engine."""
_NESTED = TargetKind(
    name=NESTED,
    meaning="a nested configuration as one engine of a plan; in a list of targets, write the configuration itself",
    level="syntax",
    device_type="cpu",
    options=schema((text("config", "the configuration, as text"),)),
)


def _with_engines(device: TargetKind) -> TargetKind:
    all_serving = [engine for engine in ENGINES if device.name in engine.serves]
    serving = [engine for engine in all_serving if not engine.brings_device]
    runs_here = (engine.name for engine in serving if device.device_type in engine.runs_on)
    own = (device.name,) if device.has_own_engine else ()
    writing = (device.as_c, *(engine.name for engine in all_serving if engine.as_c))
    return replace(
        device,
        engines=tuple(engine.name for engine in serving),
        runs_here=(*own, *runs_here),
        as_c=", ".join(writing) if device.as_c else "",
    )


_SYNTAX = (_COMPOSITE, _NESTED, _CONTROL_FLOW)
_BUILT_IN: Iterable[TargetKind] = (*map(_with_engines, (*PROCESSORS, *GPUS)), *_SYNTAX, *ENGINES)
BACKED: tuple[TargetKind, ...] = (*ENGINES, *(kind for kind in PROCESSORS if kind.has_own_engine))
"""Kinds that a backend may drive: the engines, and the devices that have one of their own."""
KINDS: Registry[TargetKind] = Registry("target kind", {kind.name: kind for kind in _BUILT_IN})
"""Every kind that can be described, by name."""


@cache
def _offered() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and needed for unknown names only

    return {point.name: point for point in entry_points(group=PLUGIN_GROUP)}


def plugin_kind(name: str) -> TargetKind | None:
    """The kind of this name that a package or this program offers, registered from now; a `SpecError` if it is none."""
    offered = _offered().get(name) or named(name)
    if offered is None:
        return None
    value = offered.kind if isinstance(offered, Registered) else offered.value
    try:
        kind = found(offered.kind, offered.folder) if isinstance(offered, Registered) else offered.load()
    except Exception as raised:
        raise SpecError(f"cannot load target kind {name!r} of plug-in {value}: {raised}") from raised
    if not isinstance(kind, TargetKind) or kind.name != name:
        raise SpecError(f"plug-in {value} must be a TargetKind named {name!r}, and is not")
    KINDS.register(name, kind, override=True)
    return kind
