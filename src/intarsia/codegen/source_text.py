"""The text of a network's header, code and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from intarsia.codegen.arena import Arena
from intarsia.codegen.emit import TYPES, Places, array_text, body_text, functions_text
from intarsia.codegen.interface import Argument, Interface
from intarsia.codegen.module import SourceModule


def weight_name(interface: Interface, constant: str) -> str:
    """The name of the array of a constant."""
    return f"{interface.name}_{constant}"


def header_text(it: Interface, about: str) -> str:
    """The header, which C and C++ may include."""
    lines = [f"/* {about} */", f"#ifndef {it.prefix}_H", f"#define {it.prefix}_H", "", "#include <stdint.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += _figures(it)
    for side, arguments in (("inputs", it.inputs), ("outputs", it.outputs)):
        lines += [f"/* {side.capitalize()}: bytes of each. */"]
        lines += [
            f"#define {it.prefix}_{side.upper()[:-1]}_{each.identifier.upper()}_BYTES {each.size}u /* {_told(each)} */"
            for each in arguments
        ]
        lines += [""]
    lines += [*_types(it), *_declaration(it), ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {it.prefix}_H */", ""]
    return "\n".join(lines)


def _figures(it: Interface) -> Iterator[str]:
    yield "/* Memory that one call works in, in bytes. Its contents need not be kept from call to call. */"
    for memory in it.memories:
        infix = f"_{memory.upper()}" if memory else ""
        yield f"#define {it.prefix}_WORKSPACE{infix}_BYTES {it.workspaces[memory]}u"
    yield f"#define {it.prefix}_WORKSPACE_ALIGNMENT {it.options.workspace_alignment}u"
    yield f"#define {it.prefix}_WEIGHTS_BYTES {it.weights_bytes}u"
    yield f"#define {it.prefix}_WEIGHTS_ALIGNMENT {it.options.constant_alignment}u"
    yield ""


def _types(it: Interface) -> Iterator[str]:
    if it.options.entry == "array":
        yield "/* Places of inputs and outputs in the array of arguments. */"
        for place, each in enumerate(it.arguments):
            side = "INPUT" if place < len(it.inputs) else "OUTPUT"
            yield f"#define {it.prefix}_{side}_{each.identifier.upper()} {place}"
        yield f"#define {it.prefix}_ARGUMENTS {len(it.arguments)}"
        yield ""
    if it.options.entry == "structs":
        for side, arguments, const in (("inputs", it.inputs, "const "), ("outputs", it.outputs, "")):
            yield f"struct {it.name}_{side} {{"
            yield from (f"    {const}{each.type} *{each.identifier}; /* {_told(each)} */" for each in arguments)
            if not arguments:
                yield "    void *none;"
            yield "};"
            yield ""


def _declaration(it: Interface) -> Iterator[str]:
    yield "/* Compute the outputs of one request. Two calls may run at one time if each has memory of its own. */"
    yield f"#define {it.prefix}_OK 0"
    yield f"#define {it.prefix}_BAD_MEMORY 1 /* a pointer is missing, or is not aligned as stated above */"
    yield f"{it.prototype()};"


def _told(each: Argument) -> str:
    return f"{each.dtype}[{', '.join(map(str, each.shape))}]"


def code_text(
    it: Interface,
    module: SourceModule,
    arenas: Mapping[str, Arena],
    about: str,
    places_of_weights: Mapping[str, int],
) -> str:
    """The code: the functions that the network needs, and the entry point.

    Args:
        it: How it is called.
        module: The network.
        arenas: Where its values lie in each memory.
        about: One line for the top.
        places_of_weights: Where each constant starts in what a caller hands over.
    """
    inputs, outputs = it.places()
    places = Places(
        inputs={module.inputs[name].name: text for name, text in inputs.items()},
        outputs={module.outputs[name].name: text for name, text in outputs.items()},
        constants={
            each.name: weight_name(it, each.name)
            if it.options.link_weights
            else f"(const {TYPES[each.array.dtype.name]} *)((const char *)weights + {places_of_weights[each.name]})"
            for each in module.constants.values()
        },
        workspaces={key: it.memories[memory] for memory, arena in arenas.items() for key in arena.places},
    )
    together = Arena(
        size=0,
        offsets={key: offset for arena in arenas.values() for key, offset in arena.offsets.items()},
        scratch={key: offset for arena in arenas.values() for key, offset in arena.scratch.items()},
        alignment=it.options.workspace_alignment,
    )
    parts = [f"/* {about} */", f'#include "{it.name}.h"', "", functions_text(module)]
    if it.options.link_weights:
        parts += list(declarations(it, module))
    if it.options.static_workspace:
        parts += list(_static_workspaces(it))
    parts += [it.prototype(), "{", *_checks(it), body_text(module, together, places, commented=True)]
    parts += [f"    return {it.prefix}_OK;", "}", ""]
    return "\n".join(parts)


def declarations(it: Interface, module: SourceModule) -> Iterator[str]:
    """Of the arrays of weights, which another file defines."""
    for each in module.constants.values():
        kind = TYPES[each.array.dtype.name]
        yield f"extern const {kind} {weight_name(it, each.name)}[{max(1, each.array.size)}];"
    yield ""


def aligned_macro(it: Interface) -> str:
    """A macro for the alignment of an array, as compilers spell it."""
    name = f"{it.prefix}_ALIGNED"
    return f"""#if defined(__GNUC__) || defined(__clang__)
