"""Losses, as they are left in networks that were trained elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from intarsia.backends.lowering.composites import log_softmax
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import Term


def _likelihood(ctx: NodeContext, logs: Term, weight: Term | None) -> Term:
    """Minus the logarithm at each label, weighted and summed up as the node says; 0 at the label to ignore."""
    b = ctx.builder
    labels = b.cast(ctx.operand(1), "int64")
    ignored = ctx.get("ignore_index")
    skip = None if ignored is None else b.compare("eq", labels, ignored)
    safe = labels if skip is None else b.where(skip, b.scalar(0, labels), labels)
    places = b.reshape(safe, (safe.shape[0], 1, *safe.shape[1:]))
    picked = b.reshape(b.take_along(logs, places, 1), labels.shape)
    weights = b.expand(b.scalar(1, logs), labels.shape) if weight is None else b.take(weight, safe, 0)
    if skip is not None:
        weights = b.where(skip, b.scalar(0, weights), weights)
    losses = b.binary("mul", b.unary("neg", picked), weights)
    reduction = ctx.get("reduction", "mean")
    if reduction == "none":
        return losses
    axes = range(losses.rank)
    total = b.reduce("sum", losses, axes, keep=False)
    return total if reduction == "sum" else b.binary("div", total, b.reduce("sum", weights, axes, keep=False))


def _softmax_cross_entropy(ctx: NodeContext) -> list[Term]:
    logs = log_softmax(ctx.builder, ctx.operand(0), 1)
    return [_likelihood(ctx, logs, ctx.optional(2)), logs]


RULES: Mapping[str, Rule] = {
    "NegativeLogLikelihoodLoss": lambda ctx: _likelihood(ctx, ctx.operand(0), ctx.optional(2)),
    "SoftmaxCrossEntropyLoss": _softmax_cross_entropy,
}
