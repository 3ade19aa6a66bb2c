"""IREE's code in a program for another processor: its assembly, and C that calls it workgroup by workgroup.

Nothing of IREE is linked. Functions are called as its header `iree/hal/local/executable_library.h` declares version 6
of a library, in the order in which its runtime would: see `dispatches`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.iree.dispatches import CONSTANT, INPUT, TRANSIENT, Commands, Copy, Dispatch, Fill, Place
from intarsia.codegen import machines
from intarsia.codegen.module import Argument, Buffer, Call, Constant, Function, Read, Scratch, SourceModule, Write
from intarsia.codegen.parts.assembly import for_gnu, stem_of
from intarsia.errors import CompileError

if TYPE_CHECKING:
    from intarsia.graph import SubModel, Value
    from intarsia.target import Target

ALIGNMENT = 64
"""Bytes: compiled code loads whole vectors from the start of each memory."""
LIBRARY = "model.o"
PROCESSOR = "--iree-llvmcpu-target-"
"""How the options begin that tell the compiler of a processor."""
_PHASES, _TEXTS = "phases", "texts"
_ELIDED = ("--mlir-elide-elementsattrs-if-larger=16", "--mlir-elide-resource-strings-if-larger=16")


def processor_flags(processor: Target) -> tuple[str, ...]:
    """How the compiler is told of a processor; of this machine's where nothing is said of it."""
    triple = machines.triple_of(processor)
    if not triple:
        return ("--iree-llvmcpu-target-cpu=host",)
    flags = [f"--iree-llvmcpu-target-triple={triple}"]
    flags += [f"--iree-llvmcpu-target-cpu={processor.mcpu or _GENERIC.get(processor.features.architecture, 'generic')}"]
    features = machines.features_of(processor)
    flags += [f"--iree-llvmcpu-target-cpu-features={','.join(features)}"] if features else []
    if processor.features.architecture == "riscv":
        flags += [f"--iree-llvmcpu-target-abi={processor.options.get('mabi', 'lp64d')}"]
    return tuple(flags)


_GENERIC = {"riscv": "generic-rv64"}


def program_flags(processor: Target, folder: Path) -> tuple[str, ...]:
    """What makes the compiler leave assembly and what calls it in a folder."""
    return (
        *processor_flags(processor),
        "--iree-llvmcpu-link-embedded=false",
        "--iree-llvmcpu-link-static",
        f"--iree-llvmcpu-static-library-output-path={folder / LIBRARY}",
        f"--dump-compilation-phases-to={folder / _PHASES}",
        f"--iree-hal-dump-executable-intermediates-to={folder / _TEXTS}",
        *_ELIDED,
    )


def text_of(folder: Path) -> str:
    """What is called, as the compiler left it in a folder: the module at the stage ``hal``."""
    (path,) = (folder / _PHASES).glob("*.hal.mlir")
    text = path.read_text(encoding="utf-8")
    if "local_memory" in text:
        raise CompileError("iree", "its code needs memory of a workgroup's own, which a program does not hand over")
    return text


