"""The table of target kinds: what can be described. Whether an engine is installed is never asked here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from intarsia.errors import SpecError
from intarsia.spec import Bool, Enum, Int, Kind, ListOf, Option, Order, Registry, SpecOf, Str, list_of_specs, schema
from intarsia.spec.schema import Options, find_no_fault

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGIN_GROUP = "intarsia.kinds"
"""Entry points of this group name target kinds that other packages bring: kind name → `TargetKind`."""

DEVICE_TYPES: Mapping[str, int] = MappingProxyType(
    {
        "cpu": 1,
        "cuda": 2,
        "opencl": 4,
        "vulkan": 7,
        "metal": 8,
        "rocm": 10,
        "ext_dev": 12,
        "webgpu": 15,
        "hexagon": 16,
    }
)
"""Device types and their DLPack numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKind(Kind):
    """A family of targets.

    Attributes:
        level: ``device``: code is generated for it; ``engine``: it generates code; ``syntax``: it stands for others.
        device_type: Name of the device it runs on, as in `DEVICE_TYPES`.
        default_keys: Strategy families of a target that states none.
        engines: For a device kind, the engine kinds that can serve it.
        serves: For an engine kind of a plug-in, the device kinds it can serve though their rows do not know it.
        is_reference: It defines correct results, and is used only where it is named.
    """

    level: Literal["device", "engine", "syntax"]
    device_type: str
    default_keys: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    is_reference: bool = False


_HOST = Option(
    name="host",
    type=SpecOf("target"),
    meaning="the target of the code that drives the device; any kind, in any form",
    older=("target_host",),
)
_COMMON = (
    Option(name="keys", type=ListOf(Str()), meaning="strategy families, first match wins; replaces the kind's own"),
    Option(name="device", type=Str(), meaning="device family; put before the kind's own keys"),
    Option(name="model", type=Str(), meaning="product name, for tables and reports"),
    Option(name="libs", type=ListOf(Str(), Order.FREE), meaning="libraries that generated code may call"),
    _HOST,
)
_THREADS = Option(name="threads", type=Int(minimum=1), unit="threads", meaning="cap on the threads of the plan")
_LLVM = (
    Option(name="mattr", type=ListOf(Str(), Order.SIGNED), meaning="CPU features, +on or -off; the last mention wins"),
    Option(name="mcpu", type=Str(), meaning="CPU name, as LLVM spells it"),
    Option(name="mtriple", type=Str(), meaning="target triple"),
    Option(name="mfloat-abi", type=Enum(("soft", "softfp", "hard")), meaning="how floats are passed"),
    Option(name="mabi", type=Str(), meaning="name of the ABI"),
    Option(name="num-cores", type=Int(minimum=1), unit="cores", meaning="physical cores of the machine"),
    Option(name="fast-math", type=Bool(), meaning="all of the fast-math-* liberties"),
    Option(name="fast-math-nnan", type=Bool(), meaning="assume no NaN"),
    Option(name="fast-math-ninf", type=Bool(), meaning="assume no infinity"),
    Option(name="fast-math-nsz", type=Bool(), meaning="ignore the sign of zero"),
    Option(name="fast-math-arcp", type=Bool(), meaning="multiply by a reciprocal instead of dividing"),
    Option(name="fast-math-contract", type=Bool(), meaning="fuse a multiplication with an addition"),
    Option(name="fast-math-reassoc", type=Bool(), meaning="reorder sums and products"),
    Option(name="opt-level", type=Int(minimum=0), meaning="effort of the code generator"),
    Option(name="cl-opt", type=ListOf(Str()), meaning="LLVM options, each -name[:type]=value"),
    Option(name="jit", type=Enum(("mcjit", "orcjit")), meaning="which LLVM just-in-time compiler"),
    Option(name="vector-width", type=Int(minimum=1), unit="bits", meaning="preferred width of vectors"),
)
_ONNXRUNTIME = (
    Option(
        name="optimization-level",
        type=Enum(("all", "extended", "basic", "disable")),
        default="all",
        meaning="which graph rewrites it may do",
    ),
    Option(
        name="execution-mode",
        type=Enum(("sequential", "parallel")),
        default="sequential",
        meaning="whether independent nodes run at once",
    ),
)
_OPENVINO = (
    Option(
        name="performance-hint",
        type=Enum(("latency", "throughput")),
        default="latency",
        meaning="what its scheduling aims at",
    ),
    Option(
        name="inference-precision",
        type=Enum(("f32", "bf16", "f16")),
        default="f32",
        meaning="element type it computes in",
    ),
)
_MNN = (
    Option(
        name="precision",
        type=Enum(("normal", "high", "low")),
        default="high",
        meaning="whether it may compute in less than float32",
    ),
    Option(name="memory", type=Enum(("normal", "high", "low")), default="normal", meaning="memory it trades for speed"),
    Option(name="power", type=Enum(("normal", "high", "low")), default="normal", meaning="which cores it prefers"),
)
_NCNN = (
    Option(name="winograd", type=Bool(), default=True, meaning="Winograd convolution where it applies"),
    Option(name="sgemm", type=Bool(), default=True, meaning="convolution by matrix product where it applies"),
    Option(name="packing", type=Bool(), default=True, meaning="channels interleaved to the vector width"),
    Option(name="fp16", type=Bool(), default=False, meaning="store and compute in float16"),
)


