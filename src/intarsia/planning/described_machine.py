"""How the machine that is described differs from this one, where plans are measured.

Only what the description states is compared. Targets of another architecture, and devices that are not here, are for
`engine_set.absence` to tell.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from intarsia.backends import registry
from intarsia.config import CompilationConfig
from intarsia.config.emulated import Emulated, InstructionSet, most_capable
from intarsia.target import Target, detect
from intarsia.target.features import architecture
from intarsia.target.hardware.cpu import visible_features
from intarsia.wording import counted, listed

HEAD = "measured here, not there"
"""What stands with every figure of a machine that is described and is not this one."""
_KERNELS = frozenset(
    {
        *("sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c", "bmi2", "avxvnni", "amx-tile", "amx-int8", "amx-bf16"),
        *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512fp16"),
        *("neon", "dotprod", "fullfp16", "fp16fml", "bf16", "i8mm", "sve", "sve2"),
    }
)
"""The features that engines choose kernels by, by their LLVM names."""
_ANY = ("generic", "native")
"""What a ``mcpu`` may say that states nothing."""
_LEVELS = ("x86-64", "armv", "v8", "v9", "rv")
"""How a ``mcpu`` begins that names a level, which many processors have."""
_GIGABYTE = 1e9
_CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMachine:
    """What differs; there is none where nothing does.

    Attributes:
        described: The targets that this machine is not, by their tags or as text.
        here: What is here in their place, as text.
        lacks: What is described and not here, one sentence each.
        beyond: What is here and not described, one sentence each.
        emulated: What of that is held back while plans are measured.
        obeying: Engines that can be told which features to leave alone.
        free: Engines that take what the processor has.
    """

    described: tuple[str, ...]
    here: tuple[str, ...]
    lacks: tuple[str, ...]
    beyond: tuple[str, ...]
    emulated: Emulated | None
    obeying: tuple[str, ...]
    free: tuple[str, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """All of it, one sentence each."""
        head = f"{HEAD}: {listed(self.described)} is described, and every figure is of {listed(self.here)}"
        return (head, *self.differences, *self._emulation())

    @property
    def differences(self) -> tuple[str, ...]:
        """What of the description is not so here, one sentence each."""
        return (*self.lacks, *self.beyond)

    def export(self) -> dict[str, Any]:
        """As in a report."""
        return {"where": HEAD, **asdict(self), "remarks": list(self.remarks)}

    def _emulation(self) -> Iterator[str]:
        if self.emulated is None:
            return
        cores, most = self.emulated.cores, self.emulated.instruction_set
        held = [] if cores is None else [f"what is measured runs on {counted(cores, 'core')}"]
        if most is not None and self.obeying:
            held.append(f"{listed(self.obeying)} {'uses' if len(self.obeying) == 1 else 'use'} no more than {most}")
        if most is not None and self.free:
            held.append(f"{listed(self.free)} cannot be told so, and may be faster here than there")
        yield f"emulated as far as can be: {'; '.join(held)}"


@dataclass(slots=True, kw_only=True)
class _Findings:
    """What is found of one target after the other."""

    described: dict[str, None]
    here: dict[str, None]
    lacks: list[str]
    beyond: list[str]
    cores: list[int]
    instruction_sets: list[InstructionSet]

    def note(self, target: str, here: str, lacks: Iterable[str], beyond: Iterable[str]) -> None:
        self.lacks += lacks
        self.beyond += beyond
        self.described[target] = None
        self.here[here] = None


def described_machine(config: CompilationConfig, engines: Iterable[Target]) -> DescribedMachine | None:
    """What of the configuration differs from this machine; ``None`` where it is this machine, as far as is stated.

    Args:
        config: Its targets, their bases and its host are compared.
        engines: Those that take part.
    """
    found = _Findings(described={}, here={}, lacks=[], beyond=[], cores=[], instruction_sets=[])
    for target in dict.fromkeys((*map(_device, config.flatten()), _device(config.host))):
        if target.device_type == _CPU:
            _compare_processor(target, found)
        else:
            _compare_device(target, found)
    if not found.described:
        return None
    most = min(found.instruction_sets, key=list(InstructionSet).index, default=None)
    cores = min(found.cores, default=None)
    names = dict.fromkeys(target.kind.name for target in engines if target.kind.name in registry.names())
    obeying = [name for name in names if most is not None and registry.get(name).masking(most)]
    return DescribedMachine(
        described=tuple(found.described),
        here=tuple(found.here),
        lacks=tuple(dict.fromkeys(found.lacks)),
        beyond=tuple(dict.fromkeys(found.beyond)),
        emulated=None if most is None and cores is None else Emulated(cores=cores, instruction_set=most),
        obeying=tuple(obeying),
        free=tuple(name for name in names if most is not None and name not in obeying),
    )


def _device(target: Target) -> Target:
    return (target.base or target).with_options({"threads": None, "host": None})


def _compare_processor(target: Target, found: _Findings) -> None:
    here = detect.cpu_here()
    mine, its = here.features, target.features
    lacks: list[str] = []
    beyond: list[str] = []
    if target.mcpu and not its.architecture and target.mcpu not in _ANY:
        beyond.append(f"what the processor {target.mcpu} can do is not known, so its features are not compared")
    if its.architecture != mine.architecture and its.architecture:
        return
    if mine.architecture and "mcpu" in here.options:
        _compare_features(target, here, lacks, beyond, found.instruction_sets)
    cores, cores_here = target.options.get("num-cores"), here.options.get("num-cores")
    if cores and cores_here and cores > cores_here:
        lacks.append(f"{_name(target)} has {counted(cores, 'core')}, and this process may use {cores_here}")
    elif cores and cores_here and cores < cores_here:
        beyond.append(f"this process may use {counted(cores_here, 'core')}, and {_name(target)} has {cores}")
        found.cores.append(cores)
    _compare_memory(target, lacks, beyond)
    if lacks or beyond:
        found.note(_name(target), str(here), lacks, beyond)


def _compare_features(
    target: Target, here: Target, lacks: list[str], beyond: list[str], instruction_sets: list[InstructionSet]
) -> None:
    table = architecture(here.features.architecture)
    mine = frozenset(here.features)
    stated = target.mcpu or str(target.options.get("march", ""))
    name = stated.partition("+")[0]
    is_processor = bool(name) and name not in _ANY and table.processor(name) is not None
    its = frozenset(target.features)
    visible = visible_features(table.name)
    if missing := (its - mine) & visible:
        lacks.append(f"this machine lacks {_features(missing)} of {_name(target)}")
    if not is_processor:  # it states single features alone: of all others it has what is here
        off = (table.feature(word[1:]) for word in target.mattr if word.startswith("-"))
        its = functools.reduce(table.without, filter(None, off), mine)
    if more := (mine - its) & visible & _KERNELS:
        beyond.append(f"this machine has {_features(more)}, which {_name(target)} lacks")
        if table.name == "x86" and (most := most_capable(its.__contains__, mine.__contains__)) is not None:
            instruction_sets.append(most)
    if is_processor and name != here.mcpu and not name.startswith(_LEVELS):
        beyond.append(f"this machine's processor shows as {here.mcpu}, not as {name}")


def _compare_memory(target: Target, lacks: list[str], beyond: list[str]) -> None:
    described = target.options.get("memory-size")
    if described is None:
        return
    here = detect.memory_bytes()
    sentence = f"this process may use {here / _GIGABYTE:.3g}"
    sizes = f"{_name(target)} has {described / _GIGABYTE:.3g} GB of memory, and {sentence}"
    if described > here:
        lacks.append(sizes)
    elif described < here:
        beyond.append(f"{sizes}, which is not emulated: --max-memory holds a plan to what is there")


def _compare_device(target: Target, found: _Findings) -> None:
    """The first device of its type that is here: engines run on no other."""
    several = detect.devices_here(target.device_type) if target.device_type in detect.LOOKED_AT else ()
    if not several or several[0].kind is not target.kind:
        return
    here = several[0]
    lacks: list[str] = []
    beyond: list[str] = []
    for name, described in target.options.items():
        mine = here.options.get(name)
        if mine is None or mine == described or name in ("keys", "host"):
            continue
        there = f"the {target.device_type} device here has {_shown(mine)}"
        sentence = f"{_name(target)} states {name} {_shown(described)}, and {there}"
        (lacks if _amount(described) > _amount(mine) else beyond).append(sentence)
    if lacks or beyond:
        found.note(_name(target), str(here), lacks, beyond)


def _amount(value: Any) -> float:
    """By which one value of an option is more than another; texts but a compute capability are just others."""
    if isinstance(value, bool | int | float):
        return float(value)
    digits = str(value).removeprefix("sm_").rstrip("af")
    return float(digits) if digits.isdigit() else 0.0


def _shown(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _name(target: Target) -> str:
    """How sentences call it: by the tag that described it, else as it is written."""
    return target.tags[0] if target.tags else f"'{target}'"


def _features(names: frozenset[str]) -> str:
    """Those that kernels are chosen by, in order, and how many others."""
    known = sorted(names & _KERNELS)
    others = len(names) - len(known)
    rest = [] if not others else [counted(others, "other feature" if known else "feature")]
    return listed([*known, *rest])
