"""The Linux wheel, installed with what compiles and one engine where nothing else is, and no compiler."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
import zipfile
from collections.abc import Callable, Iterator

import onnx
import pytest

from intarsia.backends.native import bundled_library, library, recipe
from intarsia.target import KINDS
from tests.release.conftest import ROOT, Environment, Release
from tests.release.models import resnet18, small

pytestmark = [pytest.mark.e2e, pytest.mark.engine, pytest.mark.slow]

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^    intarsia ([^#\n]*)", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
OF_CPU = [name for name in EXTRAS["cpu"][0].removeprefix("intarsia[").removesuffix("]").split(",") if name != "compile"]
SHIPPED = "ncnn"
"""The extra whose environment takes a test run least time; `make large` tries the others."""
MEASURES = ("compare", "compile")
SECONDS = 10
COMPILE = ("compile", "resnet18.onnx", "--threads", 1)
BOARD = "targets: [{engine}]\nhost: llvm\n"
OUR_KERNELS = pytest.mark.skipif(library.cpu_lack() is not None, reason=str(library.cpu_lack()))

Make = Callable[[str], Environment]


def usable(environment: Environment) -> set[str]:
    """The engines that `doctor` shows as usable."""
    return {each["name"] for each in json.loads(environment.intarsia("doctor", "--json"))["engines"] if each["usable"]}


def commands(engines: set[str]) -> Iterator[list[str]]:
    """README's commands in order, without those that name an engine which is not there."""
    for line in COMMAND.findall(README):
        words = shlex.split(line)
        named = {kind for word in words for kind in re.findall(r"[\w-]+", word) if kind in KINDS}
        if {kind for kind in named if KINDS[kind].is_external} <= engines:
            yield words


@OUR_KERNELS
def test_without_a_compiler_our_kernels_compile_ship_and_run(environment: Make, release: Release) -> None:
    made = environment("onnxruntime")
    made.run(made.python, "-c", "import shutil; assert not any(map(shutil.which, ('g++', 'clang++', 'c++', 'cc')))")
    assert {"onnxruntime", "winograd"} <= usable(made)
    onnx.save(resnet18(), made.home / "resnet18.onnx")
    made.intarsia(*COMPILE, "--target", "winograd", "--budget", SECONDS, "-o", "ours.intarsia")
    with zipfile.ZipFile(made.home / "ours.intarsia") as artifact, zipfile.ZipFile(release.linux) as wheel:
        (kernels,) = (name for name in artifact.namelist() if name.endswith(bundled_library.FILE))
        own = recipe.prebuilt_name(library.instruction_sets())
        (shipped,) = (name for name in wheel.namelist() if name.endswith(own))
        assert artifact.read(kernels) == wheel.read(shipped)
    assert "scores" in made.intarsia("run", "ours.intarsia", "--random")
    assert not list(made.home.rglob("*.so"))  # nothing was built, and nothing put beside the wheel's


@OUR_KERNELS
@pytest.mark.large
def test_without_a_compiler_our_kernels_are_measured_against_the_engine_alone(environment: Make) -> None:
    made = environment("onnxruntime")
    onnx.save(resnet18(), made.home / "resnet18.onnx")
    report = json.loads(made.intarsia(*COMPILE, "--budget", 120, "--json", "-o", "best.intarsia"))
    assert {"onnxruntime", "winograd"} <= {each["target"].partition(" ")[0] for each in report["singles"]}
    assert report["left_out"] == []
    assert "scores" in made.intarsia("run", "best.intarsia", "--random")


@pytest.mark.parametrize(
    "extra", [SHIPPED, *(pytest.param(name, marks=pytest.mark.large) for name in (*OF_CPU, "cpu") if name != SHIPPED)]
)
def test_the_commands_of_readme_run(environment: Make, extra: str) -> None:
    made = environment(extra)
    engines = usable(made)
    assert (set(OF_CPU) if extra == "cpu" else {extra}) <= engines
    (made.home / "board.yaml").write_text(BOARD.format(engine=sorted(engines)[0]), encoding="utf-8")
    verbs = []
    for words in commands(engines):
        verbs.append(words[0])
        onnx.save(small("N" if "--shape" in words else 1), made.home / "model.onnx")
        if words[0] == "export":  # a plan of one engine, which the best plan need not be
            made.intarsia("compile", "model.onnx", "--partition", "single", "--budget", SECONDS)
        budget = ["--budget", str(SECONDS)] if words[0] in MEASURES else []
        line, redirected, place = " ".join(words).partition(" > ")
        said = made.intarsia(*line.split(" ") if redirected else words, *budget)
        if redirected:
            (made.home / place).write_text(said, encoding="utf-8")
    assert {"compare", "compile", "explain", "report", "run", "export", "targets"} <= set(verbs)
    if extra == "cpu":
        (code,) = PYTHON.findall(README)
        (made.home / "readme.py").write_text(code, encoding="utf-8")
        made.run(made.python, "readme.py")
