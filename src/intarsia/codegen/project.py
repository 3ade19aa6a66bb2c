"""A network as a project of C: what is kept of it, and the folder that is exported.

What is kept are the texts of header and code, the weights as bytes, and the facts from which all other files are
written: those of the weights, of the build, the example and the test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any, Self

import numpy as np

from intarsia.codegen.interface import Argument, Interface, Options, arguments, identifier
from intarsia.codegen.memories import Layout, layer
from intarsia.codegen.memory.liveness import Liveness
from intarsia.codegen.module import BYTES, SourceModule
from intarsia.codegen.registration import MODELS_C, MODELS_H, models_code, models_header, registration_text
from intarsia.codegen.source_text import code_text, header_text, weight_name

FACTS, WEIGHTS = "project.json", "weights.bin"
_WIDEST = 8
"""Bytes of the widest number, which memory of a call's own may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One array of weights, or a table.

    Attributes:
        name: Of the array.
        dtype: Element type.
        shape: As it lies in memory.
        offset: Where it starts in the bytes of all.
        memory: Which memory it lies in; empty where there is one for all.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    memory: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * BYTES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A network as C.

    Attributes:
        interface: How it is called.
        about: One line that says what it is.
        header: Text of ``NAME.h``.
        code: Text of ``NAME.c``.
        weights: What the arrays of weights are.
        content: Their bytes, each array at a multiple of the alignment.
        memory: What lies where, as JSON-able values.
        sources: Files of a library to compile beside it, as paths inside the library's folder.
        include_folders: Where its headers are, inside the library's folder.
        defines: Macros that are defined for the library's files.
        needs_math: Whether it needs the library of mathematical functions.
        engines: The kinds whose code it holds.
        assembly: Texts of functions that an engine's own compiler made, by the names of their files.
    """

    interface: Interface
    about: str
    header: str
    code: str
    weights: tuple[Weights, ...]
    content: bytes = field(repr=False)
    memory: Mapping[str, Any]
    sources: tuple[str, ...] = ()
    include_folders: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    needs_math: bool = False
    engines: tuple[str, ...] = ()
    assembly: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Of the network, as a name of C."""
        return self.interface.name

    def arrays(self) -> Iterator[tuple[str, np.ndarray, str]]:
        """Each array of weights by its name, with its memory."""
        for each in self.weights:
            flat = np.frombuffer(self.content, each.dtype, prod(each.shape), each.offset)
            yield each.name, flat.reshape(each.shape), each.memory

    def own_sources(self) -> dict[str, str]:
        """The texts that make up the network, without the weights, by the names of their files."""
        found = {f"{self.name}.h": self.header, f"{self.name}.c": self.code, **self.assembly}
        if self.interface.options.registered:
            found |= {MODELS_H: models_header(), MODELS_C: models_code(self.name)}
        return found

    def weight_sources(self) -> tuple[str, ...]:
        """Names of the files of C that hold weights."""
        return (f"{self.name}_weights.c",) if self.interface.options.link_weights else ()

    def files(self) -> dict[str, bytes]:
        """As `of_files` reads it."""
        facts = {
            "interface": asdict(self.interface),
            "about": self.about,
            "weights": [asdict(each) for each in self.weights],
            "memory": self.memory,
            "sources": self.sources,
            "include_folders": self.include_folders,
            "defines": self.defines,
            "needs_math": self.needs_math,
            "engines": self.engines,
            "assembly": list(self.assembly),
        }
        return {
            FACTS: json.dumps(facts, indent=1).encode(),
            f"{self.name}.h": self.header.encode(),
            f"{self.name}.c": self.code.encode(),
            **{name: text.encode() for name, text in self.assembly.items()},
            WEIGHTS: self.content,
        }

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> Self:
        """What `files` wrote."""
        facts = json.loads(files[FACTS])
        interface = _interface(facts["interface"])
        return cls(
            interface=interface,
            about=facts["about"],
            header=files[f"{interface.name}.h"].decode(),
            code=files[f"{interface.name}.c"].decode(),
            weights=tuple(Weights(**{**row, "shape": tuple(row["shape"])}) for row in facts["weights"]),
            content=files[WEIGHTS],
            memory=facts["memory"],
            sources=tuple(facts["sources"]),
            include_folders=tuple(facts["include_folders"]),
            defines=tuple(facts["defines"]),
            needs_math=facts["needs_math"],
            engines=tuple(facts["engines"]),
            assembly={name: files[name].decode() for name in facts.get("assembly", ())},
        )


