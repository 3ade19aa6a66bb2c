"""The part of a report that says what the plan brings to devices and back, and what that takes."""

from __future__ import annotations

from typing import Any

from intarsia.backends import registry
from intarsia.planning.request import Compilation
from intarsia.runtime import plan_of
from intarsia.runtime.executors.transfers import plan_transfers
from intarsia.search import Decision


def transfers_json(job: Compilation, decision: Decision) -> list[dict[str, Any]]:
    """The transfers of what ships, each with its milliseconds, but for those that an engine makes inside its call."""
    chosen = decision.chosen
    plan = plan_of(job.problem.graph, chosen.partitions, chosen.settings)
    transfers = plan_transfers(plan, [registry.of(step.target).traits for step in plan.steps])
    _, transfers_ms = decision.verdict.parts_ms(chosen.name)
    times = iter(transfers_ms)
    return [transfer.export() | {"ms": None if transfer.is_inside else next(times, None)} for transfer in transfers]
