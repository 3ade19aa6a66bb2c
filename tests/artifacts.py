"""Artifacts on the reference engine, and hostile ones: with another manifest, whole and with a right checksum."""

from __future__ import annotations

import json
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from intarsia.backends.native.library import find_compiler
from intarsia.backends.registry import engine_of
from intarsia.config import RunSettings, Spin
from intarsia.errors import SpecError
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.runtime.artifact.container_writing import create
from intarsia.target import Target
from tests.unit.graph.models import two_layers

SETTINGS = RunSettings(threads=1, spin=Spin.NEVER)
REPORT: Mapping[str, Any] = {"chosen": "greedy", "latency_ms": None, "best_single": None, "singles": [], "search": {}}
Manifest = dict[str, Any]
CANARY_SOURCE = (
    '#include <stdio.h>\n__attribute__((constructor)) static void sing(void) {{ fclose(fopen("{}", "w")); }}\n'
)


def written(path: Path, *, parts: int = 2, target: str = "reference", report: Mapping[str, Any] = REPORT) -> Path:
    """An artifact of two layers, in so many parts."""
    graph: Graph = load_model(two_layers())
    ids = [node.id for node in graph.nodes]
    cuts = [ids[: len(ids) // 2], ids[len(ids) // 2 :]] if parts == 2 else [ids]
    partitions = [Partition(target=Target(target), nodes=tuple(nodes)) for nodes in cuts]
    write_artifact(path, graph, build(graph, plan_of(graph, partitions, SETTINGS)))
    attach_report(path, report)
    return path


def members(path: Path) -> dict[str, bytes]:
    """The entries of an artifact, in their order."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(path: Path, entries: Mapping[str, bytes] | Sequence[tuple[str, bytes]]) -> Path:
    """An artifact of these entries in this order, its checksum right; one name may come twice."""
    rows: Iterable[tuple[str, bytes]] = entries.items() if isinstance(entries, Mapping) else entries
    with create(path) as out:
        for name, content in rows:
            if name == "weights.bin":
                with out.open(name) as stream:
                    stream.write(content)
            else:
                out.add(name, content)
    return path


def changed(source: Path, path: Path, change: Callable[[Manifest], None]) -> Path:
    """The artifact with another manifest."""
    entries = members(source)
    manifest = json.loads(entries["manifest.json"])
    change(manifest)
    return repacked(path, {**entries, "manifest.json": json.dumps(manifest).encode()})


def retarget(manifest: Manifest, targets: Mapping[int, str]) -> None:
    """Steps say that they are for other targets, and the list of engines fits that."""
    record = next(iter(manifest["engines"].values()))
    for place, target in targets.items():
        manifest["steps"][place]["target"] = target
    try:
        names = {engine_of(Target(each["target"])) for each in manifest["steps"]}
    except SpecError:  # what is no target has no engine
        return
    manifest["engines"] = dict.fromkeys(sorted(names), record)


def canary_program(folder: Path) -> tuple[Path, Path]:
    """A program that stands for an interpreter, and the file that it leaves where it was run."""
    sung, program = folder / "program-ran", folder / "python"
    program.write_text(f"#!/bin/sh\ntouch {sung}\nexit 1\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program, sung


def canary_library(folder: Path) -> tuple[Path, Path]:
    """A library, and the file that it leaves where it was loaded."""
    sung, source, library = folder / "library-ran", folder / "canary.c", folder / "canary.so"
    source.write_text(CANARY_SOURCE.format(sung), encoding="utf-8")
    compiler = find_compiler()
    assert compiler is not None, "these tests want a C compiler"
    subprocess.run([*compiler, "-shared", "-fPIC", "-x", "c", str(source), "-o", str(library)], check=True)
    return library, sung
