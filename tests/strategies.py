"""Random specs of every level, drawn from the tables of kinds themselves: a new kind or option is tested as it lands.

Forms are dicts, as a person or a program writes them; what a rule between options refuses is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from hypothesis import strategies as st

from intarsia.config import EXECUTORS, RUNTIMES, CompilationConfig, Deployment, Executor, Runtime
from intarsia.errors import SpecError
from intarsia.spec import Bool, Enum, ExecutedPath, Float, Int, Kind, ListOf, MapOf, Option, Order, SpecOf, Str
from intarsia.spec.types import OptionType, PowerOfTwo
from intarsia.target import DEVICE_TYPES, KINDS, Target, TargetKind, VirtualDevice

Form = dict[str, Any]
Forms = st.SearchStrategy[Form]
T = TypeVar("T")

ODD = st.text(st.sampled_from("ab+-'\"\\ ,=:{[}\t\n\x00é\u2003\ud800"), max_size=6)
"""Strings with what the grammar gives a meaning to."""
LEAST, MOST = -(2**70), 2**70
MAX_STATED = 4
TAGS = st.sampled_from([[], [], ["a/b"], ["v/t,1", "w/c5.4xlarge"]])
"""Labels that say where a value came from; nobody has to have registered them."""

_FEATURES = st.sampled_from(["+neon", "-neon", "+sve", "-sve", "+avx512f", "-avx512f", "+v8.2a"])
LEGAL: Mapping[str, st.SearchStrategy[Any]] = MappingProxyType(
    {
        "arch": st.sampled_from(["sm_50", "sm_80", "sm_90a"]),
        "cl-opt": st.lists(st.sampled_from(["-unroll-count:uint=3", "--fast", "-name:string=x y"]), max_size=2),
        "mattr": st.lists(_FEATURES, max_size=4),
        "target_device_type": st.sampled_from(sorted(DEVICE_TYPES.values())),
    }
)
"""Values of options that have rules beyond their type, by the option's name."""
MCPU: Mapping[str, st.SearchStrategy[Any]] = MappingProxyType(
    {
        "nvptx": st.sampled_from(["sm_70", "sm_80"]),
        "rocm": st.sampled_from(["gfx900", "gfx90a"]),
    }
)
"""Processors of kinds that take only some."""
SKIPPED = frozenset({"mtriple", "compiler", "base"})
"""Options that follow from the kind or depend on another target; `_based` draws what may stand there."""


