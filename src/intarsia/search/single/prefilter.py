"""A short first timing of engines that compile slowly: on the model's heaviest segment, beside the best engine so far.

What is far behind there is not measured further, so that more engines do not make planning longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.cost.keys import run_facts
from intarsia.cost.measure import Measurer
from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Failure, Key, Measurement
from intarsia.cost.worker.deadline import Deadline
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.partitioning import Partition
from intarsia.planning.problem import Problem
from intarsia.search.collage.cost_attribution import total_work
from intarsia.search.thresholds import SHARES, SINGLE
from intarsia.target import Target

STAGE: Final = "prefilter"
"""Of a `Failure` that says why an engine was not measured further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilter:
    """Looks at engines of one problem."""

    problem: Problem
    measurer: Measurer
    deadline: Deadline

    def wants(self, target: Target) -> bool:
        """Whether a target is looked at first: one whose engine compiles slowly, and that nobody named."""
        traits = registry.of(target).traits
        least = traits.compiles_slowly_from
        is_slow = traits.compiles_slowly or (least is not None and self.problem.graph.weight_bytes >= least)
        return is_slow and self.problem.settings.prune and target not in self.problem.named

    def verdict(self, target: Target, best: Target | None) -> Failure | None:
        """Why a target is not to be measured further, ``None`` if it is; ``best`` is the fastest on the whole model."""
        late = self._too_late(target)
        if late is not None:
            return Failure(stage=STAGE, reason=late, cause=Cause.NOT_ASKED)
        part = self._heaviest(target)
        if not part or best is None:
            return None
        ours = self._ms(target, part)
        if isinstance(ours, Failure):
            return ours
        theirs = self._ms(best, part)
        if isinstance(theirs, Failure):
            return None
        against = self._too_slow(ours.cost_ms / theirs.cost_ms, best) or self._too_long(ours, part)
        return None if against is None else Failure(stage=STAGE, reason=against, cause=Cause.NOT_ASKED)

    def _too_slow(self, times: float, best: Target) -> str | None:
        """Why a target that takes so many times as long on a part is not measured further."""
        behind = SINGLE.prefilter_behind if self.problem.settings.max_error is None else 1.0
        slower = f"{times:.1f} times as long as {best.kind.name}"
        return f"takes {slower} on the heaviest part, so nothing else was measured" if times > behind else None

    def _too_long(self, ours: Measurement, part: Sequence[str]) -> str | None:
        """Why compiling the whole takes too long, as compiling a part and the weights of both tell."""
        if self.problem.settings.max_error is None or math.isinf(self.deadline.seconds):
            return None
        graph = self.problem.graph
        read = {name for node in part for name in graph.node(node).inputs if name in graph.weights}
        part_bytes = sum(graph.weights[name].nbytes for name in read)
        whole_s = ours.compile_s * graph.weight_bytes / max(part_bytes, 1)
        if not read or whole_s <= SINGLE.prefilter_compile * self.deadline.seconds:
            return None
        return f"not measured: compiling the model takes about {whole_s:.0f} s; name it as a target to have it"

    def _too_late(self, target: Target) -> str | None:
        """Why there is no time for a target. It is kept: the same question, asked again, has the same answer."""
        if math.isinf(self.deadline.seconds):
            return None
        facts = {
            "prefilter": 1,
            "graph": fingerprint_of(self.problem.graph),
            "target": target.key,
            "budget_s": self.deadline.seconds,
            **run_facts([target], self.problem.run()),
        }
        entry: Entry[str] = Entry(
            kind=STAGE,
            key=Key(facts=facts),
            read=lambda stored: str(stored["reason"]),
            write=lambda reason: {"reason": reason},
        )
        return recalled(self.measurer, entry) or computed(self.measurer, entry, lambda: self._out_of_time(target))

    def _out_of_time(self, target: Target) -> str | None:
        spent_s, budget_s = self.deadline.spent, self.deadline.seconds
        first_s = registry.of(target).traits.first_part_s
        latest_s = SHARES.prefilter_given_up * budget_s - first_s if first_s else SHARES.prefilter_end * budget_s
        if spent_s <= latest_s:
            return None
        own = f", and its first part takes {first_s:.0f} s" if first_s else ""
        spent = f"measuring the others took {spent_s:.0f} s of the {budget_s:.0f} s"
        return f"not measured: {spent} of the budget{own}; name it as a target to have it"

    def _heaviest(self, target: Target) -> Sequence[str]:
        """Of the parts that the search never cuts, the one with the most work that the target takes whole."""
        refused = self.problem.refused(target)
        taken = [segment for segment in self.problem.segments if not any(id_ in refused for id_ in segment)]
        return max(taken, key=lambda segment: total_work(self.problem.graph, segment), default=())

    def _ms(self, target: Target, part: Sequence[str]) -> Measurement | Failure:
        partition = Partition(target=target, nodes=tuple(part))
        return self.measurer.cost(partition, self.problem.run(), effort=SINGLE.prefilter_effort)
