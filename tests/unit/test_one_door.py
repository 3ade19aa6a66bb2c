"""Files are written through `intarsia.files` alone: nowhere else is there a way to leave half a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "intarsia"
DOOR = "files"
WITHIN = frozenset({"replacing", "scratch", "Scratch"})
"""What gives out drafts, and folders for a while: in their blocks anything may be written."""
METHODS = frozenset(
    {"write_text", "write_bytes", "symlink_to", "hardlink_to", "rename", "touch", "savez", "savez_compressed", "tofile"}
)
FUNCTIONS = {
    "os": frozenset(
        {"open", "fdopen", "replace", "rename", "renames", "link", "symlink", "truncate", "mkfifo", "mknod"}
    ),
    "shutil": frozenset({"copy", "copy2", "copyfile", "copyfileobj", "copytree", "move", "make_archive"}),
    "tempfile": frozenset({"mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile"}),
    "np": frozenset({"save"}),
    "numpy": frozenset({"save"}),
    "json": frozenset({"dump"}),
    "pickle": frozenset({"dump"}),
    "onnx": frozenset({"save", "save_model"}),
    "sqlite3": frozenset({"connect"}),
}
WRITING = frozenset("wax+")
ELSEWHERE: Mapping[str, str] = {
    "backends/*::export": "`runtime.artifact.export` hands it a folder for a while",
    "backends/*/*::export": "the same",
    "backends/iree/device_code.py::device_files": "`driver.packages` hands it a folder for a while",
    "backends/inductor/compiler.py::package": "`runtime.artifact.export` hands it a folder for a while",
    "runtime/artifact/export.py::_program": "the same",
    "backends/inductor/compiler.py::opened": "a file that is gone once it is loaded",
    "codegen/toolchain.py::write_sources": "in a folder for a while",
    "codegen/toolchain.py::build": "the same",
    "codegen/exported/folder.py::write": "`runtime.artifact.export` hands it a folder for a while",
    "runtime/aot/program.py::sources_of": "in a folder for a while",
    "runtime/aot/program.py::_ran": "the same",
    "backends/ethos_u/check.py::main": "in a folder for a while",
    "runtime/aot/recording.py::recorded_bytes": "no file: it is memory",
    "cli/start.py::_fill_descriptors": "no file: it is /dev/null",
    "backends/native/bundled_library.py::_in_memory": "no file: it is memory",
    "cost/worker/process.py::start": "no files: they are pipes",
    "cost/worker/worker.py::private_output": "no file: it is a pipe",
    "cost/timing/memory.py::__init__": "no file: the kernel is told something",
    "target/hardware/cuda.py::answer": "no file: it is standard output",
    "target/hardware/vulkan.py::answer": "no file: it is standard output",
    "cost/worker/lock.py::_fault": "makes the lock, which is empty",
    "cost/records/store_file.py::connection": "SQLite keeps a journal",
    "cost/records/store_file.py::_put_aside": "what is there is renamed, and nothing is written",
    "cost/reference/reference_io.py::link_values": "a link, in a folder for a while",
    "runtime/artifact/container_writing.py::open": "an entry of a container that is a draft",
    "runtime/artifact/container_writing.py::append": "a container in a folder for a while, which nobody reads yet",
    "runtime/artifact/container_writing.py::appending": "the same",
    "runtime/artifact/container_writing.py::reseal": "the same, or a draft",
    "runtime/cpp/exporting.py::_write": "in a folder for a while",
    "runtime/cpp/exporting.py::write_library": "the same",
    "runtime/artifact/container.py::__init__": "reads, without waiting at a pipe",
    "remote/file_store.py::put": "what arrived whole is renamed",
    "runtime/artifact/exported_run.py::saved": "a program of its own without a line of ours, with a draft of its own",
}
"""Other places that write, as file and function, each with the reason why nothing half-written is ever read there."""


def writers(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Function, line and name of each call that writes a file, outside the blocks that give drafts out."""
    yield from _writers_in(tree, "")


