"""The rules of the house that a machine can check: who imports whom, who may load an engine, how long files are."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.target import KINDS

SOURCE = Path(__file__).parents[2] / "src" / "intarsia"
TESTS = Path(__file__).parents[1]

ORDER = (
    "errors",
    "addresses",
    "lazy",
    "light_dataclass",
    "extras",
    "files",
    "forks",
    "garbage",
    "version",
    "numbers",
    "json_types",
    "registered",
    "disjoint_sets",
    "topological_order",
    "wording",
    "spec",
    "target",
    "config",
    "graph",
    "devices",
    "partitioning",
    "codegen",
    "backends",
    "runtime",
    "cost",
    "planning",
    "search",
    "evaluation",
    "report",
    "driver",
    "remote",
    "interop",
    "onnxruntime",
    "serving",
    "deploy",
    "cli",
    "__main__",
)
"""A folder may import those before it, never those after it. The package's own ``__init__`` stands above all."""

GRAPH_LIBRARIES = frozenset({"onnx", "onnx_ir", "onnxscript"})
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENGINES = tuple(kind.name.replace("-", "_") for kind in KINDS.values() if kind.is_external)
"""What the files or folders of engines are called."""
IMPORTED = {"grpcio": "grpc", "protobuf": "google", "pyyaml": "yaml"}
"""Packages that are imported by another name than they are installed by."""


def _packages(requirements: Iterable[str]) -> frozenset[str]:
    """What requirements install, as it is imported."""
    names = [re.split(r"[^\w-]", text)[0] for text in requirements]
    return frozenset(IMPORTED.get(name, name.replace("-", "_")) for name in names)


COMPILING = PROJECT["optional-dependencies"]["compile"]
OURS = frozenset({*sys.stdlib_module_names, "intarsia", *_packages(PROJECT["dependencies"]), *_packages(COMPILING)})
"""What may be imported anywhere: the standard library, and what Intarsia depends on. All else is an engine's."""

SERVING = _packages(PROJECT["optional-dependencies"]["serve"])
"""What the folder `serving` may import, at load too: only the verb `serve` loads it, and only when it is called."""

FOREIGN = {
    Path("cost/records/postgres.py"): "psycopg",
    Path("cost/records/postgres_connection.py"): "psycopg",
    Path("interop/torch_compile.py"): "torch",
    Path("interop/torch_export.py"): "torch",
    Path("onnxruntime/quantization.py"): "onnxruntime",
    Path("remote/actors/cluster.py"): "ray",
    Path("remote/link.py"): "grpc",
    Path("remote/listening.py"): "grpc",
    Path("remote/service.py"): "grpc",
    Path("runtime/artifact/signature.py"): "cryptography",
    Path("serving/replicas/cluster_server.py"): "ray",
}
"""Files that are there for what another library's users call, or for an extra; they may import it, once called."""

REWRITERS = frozenset(
    Path("backends/onnxruntime", name)
    for name in (
        "blocks/affine.py",
        "blocks/blocked_nodes.py",
        "blocks/expansion.py",
        "blocks/layouts.py",
        "nchwc_boundaries.py",
        "blocks/pad_folding.py",
        "blocks/padding.py",
        "blocks/sums.py",
        "cubic_resize.py",
        "endings.py",
        "few_rows/product_endings.py",
        "saved_model.py",
        "substitution.py",
        "unsigned_weights.py",
        "zero_points.py",
    )
)
"""They change the model that ONNX Runtime optimised, which is a model of ONNX as well."""

