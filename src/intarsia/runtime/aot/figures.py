"""What a program takes as it is built: code, constants, and the deepest stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intarsia.codegen import link_map, processes, stack, toolchain
from intarsia.codegen.harness import MAP
from intarsia.codegen.project import Project
from intarsia.codegen.toolchain import Build
from intarsia.errors import ConfigError
from intarsia.files import Scratch
from intarsia.runtime.aot.place import Place
from intarsia.runtime.aot.program import build_library, build_program, sources_of, stack_room, with_library


def build_facts(project: Project, place: Place) -> dict[str, Any]:
    """Bytes of code, of constants beside the weights, and of the deepest stack, of the program as it is built here.

    Raises:
        BackendUnavailableError: A compiler or an emulator is not installed.
        CompileError: The compiler refuses it.
        ConfigError: It does not fit into the board's memories, or its stack does not.
    """
    with Scratch() as made:
        build = build_library if place.is_host else build_program
        built = build(project, place, made.path)
        where = {"place": place.name, "is_emulated": not place.is_host}
        parts = _parts(made.path / MAP, project)
        usage = list(made.path.glob("*.su"))
        if place.board is None:
            return {"code_bytes": parts.get(link_map.CODE, 0), "stack_bytes": None, **where}
        deepest = stack.deepest(built, f"{project.name}_run", place.tools(), usage)
        room = stack_room(project, place)
        if deepest.size > room:
            chain = " → ".join(name for name, _ in deepest.chain)
            raise ConfigError(
                f"the board has not enough stack: {deepest.size:,} bytes are needed ({chain}), and {room:,} are left "
                f"beside the workspace: {deepest.size - room:,} bytes are missing; take a board with more memory"
            )
        return {
            "code_bytes": parts.get(link_map.CODE, 0),
            "stack_bytes": deepest.size,
            "stack_chain": [list(each) for each in deepest.chain],
            "stack_unknown": deepest.unknown,
            **where,
        }


def _parts(path: Path, project: Project) -> Mapping[str, int]:
    """Bytes by kind of the network's code, and of the files of others that it needs."""
    found: Counter[str] = Counter()
    read = link_map.read(path)
    for name in (project.name, *(Path(each).stem for each in (*project.sources, *project.assembly))):
        found.update(read.of(name))
    return found


def unrun_facts(project: Project, place: Place) -> dict[str, Any]:
    """What is known of a program that nothing here can run: it is compiled, and not linked.

    Raises:
        BackendUnavailableError: A compiler is not installed.
        CompileError: The compiler refuses it.
    """
    tools = place.tools()
    with Scratch() as made:
        found = with_library(Build(sources={}), project, place)
        flags = [*(place.flags), *(f"-D{key}={value}" for key, value in found.defines.items()), f"-I{made.path}"]
        flags += [f"-I{path}" for path in found.include_folders]
        sources = sources_of(project, made.path)
        del sources["entry.c"]
        for path in [*toolchain.write_sources(sources, made.path), *found.files]:
            toolchain.call(tools, [*flags, "-c", str(path), "-o", str(made.path / f"{path.stem}.o")], made.path)
        command = [tools.tool("size"), str(made.path / f"{project.name}.o")]
        said = processes.run(command, name="size", timeout_s=toolchain.TIMEOUT_S).stdout
    return {"code_bytes": int(said.splitlines()[1].split()[0]), "stack_bytes": None, "place": None}