def valid(read: Callable[[Any], T], forms: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    """The values of those forms that no rule between options refuses."""

    def attempt(form: Any) -> T | None:
        try:
            return read(form)
        except SpecError:
            return None

    return forms.map(attempt).filter(lambda value: value is not None)  # type: ignore[return-value]


def data_of(option: Option, kind: Kind, depth: int) -> st.SearchStrategy[Any]:
    """Data for one option of a kind."""
    if option.name == "mcpu" and kind.name in MCPU:
        return MCPU[kind.name]
    return LEGAL[option.name] if option.name in LEGAL else _of_type(option.type, depth)


def _whole_numbers(type_: Int) -> st.SearchStrategy[int]:
    if isinstance(type_, PowerOfTwo):
        return st.integers(0, type_.maximum.bit_length() - 1).map(lambda bits: 1 << bits)
    return st.integers(LEAST if type_.minimum is None else type_.minimum, MOST)


def _of_type(type_: OptionType, depth: int) -> st.SearchStrategy[Any]:
    match type_:
        case Bool():
            return st.booleans()
        case Int():
            return _whole_numbers(type_)
        case Float():
            return st.floats(allow_nan=False, allow_infinity=False)
        case Enum(choices=choices):
            return st.sampled_from(choices)
        case ListOf(element=element, order=order):
            words = st.sampled_from(["+a", "-a", "+b", "c"])
            return st.lists(words if order is Order.SIGNED else _of_type(element, depth), max_size=3)
        case MapOf(value=value):
            return st.dictionaries(ODD, _of_type(value, depth), max_size=2)
        case SpecOf(level="target"):
            return target_forms(depth - 1)
        case Str():
            return ODD
        case ExecutedPath():
            return ODD.filter(lambda text: "\0" not in text).map("/{}".format)
    raise NotImplementedError(f"nothing is known to draw for an option that is a {type_.label}")


@st.composite
def forms_of(draw: st.DrawFn, table: Mapping[str, Kind], names: Sequence[str] = (), depth: int = 0) -> Form:
    """A form of one of the kinds of these names, or of all, with a few options; specs nest ``depth`` deep."""
    kind = table[draw(st.sampled_from(sorted(names or table)))]
    options = [
        name
        for name, option in kind.options.items()
        if name not in SKIPPED and (depth > 0 or not isinstance(option.type, SpecOf))
    ]
    stated = draw(st.lists(st.sampled_from(options), unique=True, max_size=MAX_STATED)) if options else []
    form: Form = {"kind": kind.name}
    if tags := draw(TAGS):
        form["tag"] = tags if len(tags) > 1 else tags[0]
    return form | {name: draw(data_of(kind.options[name], kind, depth)) for name in stated}


def _names(wanted: Callable[[TargetKind], bool]) -> tuple[str, ...]:
    return tuple(name for name, kind in KINDS.items() if wanted(kind))


@st.composite
def _based(draw: st.DrawFn, depth: int) -> Form:
    """An engine's target on a device of a kind that it takes."""
    form = draw(forms_of(KINDS, _names(lambda kind: any(map(kind.takes, KINDS.values()))), depth))
    base = draw(forms_of(KINDS, _names(KINDS[form["kind"]].takes)))
    for each in (form, base):
        each.pop("target_device_type", None)  # or the two might be for different devices
    return form | {"base": base}


def target_forms(depth: int = 1) -> Forms:
    """Forms of targets, hosts and bases nested."""
    plain = forms_of(KINDS, _names(lambda kind: kind.level != "syntax"), depth)
    return plain if depth < 1 else plain | _based(depth)


def targets(depth: int = 1) -> st.SearchStrategy[Target]:
    """Targets of every kind."""
    return valid(Target, target_forms(depth))


def virtual_devices() -> st.SearchStrategy[VirtualDevice]:
    """Devices of which any part may be free."""
    loose = st.builds(
        VirtualDevice,
        device=st.none() | st.sampled_from(sorted(DEVICE_TYPES)),
        index=st.none() | st.integers(0, 3),
        memory_scope=st.sampled_from(["", "global", "a b"]),
    )
    placed = st.builds(
        VirtualDevice, target=targets(0), index=st.none() | st.integers(0, 3), memory_scope=st.sampled_from(["", "x"])
    )
    return loose | placed


def executors() -> st.SearchStrategy[Executor]:
    """Executors of every kind."""
    return valid(Executor, forms_of(EXECUTORS))


def runtimes() -> st.SearchStrategy[Runtime]:
    """Runtimes of every kind."""
    return valid(Runtime, forms_of(RUNTIMES))


def _elements() -> Forms:
    """Devices, and engines with the device they generate code for."""
    return forms_of(KINDS, _names(lambda kind: kind.level == "device")) | _based(0)


@st.composite
def config_forms(draw: st.DrawFn, depth: int = 1) -> Form:
    """Forms of configurations: a priority list, and what else a machine may say; an element may be one itself."""
    elements = draw(st.lists(_elements(), min_size=1, max_size=2)) + draw(st.sampled_from([[], ["llvm -model=last"]]))
    if depth and draw(st.booleans()):
        elements.append(draw(config_forms(depth - 1)))
    form: Form = {"kind": "config", "targets": elements}
    if draw(st.booleans()):
        form["host"] = draw(st.sampled_from(["llvm", {"kind": "llvm", "mcpu": "a b"}]))
    if draw(st.booleans()):
        form["executor"] = draw(forms_of(EXECUTORS, ("graph", "vm", "pipeline")))
    if draw(st.booleans()):
        form["runtime"] = draw(forms_of(RUNTIMES, ("python", "cpp")))
    if tags := draw(TAGS):
        form["tag"] = tags
    return form


def configs(depth: int = 1) -> st.SearchStrategy[CompilationConfig]:
    """Configurations, one nested in another ``depth`` deep."""
    return valid(CompilationConfig.of, config_forms(depth))


NAMES = st.sampled_from(["m0", "edge", "a-b", "x1"])


def deployments() -> st.SearchStrategy[Deployment]:
    """Machines by name."""
    machines = st.dictionaries(NAMES, config_forms(0), min_size=1, max_size=2)
    return valid(Deployment.of, st.builds(partial(dict), machines=machines))
