"""Runs programs as C on this machine: as a program of its own, under the strictest compiler and the sanitizers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends.c import source
from intarsia.backends.c.network import network, prepared
from intarsia.backends.c.processor import Processor
from intarsia.backends.lowering.program import Program
from intarsia.codegen import toolchain
from intarsia.codegen.module import SourceModule
from intarsia.codegen.toolchain import Build
from intarsia.graph.dtypes import numpy_dtype

needs_compiler = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="there is no C compiler; apt-get install gcc libc6-dev"
)
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-ffp-contract=off")
SCALAR = Processor()
"""A processor without vectors."""
VECTORS = Processor(architecture="x86", vector_bytes=16, vector_registers=16)
"""What every x86 can do."""
_MAIN = """
#include <stdio.h>
#include <stdlib.h>

static void *have(size_t size, FILE *file)
{
    void *found = malloc(size != 0 ? size : 1);
    if (found == NULL || (file != NULL && fread(found, 1, size, file) != size)) {
        exit(3);
    }
    return found;
}

int main(int count, char **names)
{
    FILE *in = fopen(names[1], "rb"), *out = fopen(names[2], "wb");
    static const size_t given[] = {%(inputs)s 0}, wanted[] = {%(outputs)s 0}, known[] = {%(constants)s 0};
    const void *inputs[sizeof(given) / sizeof(*given)], *constants[sizeof(known) / sizeof(*known)];
    void *outputs[sizeof(wanted) / sizeof(*wanted)], *workspace = have(%(workspace)uu, NULL);
    for (size_t i = 0; i + 1 < sizeof(given) / sizeof(*given); ++i) {
        inputs[i] = have(given[i], in);
    }
    for (size_t i = 0; i + 1 < sizeof(known) / sizeof(*known); ++i) {
        constants[i] = have(known[i], in);
    }
    for (size_t i = 0; i + 1 < sizeof(wanted) / sizeof(*wanted); ++i) {
        outputs[i] = have(wanted[i], NULL);
    }
    for (int turn = 0; turn < 2; ++turn) { /* the second one on a workspace that is no longer empty */
        intarsia_run(inputs, outputs, workspace, constants);
    }
    for (size_t i = 0; i + 1 < sizeof(wanted) / sizeof(*wanted); ++i) {
        fwrite(outputs[i], 1, wanted[i], out);
    }
    /* What was had is left to the end of the process. */
    return fclose(out) != 0 || count != 3;
}
"""


def run_in_c(
    program: Program,
    known: Mapping[int, np.ndarray],
    feeds: Mapping[str, np.ndarray],
    processor: Processor,
    folder: Path,
    flags: tuple[str, ...] = SANITIZED,
) -> dict[str, np.ndarray]:
    """The outputs of a program, prepared for C and compiled for a processor."""
    return run_module(network(*prepared(program, known), processor), feeds, folder, flags)


def run_module(
    module: SourceModule, feeds: Mapping[str, np.ndarray], folder: Path, flags: tuple[str, ...] = SANITIZED
) -> dict[str, np.ndarray]:
    """The outputs of a module. A finding of a sanitizer fails the test."""
    made = source.source_of(module)
    arrays = [np.ascontiguousarray(each.array) for each in module.constants.values()]
    facts = {
        "inputs": _sizes(buffer.size for buffer in module.inputs.values()),
        "outputs": _sizes(buffer.size for buffer in module.outputs.values()),
        "constants": _sizes(array.nbytes for array in arrays),
        "workspace": made.workspace,
    }
    build = Build(sources={"model.c": made.text + _MAIN % facts}, flags=flags, link=("-lm",), strict=True)
    program = toolchain.build(toolchain.host(), build, folder, "program")
    given, found = folder / "given.bin", folder / "found.bin"
    given.write_bytes(b"".join(array.tobytes() for array in (*(feeds[name] for name in module.inputs), *arrays)))
    # Leaks are of no interest: the process ends at once.
    environment = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run(
        [program, given, found], env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    content, offset, results = found.read_bytes(), 0, {}
    for name, buffer in module.outputs.items():
        dtype = numpy_dtype(buffer.dtype)
        results[name] = np.frombuffer(content, dtype, prod(buffer.shape), offset).reshape(buffer.shape)
        offset += buffer.size
    return results


def _sizes(numbers: object) -> str:
    assert hasattr(numbers, "__iter__")
    return "".join(f"{number}u, " for number in numbers)
