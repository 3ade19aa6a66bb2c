from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.errors import BackendUnavailableError
from intarsia.target.kinds.catalogue import BACKED

BUILT_IN = tuple(
    kind.name
    for kind in BACKED
    for stem in [kind.name.replace("-", "_")]
    if Path(registry.FOLDER, f"{stem}.py").exists() or Path(registry.FOLDER, stem, "backend.py").exists()
)


@dataclass(frozen=True)
class Owner:
    """Looks like a distribution."""

    name: str


@dataclass(frozen=True)
class Point:
    """Looks like an entry point."""

    name: str
    value: str
    dist: Owner | None


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    points: list[Point] = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == registry.GROUP else [])
    registry.refresh()
    yield points
    registry.refresh()


def test_ours_are_there_without_installation(plugins: list[Point]) -> None:
    assert registry.names() == BUILT_IN
    assert {"onnxruntime", "reference"} <= set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_of_ours_says_its_own_name(name: str) -> None:
    assert registry.get(name).name == name
    assert registry.get(name) is registry.get(name)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(BackendUnavailableError, match="'onxruntime'; did you mean 'onnxruntime'"):
        registry.get("onxruntime")
    with pytest.raises(BackendUnavailableError, match="there are onnxruntime, openvino"):
        registry.get("zzz")


def test_a_plugin_is_found(plugins: list[Point]) -> None:
    plugins.append(Point("mine", "intarsia.backends.reference:ReferenceBackend", Owner("my-package")))
    assert registry.names() == (*BUILT_IN, "mine")
    assert registry.probe("mine").usable


@pytest.mark.parametrize(
    "value", ["no.such.module:Engine", "intarsia.errors:NoSuchClass", "intarsia.errors:CompileError"]
)
def test_a_plugin_that_does_not_import_is_unavailable_with_its_reason(plugins: list[Point], value: str) -> None:
    plugins.append(Point("broken", value, Owner("bad-package")))
    found = registry.probe("broken")
    assert not found.usable
    assert found.reason is not None
    assert "bad-package" in found.reason
    assert "broken" not in registry.usable()
    with pytest.raises(BackendUnavailableError, match="'broken' of bad-package does not import"):
        registry.get("broken")


def test_two_packages_with_one_name_are_both_named(plugins: list[Point]) -> None:
    plugins += [Point("twin", "a:A", Owner("first-package")), Point("twin", "b:B", None)]
    with pytest.raises(BackendUnavailableError, match="claimed by an unnamed package and first-package"):
        registry.get("twin")


def test_a_plugin_cannot_take_over_one_of_ours(plugins: list[Point]) -> None:
    plugins.append(Point("ncnn", "a:A", Owner("pirate")))
    with pytest.raises(BackendUnavailableError, match="claimed by intarsia and pirate"):
        registry.get("ncnn")


def test_one_installation_seen_twice_is_one(plugins: list[Point]) -> None:
    plugins += [Point("mine", "intarsia.backends.reference:ReferenceBackend", Owner("my-package"))] * 2
    assert registry.get("mine").name == "reference"


def test_require_says_why_not_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Availability(usable=False, reason="it is not installed", fix="pip install it")
    monkeypatch.setattr(type(registry.get("ncnn")), "probe", lambda self: absent)
    with pytest.raises(
        BackendUnavailableError, match="'ncnn' cannot be used here: it is not installed; pip install it"
    ):
        registry.require("ncnn")
    assert "ncnn" not in registry.usable()


def test_require_gives_what_probe_found() -> None:
    assert registry.require("reference").version == metadata.version("onnx")


def test_listing_and_probing_loads_no_engine() -> None:
    code = (
        "import sys\n"
        "from intarsia.backends import registry\n"
        "registry.usable()\n"
        "print({'onnxruntime', 'openvino', 'MNN', 'ncnn', 'onnx', 'onnx_ir'} & sys.modules.keys())\n"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "set()"


@pytest.mark.parametrize("place", ["ethos_n.py", "ethos_n/backend.py"])
def test_a_file_or_a_folder_called_as_its_kind_is_an_engine(place: str, tmp_path: Path) -> None:
    assert "ethos-n" in registry.unsupported_names()
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "from intarsia.backends.reference import ReferenceBackend\n"
        "class EthosBackend(ReferenceBackend):\n"
        "    name = 'ethos-n'\n"
    )
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from intarsia.backends import __path__, registry\n"
        "__path__.append(sys.argv[1])\n"
        "registry.FOLDER = sys.argv[1]\n"
        "print(registry.names(), type(registry.get('ethos-n')).__name__, registry.probe('ethos-n').usable)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "('ethos-n',) EthosBackend True"
