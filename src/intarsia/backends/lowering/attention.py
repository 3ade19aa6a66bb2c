"""Attention with its masks, and rotary embedding, as ONNX defines them from opset 23 on."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import softmax
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import Term, UnsupportedError


def _heads(b: Builder, x: Term, count: int | None) -> Term:
    """(batch, length, heads x size) as (batch, heads, length, size)."""
    if x.rank == 4:
        return x
    if not count:
        raise UnsupportedError("an Attention of unknown number of heads")
    n, length, width = x.shape
    return b.transpose(b.reshape(x, (n, length, count, width // count)), (0, 2, 1, 3))


def _shared(b: Builder, x: Term, heads: int) -> Term:
    """Keys or values of fewer heads, each for several queries."""
    n, own, length, size = x.shape
    if own == heads:
        return x
    apart = b.expand(b.reshape(x, (n, own, 1, length, size)), (n, own, heads // own, length, size))
    return b.reshape(apart, (n, heads, length, size))


def _band(ctx: NodeContext, rows: int, columns: int, offset: int) -> np.ndarray | None:
    """Which keys each query may see by position; ``None`` if all."""
    ahead = np.arange(columns)[None, :] - np.arange(rows)[:, None] - offset
    left, right = ctx.get("left_window_size", -1), ctx.get("right_window_size", -1)
    seen = np.ones((rows, columns), bool)
    if ctx.get("is_causal", 0):
        seen &= ahead <= 0
    if left >= 0:
        seen &= -ahead <= left
    if right >= 0:
        seen &= ahead <= right
    return None if seen.all() else seen


def _mask(ctx: NodeContext, q: Term, columns: int, offset: int) -> Term | None:
    """What is added to the products: 0, or minus infinity where a query may not look."""
    b = ctx.builder
    nothing = b.scalar(float("-inf"), q)
    mask = ctx.optional(3)
    if mask is not None:
        if mask.dtype == "bool":
            mask = b.where(mask, b.scalar(0, q), nothing)
        missing = columns - mask.shape[-1]
        if missing > 0:
            mask = b.pad(mask, [0] * mask.rank, [0] * (mask.rank - 1) + [missing], float("-inf"))
    if ctx.has(6):
        seen: Term | None = _padded_band(ctx, q.shape[2], columns)
    else:
        band = _band(ctx, q.shape[2], columns, offset)
        seen = None if band is None else b.constant(band)
    if seen is not None:
        hidden = b.where(seen, b.scalar(0, q), nothing)
        mask = hidden if mask is None else b.binary("add", hidden, mask)
    return mask


def _padded_band(ctx: NodeContext, rows: int, columns: int) -> Term:
    """As `_band`, for keys of which only so many of each batch are there: queries stand at their end."""
    b = ctx.builder
    given = ctx.operand(6)
    lengths = b.reshape(b.cast(given, "int64"), (prod(given.shape), 1, 1, 1))
    keys = b.constant(np.arange(columns, dtype=np.int64).reshape(1, 1, 1, columns))
    seen = b.compare("lt", keys, lengths)
    queries = b.constant(np.arange(rows, dtype=np.int64).reshape(1, 1, rows, 1))
    places = b.binary("add", b.binary("sub", lengths, rows), queries)
    ahead = b.binary("sub", keys, places)
    left, right = ctx.get("left_window_size", -1), ctx.get("right_window_size", -1)
    if ctx.get("is_causal", 0):
        seen = b.binary("and", seen, b.compare("le", ahead, 0))
    if left >= 0:
        seen = b.binary("and", seen, b.compare("ge", ahead, -left))
    if right >= 0:
        seen = b.binary("and", seen, b.compare("le", ahead, right))
    return seen


def _attention(ctx: NodeContext) -> list[Term | None]:
    b = ctx.builder
    q = _heads(b, ctx.operand(0), ctx.get("q_num_heads"))
    k, v = (_heads(b, ctx.operand(place), ctx.get("kv_num_heads")) for place in (1, 2))
    past = ctx.operand(4).shape[2] if ctx.has(4) else 0
    if past:
        k, v = b.concat([ctx.operand(4), k], 2), b.concat([ctx.operand(5), v], 2)
    root = float(np.sqrt(ctx.get("scale") or 1 / np.sqrt(q.shape[3])))
    keys, values = _shared(b, k, q.shape[1]), _shared(b, v, q.shape[1])
    products = b.matmul(b.binary("mul", q, root), b.transpose(b.binary("mul", keys, root), (0, 1, 3, 2)))
    if cap := ctx.get("softcap", 0.0):
        products = b.binary("mul", b.unary("tanh", b.binary("div", products, cap)), cap)
    mask = _mask(ctx, q, k.shape[2], past)
    biased = products if mask is None else b.binary("add", products, mask)
    weights = _weights(ctx, biased, mask)
    products_wanted = (products, products, biased, weights)[ctx.get("qk_matmul_output_mode", 0)]
    found = b.matmul(weights, values)
    if ctx.operand(0).rank == 3:
        n, heads, length, size = found.shape
        found = b.reshape(b.transpose(found, (0, 2, 1, 3)), (n, length, heads * size))
    return [found, k, v, products_wanted]


def _weights(ctx: NodeContext, biased: Term, mask: Term | None) -> Term:
    b = ctx.builder
    if "softmax_precision" in ctx.node.attributes:
        from intarsia.graph.dtypes import dtype_name

        exact = b.cast(biased, dtype_name(ctx.get("softmax_precision")) or biased.dtype)
    else:
        exact = biased
    weights = b.cast(softmax(b, exact, 3), biased.dtype)
    if mask is None:
        return weights
    blind = b.compare("eq", b.reduce("max", mask, [mask.rank - 1]), float("-inf"))
    return b.where(blind, b.scalar(0, weights), weights)


def _rotary(ctx: NodeContext) -> Term:
    b, given = ctx.builder, ctx.operand(0)
    x = b.transpose(given, (0, 2, 1, 3)) if given.rank == 4 else given
    if given.rank == 3:
        heads = ctx.get("num_heads", 0)
        x = b.reshape(x, (*x.shape[:2], heads, x.shape[2] // heads))
    turned = ctx.get("rotary_embedding_dim", 0) or x.shape[3]
    cos, sin = ctx.operand(1), ctx.operand(2)
    if ctx.has(3):
        places = b.cast(ctx.operand(3), "int64")
        cos, sin = b.take(cos, places, 0), b.take(sin, places, 0)
    cos, sin = (b.reshape(each, (*each.shape[:2], 1, each.shape[2])) for each in (cos, sin))
    half = turned // 2
    if ctx.get("interleaved", 0):
        one, two = b.part(x, 3, 0, turned, 2), b.part(x, 3, 1, turned, 2)
    else:
        one, two = b.part(x, 3, 0, half), b.part(x, 3, half, turned)
    real = b.binary("sub", b.binary("mul", cos, one), b.binary("mul", sin, two))
    imaginary = b.binary("add", b.binary("mul", sin, one), b.binary("mul", cos, two))
    if ctx.get("interleaved", 0):
        pairs = [b.reshape(each, (*each.shape, 1)) for each in (real, imaginary)]
        found = b.reshape(b.concat(pairs, 4), (*x.shape[:3], turned))
    else:
        found = b.concat([real, imaginary], 3)
    found = b.concat([found, b.part(x, 3, turned, x.shape[3])], 3) if turned < x.shape[3] else found
    return b.transpose(found, (0, 2, 1, 3)) if given.rank == 4 else b.reshape(found, given.shape)


RULES: Mapping[str, Rule] = {"Attention": _attention, "RotaryEmbedding": _rotary}
