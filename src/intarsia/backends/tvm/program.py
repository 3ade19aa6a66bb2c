"""TVM's kernels in a program for another processor: assembly, called by C that keeps TVM's calling convention.

Nothing of TVM is linked. What kernels ask of its runtime is written beside them: to run a loop in parallel, which one
thread does here; memory of their own; and a place for the words of an error, which fixed shapes leave none of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.passes.fold import fold
from intarsia.backends.lowering.program import CONSTANT, WEIGHT, Program
from intarsia.backends.tvm.compiler import Call as KernelCall
from intarsia.backends.tvm.compiler import Plan, Tensor, module_of, with_turned_weights
from intarsia.codegen.copying import COPY
from intarsia.codegen.module import Buffer, Call, Constant, Function, Literal, Read, SourceModule, Write
from intarsia.codegen.parts.assembly import for_gnu, stem_of

if TYPE_CHECKING:
    from intarsia.graph import SubModel

ALIGNMENT = 64
"""Bytes: compiled kernels take the address of every tensor to be a multiple of it."""
_KERNEL = "__tvm_ffi_"
_RUNTIME = {
    "__TVMBackendParallelLaunch": "parallel",
    "__TVMBackendAllocWorkspace": "allocate",
    "__TVMBackendFreeWorkspace": "release",
    "TVMFFIErrorSetRaisedFromCStrParts": "raised",
}
_DTYPES: Mapping[str, int] = {"i": 0, "u": 1, "f": 2, "b": 6}
"""Codes of DLPack by numpy's kinds."""
_TENSOR = 7
"""How TVM marks an argument that is a pointer to a tensor."""


def program_of(model: SubModel, natives: frozenset[str], device: Any, opt_level: int) -> SourceModule:
    """A sub-graph as calls of kernels, the weights as those read them.

    Args:
        model: The sub-graph.
        natives: Operations that kernels have as one.
        device: TVM's target.
        opt_level: How much TVM's passes do.
    """
    import tvm

    lowered = lower(model, natives)
    weights = {place: model.weights[name].array() for name, place in lowered.weights.items()}
    turned = with_turned_weights(lowered)
    known = turned.known | {place: weights[lowered.weights[name]] for name, place in turned.weights.items()}
    program, arrays = fold(turned, known)
    compiled = module_of(program, device, opt_level)
    text = tvm.tirx.build(compiled.kernels, target=device).inspect_source("asm")
    return _Module(program, arrays, compiled.plan, text).made()


class _Module:
    """What is put together of a program, the arrays of its leaves, the calls of kernels, and their text."""

    def __init__(self, program: Program, arrays: Mapping[int, np.ndarray], plan: Plan, text: str) -> None:
        self._program = program
        self._plan = plan
        self._stem = stem_of("tvm", text)
        self._text = _named(text, self._stem)
        self._tensors: dict[str, Tensor] = dict(plan.made)
        self._constants: dict[str, Constant] = {}
        self._names: dict[str, str] = {}
        for place, each in enumerate(program.instructions):
            if each.name in (WEIGHT, CONSTANT):
                value = f"{each.name}/{each.attributes['name']}"
                self._tensors[value] = Tensor(dtype=each.dtype, shape=each.shape)
                self._names[value] = f"k{place}"
                self._constants[f"k{place}"] = Constant(name=f"k{place}", array=np.ascontiguousarray(arrays[place]))

    def made(self) -> SourceModule:
        """The module; inputs and outputs are copied, since a caller may have them where kernels do not read."""
        instructions = self._program.instructions
        inputs = {
            name: Buffer(name=f"x{number}", dtype=instructions[place].dtype, shape=instructions[place].shape)
            for number, (name, place) in enumerate(self._program.inputs.items())
        }
        outputs = {
            name: Buffer(name=f"y{number}", dtype=instructions[place].dtype, shape=instructions[place].shape)
            for number, (name, place) in enumerate(self._program.outputs.items())
        }
        buffers: dict[str, Buffer] = {}
        calls: list[Call] = []
        for name, each in inputs.items():
            own = Buffer(name=f"a{each.name}", dtype=each.dtype, shape=each.shape)
            buffers[own.name] = own
            self._names[f"input/{name}"] = own.name
            self._tensors[f"input/{name}"] = Tensor(dtype=each.dtype, shape=each.shape)
            calls += _copies(own.name, each.name, each.size)
        for number, (value, tensor) in enumerate(self._plan.made.items()):
            self._names[value] = f"v{number}"
            buffers[f"v{number}"] = Buffer(name=f"v{number}", dtype=tensor.dtype, shape=tensor.shape)
        functions = {COPY.name: COPY, **{each.name: each for each in _support(self._stem)}}
        for call in (*self._plan.prepare, *self._plan.run):
            function = _caller(self._stem, call, self._tensors)
            functions[function.name] = function
            *reads, result = (self._names[value] for value in call.values)
            calls.append(Call(function=function.name, arguments=(*map(Read, reads), Write(result))))
        for name, each in outputs.items():
            if name in self._plan.outputs:
                calls += _copies(each.name, self._names[self._plan.outputs[name]], each.size)
        touched = {each.name for call in calls for each in call.arguments if isinstance(each, Read | Write)}
        return SourceModule(
            inputs=inputs,
            outputs=outputs,
            buffers={name: each for name, each in buffers.items() if name in touched},
            views={},
            constants={name: each for name, each in self._constants.items() if name in touched},
            functions=functions,
            calls=tuple(calls),
            assembly={self._stem: self._text},
            alignment=ALIGNMENT,
        )