def _writers_in(node: ast.AST, function: str) -> Iterator[tuple[str, int, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.With) and any(_called(item.context_expr) in WITHIN for item in child.items):
            continue
        inside = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else function
        if isinstance(child, ast.Call):
            name = _writes(child)
            if name is not None:
                yield function, child.lineno, name
        yield from _writers_in(child, inside)


def _called(expression: ast.expr) -> str:
    return ast.unparse(expression.func).split(".")[-1] if isinstance(expression, ast.Call) else ""


def _writes(call: ast.Call) -> str | None:
    """The name of what a call writes with; ``None`` where it writes nothing."""
    owner, _, name = ast.unparse(call.func).rpartition(".")
    given = [*call.args, *(key.value for key in call.keywords)]
    modes = [str(each.value) for each in given if isinstance(each, ast.Constant) and _is_writing(each.value)]
    if name in FUNCTIONS.get(owner, ()):
        return f"{owner}.{name}"
    if (name == "open" and owner != "os") or name in {"ZipFile", "TarFile", "memmap", "open_memmap"}:
        return f"{name} {modes[0]}" if modes else None
    if name in METHODS and owner:
        return name
    if name == "replace" and len(call.args) == 1 and not call.keywords and owner:
        return "Path.replace"
    return None


def _is_writing(mode: object) -> bool:
    return isinstance(mode, str) and len(mode) <= 3 and bool(WRITING & set(mode))


def unforeseen(root: Path, elsewhere: Mapping[str, str]) -> tuple[list[str], set[str]]:
    """Writers that nothing allows, and what of the table was needed."""
    found, used = [], set()
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if inside.parts[0] in {DOOR, f"{DOOR}.py"}:
            continue
        for function, line, name in writers(ast.parse(path.read_text(encoding="utf-8"))):
            keys = [key for key in elsewhere if _fits(key, inside, function)]
            used |= set(keys)
            if not keys:
                found.append(f"{inside}:{line}: {function}: {name}")
    return found, used


def _fits(key: str, path: Path, function: str) -> bool:
    pattern, _, name = key.partition("::")
    return path.match(pattern) and function == name


def test_files_are_written_through_one_door() -> None:
    found, used = unforeseen(SOURCE, ELSEWHERE)
    assert found == []
    assert used == set(ELSEWHERE)


@pytest.mark.parametrize(
    "line",
    [
        'open(path, "w")',
        'open(path, mode="ab")',
        'path.open("r+b")',
        "path.write_text(text)",
        "draft.replace(path)",
        "os.replace(draft, path)",
        "os.open(path, flags)",
        'zipfile.ZipFile(path, "w")',
        "np.save(path, array)",
        "np.savez(path, array)",
        'np.memmap(path, mode="w+")',
        "shutil.copyfile(a, b)",
        "tempfile.mkdtemp()",
        "with other(path):\n        path.write_bytes(b'')",
    ],
)
def test_another_way_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "file.py").write_text(f"def written():\n    {line}\n", encoding="utf-8")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "writing.py").write_text(line.replace("\n        ", "\n    "), encoding="utf-8")
    found, _ = unforeseen(tmp_path, {})
    assert len(found) == 1
    assert found[0].startswith("graph/file.py:")
    assert unforeseen(tmp_path, {"graph/*::written": "a reason"}) == ([], {"graph/*::written"})
    assert unforeseen(tmp_path, {"graph/*::other": "a reason"})[0] == found


@pytest.mark.parametrize(
    "line",
    [
        "open(path)",
        'path.open("rb")',
        'text.replace("a", "b")',
        "replace(record, outcome=1)",
        'with replacing(path) as draft, draft.open("wb") as file:\n        file.write(content)',
        "with scratch() as folder:\n        (folder / 'a').write_text(text)",
    ],
)
def test_what_writes_nothing_or_a_draft_passes(line: str, tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text(f"def written():\n    {line}\n", encoding="utf-8")
    assert unforeseen(tmp_path, {}) == ([], set())
