"""Chooses the kernel of each layer for engines that have several, by what each takes on this machine.

The engine runs the whole model as often as the layer with the most kernels has kernels, each layer in another one each
time, and its profiler tells what each layer takes. The cheapest path over the layers is built and measured as a whole;
what that takes beyond its prediction is what changes of layout cost, and the path is looked for again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from intarsia.backends import registry
from intarsia.backends.contract import KernelChoice
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.partitioning import kernel_groups
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.kernels.kernel_path import KernelCost, KernelPath, cheapest_kernels
from intarsia.search.single.single_engine import Single
from intarsia.search.thresholds import KERNELS
from intarsia.target import Target

Times = Mapping[str, Mapping[str, float]]
"""By kernel, and then by the id of a node that has it: milliseconds."""


def with_chosen_kernels(
    problem: Problem, measurer: Measurer, singles: Sequence[Single], watch: Watcher
) -> tuple[Single, ...]:
    """The engines, with a further plan for each that has kernels to choose from and promises more with others.

    Engines that are far behind the best are left as they are.
    """
    best_ms = min((single.outcome.cost_ms for single in singles), default=0.0)
    near = KERNELS.engines_behind * best_ms
    return tuple(
        _chosen(problem, measurer, single, watch) if single.candidates and single.outcome.cost_ms <= near else single
        for single in singles
    )


def choice_of(choices: Mapping[str, tuple[KernelChoice, ...]], times: Times, change_ms: float) -> KernelPath:
    """The cheapest kernels for nodes in running order.

    A kernel other than the usual one has to be faster by more than figures of a profiler move.

    Args:
        choices: For each node, by its id, its kernels with the usual one first.
        times: What each node takes by its kernels, as far as they could be measured; by the usual one it is known.
        change_ms: What a change of layout between two nodes takes.
    """
    layers = []
    for node, several in choices.items():
        usual_ms = times[several[0].name][node]
        handicap = KERNELS.least_gain * usual_ms
        layers.append(
            {
                each.name: KernelCost(
                    ms=times[each.name][node] + (handicap if each != several[0] else 0.0), layout=each.layout
                )
                for each in several
                if node in times.get(each.name, {})
            }
        )
    return cheapest_kernels(layers, change_ms)


def _chosen(problem: Problem, measurer: Measurer, single: Single, watch: Watcher) -> Single:
    usual, settings = single.candidates[0], single.candidates[0].settings
    backend = registry.of(single.tuned)
    choices = dict(backend.kernel_choices(problem.graph, single.tuned))
    if not choices or len(usual.partitions) != 1:
        return single
    watch(Progress(stage="kernels", note=f"{single.target}, layer by layer", best_ms=single.outcome.cost_ms))
    times = _times(problem, measurer, single, choices)
    if len(times) < 2:
        return single
    found, change_ms, tried = single, 0.0, set()
    for _ in range(KERNELS.corrections):
        path = choice_of(choices, times, change_ms)
        asked = {node: kernel for node, kernel in zip(choices, path.kernels, strict=True) if kernel}
        if not asked or path.kernels in tried:
            break
        tried.add(path.kernels)
        target = backend.with_kernels(single.tuned, asked)
        partitions = problem.whole(target)
        outcome = measurer.cost(partitions[0], settings, effort=KERNELS.effort)
        if isinstance(outcome, Failure):
            break
        name = f"{target}, spin {settings.spin.value}"
        plan = replace(usual, name=name, partitions=partitions, predicted_ms=(outcome.cost_ms,))
        found = _with_plan(found, plan, outcome)
        gained_ms = sum(_ms(times, node, "") - _ms(times, node, kernel) for node, kernel in asked.items())
        beyond_ms = outcome.cost_ms - (single.outcome.cost_ms - gained_ms)
        if not path.changes or beyond_ms <= 0:
            break
        change_ms += beyond_ms / path.changes
    return found


def _with_plan(single: Single, plan: Candidate, outcome: Outcome) -> Single:
    """The engine with one more plan, in its place: whichever is faster, the benchmark may show it to be the other."""
    ranked = sorted((plan, *single.candidates), key=lambda each: each.total_ms or 0.0)
    best = min(outcome, single.outcome, key=lambda each: each.cost_ms)
    return replace(single, outcome=best, candidates=tuple(ranked))


def _times(
    problem: Problem, measurer: Measurer, single: Single, choices: Mapping[str, tuple[KernelChoice, ...]]
) -> Times:
    """What each node takes by each kernel, with what engines fuse into it.

    Kernels that could not be measured are left out; nothing is known without the usual one.
    """
    backend, settings = registry.of(single.tuned), single.candidates[0].settings
    groups = kernel_groups(problem.graph)
    first = {node: group[0] for group in groups for node in group}
    parts = {
        node: {first[each] for each in (node, *(also for choice in several for also in choice.also))}
        for node, several in choices.items()
    }

    def told(target: Target) -> dict[str, float]:
        (partition,) = problem.whole(target)
        times = measurer.node_times(partition, settings)
        # What an engine fuses it names after one node or another of a group.
        return {group[0]: sum(times.get(each, 0.0) for each in group) for group in groups} if times else {}

    usual = told(single.tuned)
    if not usual:
        return {}
    found: dict[str, dict[str, float]] = {"": {node: sum(usual[part] for part in parts[node]) for node in choices}}
    for place in range(1, max(map(len, choices.values()))):
        asked = {node: several[place].name for node, several in choices.items() if place < len(several)}
        other = told(backend.with_kernels(single.tuned, asked))
        if not other:
            continue
        changed = {part for node in asked for part in parts[node]}
        drift = drift_of(usual, other, [part for part in usual if part not in changed])
        for node, name in asked.items():
            found.setdefault(name, {})[node] = drift * sum(other[part] for part in parts[node])
    return found


def drift_of(usual: Mapping[str, float], other: Mapping[str, float], alike: Sequence[str]) -> float:
    """By what times of another run are to be multiplied to be those of the usual one.

    The machine may have been slower in one of the runs. That shows in the nodes that the same kernels computed in both,
    where these are enough.
    """
    one, two = (sum(times.get(node, 0.0) for node in alike) for times in (usual, other))
    return one / two if two > KERNELS.least_alike * sum(other.values()) else 1.0


def _ms(times: Times, node: str, kernel: str) -> float:
    return times[kernel][node]
