"""Attention of a few rows over cached keys and values as the operator ``intarsia::CachedAttention``.

An exported decoder writes it as some fifteen nodes: it parts the projection, moves the heads forward, joins keys and
values with those of earlier tokens, turns the keys, and so on. For one token each is a copy or takes longer to begin
than to end. The operator reads queries, keys and values where the projection left them, and passes over the cache once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from intarsia.backends.onnxruntime.neighbours import SAME_MEMORY, Neighbours, rewritten
from intarsia.graph.placeholder_ops import DOMAIN
from intarsia.graph.quantise import GraphDraft

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

OPERATOR = "CachedAttention"
_MOST_ROWS = 16
"""With more, products of matrices are faster."""
_HEADS_FORWARD, _KEYS_TURNED, _MATRICES_TURNED = (0, 2, 1, 3), (0, 1, 3, 2), (0, 2, 1)
_KEYS, _MOST_DIMENSIONS = 2, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where vectors of ``width`` numbers lie in a value: the first, and from one to the next."""

    name: str
    offset: int = 0
    image: int = 0
    row: int = 0
    head: int = 0

    @property
    def steps(self) -> tuple[int, ...]:
        return self.offset, self.image, self.row, self.head


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cache:
    """Keys or values: those before, the value that holds these and those of the rows, and the rows' own."""

    before: str
    joined: str
    added: str | None
    heads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAttention:
    """One attention.

    Attributes:
        last: The node that yields its result.
        gone: Indices of the nodes that it takes the place of.
        inputs: What it reads.
        outputs: What it writes: the result, and where rows bring keys and values, these behind those before.
        sizes: Images, heads, heads of keys, rows, numbers of a vector, whether rows bring keys and values, and whether
            weights that are no numbers count as zero.
        places: Offset and steps of image, row and head, of query, key, value and result.
        scale: What products are multiplied with.
    """

    last: Node
    gone: frozenset[int]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: tuple[int, ...]
    places: tuple[int, ...]
    scale: float


def with_cached_attention(model: SubModel, block: int, is_ours: Callable[[str], bool]) -> SubModel:
    """The sub-graph with each attention that the kernel computes as one operator.

    Args:
        block: Numbers of a vector of this processor.
        is_ours: Whether it is wanted for the node with this id, which yields the result of one.
    """
    every = _attentions(Neighbours.of(model), block)
    found = {attention.last.index: attention for attention in every if is_ours(attention.last.id)}
    if not found:
        return model
    gone = frozenset[int]().union(*(attention.gone for attention in found.values()))
    return rewritten(model, {index: partial(_write, attention) for index, attention in found.items()}, gone)


def attentions(graph: Graph, block: int) -> Iterator[CachedAttention]:
    """Those in a graph that the kernel computes."""
    return _attentions(Neighbours(graph, range(len(graph.nodes))), block)


def _attentions(near: Neighbours, block: int) -> Iterator[CachedAttention]:
    finder = _Finder(near, block)
    for node in near.graph.nodes:
        if node.op_type == "Softmax" and not node.domain and node.index in near.inside:
            found = finder.attention(node)
            if found is not None:
                yield found


