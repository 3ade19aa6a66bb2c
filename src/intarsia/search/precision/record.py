"""Plans in reduced precision and their errors, kept with the records: learning which layers can be so takes minutes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from intarsia.config.precision import Precision, Scheme
from intarsia.config.settings import Spin
from intarsia.cost.keys import run_facts
from intarsia.cost.records.record import Key
from intarsia.graph.fingerprint import content_hash
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.decision.builder import plan_facts
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans
from intarsia.search.precision.trials import ReducedPrecision
from intarsia.target import Target

VERSION = 11
"""Part of every key: raised when the search or the measure of an error changes."""


def reduced_key(problem: Problem, exact: Sequence[Candidate]) -> Key:
    """All that the plans depend on; other than a time, an error depends on every weight. What they came to in so much
    time says nothing of what more time would find.
    """
    settings = problem.settings
    facts = {"reduced_precision": VERSION, "allowed": settings.max_error, "budget_s": settings.budget_s}
    return _key(problem, exact, facts)


def accuracy_key(problem: Problem, plan: Candidate, exact: Candidate, allowed: float) -> Key:
    """All that a plan's error on validation inputs depends on."""
    return _key(problem, (plan, exact), {"accuracy": VERSION, "allowed": allowed})


def _key(problem: Problem, plans: Sequence[Candidate], facts: Mapping[str, Any]) -> Key:
    return Key(
        facts={
            **facts,
            "graph": content_hash(problem.graph),
            "seed": problem.settings.seed,
            "plans": [plan_facts(problem.graph, plan) for plan in plans],
            **run_facts((part.target for plan in plans for part in plan.partitions), plans[0].settings),
        }
    )


def to_json(plans: ReducedPrecisionPlans) -> dict[str, Any]:
    """The plans as a JSON object."""
    return {
        "found": [{"error": each.error, **_candidate_json(each.candidate)} for each in plans.found],
        "dropped": [list(pair) for pair in plans.dropped],
        "reason": plans.reason,
    }


def from_json(data: Mapping[str, Any], problem: Problem) -> ReducedPrecisionPlans:
    """The plans of this problem that `to_json` wrote."""
    return ReducedPrecisionPlans(
        found=tuple(_found(each, problem) for each in data["found"]),
        dropped=tuple((plan, reason) for plan, reason in data["dropped"]),
        reason=data["reason"],
    )


def _candidate_json(plan: Candidate) -> dict[str, Any]:
    return {
        "name": plan.name,
        "label": plan.label,
        "partitions": [
            [str(part.target), list(part.nodes), None if part.precision is None else part.precision.facts()]
            for part in plan.partitions
        ],
        "spin": plan.settings.spin.value,
        "parallel": plan.settings.parallel,
        "predicted_ms": list(plan.predicted_ms),
    }


def _found(data: Mapping[str, Any], problem: Problem) -> ReducedPrecision:
    candidate = Candidate(
        name=data["name"],
        label=data["label"],
        partitions=tuple(
            Partition(target=Target(target), nodes=tuple(nodes), precision=None if facts is None else _precision(facts))
            for target, nodes, facts in data["partitions"]
        ),
        settings=replace(
            problem.run(Spin(data["spin"])), parallel=data["parallel"], max_error=problem.settings.max_error
        ),
        predicted_ms=tuple(data["predicted_ms"]),
    )
    return ReducedPrecision(candidate=candidate, error=data["error"])


def _precision(facts: Iterable[Sequence[Any]]) -> Precision:
    schemes, ranges, means = facts
    spans = {name: (low, high) for name, low, high in ranges}
    return Precision.of({node: Scheme(scheme) for node, scheme in schemes}, spans, dict(means))
