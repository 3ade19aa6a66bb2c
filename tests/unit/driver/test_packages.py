"""Models that are written whole for an engine, or a device, that is elsewhere."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.driver.packages import write_package
from intarsia.errors import BackendUnavailableError, CompileError, ConfigError, ModelError
from tests.unit.graph.models import info, model, two_layers

ENGINE = "coreml"
HERE = registry.probe(ENGINE).version is not None
needs_coremltools = pytest.mark.skipif(not HERE, reason="coremltools is not installed")
needs_iree = pytest.mark.skipif(not registry.probe("iree").usable, reason="the extra iree is not installed")


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


@pytest.mark.parametrize(
    ("device", "name", "begins"),
    [
        ("cuda -arch=sm_80", "*.ptx", b"//"),
        ("nvptx -mcpu=sm_70", "*.ptx", b"//"),
        ("rocm -mcpu=gfx1100", "*.hsaco", b"\x7fELF"),
        ("metal", "*.metal", b"#"),
        ("vulkan", "*.spv", b"\x03\x02\x23\x07"),
    ],
)
@needs_iree
def test_code_is_written_for_a_device_that_is_not_here(device: str, name: str, begins: bytes, tmp_path: Path) -> None:
    files, why = write_package(two_layers(), device, tmp_path / "out")
    assert "answers were not checked" in why
    assert "no effect" not in why
    (kernel, *_) = (tmp_path / "out" / "kernels").glob(name)
    assert kernel.read_bytes().startswith(begins)
    assert {path.name for path in files} >= {"model.vmfb", "options.txt", kernel.name}
    chip = device.rpartition("=")[2]
    assert chip in (tmp_path / "out" / "options.txt").read_text() or "=" not in device
    assert str(tmp_path) not in (tmp_path / "out" / "options.txt").read_text()


@needs_iree
def test_options_that_change_nothing_of_a_devices_code_are_named(tmp_path: Path) -> None:
    _, why = write_package(two_layers(), "metal -max_num_threads=64", tmp_path / "out")
    assert "-max_num_threads: no effect on it" in why


@needs_iree
def test_a_chip_that_the_compiler_does_not_know_is_refused_whole(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="gfx1"):
        write_package(two_layers(), "rocm -mcpu=gfx1", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_device_that_nothing_writes_code_for_says_for_which_there_is(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailableError, match=r"code for hexagon .*they write it for cuda, metal, nvptx"):
        write_package(two_layers(), "hexagon", tmp_path / "out")
