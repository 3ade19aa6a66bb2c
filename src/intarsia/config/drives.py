"""`Executor` and `Runtime`: how the parts of a compiled model are driven, and what loads and runs it.

Each is a spec of one kind and its options, without tags and without parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Self

from intarsia.errors import SpecError
from intarsia.spec import Float, Kind, Level, Option, Registry, Spec, read, schema
from intarsia.spec.schema import Options, choice, find_no_fault, flag, power_of_two, text, whole
from intarsia.spec.types import Value
from intarsia.target import LEVELS, TAGS
from intarsia.target.aliases import ELSEWHERE

Check = Callable[[Options], Iterable[tuple[str, str]]]
"""Yields an option's name and what is wrong with it."""
_AOT = (
    flag("link-params", "put the weights into the generated code", default=True),
    flag("unpacked-api", "pass each argument by itself, not in one array"),
    choice("interface-api", "how the entry point takes its arguments", "packed", "c"),
    flag("static-workspace", "have the memory between layers in the code, not from the caller"),
    power_of_two("workspace-byte-alignment", "alignment of what lies between layers", unit="bytes"),
    power_of_two("constant-byte-alignment", "alignment of weights", unit="bytes"),
)
_GRAPH = (flag("link-params", "put the weights into the generated code", default=False),)
_PIPELINE = (whole("depth", "requests in flight at one time, at most", minimum=1, unit="requests"),)
_SYSTEM_LIB = (flag("system-lib", "link the model into the program, where it is found by its name"),)


def _timeout(of_what: str) -> Option:
    return Option(
        name="timeout", type=Float(), meaning=f"how long an answer may take, or {of_what}; 30 if left out", unit="s"
    )


_RPC = (
    text("address", "where it listens, as HOST:PORT"),
    text("token-file", "the file that holds the token which it wants"),
    text("tls-ca", "the file of the certificate that its own must go back to; without, the link is not encrypted"),
    _timeout("a lost link"),
)
_RAY = (
    text("address", "where the cluster listens, as HOST:PORT; the one that this machine is a node of if left out"),
    text("label", "the label, as KEY=VALUE, that one node of the cluster has"),
    text("resource", "the resource that one node of the cluster has"),
    _timeout("a process that is started again"),
)
REMOTE: Final = "rpc"
"""The runtime of a worker: of one that listens somewhere, or without an address of processes on this machine."""
CLUSTER: Final = "ray"
"""The runtime of a node of a Ray cluster."""
_LONGEST_S: Final = 86400.0


def _faults_of_timeout(options: Options) -> Iterator[tuple[str, str]]:
    if not 0 < options.get("timeout", 1.0) <= _LONGEST_S:
        yield "timeout", f"give seconds above 0, up to {_LONGEST_S:.0f}, which is a day"


def _faults_of_rpc(options: Options) -> Iterator[tuple[str, str]]:
    yield from _faults_of_timeout(options)
    if "address" not in options:
        for name in ("token-file", "tls-ca", "timeout"):
            if name in options:
                yield name, "it is of a worker that listens somewhere; state its address too"


def _kind(name: str, meaning: str, options: tuple[Option, ...] = (), check: Check = find_no_fault) -> tuple[str, Kind]:
    return name, Kind(name=name, meaning=meaning, options=schema(options), check=check)


def _faults_of_ray(options: Options) -> Iterator[tuple[str, str]]:
    yield from _faults_of_timeout(options)
    if "://" in options.get("address", ""):
        yield "address", "give HOST:PORT of the cluster; this machine must be a node of it"
    if "label" in options and "resource" in options:
        yield "label", "one of label and resource says which node it is; leave one out"
    key, divided, value = options.get("label", "key=value").partition("=")
    if not (key and divided and value):
        yield "label", "write KEY=VALUE, as in 'ray start --labels=KEY=VALUE'"