def assembly_of(folder: Path) -> str:
    """The code that the compiler left in a folder; empty where there is none."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((folder / _TEXTS).glob("*.s")))


def constants_of(module: bytes, commands: Commands) -> list[np.ndarray]:
    """The bytes of each constant, from a compiled module.

    Raises:
        CompileError: They are not in it.
    """
    with zipfile.ZipFile(BytesIO(module)) as archive:
        stored = [archive.read(each) for each in archive.infolist() if each.filename.startswith("_const")]
    found = []
    for size in commands.constants:
        fitting = [each for each in stored if len(each) == size]
        if len(fitting) != 1:
            raise CompileError("iree", f"a constant of {size} bytes is not to be found in what it compiled")
        found.append(np.frombuffer(fitting[0], np.uint8))
    return found


def module_of(model: SubModel, commands: Commands, assembly: str, constants: Sequence[np.ndarray]) -> SourceModule:
    """The module of a sub-graph: one call, which makes those of the compiled code."""
    stem = stem_of("iree", assembly)
    inputs = {value.name: _buffer(f"x{place}", value) for place, value in enumerate(model.inputs)}
    outputs = {value.name: _buffer(f"y{place}", value) for place, value in enumerate(model.outputs)}
    blobs = {f"k{place}": Constant(name=f"k{place}", array=array) for place, array in enumerate(constants)}
    names = {each.function for each in commands.steps if isinstance(each, Dispatch)}
    text, size = _Text(stem, commands, list(inputs.values()), list(outputs.values()), names).made()
    arguments: list[Argument] = [Read(each.name) for each in inputs.values()]
    arguments += [Read(name) for name in blobs]
    arguments += [Write(each.name) for each in outputs.values()]
    arguments += [Scratch(size)]
    function = Function(name=f"{stem}_run", text=text, headers=("<math.h>", "<stdlib.h>", "<string.h>"))
    return SourceModule(
        inputs=inputs,
        outputs=outputs,
        buffers={},
        views={},
        constants=blobs,
        functions={function.name: function},
        calls=(Call(function=function.name, arguments=tuple(arguments)),),
        assembly={stem: _named(assembly, stem, names)} if names else {},
        alignment=ALIGNMENT,
    )


def _buffer(name: str, value: Value) -> Buffer:
    return Buffer(name=name, dtype=str(value.dtype), shape=tuple(int(size) for size in value.shape or ()))


def _named(text: str, stem: str, names: set[str]) -> str:
    """The text with the functions that are called seen by others, under names that no other network has."""
    text = re.sub(r"^\s*\.globl\s.*\n", "", for_gnu(text), flags=re.MULTILINE)
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.$]){re.escape(name)}(?![\w$])", f"{stem}_{name}", text)
    return "".join(f"\t.globl\t{stem}_{name}\n" for name in sorted(names)) + text


class _Text:
    """The function of C that makes all calls, and the bytes of memory that it works in."""

    def __init__(
        self, stem: str, commands: Commands, inputs: list[Buffer], outputs: list[Buffer], names: set[str]
    ) -> None:
        self._stem, self._commands, self._names = stem, commands, names
        self._inputs, self._outputs = inputs, outputs
        self._offsets: dict[tuple[str, int], int] = {}
        self._size = 0
        for number, size in enumerate(commands.transients):
            self._take((TRANSIENT, number), size)
        for number, each in enumerate(inputs):
            self._take((INPUT, number), each.size)

    def _take(self, key: tuple[str, int], size: int) -> None:
        self._offsets[key] = self._size
        self._size += -(-size // ALIGNMENT) * ALIGNMENT

    def made(self) -> tuple[str, int]:
        """The text, and bytes of memory."""
        parameters = [f"const void *x{number}" for number in range(len(self._inputs))]
        parameters += [f"const void *k{number}" for number in range(len(self._commands.constants))]
        parameters += [f"void *y{number}" for number in range(len(self._outputs))]
        lines = [*_support(self._stem)]
        lines += [
            f"extern int {self._stem}_{name}(\n    const struct {self._stem}_environment *, "
            f"const struct {self._stem}_dispatch *, const struct {self._stem}_workgroup *);"
            for name in sorted(self._names)
        ]
        lines += [f"static void {self._stem}_run({', '.join([*parameters, 'void *memory'])})", "{"]
        lines += ["    char *const at = (char *)memory;"]
        for number, each in enumerate(self._inputs):
            if each.size:
                lines.append(f"    memcpy({self._at(Place(INPUT, number, 0, each.size))}, x{number}, {each.size}u);")
        for step in self._commands.steps:
            lines += self._step(step)
        for number, place in enumerate(self._commands.outputs):
            if place.size:
                lines.append(f"    memcpy(y{number}, {self._at(place)}, {self._outputs[number].size}u);")
        return "\n".join([*lines, "    (void)at;", "}"]), max(self._size, ALIGNMENT)

    def _at(self, place: Place) -> str:
        if place.kind == CONSTANT:
            return f"(void *)((const char *)k{place.number} + {place.offset}u)"
        return f"(void *)(at + {self._offsets[place.kind, place.number] + place.offset}u)"

    def _step(self, step: Dispatch | Fill | Copy) -> Iterator[str]:
        if isinstance(step, Copy):
            yield f"    memmove({self._at(step.to)}, {self._at(step.source)}, {step.to.size}u);"
        elif isinstance(step, Fill):
            pattern = step.pattern & ((1 << 8 * step.width) - 1)
            yield f"    {self._stem}_fill({self._at(step.to)}, {step.to.size}u, {pattern:#x}u, {step.width}u);"
        else:
            x, y, z = step.workgroups
            constants = [f"{each & 0xFFFFFFFF:#x}u" for each in step.constants]
            pointers = [self._at(each) for each in step.bindings]
            sizes = [f"{each.size}u" for each in step.bindings]
            yield "    {"
            yield f"        const uint32_t constants[] = {{{', '.join(constants) or '0u'}}};"
            yield f"        void *const memories[] = {{{', '.join(pointers) or 'NULL'}}};"
            yield f"        const size_t sizes[] = {{{', '.join(sizes) or '0u'}}};"
            yield (
                f"        {self._stem}_dispatch({self._stem}_{step.function}, {x}u, {y}u, {z}u, constants, "
                f"{len(constants)}u, memories, sizes, {len(pointers)}u);"
            )
            yield "    }"


def _support(stem: str) -> Iterator[str]:
    yield f"""/* How the compiled code is called: iree/hal/local/executable_library.h, version 6. */
