"""Parts of a concatenation lie inside of it, so that nothing is copied. Where copying needs less memory, it is undone.

A value with parts inside keeps all of them at fixed distances, which may leave gaps that nothing fits into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from intarsia.codegen.memory.accesses import Access, accesses_of
from intarsia.codegen.module import Call, Function, Literal, Read, SourceModule, View, Write

COPY = Function(
    name="copy_bytes",
    text="""static void copy_bytes(void *y, const void *x, size_t size)
{
    memcpy(y, x, size);
}""",
    headers=("<string.h>",),
)
"""Copies ``size`` bytes."""


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


def _meets(access: Access, view: View) -> bool:
    return access.start < view.offset + view.buffer.size and view.offset < access.stop


def _target(part: str) -> str:
    return f"{part}_in"


def _copy(name: str, view: View) -> Call:
    size = Literal(f"{view.buffer.size}u")
    return Call(function=COPY.name, arguments=(Write(_target(name)), Read(name), size))