def _faults_of_llvm(options: Options) -> Iterable[tuple[str, str]]:
    values = {"bool": "true|false|1|0", "int": "[+-]?[0-9]+", "uint": "[0-9]+", "string": ".*"}
    for entry in options.get("cl-opt", ()):
        shape = re.fullmatch(r"--?[^-:=][^:=]*(?::(bool|int|uint|string)(?==))?(?:=(.*))?", entry, re.DOTALL)
        if shape is None or not re.fullmatch(
            values[shape[1] or "bool"], "true" if shape[2] is None else shape[2], re.I
        ):
            yield "cl-opt", f"malformed LLVM option {entry!r}; write -name[:bool|int|uint|string]=value"


def _device(
    name: str,
    meaning: str,
    options: Iterable[Option],
    *,
    engines: tuple[str, ...],
    keys: tuple[str, ...],
    check: Callable[[Options], Iterable[tuple[str, str]]] = find_no_fault,
) -> TargetKind:
    return TargetKind(
        name=name,
        meaning=meaning,
        level="device",
        device_type="cpu",
        default_keys=keys,
        engines=engines,
        options=schema(options, (_THREADS,), _COMMON),
        check=check,
    )


def engine_kind(
    name: str,
    meaning: str,
    options: Iterable[Option] = (),
    *,
    device_type: str = "cpu",
    serves: tuple[str, ...] = (),
    is_reference: bool = False,
) -> TargetKind:
    """An engine kind: its own options and those that every engine has.

    Raises:
        ValueError: An option is one that every engine has already.
    """
    base = Option(name="base", type=SpecOf("target"), meaning="the device target it generates for")
    return TargetKind(
        name=name,
        meaning=meaning,
        level="engine",
        device_type=device_type,
        default_keys=(device_type,),
        serves=serves,
        is_reference=is_reference,
        options=schema(options, (_THREADS, base), _COMMON),
    )


_BUILT_IN = (
    _device(
        "llvm",
        "a CPU, by whichever engine measures fastest",
        _LLVM,
        engines=("onnxruntime", "openvino", "mnn", "ncnn"),
        keys=("cpu",),
        check=_faults_of_llvm,
    ),
    engine_kind("onnxruntime", "ONNX Runtime", _ONNXRUNTIME),
    engine_kind("openvino", "OpenVINO", _OPENVINO),
    engine_kind("mnn", "MNN", _MNN),
    engine_kind("ncnn", "ncnn", _NCNN),
    engine_kind("reference", "the evaluator of the onnx package: slow, and defines correct", is_reference=True),
    TargetKind(
        name="composite",
        meaning="several targets of one machine, most preferred first",
        level="syntax",
        device_type="cpu",
        options=schema(
            (Option(name="devices", type=list_of_specs("target"), meaning="the targets, most preferred first"), _HOST)
        ),
    ),
)
KINDS: Registry[TargetKind] = Registry("target kind", {kind.name: kind for kind in _BUILT_IN})
"""Every kind that can be described, by name."""


@cache
def _offered() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and needed for unknown names only

    return {point.name: point for point in entry_points(group=PLUGIN_GROUP)}


def plugin_kind(name: str) -> TargetKind | None:
    """The kind that an installed package offers under this name, registered from then on.

    Raises:
        SpecError: The package offers something else, or does not load.
    """
    point = _offered().get(name)
    if point is None:
        return None
    try:
        kind = point.load()
    except Exception as foreign:
        raise SpecError(f"target kind {name!r} of plug-in {point.value} does not load: {foreign}") from foreign
    if not isinstance(kind, TargetKind) or kind.name != name:
        raise SpecError(f"{point.value} is offered as target kind {name!r} and is none of that name")
    KINDS.register(name, kind, override=True)
    return kind
