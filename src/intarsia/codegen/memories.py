"""Which memory each value and each weight lies in, where a target states its memories, and what does not fit.

Values go into the fastest memory. Where that is too small, those that calls touch least often go into the next one,
until the rest fits; and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from intarsia.codegen.arena import Arena, laid_out, plan
from intarsia.codegen.boards.board import Memory
from intarsia.codegen.memory.liveness import Item, Key, Liveness
from intarsia.codegen.module import Call, SourceModule
from intarsia.errors import ConfigError

_QUICK = 200
"""Changes of an arena that are tried in vain while it is only asked what fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where all lies.

    Attributes:
        module: The network, its calls in order.
        arenas: By the name of a memory, fastest first; one without a name where one memory holds everything.
        constants: The memory of each constant; nothing where there is one for all.
    """

    module: SourceModule
    arenas: Mapping[str, Arena]
    constants: Mapping[str, str]

    @property
    def workspace(self) -> int:
        """Bytes of all arenas together."""
        return sum(arena.size for arena in self.arenas.values())


def lay_out(
    module: SourceModule, memories: Sequence[Memory], alignment: int, *, linked: bool = True, reserved: int = 0
) -> Layout:
    """Give values and weights their memories and addresses.

    Args:
        module: The network.
        memories: Fastest first; empty where nothing is known of them, and everything fits.
        alignment: Of each value, in bytes.
        linked: Whether the weights are in the program; else they lie wherever the caller has them.
        reserved: Bytes of the fastest memory that others need, as the stack, where there is a slower one beside it.

    Raises:
        ConfigError: It does not fit; the message names the layer, and says how many bytes are missing.
    """
    ordered, arena = laid_out(module, alignment)
    written = [each for each in memories if each.is_written]
    constants = _constants(ordered, memories) if linked else {}
    if len(written) > 1:
        written[0] = replace(written[0], size=max(0, written[0].size - reserved))
    if not written or arena.size <= written[0].size:
        return Layout(module=ordered, arenas={"": arena}, constants=constants)
    return Layout(module=ordered, arenas=_spread(ordered, written, alignment), constants=constants)


def _spread(module: SourceModule, memories: Sequence[Memory], alignment: int) -> dict[str, Arena]:
    live = Liveness(module)
    touched = Counter(module.root(name)[0] for call in module.calls for name in (*call.reads, *call.writes))
    left: set[Key] = {item.key for item in live.items}
    arenas: dict[str, Arena] = {}
    for place, memory in enumerate(memories):
        is_last = place == len(memories) - 1
        kept = set(left)
        while (arena := _arena_in(module, live, kept, memory, alignment, is_last=is_last)) is None:
            if is_last:
                raise _too_large(module, live, kept, memories)
            kept.discard(_least_touched(live, kept, memory, touched))
        arenas[memory.name] = arena
        left -= kept
        if not left:
            break
    return arenas


def _arena_in(
    module: SourceModule, live: Liveness, kept: Collection[Key], memory: Memory, alignment: int, *, is_last: bool
) -> Arena | None:
    """The arena of these items, if it fits."""
    if live.lower_bound(kept) > memory.size:
        return None
    arena = plan(module, alignment, kept, _QUICK)
    if arena.size > memory.size and is_last:
        arena = plan(module, alignment, kept)
    return arena if arena.size <= memory.size else None


def _least_touched(live: Liveness, kept: Collection[Key], memory: Memory, touched: Mapping[str, int]) -> Key:
    """Of what is alive at the call that needs most: what never fits, else what is touched least, the largest first."""
    busiest = _busiest(live, kept)
    alive = [item for item in live.items if item.key in kept and _is_alive(item, busiest)]
    return min(alive, key=lambda each: (each.size <= memory.size, touched[str(each.key)], -each.size)).key


def _is_alive(item: Item, call: int) -> bool:
    return any(extent.first <= call <= extent.last for extent in item.extents)


def _busiest(live: Liveness, kept: Collection[Key]) -> int:
    alive = live.alive(kept)
    return max(range(len(alive)), key=alive.__getitem__)


def _too_large(module: SourceModule, live: Liveness, kept: Collection[Key], memories: Sequence[Memory]) -> ConfigError:
    every = {item.key for item in live.items}
    call = module.calls[_busiest(live, every)]
    need, room = live.lower_bound(every), sum(memory.size for memory in memories)
    missing = need - room
    last = memories[-1]
    if missing <= 0:  # all together there is room enough, but not in one run
        call = module.calls[_busiest(live, kept)]
        need, missing = live.lower_bound(kept), max(1, plan(live.module, only=kept).size - last.size)
    sizes = ", ".join(f"{memory.name} has {memory.size:,}" for memory in memories)
    return ConfigError(
        f"the model is too large for the target: {layer(call)} needs {need:,} bytes at one time, and {sizes}: "
        f"{missing:,} bytes are missing; take a board with more memory, or a smaller model"
    )


def layer(call: Call) -> str:
    """A call as messages name it: by the nodes of the model that it computes."""
    if not call.nodes:
        return "a copy"
    more = f" and {len(call.nodes) - 1} more" if len(call.nodes) > 1 else ""
    return f"{call.nodes[0]!r}{more}"


def _constants(module: SourceModule, memories: Sequence[Memory]) -> dict[str, str]:
    """The memory of each constant: the read-only ones, the largest first."""
    fixed = sorted((each for each in memories if not each.is_written), key=lambda each: -each.size)
    if not fixed:
        return {}
    left = {memory.name: memory.size for memory in fixed}
    found: dict[str, str] = {}
    readers: dict[str, Call] = {name: call for call in reversed(module.calls) for name in call.reads}
    for name, each in module.constants.items():
        size = each.array.nbytes
        place = next((memory for memory, room in left.items() if room >= size), None)
        if place is None:
            total = sum(constant.array.nbytes for constant in module.constants.values())
            sizes = ", ".join(f"{memory.name} has {memory.size:,}" for memory in fixed)
            at = f"; those of {layer(readers[name])} no longer fit" if name in readers else ""
            missing = max(1, total - sum(memory.size for memory in fixed))
            raise ConfigError(
                f"the model is too large for the target: its weights take {total:,} bytes, and {sizes}: {missing:,} "
                f"bytes are missing{at}; take a board with more, or 'aot -link-params=false' and weights elsewhere"
            )
        left[place] -= size
        found[name] = place
    return found if len(fixed) > 1 else {}
