"""The text of a module: its functions, its constants, and the calls in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from intarsia.codegen.arena import Arena
from intarsia.codegen.module import Argument, Buffer, Function, Literal, Read, Scratch, SourceModule, Write

TYPES = {
    "bool": "uint8_t", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t",
    "float32": "float", "float64": "double",
}  # fmt: skip
"""The type of C for an element type."""
_MOST_COMMENT = 100


def functions_text(module: SourceModule) -> str:
    """Includes and the definitions that the calls need, each behind those that it needs itself."""
    order: dict[str, Function] = {}
    for call in module.calls:
        _visit(call.function, module, order)
    headers = ["<stdint.h>", "<stddef.h>", *(header for function in order.values() for header in function.headers)]
    includes = "\n".join(_included(header) for header in dict.fromkeys(headers))
    return "\n\n".join([includes, *(function.text.strip() for function in order.values() if function.text)]) + "\n"


_WANTED = {
    "<arm_acle.h>": ("__ARM_FEATURE_DSP", "Arm's DSP instructions, as -mcpu=cortex-m4"),
    "<arm_mve.h>": ("__ARM_FEATURE_MVE", "Arm's M-profile vector extension, as -mcpu=cortex-m55"),
}
"""For headers that some processors alone have: the macro of their compilers, and what the processor needs."""


def _included(header: str) -> str:
    if header not in _WANTED:
        return f"#include {header}"
    macro, needs = _WANTED[header]
    return f"""#ifndef {macro}
#error "this network is written for a processor with {needs} has: compile it for that one"
#endif
#include {header}"""


def _visit(name: str, module: SourceModule, order: dict[str, Function]) -> None:
    if name in order:
        return
    function = module.functions[name]
    for other in function.needs:
        _visit(other, module, order)
    order[name] = function


def array_text(name: str, array: np.ndarray, before: str = "") -> str:
    """A constant as the definition of an array of C, in lines of some 100 signs.

    Args:
        name: Of the array.
        array: Its numbers, as they lie in memory.
        before: What stands before the type.
    """
    kind = TYPES[array.dtype.name]
    numbers = _lines(literals(array.reshape(-1))) if array.size else "    0"
    return f"{before}const {kind} {name}[{max(1, array.size)}] = {{\n{numbers}\n}};"


def _lines(numbers: Iterable[str]) -> str:
    lines, line = [], "   "
    for number in numbers:
        if len(line) + len(number) > _MOST_COMMENT:
            lines.append(line)
            line = "   "
        line += f" {number},"
    return "\n".join([*lines, line]).removesuffix(",")


def literals(flat: np.ndarray) -> Iterable[str]:
    """Each number as C writes it, exactly."""
    if flat.dtype.kind == "f":
        suffix = "f" if flat.dtype == np.float32 else ""
        return (_float(float(number), suffix) for number in flat)
    low = np.iinfo(flat.dtype).min if flat.dtype.kind in "iu" else 0
    before, behind = {"int64": ("INT64_C(", ")"), "uint64": ("UINT64_C(", ")"), "uint32": ("", "u")}.get(
        flat.dtype.name, ("", "")
    )
    least = f"INT{8 * flat.dtype.itemsize}_MIN"
    return (least if number == low and low < -(2**15) else f"{before}{int(number)}{behind}" for number in flat.tolist())


def _float(number: float, suffix: str) -> str:
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{number.hex()}{suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the text finds what has an address: an expression of C for each, by the name of its buffer.

    Attributes:
        inputs: Pointers.
        outputs: Pointers.
        constants: Pointers to their own type. A constant that is not there is an array of its own name.
        workspaces: Pointer to the memory that a buffer, or the scratch memory of a call, lies in; for what is not there
            ``workspace``.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)
    workspaces: Mapping[str | int, str] = field(default_factory=dict)

    @classmethod
    def in_arrays(cls, module: SourceModule) -> Places:
        """``inputs[i]``, ``outputs[i]`` and ``workspace``."""
        return cls(
            inputs={each.name: f"inputs[{place}]" for place, each in enumerate(module.inputs.values())},
            outputs={each.name: f"outputs[{place}]" for place, each in enumerate(module.outputs.values())},
        )


def body_text(module: SourceModule, arena: Arena, places: Places | None = None, *, commented: bool = False) -> str:
    """The calls in order, each behind the names of the nodes it computes where that is ``commented``."""
    found = Places.in_arrays(module) if places is None else places
    lines = []
    for number, call in enumerate(module.calls):
        if commented and call.nodes:
            lines.append(f"    /* {_comment(', '.join(call.nodes))} */")
        arguments = [_argument(each, place, number, module, arena, found) for place, each in enumerate(call.arguments)]
        lines.append(f"    {call.function}({', '.join(arguments)});")
    return "\n".join(lines)


def _comment(text: str) -> str:
    """On one line, and not ended by what it says."""
    shown = "".join(sign if sign.isascii() and sign.isprintable() else "?" for sign in text).replace("*/", "* /")
    shown = shown.replace("/*", "/ *").replace("??", "? ?").rstrip("\\")
    return shown if len(shown) <= _MOST_COMMENT else f"{shown[:_MOST_COMMENT]}..."


def _argument(each: Argument, place: int, call: int, module: SourceModule, arena: Arena, places: Places) -> str:
    if isinstance(each, Literal):
        return each.text
    if isinstance(each, Scratch):
        offset = arena.scratch.get(call, 0) + module.calls[call].scratch_offset(place)
        return f"(void *)((char *){places.workspaces.get(call, 'workspace')} + {offset})"
    return _address(each, module, arena, places)


def _address(each: Read | Write, module: SourceModule, arena: Arena, places: Places) -> str:
    if each.name in module.constants:
        return places.constants.get(each.name, each.name)
    root, offset = module.root(each.name)
    buffer = module.views[each.name].buffer if each.name in module.views else _buffer(each.name, module)
    kind = TYPES[buffer.dtype]
    if isinstance(each, Read):
        kind = f"const {kind}"
    outer = places.inputs.get(root) or places.outputs.get(root)
    if outer is not None:
        bytes_of = "const char" if root in places.inputs else "char"
        return f"({kind} *)(({bytes_of} *){outer} + {offset})" if offset else f"({kind} *){outer}"
    workspace = places.workspaces.get(root, "workspace")
    return f"({kind} *)((char *){workspace} + {arena.offsets.get(root, 0) + offset})"


def _buffer(name: str, module: SourceModule) -> Buffer:
    every = (*module.buffers.values(), *module.inputs.values(), *module.outputs.values())
    return next(each for each in every if each.name == name)
