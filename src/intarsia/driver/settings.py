"""The settings of a compile: one type, which `compile` and all its relatives take, and its keyword form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypedDict, get_args

from intarsia import numbers
from intarsia.config import CompilationConfig, SearchSettings
from intarsia.config.metadata import refuse_unstated
from intarsia.config.search_settings import Limit, Objective
from intarsia.cost.records.store_url import url_of
from intarsia.devices import Constraint, read_constraints
from intarsia.errors import ConfigError, PlanError, SpecError
from intarsia.files import AnyPath
from intarsia.graph.bind import Shapes, ranges_of, stated_shapes
from intarsia.numbers import memory_bytes, shown
from intarsia.partitioning import PlanFile, parse_plan
from intarsia.planning.request import Request
from intarsia.spec.documents import read_text
from intarsia.spec.problems import nearest
from intarsia.target import Target

Strategy = Literal["single", "greedy", "collage", "manual"]
Constraints = AnyPath | Iterable[Constraint]
"""The path of a file of constraints, or constraints."""


class ModelOptions(TypedDict, total=False):
    """The settings that say what the model is and how priority divides it, as keywords; see `CompileSettings`."""

    constraints: Constraints | None
    shapes: Shapes | None
    custom_ops: Iterable[AnyPath]
    min_nodes: int | Mapping[str, int]
    min_flops: int | Mapping[str, int]


class CompileOptions(ModelOptions, total=False):
    """Every setting of `CompileSettings`, as keywords."""

    partition: Strategy
    plan: AnyPath | PlanFile | None
    threads: int | None
    budget: float
    store: AnyPath | None
    seed: int
    prune: bool
    max_memory: int | str | None
    footprints: bool
    max_error: float | None
    strict: bool
    strict_machine: bool
    objective: Objective
    max_latency: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileSettings:
    """How a model is compiled. Each setting is checked when the object is made; a wrong one is a `ConfigError`.

    Attributes:
        partition: How the model is divided: ``single`` (one engine), ``greedy`` (by priority), ``collage`` (the fastest
            mix, by measuring) or ``manual`` (by ``plan``).
        plan: The plan for ``manual``: the path of a file, or what was read from one.
        constraints: Which nodes, values, inputs and outputs are on which device, beside what the model itself says: the
            path of a file, or constraints.
        threads: Threads that compute at one time; what affinity and CPU quota allow if left out.
        budget: Seconds that all of it may take, from the call to the artifact. Where reading the model, computing its
            reference and compiling it with one engine take longer, ``progress`` is told at once how long it will be,
            at the stage ``time``. Time that another compile is waited for does not count.
        store: The file of the record store, or the URL of a database of PostgreSQL that holds it, as
            ``"postgresql://USER@HOST/DATABASE"``; a file in the user's cache folder if left out.
        shapes: Values for symbolic dimensions, by dimension name, or whole shapes by input name. A range of values,
            as ``"1..512"``, leaves the dimension open: it implies the executor ``vm``, and each bucket of the range
            gets a plan of its own and its share of the budget. A name in a shape, as ``("N", 3, 224, 224)``, opens a
            first dimension that the file fixes.
        seed: Of the inputs that are measured and checked with.
        prune: Leave out what cannot win by what is known so far. Without, the search is a check on that, and takes
            many times longer.
        min_nodes: Fewest nodes that a target is given in one piece where priority divides the model: always with
            ``greedy``, and for the mixes that ``collage`` begins with. One number for every target, or numbers by the
            kind of the target, as ``{"tensorrt": 3}``. What nobody else takes stays, however small.
        min_flops: The same, in floating-point operations.
        max_memory: Bytes, or a text as ``"500MB"``, that the plan may add to its process at its peak, engines and
            weights counted. Left out, a mix may need 1.3 times what the best single engine does, or a sixteenth of the
            memory that this process may use, whichever is more.
        footprints: Measure the memory and cold start of the engines that were not benchmarked too, as `compare` does.
        max_error: The largest error that outputs may have, as ‖y-r‖₂ / ‖r‖₂ of each, r being the answer in fp32. What
            makes the model faster then computes in reduced precision. Left out, all of it computes as the model says.
        strict: Refuse a model that no engine could be shown to answer rightly. Without, the best engine ships, and
            ``report["verified"]`` is false.
        strict_machine: Refuse a description of a machine that is not this one. Without, plans are measured here, on
            what of it can be emulated, and the report says that and what differs.
        custom_ops: Libraries for ONNX Runtime that bring operators of their own. These run there, and the rest of the
            model is planned. The artifact names the libraries; it does not hold them.
        objective: What the plan is to be best at: ``latency``, the time of one call; or ``throughput``, the requests a
            second of several instances of it, which divide the threads among them. The artifact says how many, and
            ``intarsia serve`` loads so many. Where the first dimension of every input is a range from 1 on, calls that
            answer several requests are tried too, and the artifact says up to how many gain by that.
        max_latency: Milliseconds that 99 of 100 calls may take at most while all instances are at work, where the
            objective is ``throughput``.
        search: What of this steers the search, checked and in its units; made from the others.
    """

    partition: Strategy = "collage"
    plan: AnyPath | PlanFile | None = None
    constraints: Constraints | None = None
    threads: int | None = None
    budget: float = 60.0
    store: AnyPath | None = None
    shapes: Shapes | None = None
    seed: int = 0
    prune: bool = True
    min_nodes: int | Mapping[str, int] = 1
    min_flops: int | Mapping[str, int] = 0
    max_memory: int | str | None = None
    footprints: bool = False
    max_error: float | None = None
    strict: bool = False
    strict_machine: bool = False
    custom_ops: Iterable[AnyPath] = ()
    objective: Objective = "latency"
    max_latency: float | None = None
    search: SearchSettings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("prune", "footprints", "strict", "strict_machine"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}={shown(getattr(self, name))}: give True or False")
        for name, others in (("store", ()), ("plan", (PlanFile,)), ("constraints", (Iterable,))):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (str, os.PathLike, *others)):
                url = " or the URL of a database" if name == "store" else ""
                raise ConfigError(f"{name}={shown(value)}: give the path of a file{url}")
        max_memory = None if self.max_memory is None else _bytes(self.max_memory)
        checked: dict[str, object] = {
            "budget": numbers.seconds(self.budget),
            "seed": numbers.seed(self.seed),
            "threads": None if self.threads is None else numbers.threads(self.threads),
            "max_memory": max_memory,
            "max_latency": None if self.max_latency is None else numbers.milliseconds(self.max_latency),
            "max_error": None if self.max_error is None else numbers.share(self.max_error),
            "shapes": stated_shapes(self.shapes or {}) or None,
            "custom_ops": _libraries(self.custom_ops),
            "store": None if self.store is None else url_of(self.store) or self.store,
        }
        if not isinstance(self.constraints, str | os.PathLike | None):
            checked["constraints"] = tuple(self.constraints)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        search = SearchSettings(
            partition=_strategy(self.partition, self.plan),
            budget_s=self.budget,
            seed=self.seed,
            prune=self.prune,
            min_nodes=_limits("min_nodes", self.min_nodes, 1),
            min_flops=_limits("min_flops", self.min_flops, 0),
            max_memory=max_memory,
            footprints=self.footprints,
            max_error=self.max_error,
            strict=self.strict,
            objective=self._objective(),
            max_latency_ms=self.max_latency,
        )
        object.__setattr__(self, "search", search)

    def _objective(self) -> Objective:
        """The objective, if the other settings go with it."""
        if self.objective not in get_args(Objective):
            raise ConfigError(f"objective={shown(self.objective)}: give one of {', '.join(get_args(Objective))}")
        if self.objective != "throughput" and self.max_latency is not None:
            raise ConfigError("--max-latency MS goes with --objective throughput: state both, or leave it out")
        ranges = ranges_of(self.shapes or {}) if self.objective == "throughput" else {}
        if several := [f"{name}={range_}" for name, range_ in ranges.items() if range_.edges]:
            raise ConfigError(
                f"objective throughput: {', '.join(several)} makes buckets, each with a plan of its own, and a server "
                "loads the instances of one; leave out what stands behind the slash"
            )
        return self.objective

    def request(self, model: Any, target: Any = None) -> Request:
        """What is planned by these settings, with the files that they name read.

        Raises:
            InputError: A file cannot be read, or the plan file runs what the target does not name.
        """
        request = Request(
            model=model,
            target=target,
            search=self.search,
            constraints=_constraints(self.constraints),
            plan=_read_plan(self.plan),
            threads=self.threads,
            shapes=self.shapes,
            custom_ops=tuple(map(str, self.custom_ops)),
            strict_machine=self.strict_machine,
        )
        if not isinstance(self.plan, PlanFile):
            _check_plan(request, self.plan)
        return request


def _libraries(stated: Iterable[AnyPath]) -> tuple[str, ...]:
    if isinstance(stated, str | os.PathLike) or not isinstance(stated, Iterable):
        raise ConfigError(f"custom_ops={shown(stated)}: give a list of paths")
    paths = tuple(str(Path(path).resolve()) for path in stated)
    if absent := [path for path in paths if not Path(path).is_file()]:
        raise ConfigError(f"the library of custom operators {absent[0]} is not there")
    return paths


def _limits(name: str, stated: int | Mapping[str, int], least: int) -> Limit:
    """One number for every target, or the numbers of kinds, each by its own name."""
    given = stated if isinstance(stated, Mapping) else {"": stated}
    found: dict[str, int] = {}
    for word, value in given.items():
        number = numbers.whole(value)
        if number is None or number < least:
            raise ConfigError(f"{name}={shown(stated)}: give a whole number from {least} on, or one by kind of target")
        found[_kind_called(name, word) if isinstance(stated, Mapping) else ""] = number
    return tuple(sorted(found.items())) if isinstance(stated, Mapping) else found[""]


def _kind_called(name: str, word: str) -> str:
    try:
        return Target(word).kind.name
    except SpecError as error:
        raise ConfigError(f"{name}: {error}") from None


def _bytes(amount: int | str) -> int:
    try:
        return memory_bytes(amount)
    except ConfigError as error:
        raise ConfigError(f"max_memory: {error}") from None


def _strategy(partition: Strategy, plan: object) -> Strategy:
    if partition not in get_args(Strategy):
        raise ConfigError(f"partition={shown(partition)}: give one of {', '.join(get_args(Strategy))}")
    if (partition == "manual") != (plan is not None):
        raise ConfigError("--partition manual and --plan FILE go together: give both or neither")
    return partition


def _constraints(stated: Constraints | None) -> tuple[Constraint, ...]:
    if isinstance(stated, str | os.PathLike):
        return read_constraints(Path(stated))
    return tuple(stated or ())


def _read_plan(plan: AnyPath | PlanFile | None) -> PlanFile | None:
    if plan is None or isinstance(plan, PlanFile):
        return plan
    try:
        text = read_text(plan)
    except (OSError, ValueError) as error:
        raise PlanError(f"{plan}: cannot be read as a plan file ({error})") from error
    return parse_plan(text, source=str(plan))


def _check_plan(request: Request, source: object) -> None:
    """A plan file may come from anywhere: the code that it names must be named by the target too."""
    if request.plan is None:
        return
    stated = [] if request.target is None else list(CompilationConfig.of(request.target).executed())
    stated += [("custom-ops", path) for path in request.custom_ops]
    for target in (target for partition in request.plan.partitions for target in partition.targets):
        refuse_unstated(target.executed(), stated, f"{source}: a partition")


DEFAULTS: Final = CompileSettings()
SETTINGS: Final = tuple(each.name for each in fields(CompileSettings) if each.init)


def settings_of(
    caller: str,
    settings: CompileSettings | None,
    options: ModelOptions,
    *,
    refused: Mapping[str, str] = MappingProxyType({}),
    defaults: CompileSettings = DEFAULTS,
    beside: Iterable[str] = (),
) -> CompileSettings:
    """The settings of a call: those of the object, with those that are stated as keywords in their place.

    Args:
        caller: What is called, for messages.
        refused: The settings without effect in this call, each with the reason.
        defaults: What holds where nothing is stated.
        beside: Keywords of the call that are no settings, for messages.

    Raises:
        ConfigError: A keyword is no setting, a setting has no effect here, or its value is wrong.
    """
    base = defaults if settings is None else settings
    if not isinstance(base, CompileSettings):
        raise ConfigError(f"settings={shown(base)}: give an intarsia.CompileSettings")
    known = [*beside, *(name for name in SETTINGS if name not in refused)]
    for name in options:
        if name not in SETTINGS:
            hint = nearest(name, known, f"there are {', '.join(known)}")
            raise ConfigError(f"{caller} has no setting {name!r}{hint}")
    for name, reason in refused.items():
        if name in options or name in stated_of(base, defaults):
            raise ConfigError(f"{caller} takes no {name}: {reason}")
    return replace(base, **options)


def stated_of(settings: CompileSettings, defaults: CompileSettings = DEFAULTS) -> tuple[str, ...]:
    """The names of the settings that differ from the defaults."""
    return tuple(name for name in SETTINGS if getattr(settings, name) != getattr(defaults, name))
