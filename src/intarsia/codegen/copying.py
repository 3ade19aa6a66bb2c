"""Copies that make an arena smaller than one without them.

Parts of a concatenation lie inside of it, so that nothing is copied. A value with parts inside keeps all of them at
fixed distances, which may leave gaps that nothing fits into: there it is undone.

A call that works in place some bytes ahead of what it reads leaves its result that much lower. Over a chain of such
calls values drift downwards, and the arena holds all of the way: there a result is moved back up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from intarsia.codegen.memory.accesses import Access, accesses_of
from intarsia.codegen.module import Call, Function, Literal, Overlap, Read, SourceModule, View, Write

COPY = Function(
    name="copy_bytes",
    text="""static void copy_bytes(void *y, const void *x, size_t size)
{
    memcpy(y, x, size);
}""",
    headers=("<string.h>",),
)
"""Copies ``size`` bytes."""
MOVE = Function(
    name="move_bytes",
    text="""static void move_bytes(void *y, const void *x, size_t size)
{
    unsigned char *const to = (unsigned char *)y;
    const unsigned char *const from = (const unsigned char *)x;
    const size_t whole = size / 16u * 16u;
    unsigned char kept[16];
    if (to <= from) {
        for (size_t i = 0; i < whole; i += 16u) {
            memcpy(kept, from + i, 16);
            memcpy(to + i, kept, 16);
        }
        memmove(to + whole, from + whole, size - whole);
    } else {
        memmove(to + whole, from + whole, size - whole);
        for (size_t i = whole; i > 0; i -= 16u) {
            memcpy(kept, from + i - 16, 16);
            memcpy(to + i - 16, kept, 16);
        }
    }
}""",
    headers=("<string.h>",),
)
"""The same, also to where some of them lie already: ``memmove`` of small C libraries goes byte by byte."""


def gathered(module: SourceModule) -> tuple[str, ...]:
    """Buffers that calls fill part by part, through views, and that nothing else fills."""
    written = [name for call in module.calls for name in call.writes]
    roots = dict.fromkeys(module.views[name].of for name in written if name in module.views)
    return tuple(root for root in roots if root in module.buffers and root not in written)


def with_copies(module: SourceModule, root: str) -> SourceModule:
    """The module with the parts of a buffer as buffers of their own, each copied in front of who reads the whole."""
    written = {name for call in module.calls for name in call.writes}
    parts: Mapping[str, View] = {
        name: view for name, view in module.views.items() if view.of == root and name in written
    }
    free = {name: view for name, view in module.views.items() if name not in parts}
    due = dict(parts)
    calls: list[Call] = []
    for call in module.calls:
        around = [each for each in accesses_of(module, call) if each.root == root and each.name not in parts]
        wanted = [name for name, view in due.items() if any(_meets(each, view) for each in around)]
        calls += [*(_copy(name, due.pop(name)) for name in wanted), call]
    targets = {
        _target(name): View(buffer=replace(view.buffer, name=_target(name)), of=root, offset=view.offset)
        for name, view in parts.items()
    }
    return replace(
        module,
        buffers={**module.buffers, **{name: view.buffer for name, view in parts.items()}},
        views={**free, **targets},
        functions={**module.functions, COPY.name: COPY},
        calls=tuple(calls),
    )


def drifting(module: SourceModule) -> tuple[str, ...]:
    """Buffers that a call fills in place some bytes ahead of what it reads, in running order."""
    moved = (overlap.write for call in module.calls for overlap in call.overlaps if overlap.ahead > 0)
    inside = {view.of for view in module.views.values()}
    return tuple(name for name in dict.fromkeys(moved) if name in module.buffers and name not in inside)


def with_moves(module: SourceModule, names: Collection[str]) -> SourceModule:
    """The module with these buffers moved to wherever is room as soon as they are filled."""
    buffers, calls = dict(module.buffers), list[Call]()
    moved: dict[str, str] = {}
    for call in module.calls:
        calls.append(_reading(call, moved))
        for name in (each for each in call.writes if each in names):
            moved[name] = f"{name}_moved"
            buffers[moved[name]] = replace(buffers[name], name=moved[name])
            calls.append(_move(name, moved[name], buffers[name].size))
    return replace(module, buffers=buffers, functions={**module.functions, MOVE.name: MOVE}, calls=tuple(calls))


def _reading(call: Call, moved: Mapping[str, str]) -> Call:
    arguments = (Read(moved.get(each.name, each.name)) if isinstance(each, Read) else each for each in call.arguments)
    overlaps = tuple(replace(each, read=moved.get(each.read, each.read)) for each in call.overlaps)
    return replace(call, arguments=tuple(arguments), overlaps=overlaps)


def _move(name: str, to: str, size: int) -> Call:
    anywhere = Overlap(write=to, read=name, ahead=-size)
    return Call(function=MOVE.name, arguments=(Write(to), Read(name), Literal(f"{size}u")), overlaps=(anywhere,))


def _meets(access: Access, view: View) -> bool:
    return access.start < view.offset + view.buffer.size and view.offset < access.stop


def _target(part: str) -> str:
    return f"{part}_in"


def _copy(name: str, view: View) -> Call:
    size = Literal(f"{view.buffer.size}u")
    return Call(function=COPY.name, arguments=(Write(_target(name)), Read(name), size))