def _copies(to: str, source: str, size: int) -> Iterator[Call]:
    if size:
        yield Call(function=COPY.name, arguments=(Write(to), Read(source), Literal(f"{size}u")))


def _named(text: str, stem: str) -> str:
    """The text with names of its own for all that others may see, so that two networks can be in one program."""
    for name, own in _RUNTIME.items():
        text = re.sub(rf"\b{name}\b", f"{stem}_{own}", text)
    return for_gnu(text.replace(_KERNEL, f"{stem}_"))


def _caller(stem: str, call: KernelCall, tensors: Mapping[str, Tensor]) -> Function:
    """The function of C that calls a kernel with the shapes that it was compiled for."""
    values = [tensors[value] for value in call.values]
    parameters = [f"const void *x{place}" for place in range(len(values) - 1)] + [f"void *x{len(values) - 1}"]
    lines, rows = [], []
    for place, each in enumerate(values):
        kind = np.dtype(each.dtype)
        shape = "NULL"
        if each.shape:
            shape = f"s{place}"
            lines.append(f"    int64_t {shape}[] = {{{', '.join(map(str, each.shape))}}};")
        dtype = f"{_DTYPES[kind.kind]}, {8 * kind.itemsize}, 1"
        rows.append(f"        {{(void *)x{place}, {{1, 0}}, {len(each.shape)}, {{{dtype}}}, {shape}, NULL, 0}},")
    kernel = f"{stem}_{call.kernel}"
    text = [
        f"extern int {kernel}(void *, const struct {stem}_any *, int32_t, struct {stem}_any *);",
        f"static void {kernel}_on({', '.join(parameters)})",
        "{",
        *lines,
        f"    const struct {stem}_tensor tensors[] = {{",
        *rows,
        "    };",
        f"    struct {stem}_any arguments[{len(values)}];",
        f"    {stem}_call({kernel}, tensors, arguments, {len(values)});",
        "}",
    ]
    return Function(name=f"{kernel}_on", text="\n".join(text), needs=(f"{stem}_call",))


def _support(stem: str) -> Iterator[Function]:
    """What kernels get and what they ask for, as `tvm/runtime/c_backend_api.h` and `tvm/ffi/c_api.h` declare it."""
    text = f"""/* Arguments of TVM's kernels: tensors as DLPack has them, and the values that point to them. */
struct {stem}_tensor {{
    void *data;
    struct {{ int32_t type, number; }} device;
    int32_t rank;
    struct {{ uint8_t code, bits; uint16_t lanes; }} dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
}};
struct {stem}_any {{
    int32_t type;
    uint32_t padding;
    union {{ int64_t number; const void *pointer; }} value;
}};
struct {stem}_tasks {{
    void *handle;
    int32_t count;
}};
typedef int {stem}_kernel(void *, const struct {stem}_any *, int32_t, struct {stem}_any *);

/* What kernels ask for. A loop that may run in parallel is one task. */
static int {stem}_one_task(int (*run)(int, struct {stem}_tasks *, void *), void *data, int count)
{{
    struct {stem}_tasks tasks = {{NULL, 1}};
    (void)count;
    return run(0, &tasks, data);
}}
static void *{stem}_memory(int device, int number, uint64_t size, int code, int bits)
{{
    char *const start = (char *)malloc((size_t)size + {ALIGNMENT + 8}u);
    char *found;
    (void)device, (void)number, (void)code, (void)bits;
    if (start == NULL) {{
        return NULL;
    }}
    found = start + {ALIGNMENT + 8}u - ((uintptr_t)start + 8u) % {ALIGNMENT}u;
    memcpy(found - sizeof(start), &start, sizeof(start));
    return found;
}}
static int {stem}_no_memory(int device, int number, void *memory)
{{
    char *start;
    (void)device, (void)number;
    memcpy(&start, (char *)memory - sizeof(start), sizeof(start));
    free(start);
    return 0;
}}
int (*{stem}_parallel)(int (*)(int, struct {stem}_tasks *, void *), void *, int) = {stem}_one_task;
void *(*{stem}_allocate)(int, int, uint64_t, int, int) = {stem}_memory;
int (*{stem}_release)(int, int, void *) = {stem}_no_memory;
void {stem}_raised(const char *kind, const char *const *words, int32_t count);
void {stem}_raised(const char *kind, const char *const *words, int32_t count)
{{
    (void)kind, (void)words, (void)count;
}}
static void {stem}_call(
    {stem}_kernel *kernel, const struct {stem}_tensor *tensors, struct {stem}_any *arguments, int count)
{{
    struct {stem}_any result = {{0, 0u, {{0}}}};
    for (int place = 0; place < count; ++place) {{
        arguments[place].type = {_TENSOR};
        arguments[place].padding = 0u;
        arguments[place].value.number = 0;
        arguments[place].value.pointer = &tensors[place];
    }}
    if (kernel(NULL, arguments, count, &result) != 0) {{
        abort();
    }}
}}"""
    yield Function(name=f"{stem}_call", text=text, headers=("<math.h>", "<stdlib.h>", "<string.h>"))
