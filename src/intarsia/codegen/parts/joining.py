"""Modules of the parts of a network, put together as one: what one part computes, others read where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from intarsia.codegen.copying import COPY
from intarsia.codegen.module import Argument, Buffer, Call, Literal, Overlap, Read, SourceModule, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a network.

    Attributes:
        module: Its inputs and outputs are called as the network's values are.
        engine: The kind whose code it is.
        nodes: Ids of the nodes that it computes, for calls that name none.
    """

    module: SourceModule
    engine: str
    nodes: tuple[str, ...]


def joined(parts: Iterable[Part], inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> SourceModule:
    """One module of all parts.

    Args:
        parts: In running order.
        inputs: Values that the caller hands over.
        outputs: Values that the caller gets. Each is an input, or a part computes it.
    """
    whole = _Whole()
    several = list(parts)
    for place, (name, each) in enumerate(inputs.items()):
        whole.own[name] = f"i{place}"
        whole.inputs[name] = replace(each, name=f"i{place}")
    for place, (name, each) in enumerate(outputs.items()):
        if name in whole.own:  # what is handed over comes back as it is
            whole.passed[name] = replace(each, name=f"o{place}")
        else:
            whole.own[name] = f"o{place}"
            whole.outputs[name] = replace(each, name=f"o{place}")
    for number, part in enumerate(several):
        whole.add(part, f"p{number}")
    return whole.module(tuple(outputs), several)


@dataclass(slots=True)
class _Whole:
    own: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Buffer] = field(default_factory=dict)
    outputs: dict[str, Buffer] = field(default_factory=dict)
    passed: dict[str, Buffer] = field(default_factory=dict)
    parts: list[SourceModule] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def add(self, part: Part, prefix: str) -> None:
        """Add a part, its names behind a prefix but for those of the values at its borders."""
        module = part.module
        names: dict[str, str] = {}
        for name, each in (*module.inputs.items(), *module.outputs.items()):
            if name not in self.own:
                self.own[name] = f"{prefix}_{each.name}"
                self.buffers[self.own[name]] = replace(each, name=self.own[name])
            names[each.name] = self.own[name]
        inner = (*module.buffers, *module.views, *module.constants)
        names |= {name: f"{prefix}_{name}" for name in inner if name not in names}
        self.parts.append(_renamed(module, names, part))

    def module(self, outputs: tuple[str, ...], several: list[Part]) -> SourceModule:
        """All that was added."""
        merged: dict[str, dict[str, object]] = {}
        for field_ in ("buffers", "views", "constants", "functions", "assembly"):
            merged[field_] = {key: each for part in self.parts for key, each in getattr(part, field_).items()}
        copies = [
            Call(function=COPY.name, arguments=(Write(each.name), Read(self.own[name]), Literal(f"{each.size}u")))
            for name, each in self.passed.items()
        ]
        merged["buffers"] |= self.buffers
        merged["functions"] |= {COPY.name: COPY} if copies else {}
        results = self.outputs | self.passed
        return replace(
            several[0].module,
            **merged,  # type: ignore[arg-type]
            inputs=self.inputs,
            outputs={name: results[name] for name in outputs},
            calls=(*(call for part in self.parts for call in part.calls), *copies),
            sources=(),
            include_folders=(),
            defines=(),
            alignment=max(part.alignment for part in self.parts),
        )


def _renamed(module: SourceModule, names: Mapping[str, str], part: Part) -> SourceModule:
    def argument(each: Argument) -> Argument:
        return type(each)(names[each.name]) if isinstance(each, Read | Write) else each

    return replace(
        module,
        buffers={names[name]: replace(each, name=names[name]) for name, each in module.buffers.items()},
        views={
            names[name]: replace(each, buffer=replace(each.buffer, name=names[name]), of=names[each.of])
            for name, each in module.views.items()
        },
        constants={names[name]: replace(each, name=names[name]) for name, each in module.constants.items()},
        calls=tuple(
            replace(
                call,
                arguments=tuple(map(argument, call.arguments)),
                overlaps=tuple(
                    Overlap(write=names[each.write], read=names[each.read], ahead=each.ahead) for each in call.overlaps
                ),
                nodes=call.nodes or part.nodes,
                engine=part.engine,
            )
            for call in module.calls
        ),
    )
