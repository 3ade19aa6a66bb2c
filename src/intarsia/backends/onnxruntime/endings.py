"""Lets nodes of a model that ONNX Runtime has optimised do what stands behind them alone, as a part of their work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import onnx

Node = onnx.NodeProto


def join_endings(
    graph: onnx.GraphProto,
    choose: Callable[[Node, Sequence[Node]], Node | None],
    take_over: Callable[[Node, Node], None],
) -> None:
    """Give nodes to one of those that make their inputs, which goes to where the other stood.

    Args:
        graph: It is changed.
        choose: Takes a node and the makers of those of its inputs that nobody else reads, and says which of these does
            its work from now on, if one does.
        take_over: Changes that one, given first, to do so; its outputs become the other's.
    """
    readers = Counter(name for node in graph.node for name in node.input)
    readers.update(value.name for value in graph.output)
    makers: dict[str, Node] = {}
    kept: dict[int, Node] = {}
    for node in graph.node:
        alone = [makers[name] for name in node.input if readers[name] == 1 and name in makers]
        last = choose(node, alone)
        if last is None:
            last = node
        else:
            # A value that it reads now may be made between the two.
            del kept[id(last)]
            take_over(last, node)
            last.output[:] = node.output
        kept[id(last)] = last
        makers |= dict.fromkeys(node.output, last)
    del graph.node[:]
    graph.node.extend(kept.values())
