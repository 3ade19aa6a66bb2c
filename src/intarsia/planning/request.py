"""From what the user said to what is searched: one configuration, a device for each node, engines, and a partitioning.

Nothing is measured here, and no process starts unless the model has custom operators, whose types only an engine knows
(`custom_op_types`). What keeps the plan from being compiled on this machine is noted, and raised by the driver.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.config import (
    CompilationConfig,
    RunSettings,
    SearchSettings,
    config_inside,
    engine_of_plan,
    engines,
    one_config,
    target_of,
    to_metadata,
)
from intarsia.cost.worker.repro import Origin
from intarsia.devices import (
    MODEL_KEY,
    Constraint,
    DevicePlan,
    dump_constraints,
    model_constraints,
    plan_devices,
)
from intarsia.errors import ConfigError, ModelError, NoCoverError
from intarsia.garbage import collected_later
from intarsia.graph import Graph, SizeRange, load_model
from intarsia.graph.bind import Shapes, ranges_of
from intarsia.graph.bodies import holds_bodies, load_typed, with_body_plans
from intarsia.graph.sizes import estimated
from intarsia.graph.work import work
from intarsia.partitioning import (
    Partition,
    Partitioning,
    PlanFile,
    cuts,
    dump_plan,
    flattened,
    fused_groups,
    linear_order,
    segments,
    split_at_places,
)
from intarsia.planning.availability import (
    is_ahead_of_time,
    is_native,
    misfit_hosts,
    missing_accelerators,
    missing_devices,
    missing_engines,
    missing_stages,
    unbound_processors,
    unsupported_accelerators,
)
from intarsia.planning.bodies import (
    RUNS_BODIES,
    BodyPlanner,
    planned_bodies,
    runs_bodies,
    split_at_bodies,
    whole_bodies,
)
from intarsia.planning.custom_op_types import ask_types
from intarsia.planning.described_machine import DescribedMachine, described_machine
from intarsia.planning.driven import driven
from intarsia.planning.engine_set import (
    Absence,
    Engine,
    EngineSet,
    absence,
    check_native,
    leaves,
    native_absence,
    present,
    source_absence,
    source_engines,
    with_custom_ops,
    with_processes,
    without,
)
from intarsia.planning.estimates import estimates
from intarsia.planning.given import canonical_plan, given_partitioning
from intarsia.planning.objective import check_objective
from intarsia.planning.problem import Problem
from intarsia.planning.remarks import ineffective, unread_fields
from intarsia.planning.run_settings import run_settings, ways
from intarsia.runtime.cpp.preparing import value_fault
from intarsia.target import Target, VirtualDevice

MAX_SEGMENTS = 64
_ADVICE = "add a target"
"""How the line begins that says which engine would take a node, none of which writes C."""
_SINGLE = "single"
"""The strategy that takes whole models alone, and with it the comparison of engines."""
_STRICT = "the machine that is described is not this one, and strict_machine asks for that:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user said.

    Attributes:
        model: Whatever `load_model` takes.
        target: Any form of a configuration, or ``None``.
        plan: The plan file, for ``manual``.
        threads: Threads that compute at one time.
        shapes: What binds the model's symbolic dimensions. One with a range stays open; it is planned at the middle.
        custom_ops: Paths of libraries with operators of their own, for every target that takes such.
        barred: Names of engines that take no part, with the reason: each failed at a size that it had to serve.
        strict_machine: Whether it is an error if the described machine is another one than this.
        plan_bodies: Finds plans for the bodies of control flow, where the executor runs that step by step; by the id of
            a node, the text that `intarsia.graph.bodies.inner_plans` describes. Without, bodies have no plans.
    """

    model: Any
    target: Any = None
    search: SearchSettings = field(default_factory=SearchSettings)
    constraints: tuple[Constraint, ...] = ()
    plan: PlanFile | None = None
    threads: int | None = None
    shapes: Shapes | None = None
    custom_ops: tuple[str, ...] = ()
    barred: Mapping[str, str] = field(default_factory=dict)
    strict_machine: bool = False
    plan_bodies: BodyPlanner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What a compile works on once everything the user said was read and checked.

    Attributes:
        graph: The normalised graph, which carries the configuration and the constraints.
        engine_set: Who takes part.
        run: Threads and spinning.
        given: The plan by priority, or the one of the plan file.
        ways: How the given plan may be run; which one is left to measuring.
        devices: Where each node runs; ``None`` where nobody asked.
        absent: Targets of the configuration that take no part here, with the reason.
        missing: Why the plan cannot be compiled here, one sentence each.
        remarks: What is to be known of the description, one sentence each: what is not so here, what was chosen
            where it says nothing, and what changes nothing.
        difference: How the described machine differs from this one; ``None`` if it does not, or nothing is measured.
        type_oracle: The target that tells what operators compute that ONNX does not define, where the model has some.
    """

    graph: Graph
    engine_set: EngineSet
    problem: Problem
    run: RunSettings
    given: Partitioning
    ways: tuple[RunSettings, ...]
    origin: Origin
    devices: DevicePlan | None
    absent: Mapping[str, str]
    missing: tuple[str, ...]
    remarks: tuple[str, ...]
    difference: DescribedMachine | None
    type_oracle: Target | None

    @property
    def plan_text(self) -> str:
        """The plan file of the given plan."""
        notes = self.estimates if self.missing else ()
        return dump_plan(self.given, self.run, devices=self._device_names, notes=notes)

    @property
    def estimates(self) -> tuple[str, ...]:
        """What the given plan takes at least by its targets' figures; nothing where they state none."""
        return tuple(estimates(self.graph, flattened(self.given)))

    def device_of(self, partition: Partition) -> str | None:
        """The label or text of the device that a partition runs on; ``None`` where nobody asked."""
        names = self._device_names
        return None if names is None else names[partition.nodes[0]]

    def config_of(self, partition: Partition) -> CompilationConfig:
        """The configuration that a partition came from: a nested one, or the whole."""
        return config_inside(partition.target) or self.engine_set.config

    @property
    def _device_names(self) -> Mapping[str, str] | None:
        if self.devices is None:
            return None
        labels: dict[VirtualDevice, str] = {}
        for label, device in self.engine_set.config.devices.items():
            labels.setdefault(device, label)
        return {id_: labels.get(device) or str(device) for id_, device in self.devices.nodes.items()}


