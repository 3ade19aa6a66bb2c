"""GRU, LSTM and RNN of a known number of steps, one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import clip, relu, sigmoid
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import Term, UnsupportedError

MOST_STEPS = 64
"""Longer sequences make programs that take longer to compile than they save."""
Activation = Callable[[Builder, Term], Term]
_ACTIVATIONS: Mapping[str, Activation] = {"sigmoid": sigmoid, "tanh": lambda b, x: b.unary("tanh", x), "relu": relu}


def _activations(ctx: NodeContext, default: Sequence[str], directions: int) -> list[list[Activation]]:
    names = [name.lower() for name in ctx.get("activations") or [*default] * directions]
    if any(name not in _ACTIVATIONS for name in names) or ctx.get("activation_alpha") or ctx.get("activation_beta"):
        raise UnsupportedError("activations of other kinds")
    count = len(default)
    return [[_ACTIVATIONS[name] for name in names[count * d : count * d + count]] for d in range(directions)]


class _Direction:
    """Weights of one direction, without the dimension of directions."""

    def __init__(self, ctx: NodeContext, place: int, gates: int) -> None:
        b = ctx.builder
        self.b, self.ctx = b, ctx
        w, r = (self._own(ctx.operand(position), place) for position in (1, 2))
        self.w, self.r = b.transpose(w, (1, 0)), b.transpose(r, (1, 0))
        self.hidden = r.shape[1]
        self.gates = gates
        bias = ctx.optional(3)
        own = None if bias is None else self._own(bias, place)
        self.wb = None if own is None else b.part(own, 0, 0, gates * self.hidden)
        self.rb = None if own is None else b.part(own, 0, gates * self.hidden, 2 * gates * self.hidden)

    def _own(self, x: Term, place: int) -> Term:
        return self.b.reshape(self.b.part(x, 0, place, place + 1), x.shape[1:])

    def initial(self, position: int, place: int, batch: int, like: Term) -> Term:
        """A given state, or zeros."""
        given = self.ctx.optional(position)
        if given is None:
            return self.b.expand(self.b.scalar(0, like), (batch, self.hidden))
        return self._own(given, place)

    def gate(self, x: Term, number: int) -> Term:
        """One gate's part of all gates."""
        return self.b.part(x, 1, number * self.hidden, (number + 1) * self.hidden)

    def biased(self, x: Term, bias: Term | None) -> Term:
        return x if bias is None else self.b.binary("add", x, bias)


def _held(ctx: NodeContext, x: Term) -> Term:
    limit = ctx.get("clip")
    return x if limit is None else clip(ctx.builder, x, -limit, limit)


def _gru_step(ctx: NodeContext, d: _Direction, acts: Sequence[Activation], xs: Term, state: list[Term]) -> list[Term]:
    b, (h,) = ctx.builder, state
    f, g = acts
    hs = d.biased(b.matmul(h, d.r), d.rb)
    z, r = (f(b, _held(ctx, b.binary("add", d.gate(xs, n), d.gate(hs, n)))) for n in range(2))
    if ctx.get("linear_before_reset", 0):
        recurrent = b.binary("mul", r, d.gate(hs, 2))
    else:
        own = b.part(d.r, 1, 2 * d.hidden, 3 * d.hidden)
        bias = None if d.rb is None else b.part(d.rb, 0, 2 * d.hidden, 3 * d.hidden)
        recurrent = d.biased(b.matmul(b.binary("mul", r, h), own), bias)
    new = g(b, _held(ctx, b.binary("add", d.gate(xs, 2), recurrent)))
    return [b.binary("add", new, b.binary("mul", z, b.binary("sub", h, new)))]


def _lstm_step(ctx: NodeContext, d: _Direction, acts: Sequence[Activation], xs: Term, state: list[Term]) -> list[Term]:
    b, (h, c) = ctx.builder, state
    f, g, last = acts
    total = b.binary("add", xs, d.biased(b.matmul(h, d.r), d.rb))
    i, o, forget = (f(b, _held(ctx, d.gate(total, n))) for n in range(3))
    new = g(b, _held(ctx, d.gate(total, 3)))
    cell = b.binary("add", b.binary("mul", forget, c), b.binary("mul", i, new))
    return [b.binary("mul", o, last(b, cell)), cell]


def _rnn_step(ctx: NodeContext, d: _Direction, acts: Sequence[Activation], xs: Term, state: list[Term]) -> list[Term]:
    b, (h,) = ctx.builder, state
    total = b.binary("add", xs, d.biased(b.matmul(h, d.r), d.rb))
    return [acts[0](b, _held(ctx, total))]


Step = Callable[[NodeContext, _Direction, Sequence[Activation], Term, list[Term]], list[Term]]


def _recurrence(step: Step, gates: int, default: Sequence[str], states: int) -> Rule:
    def rule(ctx: NodeContext) -> list[Term]:
        b = ctx.builder
        x = b.transpose(ctx.operand(0), (1, 0, 2)) if ctx.get("layout", 0) else ctx.operand(0)
        length, batch, width = x.shape
        _check(ctx, length)
        direction = ctx.get("direction", "forward")
        count = 2 if direction == "bidirectional" else 1
        rows, lasts = [], []
        for place, acts in enumerate(_activations(ctx, default, count)):
            d = _Direction(ctx, place, gates)
            flat = d.biased(b.matmul(b.reshape(x, (length * batch, width)), d.w), d.wb)
            each = b.reshape(flat, (length, batch, gates * d.hidden))
            state = [d.initial(5 + which, place, batch, x) for which in range(states)]
            found: list[Term] = []
            backwards = direction == "reverse" or place == 1
            for number in range(length)[:: -1 if backwards else 1]:
                now = b.reshape(b.part(each, 0, number, number + 1), (batch, gates * d.hidden))
                state = step(ctx, d, acts, now, state)
                found.append(b.reshape(state[0], (1, 1, batch, d.hidden)))
            rows.append(b.concat(found[::-1] if backwards else found, 0))
            lasts.append([b.reshape(each, (1, batch, d.hidden)) for each in state])
        results = [b.concat(rows, 1), *(b.concat([last[which] for last in lasts], 0) for which in range(states))]
        return _laid_out(ctx, results)

    return rule


def _check(ctx: NodeContext, length: int) -> None:
    if length > MOST_STEPS or length == 0:
        raise UnsupportedError(f"a recurrence of {length} steps")
    if ctx.has(4) and any(each != length for each in ctx.numbers(4)):
        raise UnsupportedError("sequences of several lengths")
    if ctx.has(7) or ctx.get("input_forget", 0):
        raise UnsupportedError("peepholes or coupled gates")


def _laid_out(ctx: NodeContext, results: list[Term]) -> list[Term]:
    b = ctx.builder
    if not ctx.get("layout", 0):
        return results
    return [b.transpose(results[0], (2, 0, 1, 3)), *(b.transpose(each, (1, 0, 2)) for each in results[1:])]


RULES: Mapping[str, Rule] = {
    "GRU": _recurrence(_gru_step, 3, ("sigmoid", "tanh"), 1),
    "LSTM": _recurrence(_lstm_step, 4, ("sigmoid", "tanh", "tanh"), 2),
    "RNN": _recurrence(_rnn_step, 1, ("tanh",), 1),
}
