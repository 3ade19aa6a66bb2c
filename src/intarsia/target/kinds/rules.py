"""What the options of device kinds imply, and what they must satisfy beyond their types."""

from __future__ import annotations

import re
from collections.abc import Iterable

from intarsia.spec.schema import Options

Faults = Iterable[tuple[str, str]]


def without_triple(options: Options) -> Options:
    """The options without a triple that can be only one."""
    return {name: value for name, value in options.items() if name != "mtriple"}


def faults_of_cl_opt(options: Options) -> Faults:
    """Entries of ``cl-opt`` that are not LLVM options."""
    values = {"bool": "true|false|1|0", "int": "[+-]?[0-9]+", "uint": "[0-9]+", "string": ".*"}
    for entry in options.get("cl-opt", ()):
        shape = re.fullmatch(r"--?[^-:=][^:=]*(?::(bool|int|uint|string)(?==))?(?:=(.*))?", entry, re.DOTALL)
        if shape is None or not re.fullmatch(
            values[shape[1] or "bool"], "true" if shape[2] is None else shape[2], re.I
        ):
            yield "cl-opt", f"malformed LLVM option {entry!r}; write -name[:bool|int|uint|string]=value"


def faults_of_cuda(options: Options) -> Faults:
    """An ``arch`` that is no compute capability."""
    yield from _fault(options, "arch", r"sm_[0-9]+[af]?", "CUDA arch", "sm_80")


def faults_of_nvptx(options: Options) -> Faults:
    """An ``mcpu`` that is no compute capability."""
    yield from _fault(options, "mcpu", r"sm_[0-9]+[af]?", "NVPTX CPU", "sm_80")


def faults_of_rocm(options: Options) -> Faults:
    """An ``mcpu`` that is no AMD GPU."""
    yield from _fault(options, "mcpu", r"gfx[0-9a-z]+(?:-[0-9a-z]+)*(?::[a-z]+[+-])*", "AMD GPU", "gfx90a")


def _fault(options: Options, name: str, shape: str, what: str, example: str) -> Faults:
    value = options.get(name)
    if value is not None and not re.fullmatch(shape, value):
        yield name, f"invalid {what} {value!r}; write it as {example}"