@collected_later()
def plan_compilation(request: Request) -> Compilation:
    """Plan as far as that goes without measuring; see `ask_types` for what a model with custom operators takes.

    Raises:
        InputError: The model, configuration, constraints, plan or a setting is wrong; or a model that is to be written
            as C has a node for which there is none.
        NoCoverError: No engine of the configuration takes some node.
    """
    if request.plan is not None:
        request = replace(request, plan=canonical_plan(request.plan))
    graph = load_model(request.model, request.shapes)
    config, remarks = driven(one_config(request.target, graph.metadata), request.shapes or {})
    check_objective(config, request.search, request.plan)
    load = partial(load_typed if runs_bodies(config) else load_model, request.model, request.shapes)
    graph = load() if runs_bodies(config) and any(map(holds_bodies, graph.nodes)) else graph
    ahead = is_ahead_of_time(config)
    listed = source_engines(config) if ahead else engines(config, registry.usable(), stand_ins=True)
    native = is_native(config) and not ahead
    if native:
        check_native(config)
    lacks = source_absence if ahead else native_absence if native else absence
    stated = with_custom_ops(with_processes(listed), request.custom_ops)
    described = without(stated, request.barred)
    graph, type_oracle = ask_types(graph, described, load)
    resolved = _resolved(graph, request)
    devices = _device_plan(graph, config, resolved)
    is_placed = devices is not None
    plans = {} if is_placed else planned_bodies(graph, config, request.plan, request.plan_bodies)
    graph = with_body_plans(graph, plans)
    described, stated = ((*several, *([RUNS_BODIES] if plans else ())) for several in (described, stated))
    graph = _carrying(graph, config, resolved)
    absent = missing_engines(described, request.plan, devices, lacks)
    if ahead and request.plan is None:  # what is named is a part of the program, and nothing else stands in for it
        absent = filter(None, map(lacks, leaves(described)))
    hosts = () if ahead else misfit_hosts(config)
    unplaced = missing_devices(config, devices)
    missing = (*missing_stages(config), *hosts, *unplaced, *(_not_native(graph, request) if native else ()), *absent)
    try:
        engine_set, given, missing = _divided(graph, config, described, missing, request, devices, lacks)
    except NoCoverError as error:
        if not ahead:
            raise
        reasons = "\n".join(line for line in str(error).splitlines() if not line.startswith(_ADVICE))
        raise ModelError(f"there is no C for a part of the model: {reasons}") from error
    difference = None if ahead or missing else described_machine(config, leaves(engine_set.engines))
    if request.strict_machine and not missing:
        differences = [*remarks, *misfit_hosts(config)] if ahead else difference.differences if difference else ()
        if differences:
            raise ConfigError(_STRICT + "".join(f"\n  {each}" for each in differences))
    emulated = None if difference is None else difference.emulated
    run = run_settings(request.plan, request.threads, request.search.max_error, emulated)
    return Compilation(
        graph=graph,
        engine_set=engine_set,
        problem=_problem(graph, engine_set, request.search, run, devices),
        run=run,
        given=given,
        ways=ways(run, request.plan),
        origin=_origin(request, config),
        devices=devices,
        absent={str(target): why for target in leaves(stated) if (why := _absence(target, request, lacks)) is not None},
        missing=tuple(dict.fromkeys(missing)),
        remarks=(
            *unbound_processors(config, devices),
            *whole_bodies(config, graph),
            *(() if difference is None else difference.remarks),
            *remarks,
            *ineffective(config, leaves(engine_set.engines), devices, request.search),
            *unread_fields(nest.config for nest in engine_set.nests.values()),
        ),
        difference=difference,
        type_oracle=type_oracle,
    )