def _interface(facts: Mapping[str, Any]) -> Interface:
    sides = {
        side: tuple(Argument(**{**row, "shape": tuple(row["shape"])}) for row in facts[side])
        for side in ("inputs", "outputs")
    }
    return Interface(**{**facts, **sides, "options": Options(**facts["options"])})


def fitting(options: Options, module: SourceModule) -> Options:
    """The same, but that no value is aligned to less than a processor needs of a number of its type."""
    values = [BYTES[each.dtype] for each in (*module.buffers.values(), *(v.buffer for v in module.views.values()))]
    if any(call.scratch for call in module.calls):
        values.append(_WIDEST)
    constants = [each.array.itemsize for each in module.constants.values()]
    return replace(
        options,
        workspace_alignment=max(options.workspace_alignment, *values, module.alignment),
        constant_alignment=max(options.constant_alignment, *constants, module.alignment),
    )


def project_of(layout: Layout, name: str, options: Options, about: str) -> Project:
    """The project of a network whose values have addresses.

    Args:
        layout: The network, and where all lies.
        name: Of the model, in any signs.
        options: How it is called.
        about: One line that says what it is.
    """
    module, alignment = layout.module, options.constant_alignment
    taken = {f"workspace_{memory}" for memory in layout.arenas}
    inputs = arguments(_values(module.inputs.items()), taken)
    outputs = arguments(_values(module.outputs.items()), {*taken, *(each.identifier for each in inputs)})
    own = identifier(name)
    weights, content = [], bytearray()
    draft = Interface(
        name=own,
        options=options,
        inputs=inputs,
        outputs=outputs,
        workspaces={memory: arena.size for memory, arena in layout.arenas.items()},
        weights_bytes=0,
    )
    for each in module.constants.values():
        content += bytes(-len(content) % alignment)
        weights.append(
            Weights(
                name=weight_name(draft, each.name),
                dtype=each.array.dtype.name,
                shape=each.array.shape,
                offset=len(content),
                memory=layout.constants.get(each.name, ""),
            )
        )
        content += np.ascontiguousarray(each.array).tobytes()
    interface = replace(draft, weights_bytes=len(content))
    places = {key: row.offset for key, row in zip(module.constants, weights, strict=True)}
    code = code_text(interface, module, layout.arenas, about, places)
    if options.registered:
        code += registration_text(interface)
    return Project(
        interface=interface,
        about=about,
        header=header_text(interface, about),
        code=code,
        weights=tuple(weights),
        content=bytes(content),
        memory=memory_facts(layout, interface),
        sources=module.sources,
        include_folders=module.include_folders,
        defines=module.defines,
        needs_math="<math.h>" in code or any(not np.isfinite(c.array).all() for c in module.constants.values()),
        engines=tuple(dict.fromkeys(call.engine for call in module.calls)),
        assembly={f"{own}_{stem}.s": text for stem, text in module.assembly.items()},
    )


def _values(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    return ((name, buffer.dtype, buffer.shape) for name, buffer in values)


def memory_facts(layout: Layout, interface: Interface) -> dict[str, Any]:
    """``memory.json``: how much lies where, and which values share the workspace at which calls."""
    module, live = layout.module, Liveness(layout.module)
    spans = {item.key: item for item in live.items}
    return {
        "workspace_bytes": sum(interface.workspaces.values()),
        "weights_bytes": interface.weights_bytes,
        "input_bytes": sum(each.size for each in interface.inputs),
        "output_bytes": sum(each.size for each in interface.outputs),
        "arenas": [
            {
                "memory": memory,
                "bytes": arena.size,
                "lower_bound": arena.floor,
                "alignment": arena.alignment,
                "values": [
                    {
                        "name": key if isinstance(key, str) else f"scratch of call {key}",
                        "layer": layer(module.calls[min(max(spans[key].first, 0), len(module.calls) - 1)]),
                        "offset": offset,
                        "bytes": spans[key].size,
                        "first_call": spans[key].first,
                        "last_call": spans[key].last,
                    }
                    for key, offset in sorted(arena.places.items(), key=lambda each: (each[1], str(each[0])))
                ],
            }
            for memory, arena in layout.arenas.items()
        ],
        "calls": [
            {
                "function": call.function,
                "engine": call.engine,
                "nodes": list(call.nodes),
                "layer": layer(call),
                **({"estimate": dict(call.estimate)} if call.estimate else {}),
            }
            for call in module.calls
        ],
    }