#define {name}(bytes) __attribute__((aligned(bytes)))
#elif defined(_MSC_VER)
#define {name}(bytes) __declspec(align(bytes))
#else
#define {name}(bytes)
#endif
"""


def section_macro(it: Interface, memory: str) -> str:
    """A macro that a build may define to put what lies in a memory into a section of the linker's script."""
    name = f"{it.prefix}_IN_{memory.upper()}"
    return f"#ifndef {name}\n#define {name}\n#endif\n"


def _static_workspaces(it: Interface) -> Iterator[str]:
    yield aligned_macro(it)
    for memory, name in it.memories.items():
        where = ""
        if memory:
            yield section_macro(it, memory)
            where = f"{it.prefix}_IN_{memory.upper()} "
        size = max(1, it.workspaces[memory])
        yield f"{where}{it.prefix}_ALIGNED({it.options.workspace_alignment}) static uint8_t {name}[{size}];\n"


def _checks(it: Interface) -> Iterator[str]:
    conditions = []
    if not it.options.static_workspace:
        mask = it.options.workspace_alignment
        for memory, name in it.memories.items():
            if it.workspaces[memory]:
                conditions += [f"{name} == NULL", f"(uintptr_t){name} % {mask}u != 0u"]
            else:
                yield f"    (void){name};"
    if not it.options.link_weights:
        if it.weights_bytes:
            conditions += ["weights == NULL", f"(uintptr_t)weights % {it.options.constant_alignment}u != 0u"]
        else:
            yield "    (void)weights;"
    if it.options.entry == "array":
        conditions.insert(0, "arguments == NULL")
    if it.options.entry == "structs":
        conditions[:0] = ["inputs == NULL", "outputs == NULL"]
    if conditions:
        yield f"    if ({' || '.join(conditions)}) {{"
        yield f"        return {it.prefix}_BAD_MEMORY;"
        yield "    }"


def weights_text(it: Interface, arrays: Sequence[tuple[str, np.ndarray, str]], about: str) -> Iterator[str]:
    """The file of weights, part by part, since it may be large.

    Args:
        it: The interface.
        arrays: Each constant by the name of its array, and the memory it lies in; none if none is stated.
        about: One line for the top.
    """
    yield f"/* {about} */\n#include <stdint.h>\n"
    if any(array.dtype.kind == "f" and not np.isfinite(array).all() for _, array, _ in arrays):
        yield "#include <math.h>\n"
    yield f"\n{aligned_macro(it)}"
    for memory in dict.fromkeys(memory for *_, memory in arrays if memory):
        yield section_macro(it, memory)
    for name, array, memory in arrays:
        where = f"{it.prefix}_IN_{memory.upper()} " if memory else ""
        kind = TYPES[array.dtype.name]
        yield f"\nextern const {kind} {name}[{max(1, array.size)}];\n"
        before = f"{where}{it.prefix}_ALIGNED({it.options.constant_alignment}) "
        yield f"{array_text(name, array, before)}\n"
    if not arrays:
        yield f"\ntypedef int {it.name}_has_no_weights;\n"