class _Finder:
    """Follows values from a softmax to where queries, keys and values come from, and where the result goes."""

    def __init__(self, near: Neighbours, block: int) -> None:
        self._near = near
        self._values = near.graph.values
        self._shape = near.shape
        self._block = block

    def attention(self, softmax: Node) -> CachedAttention | None:
        """The one around this softmax, if the kernel computes it."""
        scores = self._shape(softmax.inputs[0])
        weights, hides_odd = self._without_odd(softmax.outputs[0])
        product = self._near.reader(weights, {"MatMul"})
        is_last = softmax.attributes.get("axis", -1) in {-1, 3}
        if len(scores) != 4 or not is_last or product is None or product.inputs[0] != weights:
            return None
        name, mask = self._unmasked(softmax.inputs[0])
        name, scale = self._unscaled(name)
        first = self._near.maker(name, {"MatMul"})
        turned = None if first is None else self._unturned(first.inputs[1])
        if first is None or turned is None:
            return None
        query, more = self._unscaled(first.inputs[0])
        images, heads, rows, count = scores
        width = self._shape(query)[-1]
        shape = (images, heads, count, width)
        both = self._cache(turned[0], shape), self._cache(product.inputs[1], shape)
        if not self._fits(both, rows, width) or not (mask is None or self._spreads(mask, scores)):
            return None
        sizes = (images, heads, both[0].heads, rows, width, int(both[0].added is not None), int(hides_odd))
        places = [self._place(query, heads, rows, width)]
        for each in both:
            added = each.added
            at = _Place(name=places[0].name) if added is None else self._place(added, each.heads, rows, width)
            places.append(at)
        names = [each.name for each in places]
        read = (names[0], *(each.before for each in both), *names[1:], *(() if mask is None else (mask,)))
        result, last = self._result(product, heads, rows, width)
        written = (result.name, *(each.joined for each in both if each.added is not None))
        gone = self._gone(last, read, written)
        replaced = {softmax.index, product.index, first.index, *(self._values[name].producer for name in written)}
        if replaced - gone or len(self._shape(result.name)) > _MOST_DIMENSIONS:
            return None
        return CachedAttention(
            last=last,
            gone=gone,
            inputs=read,
            outputs=written,
            sizes=sizes,
            places=tuple(step for each in (*places, result) for step in each.steps),
            scale=scale * turned[1] * more,
        )

    def _fits(self, both: tuple[_Cache, _Cache], rows: int, width: int) -> bool:
        keys, values = both
        alike = keys.heads == values.heads and (keys.added is None) == (values.added is None)
        same = alike and self._shape(keys.before) == self._shape(values.before) and keys.heads > 0
        apart = keys.joined != values.joined and all(
            each.added is None or self._shape(each.added)[_KEYS] == rows for each in both
        )
        return same and apart and 0 < rows <= _MOST_ROWS and width > 0 and width % self._block == 0

    def _without_odd(self, name: str) -> tuple[str, bool]:
        """Weights in which zero stands for each that is no number, if these are all that is read."""
        readers = [self._near.graph.nodes[index] for index in self._values[name].consumers]
        chosen = next((node for node in readers if node.op_type == "Where" and not node.domain), None)
        if len(readers) != 2 or chosen is None or chosen.inputs[2] != name or self._near.is_kept(name):
            return name, False
        odd = self._near.maker(chosen.inputs[0], {"IsNaN"})
        is_zero = self._number(chosen.inputs[1]) == 0.0
        return (chosen.outputs[0], True) if odd is not None and odd.inputs[0] == name and is_zero else (name, False)

    def _unmasked(self, name: str) -> tuple[str, str | None]:
        """What a mask is added to, and the mask."""
        node = self._near.maker(name, {"Add"})
        for scores, mask in (node.inputs, node.inputs[::-1]) if node is not None else ():
            if self._near.maker(self._unscaled(scores)[0], {"MatMul"}) is not None and mask in self._values:
                return scores, mask
        return name, None

    def _spreads(self, mask: str, scores: tuple[int, ...]) -> bool:
        """Whether a mask is of numbers for each product, or the same ones along some dimensions."""
        shape = self._shape(mask)
        is_known = self._values[mask].dtype == "float32" and self._values[mask].shape is not None
        ends = scores[len(scores) - len(shape) :]
        return is_known and len(shape) <= 4 and all(size in {1, all_} for size, all_ in zip(shape, ends, strict=True))

    def _unscaled(self, name: str) -> tuple[str, float]:
        """What is multiplied by constant numbers, and with how much in all."""
        factor = 1.0
        while (node := self._near.maker(name, {"Mul", "Div"})) is not None:
            first, second = (self._number(each) for each in node.inputs)
            if node.op_type == "Div" and second:
                name, factor = node.inputs[0], factor / second
            elif node.op_type == "Mul" and second is not None:
                name, factor = node.inputs[0], factor * second
            elif node.op_type == "Mul" and first is not None:
                name, factor = node.inputs[1], factor * first
            else:
                break
        return name, factor

    def _number(self, name: str) -> float | None:
        weight = self._near.graph.weights.get(name)
        is_one = weight is not None and weight.dtype == "float32" and weight.nbytes == 4 and len(weight.shape) <= 4
        return float(weight.array().reshape(())) if weight is not None and is_one else None

    def _unturned(self, name: str) -> tuple[str, float] | None:
        """Keys whose last dimensions are swapped, perhaps as matrices in a row, and what they are multiplied with."""
        name, factor = self._unscaled(name)
        apart = self._near.maker(name, {"Reshape"})
        are_matrices = apart is not None and self._shape(apart.inputs[0])[1:] == self._shape(name)[2:]
        node = self._near.maker(apart.inputs[0] if apart is not None and are_matrices else name, {"Transpose"})
        perm = () if node is None else tuple(node.attributes.get("perm", ()))
        if node is None or perm != (_MATRICES_TURNED if are_matrices else _KEYS_TURNED):
            return None
        name, more = self._unscaled(node.inputs[0])
        return name, factor * more

    def _cache(self, name: str, shape: tuple[int, ...]) -> _Cache:
        """Keys or values of this shape once each head has its own; with no heads if it is another."""
        nothing = _Cache(before=name, joined=name, added=None, heads=0)
        while self._shape(name) != shape and (node := self._near.maker(name, SAME_MEMORY)) is not None:
            name = node.inputs[0]
        shared = self._shared(name, shape)
        if shared is not None:
            name = shared
        elif self._shape(name) != shape:
            return nothing
        heads = self._shape(name)[1]
        node = self._near.maker(name, {"Concat"})
        if node is None or node.attributes["axis"] not in {_KEYS, _KEYS - len(shape)} or len(node.inputs) != 2:
            return replace(nothing, before=name, joined=name, heads=heads)
        before, added = node.inputs
        known = len(self._shape(before)) == len(self._shape(added)) == len(shape)
        return _Cache(before=before, joined=name, added=added, heads=heads) if known else nothing

    def _shared(self, name: str, shape: tuple[int, ...]) -> str | None:
        """What holds each of these heads once, where several in turn share one."""
        images, _, count, width = shape
        merged = self._near.maker(name, {"Reshape"})
        spread = self._near.maker(name if merged is None else merged.inputs[0], {"Expand"})
        apart = None if spread is None else self._near.maker(spread.inputs[0], {"Unsqueeze", "Reshape"})
        if spread is None or apart is None:
            return None
        source = apart.inputs[0]
        heads = (self._shape(source) or (0, 0))[1]
        wanted = (images, heads, 1, count, width)
        is_apart = self._shape(apart.outputs[0]) == wanted and self._shape(source) == (images, heads, count, width)
        grown = (images, heads, shape[1] // max(heads, 1), count, width)
        return source if is_apart and self._shape(spread.outputs[0]) == grown else None

    def _place(self, name: str, heads: int, rows: int, width: int) -> _Place:
        """Where vectors [images, heads, rows, width] come from, behind what only moves them."""
        forward = self._near.maker(name, {"Transpose"})
        is_moved = forward is not None and tuple(forward.attributes.get("perm", ())) == _HEADS_FORWARD
        if forward is not None and is_moved:
            name = forward.inputs[0]
        elif rows > 1:
            return _in_heads(name, heads, rows, width)
        name, whole = self._same_memory(name), heads * width
        parted = self._near.maker(name, {"Split"})
        if parted is None or self._shape(name)[-1:] != (whole,):
            return _in_rows(name, rows, whole, width)
        axis, rank = parted.attributes.get("axis", 0), len(self._shape(name))
        if axis not in {-1, rank - 1}:
            return _in_rows(name, rows, whole, width)
        earlier = takewhile(lambda each: each != name, parted.outputs)
        offset = sum(self._shape(each)[-1] for each in earlier)
        source = parted.inputs[0]
        length = self._shape(source)[-1]
        return replace(_in_rows(self._same_memory(source), rows, length, width), offset=offset)

    def _same_memory(self, name: str) -> str:
        while (node := self._near.maker(name, SAME_MEMORY)) is not None:
            name = node.inputs[0]
        return name

    def _result(self, product: Node, heads: int, rows: int, width: int) -> tuple[_Place, Node]:
        """Where the result goes, behind what only moves it, and the node that yields that."""
        last, name = product, product.outputs[0]
        reader = self._near.reader(name, {"Transpose"})
        if reader is not None and tuple(reader.attributes.get("perm", ())) == _HEADS_FORWARD:
            last, name = reader, reader.outputs[0]
        elif rows > 1:
            return _in_heads(name, heads, rows, width), last
        while (reader := self._near.reader(name, SAME_MEMORY)) is not None:
            last, name = reader, reader.outputs[0]
        return _in_rows(name, rows, heads * width, width), last

    def _gone(self, last: Node, read: tuple[str, ...], written: tuple[str, ...]) -> frozenset[int]:
        """Indices of the nodes that nothing needs once an operator reads and writes these values."""
        gone: set[int] = set()
        waiting = [last.index]
        for name in written[1:]:
            producer = self._values[name].producer
            waiting += [] if producer is None else [producer]
        while waiting:
            node = self._near.graph.nodes[waiting.pop()]
            outputs = [name for name in node.outputs if name]
            is_free = all(name not in read and self._is_free(name, gone, written, last) for name in outputs)
            if node.index in gone or not is_free:
                continue
            gone.add(node.index)
            makers = (self._values[name].producer for name in node.reads)
            waiting += [index for index in makers if index is not None and index in self._near.inside]
        return frozenset(gone)

    def _is_free(self, name: str, gone: set[int], written: tuple[str, ...], last: Node) -> bool:
        """Whether nothing needs that a node yields a value."""
        value = self._values[name]
        if name in written:  # but what reads it must come behind the operator
            return all(index in gone or index > last.index for index in value.consumers)
        return not self._near.is_kept(name) and gone.issuperset(value.consumers)


def _in_heads(name: str, heads: int, rows: int, width: int) -> _Place:
    return _Place(name=name, image=heads * rows * width, row=width, head=rows * width)


def _in_rows(name: str, rows: int, length: int, width: int) -> _Place:
    return _Place(name=name, image=rows * length, row=length, head=width)


def _write(attention: CachedAttention, draft: GraphDraft) -> None:
    shapes = {name: draft.graph.values[name].shape for name in attention.outputs}
    draft.add_several(
        OPERATOR,
        attention.inputs,
        [(name, "float32", shape) for name, shape in shapes.items()],
        domain=DOMAIN,
        sizes=attention.sizes,
        places=attention.places,
        shape=shapes[attention.outputs[0]],
        scale=attention.scale,
    )
