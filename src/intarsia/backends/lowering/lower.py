"""The lowering: a sub-graph to a `Program`, or the reason why a node cannot be lowered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from intarsia.backends.lowering import (
    attention,
    elementwise,
    grid_sample,
    indexing,
    layers,
    losses,
    quantised,
    recurrent,
    reduction,
    resize,
    shape,
)
from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import LEAVES, Instruction, Program, Term, UnsupportedError
from intarsia.errors import ModelError

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

_FAMILIES = (
    attention,
    elementwise,
    grid_sample,
    indexing,
    layers,
    losses,
    quantised,
    recurrent,
    reduction,
    resize,
    shape,
)
RULES: Mapping[str, Rule] = dict(chain.from_iterable(family.RULES.items() for family in _FAMILIES))
"""How each operator of ONNX is lowered."""

Judge = Callable[[Instruction, tuple[Instruction, ...]], str | None]
"""Why an engine cannot do an instruction on what these instructions compute, or ``None``."""


def lower(model: SubModel, natives: frozenset[str] = frozenset()) -> Program:
    """The program of a sub-graph whose nodes were all accepted; ``natives`` are operations beyond the primitives.

    Raises:
        ModelError: A node cannot be lowered.
    """
    builder = Builder(natives)
    terms: dict[str, Term] = {}
    for value in model.inputs:
        terms[value.name] = builder.input(value.name, value.dtype or "", value.shape or ())
    for weight in model.weights.values():
        terms[weight.name] = builder.weight(weight.name, weight.dtype, weight.shape)
    for node in model.nodes:
        builder.origin = (node.id,)
        try:
            terms.update(lowered(builder, node, model.graph, terms))
        except UnsupportedError as error:
            raise ModelError(f"node {node.id!r} cannot be lowered: {error}") from error
    return builder.program({value.name: terms[value.name] for value in model.outputs})


def refusal(node: Node, graph: Graph, natives: frozenset[str], judge: Judge) -> str | None:
    """Why a node cannot be lowered, or why an engine cannot do what it is lowered to; ``None`` if all is well."""
    made = _made(node, graph, natives)
    if isinstance(made, str):
        return made
    reasons = (judge(each, tuple(made[number] for number in each.reads)) for each in made if each.name not in LEAVES)
    return next(filter(None, reasons), None)


def _made(node: Node, graph: Graph, natives: frozenset[str]) -> Sequence[Instruction] | str:
    """What a node is lowered to, or why it cannot be; engines with the same operations share it."""
    known: dict[str, Sequence[Instruction] | str] = graph.memo.setdefault(("lowered", natives), {})
    if node.id in known:
        return known[node.id]
    builder = Builder(natives)
    made: Sequence[Instruction] | str = builder.instructions
    try:
        lowered(builder, node, graph, {name: _leaf(builder, graph, name) for name in node.reads})
    except UnsupportedError as error:
        made = f"{node.op_type}: {error}"
    known[node.id] = made
    return made


def _leaf(builder: Builder, graph: Graph, name: str) -> Term:
    value = graph.values[name]
    if value.dtype is None or value.shape is None:
        raise UnsupportedError(f"the type or shape of {name} is not known")
    make = builder.weight if value.is_weight else builder.input
    return make(name, value.dtype, value.shape)


def lowered(builder: Builder, node: Node, graph: Graph, terms: Mapping[str, Term]) -> dict[str, Term]:
    """The terms of a node's outputs, by name, where these are those of what it reads.

    Raises:
        UnsupportedError: It has no lowering.
    """
    rule = RULES.get(node.op_type) if node.domain == "" else None
    if rule is None:
        raise UnsupportedError("it has no lowering")
    results = rule(NodeContext(builder=builder, node=node, graph=graph, terms=terms))
    several = (results,) if isinstance(results, Term) else tuple(results)
    found = {}
    for name, term in zip(node.outputs, several, strict=False):
        if name:
            found[name] = _checked(term, graph, name)
    if len(found) < sum(name != "" for name in node.outputs):
        raise UnsupportedError("one of its outputs has no lowering")
    return found


def _checked(term: Term | None, graph: Graph, name: str) -> Term:
    """What was lowered is what shape inference says: else the rule was wrong, and the node is refused."""
    value = graph.values[name]
    if term is None or (term.dtype, term.shape) != (value.dtype, value.shape):
        made = "nothing" if term is None else f"{term.dtype}{list(term.shape)}"
        raise UnsupportedError(f"{name} is {value.dtype}{value.shape}, and is lowered to {made}")
    return term