def _not_native(graph: Graph, request: Request) -> Iterator[str]:
    """Why the runtime `cpp` cannot run a graph: sizes that vary, or the first value that it has no arrays for."""
    ranges = ranges_of(request.shapes or {})
    if ranges:
        yield f"the runtime cpp takes fixed sizes, and those of {', '.join(ranges)} may vary: state one size of each"
        return
    faults = (value_fault(name, each.dtype, each.shape) for name, each in graph.values.items() if not each.is_weight)
    found = next(filter(None, faults), None)
    if found is not None:
        yield f"the runtime cpp takes values of fixed shapes and plain types: {found}"


def _absence(target: Target, request: Request, lacks: Absence) -> str | None:
    """Why a target takes no part."""
    barred = request.barred and request.barred.get(registry.engine_of(target))
    return barred or lacks(target)


def segments_of(graph: Graph, *, prune: bool = True) -> tuple[tuple[str, ...], ...]:
    """The partitions that the search never cuts: balanced by work, cut where little crosses, or everywhere."""
    if not prune:
        order = linear_order(graph)
        ends = (0, *(cut.position for cut in cuts(graph)), len(order))
        return tuple(order[start:end] for start, end in pairwise(ends) if start < end)
    sized = estimated(graph)
    return segments(sized, MAX_SEGMENTS, partial(work, sized))


def _resolved(graph: Graph, request: Request) -> tuple[Constraint, ...]:
    placed = request.plan.devices if request.plan else {}
    planned = (Constraint.node(id_, device, source="the plan file") for id_, device in placed.items())
    return (*model_constraints(graph), *request.constraints, *planned)


def _device_plan(graph: Graph, config: CompilationConfig, resolved: tuple[Constraint, ...]) -> DevicePlan | None:
    """Where each node runs, if anybody asked: without that, who takes a node decides where it runs."""
    if not resolved and "default_device" not in config.options:
        return None
    return plan_devices(graph, config, resolved, together=fused_groups(graph))


def _carrying(graph: Graph, config: CompilationConfig, resolved: tuple[Constraint, ...]) -> Graph:
    """The graph with its configuration and constraints as metadata, so that it can be saved and handed back."""
    once = dict.fromkeys(replace(constraint, source="") for constraint in resolved)
    return graph.with_metadata({**to_metadata(config), **({MODEL_KEY: dump_constraints(once)} if once else {})})


def _with_plan(several: Iterable[Engine], plan: PlanFile | None) -> tuple[Engine, ...]:
    """The engines, and those that only a plan file names."""
    found = tuple(several)
    known = {*leaves(found), *map(target_of, found)}
    named = dict.fromkeys(partition.target for partition in plan.partitions) if plan else {}
    usable = registry.usable() if named else ()
    return (*found, *(engine_of_plan(target, usable) for target in named if target not in known))


def _problem(
    graph: Graph, engine_set: EngineSet, search: SearchSettings, run: RunSettings, devices: DevicePlan | None
) -> Problem:
    segments = split_at_bodies(graph, segments_of(graph, prune=search.prune))
    kinds = {target.kind.name for target in engine_set.config.flatten()}
    return Problem(
        graph=graph,
        targets=engine_set.targets,
        capabilities={target_of(engine): engine_set.capabilities[engine] for engine in engine_set.engines},
        settings=search,
        threads=run.threads,
        named=frozenset(t for t in engine_set.targets if t.kind.name in kinds or t in engine_set.nests),
        segments=segments if devices is None else split_at_places(segments, devices),
        places=None if devices is None else devices.places,
        emulated=run.emulated,
        nests=engine_set.nests,
        inner=engine_set.capabilities,
    )


def _divided(
    graph: Graph,
    config: CompilationConfig,
    described: tuple[Engine, ...],
    missing: tuple[str, ...],
    request: Request,
    devices: DevicePlan | None,
    lacks: Absence,
) -> tuple[EngineSet, Partitioning, tuple[str, ...]]:
    """The engines that are here and their plan. Where they do not do, all that are described, and what is missing."""

    def divided(several: tuple[Engine, ...]) -> tuple[EngineSet, Partitioning]:
        engine_set = EngineSet.of(graph, config, _with_plan(several, request.plan), devices)
        return engine_set, given_partitioning(graph, engine_set, request.plan, request.search, devices)

    if missing:
        return *divided(described), missing
    named = unsupported_accelerators(described) if request.plan is None and request.search.partition != _SINGLE else ()
    if named:
        engine_set, given = divided(described)
        lacking = tuple(missing_accelerators(named, given, lacks))
        if lacking:
            return engine_set, given, lacking
    try:
        return *divided(present(described, lacks)), ()
    except NoCoverError as error:
        absent = tuple(filter(None, map(lacks, leaves(described))))
        if not absent:
            raise
        try:
            engine_set, given = divided(described)
        except NoCoverError:
            raise error from None
        here = f"of the engines that are here, {str(error).splitlines()[0].removesuffix(':')}"
        return engine_set, given, (*absent, here)


def _origin(request: Request, config: CompilationConfig) -> Origin:
    path = str(Path(request.model).resolve()) if isinstance(request.model, str | os.PathLike) else None
    shapes = {name: str(size) if isinstance(size, SizeRange) else size for name, size in (request.shapes or {}).items()}
    return Origin(model=path, shapes=tuple(sorted(shapes.items())), config=config.json())
