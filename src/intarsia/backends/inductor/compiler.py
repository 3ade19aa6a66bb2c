"""Has PyTorch compile what its operators compute to a library, and opens such a library.

It compiles ahead of time: what ``torch.compile`` keeps would be traced again when it is loaded, and holds pickles.
All that the compiler writes lies in the user's cache folder.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Signature, compiler_flags, stated
from intarsia.backends.lowering.interpreter import Tensor
from intarsia.backends.native import library as native
from intarsia.files import cache_folder, scratch

if TYPE_CHECKING:
    from intarsia.target import Target

_FOLDER = cache_folder() / "inductor"
ENVIRONMENT: Mapping[str, str] = {
    "TORCHINDUCTOR_CACHE_DIR": str(_FOLDER),
    # One C++ compiler at a time: more are processes that outlive the compile.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
"""What the compiler must find, from when it is imported on."""

Options = Mapping[str, Any]
"""Of the compiler, by its own names."""
Run = Callable[..., Sequence[Tensor]]
"""Takes a tensor for each input, gives one for each output."""


def library(run: Run, inputs: Sequence[Signature], options: Options) -> bytes:
    """What computes the same in one library, the weights in it."""
    from torch._inductor import aot_compile

    with _working(run, inputs) as (exported, folder):
        settings = {**options, "aot_inductor.output_path": str(folder / "model.so")}
        return Path(aot_compile(exported.module(), *exported.example_inputs, options=settings)).read_bytes()


def package(run: Run, inputs: Sequence[Signature], options: Options, path: Path) -> None:
    """The library and its sources as a file, whose name ends in ``.pt2``."""
    from torch._inductor import aoti_compile_and_package

    with _working(run, inputs) as (exported, folder):
        aoti_compile_and_package(exported, package_path=str(folder / "model.pt2"), inductor_configs=dict(options))
        path.write_bytes((folder / "model.pt2").read_bytes())


def opened(content: bytes) -> Run:
    """A library, mapped. Calls of one run one after the other."""
    from torch._C import _aoti

    # Each mapped file needs a name of its own, or the loader answers with the one it knows by that name.
    with tempfile.NamedTemporaryFile(dir=_writable(), suffix=".so") as file:
        file.write(content)
        file.flush()
        loaded = _aoti.AOTIModelContainerRunnerCpu(file.name, 1)
    return lambda *tensors: loaded.run(list(tensors))


def _writable() -> Path | None:
    """Our folder, or the one for temporary files where ours cannot be written."""
    try:
        _FOLDER.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return _FOLDER if os.access(_FOLDER, os.W_OK) else None


@contextmanager
def _working(run: Run, inputs: Sequence[Signature]) -> Iterator[tuple[Any, Path]]:
    """What computes as a graph of PyTorch's, and a folder that lasts as long as it is compiled."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        import torch
        from torch._inductor import codecache

        # Precompiled headers would go to the folder for temporary files, where no variable reaches them.
        codecache._HEADER_DIR = str(_FOLDER / "headers")
        codecache._HEADER_LOCK_DIR = str(_FOLDER / "headers" / "locks")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with scratch(_FOLDER) as folder, warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # it uses what it deprecates itself
            yield _exported(run, inputs), folder
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _exported(run: Run, inputs: Sequence[Signature]) -> Any:
    import torch

    class Module(torch.nn.Module):
        def forward(self, *tensors: Tensor) -> list[Tensor]:
            return list(run(*tensors))

    examples = tuple(torch.zeros(value.shape, dtype=getattr(torch, value.dtype)) for value in inputs)
    return torch.export.export(Module(), examples, strict=False)


def options_of(target: Target) -> Options:
    """What the compiler is told for a target, by its own names."""
    compiler = native.find_compiler()
    return {
        # What calls the kernels: optimised, it takes twice as long to compile.
        "aot_inductor.compile_wrapper_opt_level": "O0",
        "aot_inductor.enable_line_tables": False,
        "cpp.cxx": compiler[:1] if compiler else (),
        "cpp.dynamic_threads": True,
        "freezing": True,
        "max_autotune": target["mode"] == "max-autotune",
        **_processor(target.base),
    }


def _processor(base: Target | None) -> Mapping[str, Any]:
    """What it is told of a processor: its name, vectors that it has, and liberties with numbers."""
    wanted = stated(base, ("mcpu", "mattr", "vector-width", "fast-math", "fast-math-contract"))
    found: dict[str, Any] = {}
    if base is not None and wanted.keys() & {"mcpu", "mattr"}:
        first, *more = compiler_flags(base)
        named = first.removeprefix("-march=") if first.startswith("-march=") else f"x86-64 {first}"
        found["cpp.march"] = " ".join((named, *more))
        found["cpp.simdlen"] = 512 if base.features.has("avx512f") else 256 if base.features.has("avx2") else 1
    if "vector-width" in wanted:
        found["cpp.simdlen"] = wanted["vector-width"]
    if wanted.get("fast-math"):
        found["cpp.enable_unsafe_math_opt_flag"] = True
    if wanted.get("fast-math") or wanted.get("fast-math-contract"):
        found["cpp.enable_floating_point_contract_flag"] = "fast"
    return found
