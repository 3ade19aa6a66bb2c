"""Names of weights that a reader of the code understands: by the layer that uses them first."""

from __future__ import annotations

from dataclasses import replace

from intarsia.codegen.interface import identifier
from intarsia.codegen.module import Argument, Call, Read, SourceModule


def named_by_layer(module: SourceModule) -> SourceModule:
    """The module with each constant called by the first node of the first call that reads it, as ``stem_weights``."""
    taken = {
        *module.buffers,
        *module.views,
        *(each.name for each in (*module.inputs.values(), *module.outputs.values())),
    }
    names: dict[str, str] = {}
    for call in module.calls:
        for name in call.reads:
            if name in module.constants and name not in names:
                layer = identifier(call.nodes[0]) if call.nodes else "copy"
                names[name] = identifier(f"{layer}_weights", {*taken, *names.values()})
    constants = {new: replace(module.constants[old], name=new) for old, new in names.items()}
    unread = {name: each for name, each in module.constants.items() if name not in names}
    calls = tuple(_renamed(call, names) for call in module.calls)
    return replace(module, constants={**constants, **unread}, calls=calls)


def _renamed(call: Call, names: dict[str, str]) -> Call:
    def renamed(each: Argument) -> Argument:
        return Read(names[each.name]) if isinstance(each, Read) and each.name in names else each

    overlaps = tuple(replace(each, read=names.get(each.read, each.read)) for each in call.overlaps)
    return replace(call, arguments=tuple(map(renamed, call.arguments)), overlaps=overlaps)
