"""Which plan of a deployment ships, by what a paired benchmark shows, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.cost.timing.verdict import Shown, Verdict
from intarsia.deploy.candidates import Plan
from intarsia.deploy.splits import Split
from intarsia.errors import BackendError


def choose(
    best: Plan, others: Sequence[Plan], predicted: Sequence[Split], alone_ms: float, verdict: Verdict | None
) -> tuple[Plan, str]:
    """What ships, and why. Only what was shown to be faster takes the place of the best machine alone.

    Args:
        best: The machine to beat, which the verdict has first.
        others: The other plans: divisions, and machines alone.
        predicted: The best divisions by prediction, the fastest first.
        alone_ms: Milliseconds a request of the machine to beat, about.
        verdict: The paired benchmark; ``None`` if there was nothing to compare with.

    Raises:
        BackendError: Every plan failed.
    """
    if verdict is None:
        return best, f"{best.name} alone: no other machine runs the whole model"
    standing = [plan for plan in others if plan.name in verdict.rounds_ms]
    if best.name not in verdict.rounds_ms:
        why = verdict.failed[best.name][1]
        if not standing:
            raise BackendError(best.name, why)
        return standing[0], f"{standing[0].name}: {best.name} failed ({why})"
    faster = [plan for plan in standing if verdict.compared(plan.name, best.name, far_counts=True) is Shown.FASTER]
    if not faster:
        return best, f"{best.name} alone: {_why_not(best, standing, predicted, alone_ms, verdict)}"
    plan = min(faster, key=lambda each: verdict.expected_ms(each.name))
    gain = verdict.speedup(plan.name, best.name)
    what = f"{gain.median:.2f} times as fast as {best.name} alone ({gain.low:.2f} to {gain.high:.2f})"
    return plan, f"{plan.name} alone is {what}" if len(plan.stages) == 1 else f"{_stages(plan)} are {what}"


def _why_not(
    best: Plan, standing: Sequence[Plan], predicted: Sequence[Split], alone_ms: float, verdict: Verdict
) -> str:
    divided = next((plan for plan in standing if len(plan.stages) > 1), None)
    if divided is not None:
        gain = verdict.speedup(divided.name, best.name)
        shown = f"{gain.median:.2f} times as fast ({gain.low:.2f} to {gain.high:.2f})"
        void = "; the benchmark is void, since the same plan differed from itself" if verdict.is_void else ""
        return f"no division was shown to be faster; {_stages(divided)} are {shown}{void}"
    if not predicted:
        return "there is no place where the model can be divided among these machines"
    least = predicted[0]
    links = f", {least.link_ms:.3g} ms of it on the links" if least.link_ms else ""
    return (
        f"the best division would take about {least.predicted_ms:.3g} ms a request{links}, and the whole model takes "
        f"about {alone_ms:.3g} ms there"
    )


def _stages(plan: Plan) -> str:
    names = " and then ".join(stage.machine for stage in plan.stages)
    return f"{len(plan.stages)} stages, on {names},"
