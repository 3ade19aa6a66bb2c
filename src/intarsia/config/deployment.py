"""`Deployment`: named machines, each a configuration, and the links between them. `intarsia.deploy` compiles for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.compilation import CompilationConfig
from intarsia.config.elements import DEPLOYMENT, LINK, level_of
from intarsia.config.forms import ConfigOf, file_form
from intarsia.errors import SpecError
from intarsia.spec import Float, Kind, Level, ListOf, MapOf, Option, Order, Spec, SpecOf, Str, read, schema
from intarsia.spec.problems import nearest
from intarsia.spec.schema import Options
from intarsia.target import LEVELS, TAGS
from intarsia.target.target import LEVEL as TARGET_LEVEL

Fault = tuple[str, str]


def _faults_of_link(options: Options) -> Iterator[Fault]:
    ends = options.get("between", ())
    if len(ends) != 2:
        yield "between", f"a link joins two machines, found {', '.join(ends) or 'none'}"
    for name in ("bandwidth", "latency"):
        if options.get(name, 1.0) <= 0:
            yield name, "must be above 0; leave it out where it is not known"


def _faults_of_deployment(options: Options) -> Iterator[Fault]:
    machines = options.get("machines", {})
    if not machines:
        yield "machines", "at least one machine is required, such as {'machine0': 'llvm'}"
    if "" in machines:
        yield "machines", "the name of a machine is empty"
    yield from _faults_of_links([link["between"] for link in options.get("links", ())], machines)


def _faults_of_links(links: Iterable[tuple[str, ...]], machines: Mapping[str, object]) -> Iterator[Fault]:
    seen: set[tuple[str, ...]] = set()
    for ends in links:
        for name in ends:
            if name not in machines:
                hint = nearest(name, machines, f"there are {', '.join(machines)}")
                yield "links", f"no machine is called {name!r}{hint}"
        if ends in seen:
            yield "links", f"two links join {' and '.join(ends)}; leave one out"
        seen.add(ends)


class Link(Spec[Kind]):
    """What joins two machines of a deployment. It has no direction.

    Raises:
        SpecError: With every problem, its place, and what to write.
    """

    __slots__ = ()

    def __init__(self, form: object) -> None:
        spec = read(LINK_LEVEL, form)
        self._fix(spec.kind, spec.options, spec.tags)

    @property
    def between(self) -> tuple[str, ...]:
        """The names of its two machines, sorted."""
        ends: tuple[str, ...] = self["between"]
        return ends

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second, where known."""
        value: float | None = self["bandwidth"]
        return value

    @property
    def latency(self) -> float | None:
        """Seconds, where known."""
        value: float | None = self["latency"]
        return value


class Deployment(Spec[Kind]):
    """Several machines, from text, JSON text, a dict, a tag, a file (a `Path`) or an existing value.

    Example:
        >>> d = Deployment({"machines": {"machine0": "x86, cuda", "machine1": "arm, vulkan"}})
        >>> {name: [target.kind.name for target in machine.targets] for name, machine in d.machines.items()}
        {'machine0': ['llvm', 'cuda'], 'machine1': ['llvm', 'vulkan']}

    Raises:
        SpecError: With every problem, its place, and what to write.
    """

    __slots__ = ()

    def __init__(self, form: object) -> None:
        form = file_form(form) if isinstance(form, Path) else form
        if not isinstance(form, Deployment) and level_of(form) == "config":
            raise SpecError("this describes one machine; a deployment names it, as in {'machines': {'machine0': …}}")
        spec = read(LEVEL, form)
        self._fix(spec.kind, spec.options, spec.tags)

    @classmethod
    def of(cls, form: object) -> Deployment:
        """The deployment of any form; a `SpecError` has every problem, its place, and what to write."""
        return form if isinstance(form, Deployment) else cls(form)

    @property
    def machines(self) -> Mapping[str, CompilationConfig]:
        """The machines, by name."""
        machines: Mapping[str, CompilationConfig] = self.options["machines"]
        return machines

    @property
    def links(self) -> tuple[Link, ...]:
        """What joins them; where two machines have none, nothing is known of the way between."""
        links: tuple[Link, ...] = self.options.get("links", ())
        return links

    def link(self, one: str, other: str) -> Link | None:
        """The link between two machines, or ``None``."""
        return next((link for link in self.links if set(link.between) == {one, other}), None)


LINK_LEVEL = Level(
    name=LINK,
    type=Link,
    kinds={
        LINK: Kind(
            name=LINK,
            meaning="what joins two machines",
            options=schema(
                (
                    Option(name="between", type=ListOf(Str(), Order.FREE), meaning="the names of the two machines"),
                    Option(name="bandwidth", type=Float(), unit="bytes/s", meaning="what it carries, each way"),
                    Option(name="latency", type=Float(), unit="s", meaning="time until the first byte arrives"),
                )
            ),
            check=_faults_of_link,
        )
    },
    tags=TAGS,
    default_kind=LINK,
)
LEVEL = Level(
    name=DEPLOYMENT,
    type=Deployment,
    kinds={
        DEPLOYMENT: Kind(
            name=DEPLOYMENT,
            meaning="several machines",
            options=schema(
                (
                    Option(name="machines", type=MapOf(ConfigOf()), meaning="a configuration for each, by name"),
                    Option(name="links", type=ListOf(SpecOf(LINK), Order.FREE), meaning="what joins them"),
                )
            ),
            check=_faults_of_deployment,
        )
    },
    tags=TAGS,
    default_kind=DEPLOYMENT,
    elsewhere=MappingProxyType(
        dict.fromkeys(CONFIG_LEVEL.kinds["config"].options, "it belongs to one of the machines")
    ),
    inner={"config": CONFIG_LEVEL, "target": TARGET_LEVEL, LINK: LINK_LEVEL},
)
"""The level of the spec language whose values are deployments."""

LEVELS.register(DEPLOYMENT, Deployment.of)
