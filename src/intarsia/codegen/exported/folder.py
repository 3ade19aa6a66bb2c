"""The files that are exported around a network's code: its weights, how it is built, an example, and a test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.codegen.emit import array_text
from intarsia.codegen.exported.makefile import FOLDER, Machine, board_files, make_text, units
from intarsia.codegen.interface import Interface
from intarsia.codegen.project import Project
from intarsia.codegen.source_text import aligned_macro, weights_text

HOST = Machine()
APACHE = "https://www.apache.org/licenses/LICENSE-2.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Inputs, and the outputs that belong to them.

    Attributes:
        inputs: By the model's names.
        outputs: By the model's names.
        allowed: How far each output may be off: a share of its largest value, or steps of 8-bit numbers.
    """

    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    allowed: Mapping[str, float]


def write(
    project: Project,
    folder: Path,
    facts: Mapping[str, Any],
    licences: Mapping[str, str],
    test: Recorded | None = None,
    machine: Machine = HOST,
) -> tuple[Path, ...]:
    """Write the whole folder, which is there already, and answer its files.

    Args:
        project: The network.
        folder: Where.
        facts: Of ``memory.json``.
        licences: Of the engines whose code it holds, by kind.
        test: What a test checks, if there is to be one.
        machine: What the code is written for.
    """
    texts = dict(_texts(project, facts, licences, machine, has_test=test is not None))
    if test is not None:
        texts[f"{project.name}_test.c"] = check_text(project.interface, test)
    written = []
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    if project.interface.options.link_weights:
        path = folder / f"{project.name}_weights.c"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(weights_text(project.interface, list(project.arrays()), f"{project.about}: its weights."))
    else:
        path = folder / f"{project.name}_weights.bin"
        path.write_bytes(project.content)
    return (*written, path)


def _texts(
    project: Project, facts: Mapping[str, Any], licences: Mapping[str, str], machine: Machine, *, has_test: bool
) -> Iterator[tuple[str, str]]:
    yield from project.own_sources().items()
    yield "main.c", example_text(project.interface)
    yield "CMakeLists.txt", cmake_text(project, has_test=has_test)
    yield "Makefile", make_text(project, machine, has_test=has_test)
    yield "README.md", readme_text(project, machine, has_test=has_test)
    yield from board_files(machine).items()
    yield "LICENSE", licence_text(project, licences)
    yield "memory.json", json.dumps(facts, indent=1) + "\n"


def cmake_text(project: Project, *, has_test: bool) -> str:
    """``CMakeLists.txt``: a library of the network's name, and programs where it is the top of the build."""
    name = project.name
    files = "\n    ".join([*units(project), *(f"${{INTARSIA_LIBRARY}}/{each}" for each in project.sources)])
    folders = " ".join(
        ["${CMAKE_CURRENT_SOURCE_DIR}", *(f"${{INTARSIA_LIBRARY}}/{e}" for e in project.include_folders)]
    )
    lines = ["cmake_minimum_required(VERSION 3.13)", f"project({name} C{' ASM' if project.assembly else ''})", ""]
    if project.sources:
        lines += [
            f'set(INTARSIA_LIBRARY "" CACHE PATH "Folder of the library that {" and ".join(project.engines)} need")',
            "if(NOT INTARSIA_LIBRARY)",
            '    message(FATAL_ERROR "say where the library lies: -DINTARSIA_LIBRARY=/path")',
            "endif()",
            "",
        ]
    lines += [f"add_library({name} STATIC\n    {files})", f"target_include_directories({name} PUBLIC {folders})"]
    lines += [f"set_target_properties({name} PROPERTIES C_STANDARD 99)"]
    if project.defines:
        lines += [f"target_compile_definitions({name} PRIVATE {' '.join(project.defines)})"]
    if project.needs_math:
        lines += ["if(NOT MSVC)", f"    target_link_libraries({name} PUBLIC m)", "endif()"]
    lines += ["", "if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)"]
    lines += [f"    add_executable({name}_example main.c)", f"    target_link_libraries({name}_example {name})"]
    if has_test:
        lines += ["    enable_testing()", f"    add_executable({name}_test {name}_test.c)"]
        lines += [f"    target_link_libraries({name}_test {name})", f"    add_test(NAME {name} COMMAND {name}_test)"]
        if not project.interface.options.link_weights:
            lines += [f"    set_tests_properties({name} PROPERTIES WORKING_DIRECTORY ${{CMAKE_SOURCE_DIR}})"]
    return "\n".join([*lines, "endif()", ""])


