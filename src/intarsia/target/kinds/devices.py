"""Device kinds that are processors, and those that stand in for one. Those of GPUs are in `gpus`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from intarsia.spec import ListOf, Option, Order, Str
from intarsia.spec.schema import Options, choice, flag, text, whole
from intarsia.target.features import arm_keys
from intarsia.target.kinds.declare import device_kind
from intarsia.target.kinds.kind import TargetKind
from intarsia.target.kinds.memories import faults_of_memories

Faults = Iterable[tuple[str, str]]

MATTR = Option(
    name="mattr", type=ListOf(Str(), Order.SIGNED), meaning="CPU features, +on or -off; the last mention wins"
)
MCPU = text("mcpu", "CPU name, as LLVM spells it")
MTRIPLE = text("mtriple", "target triple")
NUM_CORES = whole("num-cores", "physical cores of the machine", minimum=1, unit="cores")
MEMORY_SIZE = whole("memory-size", "memory of the device", minimum=1, unit="bytes")
FIGURES = (
    MEMORY_SIZE,
    whole("memory-bandwidth", "most that its memory delivers in a second", minimum=1, unit="bytes"),
    whole("peak-flops", "most operations in fp32 that it does in a second", minimum=1, unit="operations"),
)
"""What a plan that is not measured is estimated by, for a device that is not here."""

EMULATED_BOARDS = ("mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547")
"""Boards of Arm's with a Cortex-M3, M4, M7 and M55 that QEMU emulates. `codegen/boards` knows what is on them."""

_LLVM = (
    MATTR,
    MCPU,
    MTRIPLE,
    choice("mfloat-abi", "how floats are passed", "soft", "softfp", "hard"),
    text("mabi", "name of the ABI"),
    NUM_CORES,
    flag("fast-math", "all of the fast-math-* liberties"),
    flag("fast-math-nnan", "assume no NaN"),
    flag("fast-math-ninf", "assume no infinity"),
    flag("fast-math-nsz", "ignore the sign of zero"),
    flag("fast-math-arcp", "multiply by a reciprocal instead of dividing"),
    flag("fast-math-contract", "fuse a multiplication with an addition"),
    flag("fast-math-reassoc", "reorder sums and products"),
    whole("opt-level", "effort of the code generator"),
    Option(name="cl-opt", type=ListOf(Str()), meaning="LLVM options, each -name[:type]=value"),
    choice("jit", "which LLVM just-in-time compiler", "mcjit", "orcjit"),
    whole("vector-width", "preferred width of vectors", minimum=1, unit="bits"),
    *FIGURES,
)
_C = (
    MATTR,
    MCPU,
    MTRIPLE,
    text("march", "architecture, as C compilers spell it"),
    choice("board", "emulated board on which programs run, as QEMU calls the machine", *EMULATED_BOARDS),
    Option(name="ram", type=ListOf(Str()), meaning="memories that hold values, fastest first, each NAME:BYTES"),
    whole("flash", "memory that holds code and weights", minimum=1, unit="bytes"),
    whole("stack", "stack that a call of the model may use", minimum=1, unit="bytes"),
)
_HEXAGON = (
    MATTR,
    MCPU,
    MTRIPLE,
    Option(name="llvm-options", type=ListOf(Str()), meaning="LLVM options, as its command line takes them"),
    NUM_CORES,
    whole("vtcm-capacity", "tightly coupled vector memory", 0, unit="bytes"),
)


def without_triple(options: Options) -> Options:
    """The options without a triple that can be only one."""
    return {name: value for name, value in options.items() if name != "mtriple"}


def faults_of_cl_opt(options: Options) -> Faults:
    """Entries of ``cl-opt`` that are not LLVM options."""
    values = {"bool": "true|false|1|0", "int": "[+-]?[0-9]+", "uint": "[0-9]+", "string": ".*"}
    for entry in options.get("cl-opt", ()):
        shape = re.fullmatch(r"--?[^-:=][^:=]*(?::(bool|int|uint|string)(?==))?(?:=(.*))?", entry, re.DOTALL)
        if shape is None or not re.fullmatch(
            values[shape[1] or "bool"], "true" if shape[2] is None else shape[2], re.I
        ):
            yield "cl-opt", f"malformed LLVM option {entry!r}; write -name[:bool|int|uint|string]=value"


def faults_of_cuda(options: Options) -> Faults:
    """An ``arch`` that is no compute capability."""
    yield from _fault(options, "arch", r"sm_[0-9]+[af]?", "CUDA arch", "sm_80")


def faults_of_nvptx(options: Options) -> Faults:
    """An ``mcpu`` that is no compute capability."""
    yield from _fault(options, "mcpu", r"sm_[0-9]+[af]?", "NVPTX CPU", "sm_80")


def faults_of_rocm(options: Options) -> Faults:
    """An ``mcpu`` that is no AMD GPU."""
    yield from _fault(options, "mcpu", r"gfx[0-9a-z]+(?:-[0-9a-z]+)*(?::[a-z]+[+-])*", "AMD GPU", "gfx90a")


def _fault(options: Options, name: str, shape: str, what: str, example: str) -> Faults:
    value = options.get(name)
    if value is not None and not re.fullmatch(shape, value):
        yield name, f"invalid {what} {value!r}; write it as {example}"


PROCESSORS: tuple[TargetKind, ...] = (
    device_kind(
        "llvm",
        "a CPU, by whichever engine measures fastest",
        _LLVM,
        keys=("cpu",),
        sure_keys=arm_keys,
        check=faults_of_cl_opt,
        as_c="c",
    ),
    device_kind(
        "c",
        "C source for any compiler, as microcontrollers need it",
        _C,
        keys=("cpu",),
        sure_keys=arm_keys,
        has_own_engine=True,
        check=faults_of_memories,
        as_c="c",
    ),
    device_kind("hexagon", "Qualcomm's DSP", _HEXAGON, device_type="hexagon", keys=("hexagon", "cpu")),
    device_kind("ext_dev", "a device that an engine of your own drives", device_type="ext_dev"),
    device_kind("stackvm", "byte code that a stack machine interprets", keys=("cpu",)),
    device_kind("hybrid", "kernels written as Python functions"),
    device_kind("test", "no processor: for tests of the language", facts=lambda options: {"is_test": True}),
)
"""Device kinds of processors, the usual one first."""
