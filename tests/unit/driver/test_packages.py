"""Models that are written whole for an engine that runs elsewhere."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.driver.packages import write_package
from intarsia.errors import BackendUnavailableError, ConfigError, ModelError
from tests.unit.graph.models import info, model, two_layers

ENGINE = "coreml"
HERE = registry.probe(ENGINE).version is not None
needs_coremltools = pytest.mark.skipif(not HERE, reason="coremltools is not installed")


def test_what_writes_packages_is_named_where_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError, match=r"pip install 'intarsia\[coreml\]'"):
        write_package(two_layers(), ENGINE, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_engine_that_runs_here_is_compiled_for_instead(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"reference runs here.*intarsia compile MODEL"):
        write_package(two_layers(), "reference", tmp_path)


def test_an_engine_without_a_backend_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailableError, match="there is no engine 'tensorrt'"):
        write_package(two_layers(), "tensorrt", tmp_path)


@needs_coremltools
@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
def test_a_package_is_written_whole(tmp_path: Path) -> None:
    files, why = write_package(two_layers(), ENGINE, tmp_path / "out")
    assert "machines of Apple's" in why
    assert {path.relative_to(tmp_path / "out").parts[0] for path in files} == {"model.mlpackage"}
    assert all(path.is_file() for path in files)


@needs_coremltools
def test_a_model_that_is_not_taken_whole_is_refused(tmp_path: Path) -> None:
    odd = model(
        [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("NonZero", ["y"], ["z"], "late")],
        [info("x")],
        [info("z", None, onnx.TensorProto.INT64)],
    )
    with pytest.raises(ModelError, match=r"coreml takes 1 of 2 nodes, and a package needs all: .*late"):
        write_package(odd, ENGINE, tmp_path / "out")