EXECUTORS: Registry[Kind] = Registry(
    "executor",
    dict(
        (
            _kind("graph", "steps in a fixed order, shapes known", _GRAPH),
            _kind("vm", "control flow and dynamic shapes"),
            _kind("aot", "compiled ahead of time: no interpreter", _AOT),
            _kind("pipeline", "a stream of requests, each device on another one", _PIPELINE),
            _kind("cuda-graph", "recorded once as a CUDA graph, then replayed"),
        )
    ),
)
"""Every executor that can be described, by name."""
RUNTIMES: Registry[Kind] = Registry(
    "runtime",
    dict(
        (
            _kind("python", "this package, in a Python process"),
            _kind("cpp", "a C++ process with an operating system", _SYSTEM_LIB),
            _kind("crt", "bare-metal C, without an operating system", _SYSTEM_LIB),
            _kind(REMOTE, "a worker on another machine", _RPC, _faults_of_rpc),
            _kind(CLUSTER, "a node of a Ray cluster", _RAY, _faults_of_ray),
        )
    ),
)
"""Every runtime that can be described, by name."""


class Drive(Spec[Kind]):
    """One way of driving a whole model. The values are those of its subclasses.

    Args:
        form: A kind, text, JSON text, a dict, or an existing value.
        options: More options, as in a dict. An option that the form states too is an error.

    Raises:
        SpecError: With every problem, its place, and the nearest legal spelling.
    """

    __slots__ = ()

    level: ClassVar[Level]
    """The level of the spec language whose values these are."""

    def __init__(self, form: object, options: Mapping[str, object] | None = None) -> None:
        spec = read(self.level, form)
        if options:
            twice = sorted(spec.options.keys() & options.keys())
            if twice:
                raise SpecError(f"{twice[0]}: stated by {str(spec)!r} and by the argument; leave one out")
            spec = read(self.level, {**spec.export(), **options})
        self._fix(spec.kind, spec.options, spec.tags)

    @property
    def values(self) -> Mapping[str, Value]:
        """The value of each option that has one: stated, or the kind's default."""
        defaults = {option.name: option.default for option in self.kind.options.values() if option.default is not None}
        return MappingProxyType(dict(sorted((defaults | dict(self.options)).items())))

    def __contains__(self, name: object) -> bool:
        """Whether this option has a value: stated, or the kind's default."""
        return name in self.values

    def with_options(self, options: Mapping[str, Value]) -> Self:
        """A copy that states these options, given as in a dict; ``None`` takes one back.

        Raises:
            SpecError: The kind has no such option, or a value is not of its type.
        """
        stated = self.export() | dict(options)
        return type(self)({name: value for name, value in stated.items() if value is not None})


class Executor(Drive):
    """How a whole model is driven.

    Example:
        >>> executor = Executor("aot", {"interface-api": "c"})
        >>> executor["interface-api"], executor["link-params"], "unpacked-api" in executor
        ('c', True, False)
    """

    __slots__ = ()


class Runtime(Drive):
    """What loads and runs the compiled model.

    Example:
        >>> runtime = Runtime("crt", {"system-lib": True})
        >>> str(runtime), runtime == Runtime("crt -system-lib")
        ('crt -system-lib=true', True)
    """

    __slots__ = ()


def is_elsewhere(runtime: Runtime) -> bool:
    """Whether it is a machine that is reached over a link: where a worker listens, or a node of a cluster."""
    return runtime.kind.name == CLUSTER or (runtime.kind.name == REMOTE and "address" in runtime.options)


def elsewhere(kinds: Mapping[str, Kind], others: Mapping[str, Mapping[str, Kind]]) -> Mapping[str, str]:
    """What the kinds of a level refuse beside their own mistakes, each with where it goes.

    ``others`` are the kinds of other levels, by the words for where they go.
    """
    own = {name for kind in kinds.values() for name in kind.options}
    table = {name: where for name, where in ELSEWHERE.items() if name not in own}
    for word, rows in others.items():
        table |= {name: f"it belongs to {word}" for kind in rows.values() for name in kind.options}
    return MappingProxyType(table)


_OF_EXECUTORS = elsewhere(EXECUTORS, {"the runtime": RUNTIMES})
Executor.level = Level(name="executor", type=Executor, kinds=EXECUTORS, tags=TAGS, elsewhere=_OF_EXECUTORS)
Runtime.level = Level(name="runtime", type=Runtime, kinds=RUNTIMES, tags=TAGS, elsewhere=elsewhere(RUNTIMES, {}))
LEVELS.register(Executor.level.name, Executor)
LEVELS.register(Runtime.level.name, Runtime)
