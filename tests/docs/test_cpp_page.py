"""The programs of "Run it from C or C++" are built by the project that `export` writes, and say what Python says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from intarsia.backends import registry
from intarsia.cli.main import cli
from tests.unit.graph.models import info, model
from tests.unit.runtime.cpp.conftest import needs_compiler, run
from tests.unit.runtime.cpp.prepared import answers, written

PAGE = (Path(__file__).parents[2] / "docs" / "cpp.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_both_programs(tmp_path: Path) -> None:
    import onnx

    needs_compiler()
    if not registry.probe("c").usable:
        pytest.skip("there is no C compiler that the engine c could use")
    weights = {"w": np.arange(12, dtype=np.float32).reshape(4, 3) / 7}
    network = model([onnx.helper.make_node("MatMul", ["data", "w"], ["scores"], "product")],
                    [info("data", (2, 4))], [info("scores", (2, 3))], weights)  # fmt: skip
    path = written(tmp_path / "page.intarsia", [("c", ["product"])], model=network)
    project = tmp_path / "project"
    done = CliRunner().invoke(cli, ["export", str(path), str(project), "--runtime", "cpp"])
    assert done.exit_code == 0, done.output
    blocks = dict(BLOCK.findall(PAGE))
    (project / "page.cpp").write_text(blocks["cpp"], encoding="utf-8")
    (project / "page.c").write_text(blocks["c"], encoding="utf-8")
    lists = project / "CMakeLists.txt"
    more = "".join(
        f"\nadd_executable({name} page.{end})\ntarget_link_libraries({name} PRIVATE intarsia::intarsia)\n"
        for name, end in (("page_c", "c"), ("page_cpp", "cpp"))
    )
    lists.write_text(lists.read_text(encoding="utf-8") + more, encoding="utf-8")
    run(["cmake", "-S", project, "-B", project / "build", "-DCMAKE_BUILD_TYPE=Debug"])
    run(["cmake", "--build", project / "build", "--parallel", "2"])
    wanted = answers(path, {"data": np.full((2, 4), 0.5, np.float32)})["scores"]
    for name in ("page_c", "page_cpp"):
        shutil.copy(path, project / "model.intarsia")
        told = run(["sh", "-c", f"cd {project} && build/{name}"])
        assert float(told) == pytest.approx(float(wanted[0, 0]), rel=1e-5)
    # The example: arrays from files to files, and none of Python among its libraries.
    np.save(tmp_path / "x.npy", np.full((2, 4), 0.5, np.float32))
    run([project / "build" / "example", "--input", f"data={tmp_path / 'x.npy'}", "--output", tmp_path, "--runs", "2"])
    assert np.load(tmp_path / "0.npy").tobytes() == wanted.tobytes()
    libraries = run(["ldd", project / "build" / "example", project / "build" / "intarsia" / "libintarsia.so"])
    assert "libintarsia" in libraries
    assert "python" not in libraries
    prefix = tmp_path / "installed"
    run(["cmake", "--install", project / "build", "--prefix", prefix])
    assert {each.name for each in prefix.rglob("*.h*")} == {"intarsia.h", "intarsia.hpp"}
    _uses_the_package(tmp_path / "user", prefix)


def _uses_the_package(folder: Path, prefix: Path) -> None:
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES C)\nadd_executable(server user.c)\n"
        + dict(BLOCK.findall(PAGE))["cmake"],
        encoding="utf-8",
    )
    (folder / "user.c").write_text(
        '#include "intarsia.h"\n#include <stdio.h>\nint main(void) { return puts(intarsia_version()) < 0; }\n',
        encoding="utf-8",
    )
    run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", folder / "build"])
    assert run([folder / "build" / "server"]).strip() == "0.1.0"
