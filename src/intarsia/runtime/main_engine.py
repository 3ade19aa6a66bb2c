"""Which engine of an embedded plan holds the steps of all others inside its own session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.backends.contract import Embedding
from intarsia.errors import PlanError
from intarsia.runtime.plan import Plan, Step

if TYPE_CHECKING:
    from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class MainEngine:
    """The target whose engine holds all other steps of a plan."""

    plan: Plan
    target: Target
    embedding: Embedding

    @property
    def places(self) -> tuple[int, ...]:
        """The places of its own steps."""
        return tuple(place for place, step in enumerate(self.plan.steps) if self.holds(step))

    def holds(self, step: Step) -> bool:
        """Whether a step is this engine's own."""
        return step.target == self.target


def main_engine(plan: Plan, *, loading: bool = False) -> MainEngine:
    """The target that takes part most often of those whose engine can hold all other steps.

    Args:
        loading: Only to load what was compiled before.

    Raises:
        PlanError: There is none.
    """
    steps = [step.target for step in plan.steps]
    if any(target.kind_name == registry.NESTED for target in steps):
        raise PlanError("a nested configuration runs inside no other engine's session; leave out 'embed'")
    for target in sorted(dict.fromkeys(steps), key=steps.count, reverse=True):
        embedding = registry.of(target, loading=loading).embedding(loading=loading)
        others = [step for step in plan.steps if step.target != target]
        if any(step.bodies for step in plan.steps):
            break
        if embedding is not None and others and all(embedding.takes(step.inputs, step.outputs) for step in others):
            return MainEngine(plan=plan, target=target, embedding=embedding)
    raise PlanError("no engine of this plan can hold the other partitions inside its session; leave out 'embed'")