def readme_text(project: Project, machine: Machine, *, has_test: bool) -> str:
    """``README.md``: what each file is, and how it is built."""
    name, prefix = project.name, project.interface.prefix
    own = ", ".join(f"`{each}`" for each in [f"{name}.h", *units(project)])
    compiler = f"{machine.triple or 'the compiler of this machine'}{'-gcc' if machine.triple else ''}"
    flags = f" with `{' '.join(machine.flags)}`" if machine.flags else ""
    files = [f"- {own}: the network; these belong into your program"]
    if not project.interface.options.link_weights:
        files.append(f"- `{name}_weights.bin`: its weights, which you hand over")
    files.append("- `main.c`: an example that calls it once (`make example`)")
    if has_test:
        files.append(f"- `{name}_test.c`: a test with recorded inputs and outputs (`make test`)")
    if machine.board is not None:
        files.append(
            f"- `{FOLDER}/`: what example and test need to run on QEMU's {machine.board.name}; no other needs it"
        )
    files += ["- `Makefile`, `CMakeLists.txt`: how it is built", "- `memory.json`: which value lies where, and when"]
    files += ["- `LICENSE`: what is whose"]
    body = "\n".join(files)
    return f"""# {name}

{project.about}.

{body}

Call `{name}_run`, which `{name}.h` declares; it answers `{prefix}_OK`, or `{prefix}_BAD_MEMORY`. It allocates nothing.
The code is written for {compiler}{flags}. `make` builds `lib{name}.a`; `make CC=...` takes another compiler.
"""


def licence_text(project: Project, licences: Mapping[str, str]) -> str:
    """What is whose."""
    rows = "\n".join(f"- functions of the engine {engine}: {licence}" for engine, licence in licences.items())
    library = (
        "\nFiles of another folder (INTARSIA_LIBRARY) that are compiled beside it have the licence that stands there.\n"
        if project.sources
        else ""
    )
    return f"""{project.about}

The functions in {project.name}.c are templates of Intarsia, filled in for this network:
{rows}
The text of the Apache License, Version 2.0, is at {APACHE}.
The weights and what the network computes are under the licence of the model that they were made from.
{library}"""


def example_text(it: Interface) -> str:
    """``main.c``: one call, with inputs of zeros, and the first number of each output."""
    shown = "\n".join(
        f'    printf("{each.identifier}: %g\\n", (double){each.identifier}[0]);' for each in it.outputs if each.size
    )
    return f"""/* Calls the network once. Fill the inputs with what you measure. */
#include "{it.name}.h"

#include <stdio.h>

{caller_text(it)}
int main(void)
{{
{call_text(it)}    if (status != {it.prefix}_OK) {{
        return 1;
    }}
{shown}
    return 0;
}}
"""


def caller_text(it: Interface, *, has_inputs: bool = True) -> str:
    """The memory that a caller owns: inputs and outputs, workspaces, and weights from a file where they are not linked.

    On a microcontroller the weights are rather at a fixed address of a flash memory.
    """
    lines = [aligned_macro(it)]
    macro = f"{it.prefix}_ALIGNED"
    values = [*(it.inputs if has_inputs else ()), *it.outputs]
    lines += [f"static {each.type} {each.identifier}[{max(1, each.size // _bytes(each.dtype))}];" for each in values]
    if not it.options.static_workspace:
        for memory, name in it.memories.items():
            size = max(1, it.workspaces[memory])
            lines.append(f"{macro}({it.options.workspace_alignment}) static uint8_t {name}[{size}];")
    if not it.options.link_weights:
        lines.append(f"{macro}({it.options.constant_alignment}) static uint8_t weights[{max(1, it.weights_bytes)}];")
    return "\n".join([*lines, ""])