struct {stem}_environment {{
    const uint32_t *constants;
    int (*import_thunk)(void *, void *, void *, void *);
    void *const *import_functions;
    void *const *import_contexts;
    struct {{ uint64_t data[8]; }} processor;
}};
struct {stem}_dispatch {{
    uint32_t size_x, size_y;
    uint16_t size_z, constant_count;
    uint32_t count_x, count_y;
    uint16_t count_z;
    uint8_t most_at_once, memory_count;
    const uint32_t *constants;
    void *const *memories;
    const size_t *sizes;
}} __attribute__((aligned(16)));
struct {stem}_workgroup {{
    uint32_t x, y;
    uint16_t z, reserved;
    uint32_t processor;
    void *memory;
    uint32_t memory_size;
}} __attribute__((aligned(16)));
typedef int {stem}_function(
    const struct {stem}_environment *, const struct {stem}_dispatch *, const struct {stem}_workgroup *);
static void {stem}_dispatch(
    {stem}_function *run, uint32_t x, uint32_t y, uint32_t z, const uint32_t *constants, uint32_t constant_count,
    void *const *memories, const size_t *sizes, uint32_t memory_count)
{{
    const struct {stem}_environment environment __attribute__((aligned(16))) = {{0}};
    struct {stem}_dispatch dispatch = {{0}};
    struct {stem}_workgroup group = {{0}};
    dispatch.size_x = dispatch.size_y = 1u;
    dispatch.size_z = 1u;
    dispatch.constant_count = (uint16_t)constant_count;
    dispatch.count_x = x;
    dispatch.count_y = y;
    dispatch.count_z = (uint16_t)z;
    dispatch.most_at_once = 1u;
    dispatch.memory_count = (uint8_t)memory_count;
    dispatch.constants = constants;
    dispatch.memories = memories;
    dispatch.sizes = sizes;
    for (uint32_t at_z = 0u; at_z < z; ++at_z) {{
        for (uint32_t at_y = 0u; at_y < y; ++at_y) {{
            for (uint32_t at_x = 0u; at_x < x; ++at_x) {{
                group.x = at_x;
                group.y = at_y;
                group.z = (uint16_t)at_z;
                if (run(&environment, &dispatch, &group) != 0) {{
                    abort();
                }}
            }}
        }}
    }}
}}
static void {stem}_fill(void *memory, size_t size, uint32_t pattern, size_t width)
{{
    char *const at = (char *)memory;
    const uint8_t one = (uint8_t)pattern;
    const uint16_t two = (uint16_t)pattern;
    const void *const narrow = width == 1u ? (const void *)&one : (const void *)&two;
    const void *const from = width == 4u ? (const void *)&pattern : narrow;
    for (size_t done = 0u; done + width <= size; done += width) {{
        memcpy(at + done, from, width);
    }}
}}"""