TABLES = Path("backends/operator_tables")
"""What engines take that no backend drives, by engine."""
LONGEST_FILE = 420
BANNED_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One module that a file imports; ``at_load`` means: merely importing the file loads it."""

    module: str
    line: int
    at_load: bool


def imports(tree: ast.Module, package: str) -> Iterator[Import]:
    """Every import of a file, wherever it stands, and every ``import_module("...")`` with a literal name."""
    yield from _imports_in(tree.body, package, at_load=True)


def _imports_in(body: list[ast.stmt], package: str, *, at_load: bool) -> Iterator[Import]:
    for statement in body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from _imports_in(statement.body, package, at_load=False)
            yield from _imports_in(statement.orelse, package, at_load=at_load)
            continue
        later = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        for module, line in _named_modules(statement, package):
            yield Import(module=module, line=line, at_load=at_load and not later)
        for _, inner in ast.iter_fields(statement):
            if isinstance(inner, list):
                blocks = [item for item in inner if isinstance(item, ast.stmt)]
                yield from _imports_in(blocks, package, at_load=at_load and not later)
                for item in inner:
                    if isinstance(item, ast.ExceptHandler | ast.match_case):
                        yield from _imports_in(item.body, package, at_load=at_load and not later)


def _named_modules(statement: ast.stmt, package: str) -> Iterator[tuple[str, int]]:
    """What one statement itself imports; the statements nested in it are visited on their own."""
    if isinstance(statement, ast.Import):
        yield from ((alias.name, statement.lineno) for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        base = statement.module or ""
        if statement.level:
            parents = package.split(".")
            base = ".".join([*parents[: len(parents) - statement.level + 1], *filter(None, [base])])
        if base == "intarsia":
            yield from ((f"intarsia.{alias.name}", statement.lineno) for alias in statement.names)
        else:
            yield base, statement.lineno
    else:
        for part in _expressions(statement):
            if isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1] in {"import_module", "__import__"}:
                named = part.args[0] if part.args else None
                if isinstance(named, ast.Constant) and isinstance(named.value, str):
                    yield named.value, part.lineno


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from _expressions(child)


def faults(root: Path) -> list[str]:
    """Every breach of the rules under a package folder, as ``path:line: what``."""
    found = []
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        package = ".".join(["intarsia", *inside.parts[:-1]])
        found += [f"{inside}:1: {what}" for what in _file_faults(inside, text, tree)]
        for each in imports(tree, package):
            what = _order_fault(inside, each) or _library_fault(inside, each)
            if what is not None:
                found.append(f"{inside}:{each.line}: {what}")
    return found


def _file_faults(inside: Path, text: str, tree: ast.Module) -> Iterator[str]:
    lines = text.count("\n")
    if lines > LONGEST_FILE:
        yield f"{lines} lines; {LONGEST_FILE} is the limit"
    if tree.body and ast.get_docstring(tree) is None:
        yield "the module has no docstring"
    for part in (*inside.parts[:-1], inside.stem):
        if part in BANNED_NAMES:
            yield f"{part!r} says nothing about what it holds"
    if inside.parts != ("__init__.py",) and _folder(inside) not in ORDER:
        yield f"{_folder(inside)!r} has no place in the order of folders"


def _folder(inside: Path) -> str:
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def _order_fault(inside: Path, each: Import) -> str | None:
    if not each.module.startswith("intarsia") or inside.parts == ("__init__.py",):
        return None
    wanted = each.module.removeprefix("intarsia").lstrip(".").split(".")[0]
    if wanted not in ORDER:
        return f"imports {each.module}, which is the public face and not a part"
    own = _folder(inside)
    if own in ORDER and ORDER.index(wanted) > ORDER.index(own):
        return f"{own} imports {wanted}, which comes after it"
    return None


def _library_fault(inside: Path, each: Import) -> str | None:
    library = each.module.split(".")[0]
    folder = _folder(inside)
    if library in GRAPH_LIBRARIES and folder != "graph" and inside not in REWRITERS:
        lazily = inside == Path("backends/reference.py") and each.module.startswith("onnx.reference")
        return None if lazily and not each.at_load else f"only graph/ imports {library}"
    if library in OURS or (folder == "serving" and library in SERVING):
        return None
    engine = FOREIGN.get(inside) or _engine_of(inside)
    if engine is None:
        return f"only the files of engines import {library}"
    if library in ENGINES and library != engine and library not in _extra(engine):
        return f"only backends/{library} imports {library}"
    if each.at_load:
        return f"{library} is imported when the file is; import it in the function that needs it"
    return None


def _engine_of(inside: Path) -> str | None:
    """The engine that a file is of."""
    if inside.parts[0] != "backends":
        return None
    stem = inside.parts[1].removesuffix(".py")
    return stem if stem in ENGINES else None


def _extra(engine: str) -> frozenset[str]:
    return _packages(PROJECT["optional-dependencies"].get(engine.replace("_", "-"), ()))


def named_engines(root: Path) -> Iterator[str]:
    """Every string that is the name of an engine, outside the tables of kinds and the files of engines."""
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if inside.parts[0] == "target" or TABLES in inside.parents or _engine_of(inside) is not None:
            continue
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, ast.Constant) and part.value in ENGINES and not KINDS[str(part.value)].is_reference:
                yield f"{inside}:{part.lineno}: names the engine {part.value!r}"


SIGNALS = frozenset(
    {"raise_signal", "interrupt_main", "pthread_kill", "setitimer", "alarm", "siginterrupt", "set_wakeup_fd"}
)
"""What reaches the process that names it, whatever it is given."""
SENT = frozenset({"kill", "killpg", "sigqueue", "send_signal"})
OWN = frozenset({"getpid", "getppid", "getpgrp", "getpgid", "current_process"})


def own_signals(root: Path) -> Iterator[str]:
    """Where a test would signal the process that runs the tests, or change what a signal does there.

    A file with a main guard is a program that tests start, and a program may be a text in a test: both may.
    """
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(part, ast.If) and "__main__" in ast.unparse(part.test) for part in tree.body):
            continue
        for statement in tree.body:
            names = dict(_signal_names(statement))
            for name, line in names.items():
                if name in SIGNALS or name == "signal.signal" or (name in SENT and names.keys() & OWN):
                    yield f"{path.relative_to(root)}:{line}: {name} in the process that runs the tests"


def _signal_names(statement: ast.stmt) -> Iterator[tuple[str, int]]:
    """Functions that are named in a function or another statement, however it calls them or hands them on."""
    for part in ast.walk(statement):
        if isinstance(part, ast.Attribute):
            is_handler = part.attr == "signal" and ast.unparse(part.value) == "signal"
            yield "signal.signal" if is_handler else part.attr, part.lineno
        elif isinstance(part, ast.Name):
            yield part.id, part.lineno
        elif isinstance(part, ast.ImportFrom) and part.module in {"signal", "_thread"}:
            for alias in part.names:
                yield ("signal.signal" if alias.name == "signal" else alias.name), part.lineno


def test_no_test_signals_the_process_that_runs_the_tests() -> None:
    assert list(own_signals(TESTS)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os, signal\ndef test_it():\n    os.kill(os.getpid(), signal.SIGINT)", "3:kill"),
        ("def test_it():\n    own = os.getpid()\n    os.kill(own, 2)", "3:kill"),
        ("def test_it():\n    Timer(1, os.kill, (os.getpid(), 2)).start()", "2:kill"),
        ("def test_it():\n    if True:\n        signal.raise_signal(signal.SIGINT)", "3:raise_signal"),
        ("def test_it():\n    _thread.interrupt_main()", "2:interrupt_main"),
        ("from signal import raise_signal as press", "1:raise_signal"),
        ("def press():\n    psutil.Process(os.getpid()).send_signal(2)", "2:send_signal"),
        ("def test_it():\n    before = signal.signal(signal.SIGINT, handler)", "2:signal.signal"),
        ("def test_it():\n    os.kill(process.pid, signal.SIGKILL)", None),
        ("SCRIPT = 'import os; os.kill(os.getpid(), 2)'", None),
        ("def press():\n    signal.raise_signal(2)\nif __name__ == '__main__':\n    press()", None),
    ],
)
def test_a_signal_to_the_own_process_is_found(tmp_path: Path, text: str, found: str | None) -> None:
    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
    line, _, name = (found or "").partition(":")
    expected = [] if found is None else [f"test_it.py:{line}: {name} in the process that runs the tests"]
    assert list(own_signals(tmp_path)) == expected


def test_the_house_keeps_its_rules() -> None:
    assert faults(SOURCE) == []


def test_nothing_but_its_own_file_and_its_kind_names_an_engine() -> None:
    assert list(named_engines(SOURCE)) == []


def test_a_list_of_engines_is_found(tmp_path: Path) -> None:
    for name in ("driver.py", "backends/ncnn/rules.py", "target/kinds/catalogue.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('FIRST = ("reference", "ncnn")\n', encoding="utf-8")
    assert list(named_engines(tmp_path)) == ["driver.py:1: names the engine 'ncnn'"]


def test_every_engine_is_registered_and_has_an_extra() -> None:
    written = {
        (path.parent.name if path.stem == "backend" else path.stem).replace("_", "-"): part.name
        for path in [*(SOURCE / "backends").glob("*.py"), *(SOURCE / "backends").glob("*/backend.py")]
        if _engine_of(path.relative_to(SOURCE)) is not None
        for part in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(part, ast.ClassDef) and any(ast.unparse(base).endswith("Backend") for base in part.bases)
    }
    assert {name: type(registry.get(name)).__name__ for name in written} == written
    assert set(PROJECT["optional-dependencies"]) == {
        *(name for name in written if registry.get(name).extra), "compile", "cpu", "torch-compile", "all", "bench",
        "dev", "docs", "postgres", "ray", "ray-serve", "remote", "serve", "sign",
    }  # fmt: skip


def test_the_order_names_no_folder_twice() -> None:
    assert len(set(ORDER)) == len(ORDER)


PLANTED = {
    "graph imports runtime, which comes after it": ("graph/model.py", "from intarsia.runtime.plan import Plan"),
    "spec imports target, which comes after it": (
        "spec/text.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from intarsia.target import Target",
    ),
    "errors imports cli, which comes after it": ("errors.py", "def f() -> None:\n    import intarsia.cli.main"),
    "target imports driver, which comes after it": ("target/kinds/catalogue.py", "from intarsia import driver"),
    "config imports cost, which comes after it": ("config/settings.py", "from ..cost import store"),
    "partitioning imports backends, which comes after it": (
        "partitioning/greedy.py",
        "try:\n    pass\nexcept ValueError:\n    from intarsia.backends import registry",
    ),
    "imports intarsia.compile, which is the public face and not a part": (
        "report/text.py",
        "from intarsia import compile",
    ),
    "only graph/ imports onnx_ir": ("cost/records/store.py", "import onnx_ir as ir"),
    "only graph/ imports onnx": ("backends/reference.py", "from onnx.reference import ReferenceEvaluator"),
    "only graph/ imports onnxscript": (
        "search/single.py",
        "from importlib import import_module\nscript = import_module('onnxscript')",
    ),
    "only backends/ncnn imports ncnn": ("backends/mnn/backend.py", "def f() -> None:\n    import ncnn"),
    "only the files of engines import _tools": ("graph/model.py", "def f() -> None:\n    import _tools"),
    "only the files of engines import requests": (
        "backends/contract/backend.py",
        "def f() -> None:\n    import requests",
    ),
    "only the files of engines import uvicorn": ("cli/serve.py", "def f() -> None:\n    import uvicorn"),
    "ncnn is imported when the file is; import it in the function that needs it": (
        "backends/ncnn/backend.py",
        "import ncnn",
    ),
    "the module has no docstring": ("spec/kind.py", None),
    "'utils' says nothing about what it holds": ("spec/utils.py", ""),
    "'common' says nothing about what it holds": ("graph/common/passes.py", ""),
    "'surplus' has no place in the order of folders": ("surplus/thing.py", ""),
    "421 lines; 420 is the limit": ("spec/long.py", "\n" * 419),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_breach_is_found(tmp_path: Path, fault: str) -> None:
    where, body = PLANTED[fault]
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("X = 1\n" if body is None else f'"""A file."""\n{body}\n', encoding="utf-8")
    found = faults(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{where}:")
    assert found[0].endswith(fault)


@pytest.mark.parametrize(
    ("where", "body"),
    [
        ("runtime/plan.py", "from intarsia.graph import Graph\nfrom . import steps"),
        ("backends/openvino/backend.py", "def f() -> None:\n    import openvino"),
        ("backends/openvino/backend.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import openvino"),
        ("backends/reference.py", "def f() -> None:\n    from onnx.reference import ReferenceEvaluator"),
        ("graph/model.py", "import onnx\nimport onnx_ir"),
        ("serving/http/app.py", "import uvicorn.config\nimport grpc"),
        ("runtime/artifact/artifact.py", "from intarsia.version import __version__"),
        ("__init__.py", "from intarsia import driver"),
        ("backends/contract/backend.py", "from intarsia.backends import registry"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, where: str, body: str) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'"""A file."""\n{body}\n', encoding="utf-8")
    assert faults(tmp_path) == []


TESTED_FROM = 150
"""Lines. What is longer has a test of its own in the mirrored folder, or a row in `TESTED_ELSEWHERE`."""
TESTED_ELSEWHERE = {
    "backends/c/kernels": "tests/unit/backends/c/test_kernels.py",
    "backends/isolation": "tests/unit/backends/isolation/test_backend.py",
    "backends/lowering": "tests/conformance/test_node_cases.py",
    "cost/worker/worker.py": "tests/unit/cost/worker/test_client.py",
    "graph/build.py": "tests/unit/graph/reading/test_read.py",
    "graph/parts.py": "tests/unit/graph/reading/test_read.py",
    "graph/validation": "tests/unit/graph/validation/test_model.py",
    "interop/sizes.py": "tests/unit/interop/test_session.py",
    "interop/torch_compile.py": "tests/e2e/test_torch_compile.py",
    "interop/torch_export.py": "tests/e2e/test_torch_compile.py",
    "runtime/artifact/manifest_reading.py": "tests/unit/runtime/artifact/test_checks.py",
    "target/kinds/accelerators.py": "tests/unit/target/kinds/test_catalogue.py",
}
"""Files and folders that are tested through another one, and where. What an engine needs beside its `backend.py` is
tested by `tests/conformance`, which runs every engine."""


def untested(source: Path, tests: Path) -> Iterator[str]:
    """Long files that no test in the mirrored folder is called after, nor imports."""
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        elsewhere = any(str(part) in TESTED_ELSEWHERE for part in (inside, *inside.parents))
        if elsewhere or (_engine_of(inside) and inside.stem != "backend") or _lines(path) <= TESTED_FROM:
            continue
        mirror = tests / inside.parent
        module = ".".join(("intarsia", *inside.with_suffix("").parts))
        if not (mirror / f"test_{inside.name}").exists() and module not in set(_imported_by(mirror)):
            yield f"{inside} has no test: write {mirror.relative_to(tests.parent)}/test_{inside.name}"


def _imported_by(folder: Path) -> Iterator[str]:
    for path in folder.glob("test_*.py"):
        for each in imports(ast.parse(path.read_text(encoding="utf-8")), "tests"):
            yield each.module


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def test_every_long_file_has_a_test_in_the_mirrored_folder() -> None:
    assert list(untested(SOURCE, TESTS / "unit")) == []


def test_what_is_tested_elsewhere_is_there_and_so_is_its_test() -> None:
    root = SOURCE.parents[1]
    missing = [part for part in TESTED_ELSEWHERE if not (SOURCE / part).exists()]
    missing += [test for test in TESTED_ELSEWHERE.values() if not (root / test).exists()]
    assert missing == []


def test_a_folder_of_unit_tests_mirrors_a_folder_of_the_source() -> None:
    folders = {path.parent.relative_to(TESTS / "unit") for path in (TESTS / "unit").rglob("test_*.py")}
    assert [
        str(each) for each in sorted(folders - {Path("benchmarks"), Path("networks")}) if not (SOURCE / each).is_dir()
    ] == []


@pytest.mark.parametrize(
    ("lines", "test", "fault"),
    [
        (TESTED_FROM + 1, None, "report/text.py has no test: write unit/report/test_text.py"),
        (TESTED_FROM + 1, "test_other.py", "report/text.py has no test: write unit/report/test_text.py"),
        (TESTED_FROM + 1, "test_text.py", None),
        (TESTED_FROM, None, None),
    ],
)
def test_a_long_file_without_a_test_is_found(tmp_path: Path, lines: int, test: str | None, fault: str | None) -> None:
    source, tests = tmp_path / "intarsia", tmp_path / "unit"
    for folder in (source, tests):
        (folder / "report").mkdir(parents=True)
    (source / "report" / "text.py").write_text("\n" * lines, encoding="utf-8")
    if test is not None:
        (tests / "report" / test).write_text("", encoding="utf-8")
    assert list(untested(source, tests)) == ([] if fault is None else [fault])


def test_a_long_file_that_a_test_in_the_mirrored_folder_imports_is_tested(tmp_path: Path) -> None:
    (tmp_path / "intarsia").mkdir()
    (tmp_path / "unit").mkdir()
    (tmp_path / "intarsia" / "text.py").write_text("\n" * (TESTED_FROM + 1), encoding="utf-8")
    (tmp_path / "unit" / "test_lines.py").write_text("from intarsia.text import shown\n", encoding="utf-8")
    assert list(untested(tmp_path / "intarsia", tmp_path / "unit")) == []
