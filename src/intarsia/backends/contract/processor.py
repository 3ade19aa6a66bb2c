"""The processor that an engine compiles for, as its target's base states it, else this machine's; and how libraries are
held to the instruction sets of a weaker one.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from intarsia.config.emulated import InstructionSet

if TYPE_CHECKING:
    from intarsia.target import Target

_NAMING = frozenset({"mcpu", "march", "mattr"})
"""Options that say what a processor can do. Features without a name are those of the architecture's plainest one."""

_ONEDNN: Mapping[InstructionSet, str] = MappingProxyType(
    {
        InstructionSet.SSE41: "SSE41",
        InstructionSet.AVX: "AVX",
        InstructionSet.AVX2: "AVX2",
        InstructionSet.AVX512: "AVX512_CORE",
        InstructionSet.AVX512_VNNI: "AVX512_CORE_VNNI",
        InstructionSet.AVX512_BF16: "AVX512_CORE_BF16",
        InstructionSet.AVX512_FP16: "AVX512_CORE_FP16",
        InstructionSet.AMX: "AVX512_CORE_AMX",
    }
)
"""What oneDNN calls the instruction sets; OpenVINO and PyTorch both have oneDNN inside."""


def processor_of(target: Target) -> Target:
    """A target's base with its processor stated: this machine's name, features and triple where the base states none.

    A base of another architecture stays as it is.
    """
    from intarsia.target import Target as Kind

    here = Kind.detect()
    base = target.base or here
    there = base.features.architecture
    if base.options.keys() & _NAMING or (there and there != here.features.architecture):
        return base
    known = {name: here.options[name] for name in ("mcpu", "mattr", "mtriple") if name in here.options}
    own = base.kind.options.keys() - base.options.keys()
    return base.with_options({name: value for name, value in known.items() if name in own})


def stated(base: Target | None, names: Iterable[str]) -> Mapping[str, Any]:
    """Those of the options that a base states, with their values."""
    return {} if base is None else {name: base.options[name] for name in names if name in base.options}


def compiler_flags(described: Target | None) -> tuple[str, ...]:
    """What tells a C compiler the processor: as it is described, else this machine's.

    Processors and features have the names of LLVM, which are most often those of GCC too. This machine's own processor
    is told as such, since a compiler may be older than it.
    """
    from intarsia.target import Target as Kind

    x86 = platform.machine() in {"x86_64", "AMD64"}
    option = "-march" if x86 else "-mcpu"
    options = stated(described, _NAMING)
    features = options.get("mattr", ()) if x86 else ()
    flags = [f"-m{'no-' if each.startswith('-') else ''}{each.lstrip('+-')}" for each in features]
    if options.get("march"):
        return (f"-march={options['march']}", *flags)
    if options.get("mcpu") and options["mcpu"] != Kind.detect().mcpu:
        return (f"{option}={options['mcpu']}", *flags)
    return tuple(flags) or (f"{option}=native",)


def onednn_limit(most: InstructionSet) -> Mapping[str, str]:
    """What oneDNN reads: its Developer Guide, "CPU Dispatcher Control"."""
    return {"ONEDNN_MAX_CPU_ISA": _ONEDNN[most]}


def torch_limit(most: InstructionSet) -> Mapping[str, str]:
    """What PyTorch's own kernels and its code generator read (``ATEN_CPU_CAPABILITY``), and oneDNN inside it."""
    below_avx2 = most in (InstructionSet.SSE41, InstructionSet.AVX)
    capability = "default" if below_avx2 else "avx2" if most is InstructionSet.AVX2 else "avx512"
    return {"ATEN_CPU_CAPABILITY": capability, **onednn_limit(most)}