def call_text(it: Interface) -> str:
    """Statements that call the network with that memory, and keep the answer in ``status``."""
    lines = []
    if not it.options.link_weights:
        lines += [
            f'    FILE *file = fopen("{it.name}_weights.bin", "rb");',
            "    if (file == NULL || fread(weights, 1, sizeof weights, file) != sizeof weights) {"
            if it.weights_bytes
            else "    if (file == NULL) {",
            f'        fprintf(stderr, "{it.name}_weights.bin is not here\\n");',
            "        return 2;",
            "    }",
            "    fclose(file);",
        ]
    names = [each.identifier for each in it.arguments]
    count = len(it.inputs)
    if it.options.entry == "array":
        pointers = ", ".join(f"(void *){name}" for name in names) or "NULL"
        lines.append(f"    void *const arguments[] = {{{pointers}}};")
        handed = ["arguments"]
    elif it.options.entry == "structs":
        for side, own in (("inputs", names[:count]), ("outputs", names[count:])):
            lines.append(f"    const struct {it.name}_{side} {side} = {{{', '.join(own) or 'NULL'}}};")
        handed = ["&inputs", "&outputs"]
    else:
        handed = names
    if not it.options.static_workspace:
        handed += it.memories.values()
    if not it.options.link_weights:
        handed.append("weights")
    lines.append(f"    const int32_t status = {it.name}_run({', '.join(handed)});")
    return "\n".join([*lines, ""])


def check_text(it: Interface, test: Recorded) -> str:
    """``NAME_test.c``: the recorded inputs, and whether the outputs are those that were recorded."""
    arrays: list[tuple[str, np.ndarray]] = [(each.identifier, _stored(test.inputs[each.name])) for each in it.inputs]
    arrays += [(f"expected_{each.identifier}", _stored(test.outputs[each.name])) for each in it.outputs]
    checks = "\n".join(_check(each.identifier, test.outputs[each.name], test.allowed[each.name]) for each in it.outputs)
    numbers = "\n\n".join(array_text(name, array, "static ") for name, array in arrays)
    return f"""/* Checks the network against recorded inputs and outputs. */
#include "{it.name}.h"

#include <math.h>
#include <stdio.h>

{caller_text(it, has_inputs=False)}
{numbers}

int main(void)
{{
    int wrong = 0;
{call_text(it)}    if (status != {it.prefix}_OK) {{
        printf("the network answered %d\\n", (int)status);
        return 1;
    }}
{checks}
    printf(wrong ? "wrong\\n" : "right\\n");
    return wrong;
}}
"""


def _check(name: str, expected: np.ndarray, allowed: float) -> str:
    """A loop over an output: the largest difference, as a share of the largest value or in steps."""
    is_float = expected.dtype.kind == "f"
    wide = expected.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    peak = float(np.abs(finite).max()) if is_float and finite.size else 0.0
    most = allowed * peak if is_float and peak else allowed
    return f"""    for (int i = 0; i < {expected.size}; i++) {{
        const double found = (double){name}[i], wanted = (double)expected_{name}[i];
        const int is_alike = found == wanted || (isnan(found) && isnan(wanted));
        if (!is_alike && !(fabs(found - wanted) <= {most!r})) {{
            printf("{name}[%d] is %g, and not %g\\n", i, found, wanted);
            wrong = 1;
        }}
    }}"""


def _stored(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).astype(np.uint8) if array.dtype == np.bool_ else np.ascontiguousarray(array)


def _bytes(dtype: str) -> int:
    return np.dtype(dtype).itemsize
