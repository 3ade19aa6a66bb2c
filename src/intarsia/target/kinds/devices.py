"""Device kinds that are processors, and those that stand in for one. Those of GPUs are in `gpu_kinds`."""

from __future__ import annotations

from intarsia.spec import Bool, Enum, Int, ListOf, Option, Order, Str
from intarsia.target.features import arm_keys
from intarsia.target.kinds.declare import device_kind
from intarsia.target.kinds.kind import TargetKind
from intarsia.target.kinds.rules import faults_of_cl_opt

MATTR = Option(
    name="mattr", type=ListOf(Str(), Order.SIGNED), meaning="CPU features, +on or -off; the last mention wins"
)
MCPU = Option(name="mcpu", type=Str(), meaning="CPU name, as LLVM spells it")
MTRIPLE = Option(name="mtriple", type=Str(), meaning="target triple")
NUM_CORES = Option(name="num-cores", type=Int(minimum=1), unit="cores", meaning="physical cores of the machine")

_LLVM = (
    MATTR,
    MCPU,
    MTRIPLE,
    Option(name="mfloat-abi", type=Enum(("soft", "softfp", "hard")), meaning="how floats are passed"),
    Option(name="mabi", type=Str(), meaning="name of the ABI"),
    NUM_CORES,
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
_C = (
    MATTR,
    MCPU,
    MTRIPLE,
    Option(name="march", type=Str(), meaning="architecture, as C compilers spell it"),
)
_HEXAGON = (
    MATTR,
    MCPU,
    MTRIPLE,
    Option(name="llvm-options", type=ListOf(Str()), meaning="LLVM options, as its command line takes them"),
    NUM_CORES,
    Option(name="vtcm-capacity", type=Int(minimum=0), default=0, unit="bytes", meaning="tightly coupled vector memory"),
)

PROCESSORS: tuple[TargetKind, ...] = (
    device_kind(
        "llvm",
        "a CPU, by whichever engine measures fastest",
        _LLVM,
        keys=("cpu",),
        sure_keys=arm_keys,
        check=faults_of_cl_opt,
    ),
    device_kind("c", "C source for any compiler, as microcontrollers need it", _C, keys=("cpu",), sure_keys=arm_keys),
    device_kind("hexagon", "Qualcomm's DSP", _HEXAGON, device_type="hexagon", keys=("hexagon", "cpu")),
    device_kind("ext_dev", "a device that an engine of your own drives", device_type="ext_dev"),
    device_kind("stackvm", "byte code that a stack machine interprets", keys=("cpu",)),
    device_kind("hybrid", "kernels written as Python functions"),
    device_kind("test", "no processor: for tests of the language", facts=lambda options: {"is_test": True}),
)
"""Device kinds of processors, the usual one first."""
