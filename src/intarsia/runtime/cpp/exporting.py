"""The project that runs an artifact from C++: the library's sources, the artifact, an example, how to build them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from intarsia.backends import registry
from intarsia.backends.contract import Signature
from intarsia.files import disk_errors, place_tree, scratch
from intarsia.runtime.artifact.artifact import Artifact
from intarsia.runtime.cpp.preparing import is_linked, is_prepared, prepare
from intarsia.version import __version__

MODEL, README = "model.intarsia", "README.md"
_LIBRARY, _EXAMPLE, _LINKED = "library", "example", "linked"
_CMAKE = "CMakeLists.txt"
_LINKS = """
include(linked.cmake)
target_link_libraries(example PRIVATE model)
"""
_ABOUT_LINKED = """
The artifact is linked into the program (`linked.cpp`, `linked.cmake`), which opens it by its name and needs no file:

    intarsia::Model model = intarsia::Model::linked("{name}");
"""
_ABOUT = """\
# A model for C and C++

Written by Intarsia, which is not needed to build or run it, and neither is Python. It takes CMake, a C++17 compiler,
and the engines of the plan: {engines}.

    cmake -B build
    cmake --build build
    build/example --runs 20
    build/example --input NAME=FILE.npy --output DIR

- `intarsia/`: the library, with `intarsia.h` for C and `intarsia.hpp` for C++. `cmake --install build` installs it with
  a package for `find_package(intarsia)`.
- `main.cpp`, `npy.h`: the example, to take into a program of your own.
- `{model}`: the artifact.

Engines are looked for in the folders of INTARSIA_ENGINE_FOLDERS (the variable where the program runs, or the option of
CMake), and then where the system looks. A wheel from PyPI has them in `onnxruntime/capi` and `openvino/libs`, and
needs no Python then:

    pip download --no-deps onnxruntime==VERSION && unzip onnxruntime-*.whl
"""


def export_project(artifact: Artifact, folder: Path) -> tuple[Path, ...]:
    """Write the project of an artifact into a folder; a file is there whole or not at all.

    Args:
        artifact: Whatever runtime it was compiled for, as long as the runtime `cpp` can run its plan.
        folder: Where; it is made if it is not there.

    Raises:
        ArtifactError: The runtime `cpp` does not run its plan, with the reason; or it is signed, and was not compiled
            for that runtime.
        LoadError: An engine cannot be loaded without Python as it was compiled.
        OutputError: The folder cannot be written into.
        DiskError: The disk is full.
    """
    artifact.check_code()
    with scratch() as draft:
        with disk_errors(draft):
            written = _write(artifact, draft)
        return place_tree(written, draft, folder)


def write_library(folder: Path) -> tuple[Path, ...]:
    """Write the sources of the library alone, with what builds them; the files."""
    with resources.as_file(resources.files(__package__) / _LIBRARY) as sources:
        found = sorted(path for path in sources.rglob("*") if path.is_file())
        written = []
        for path in found:
            place = folder / path.relative_to(sources)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(path.read_text(encoding="utf-8").replace("@VERSION@", __version__), encoding="utf-8")
            written.append(place)
    return tuple(written)


def _write(artifact: Artifact, draft: Path) -> tuple[Path, ...]:
    model = draft / MODEL
    shutil.copyfile(artifact.path, model)
    if not is_prepared(model):
        prepare(model)
    written = [model, *write_library(draft / "intarsia")]
    name = linked_name(artifact) if is_linked(model) else None
    folders = os.pathsep.join(engine_folders(artifact))
    for folder in (_EXAMPLE, _LINKED) if name else (_EXAMPLE,):
        for each in (resources.files(__package__) / folder).iterdir():
            text = each.read_text(encoding="utf-8").replace("@FOLDERS@", folders)
            if name:
                text = text.replace("@NAME@", name) + (_LINKS if each.name == _CMAKE else "")
            path = draft / each.name
            path.write_text(text, encoding="utf-8")
            written.append(path)
    readme = draft / README
    readme.write_text(_readme(artifact, name), encoding="utf-8")
    return (*written, readme)


def linked_name(artifact: Artifact) -> str:
    """By which name a program finds the artifact that is linked into it: that of its file, in plain letters."""
    return re.sub(r"[^\w.-]", "_", artifact.path.stem, flags=re.ASCII)


def engine_folders(artifact: Artifact) -> list[str]:
    """Where the libraries of the plan's engines lie here."""
    names = dict.fromkeys(step.target.kind.name for step in artifact.plan.steps)
    folders = (registry.get(name).library_folder() for name in names)
    return list(dict.fromkeys(str(folder) for folder in folders if folder is not None))


def _readme(artifact: Artifact, name: str | None) -> str:
    engines = ", ".join(f"{name} {record.version}" for name, record in artifact.manifest.engines.items())
    sides = {"Inputs": artifact.plan.inputs, "Outputs": artifact.plan.outputs}
    lists = [f"## {title}\n\n" + "\n".join(_rows(values)) + "\n" for title, values in sides.items()]
    linked = (_ABOUT_LINKED.format(name=name),) if name else ()
    return "\n".join((_ABOUT.format(engines=engines, model=MODEL), *linked, *lists))


def _rows(values: Iterable[Signature]) -> list[str]:
    return [f"- `{value.name}`: {value.dtype} {list(value.shape or ())}" for value in values]
