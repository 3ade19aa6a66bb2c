"""Two engines on different devices in one plan: the CPU, and one with Vulkan or OpenCL, which may be in software."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends import registry
from intarsia.driver import partition
from intarsia.target import KINDS
from intarsia.target.detect import lack
from tests.e2e.conftest import Run

pytestmark = [pytest.mark.e2e]

PLACES = [(name, kind) for kind in ("vulkan", "opencl") for name in KINDS[kind].engines if name in registry.names()]
ORT = "onnxruntime -optimization-level=all"
SHAPE = (1, 8, 12, 12)


@pytest.fixture(scope="module", params=PLACES, ids="-on-".join)
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Each engine that can be had for a kind of device and is here, if a device is."""
    name, kind = request.param
    found = registry.probe(name)
    if not found.usable:
        pytest.skip(f"{name}: {found.reason}")
    if kind not in found.devices:
        pytest.skip(f"{name} runs here on {', '.join(found.devices)}")
    reason = lack(kind)
    if reason is not None:
        pytest.skip(reason)
    return name, kind


@pytest.fixture(scope="module")
def engine(place: tuple[str, str]) -> str:
    return place[0]


@pytest.fixture(scope="module")
def device(place: tuple[str, str]) -> str:
    return place[1]


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    """Convolutions, and between them a Det, which none has on such a device; x and h are read on both sides of it."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((8, 8, 3, 3)).astype(np.float32) / 8, name) for name in ("w", "v")
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv_1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["h"], name="relu"),
        helper.make_node("Det", ["h"], ["d"], name="det"),
        helper.make_node("Unsqueeze", ["d", "axes"], ["e"], name="widen"),
        helper.make_node("Mul", ["h", "e"], ["m"], name="scale"),
        helper.make_node("Add", ["m", "x"], ["s"], name="skip"),
        helper.make_node("Conv", ["s", "v"], ["y"], name="conv_2", pads=[1, 1, 1, 1]),
    ]
    axes = numpy_helper.from_array(np.array([2, 3]), "axes")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "test", [x], [y], [*weights, axes])
    path = folder / "devices.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def of_order(*devices: str, engine: str) -> str:
    """A composite, most preferred first, whose devices are served by this engine and ONNX Runtime."""
    composite = {"kind": "composite", "devices": list(devices), "host": "llvm"}
    return json.dumps({"targets": [composite], "libraries": [engine, "onnxruntime"]})


def both(engine: str, device: str) -> str:
    """A composite of the two engines themselves, one of them with one setting: so less is measured."""
    return json.dumps({"kind": "composite", "devices": [f"{engine} -base={device}", ORT]})


@pytest.fixture(scope="module")
def artifact(engine: str, device: str, model: Path, intarsia: Callable[..., Run]) -> Path:
    """Compiled by the order of the device, then the CPU."""
    path = model.with_name(f"{engine}-{device}.intarsia")
    arguments = ("--partition", "greedy", "--budget", 30, "-o", path, "--json")
    intarsia("compile", model, "--target", both(engine, device), *arguments).json()
    return path


@pytest.fixture
def _two_devices(device: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The device twice, for processes that are started: one driver listed twice, or told to show two."""
    if device == "opencl":
        monkeypatch.setenv("POCL_DEVICES", "pthread pthread")
        return
    drivers = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    if not drivers:
        pytest.skip("Mesa's Vulkan device in software is not there: apt-get install mesa-vulkan-drivers")
    copies = [shutil.copy(drivers[0], tmp_path / f"driver-{number}.json") for number in range(2)]
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):  # the second is what older loaders read
        monkeypatch.setenv(name, ":".join(map(str, copies)))


@pytest.mark.slow
@pytest.mark.usefixtures("_two_devices")
def test_nodes_run_on_the_device_that_is_named(
    engine: str, device: str, model: Path, intarsia: Callable[..., Run], tmp_path: Path
) -> None:
    import onnxruntime

    artifact, placed, feeds = tmp_path / "two.intarsia", tmp_path / "placed.yaml", tmp_path / "x.npy"
    config = {"targets": [f"{device}:0", f"{device}:1", "llvm"], "libraries": [engine, "onnxruntime"]}
    placed.write_text(json.dumps({"nodes": {"conv_1": f"{device}:1", "det": "cpu", "conv_2": f"{device}:0"}}))
    arguments = ("--constraints", placed, "--partition", "greedy", "--budget", 0, "-o", artifact)
    done = intarsia("compile", model, "--target", json.dumps(config), *arguments)
    assert done.code == 0, done.err
    first, _, last = report_of(artifact, intarsia)["partitions"]
    assert (first["target"], last["target"]) == (f"{engine} -base={device} -device-index=1", f"{engine} -base={device}")
    np.save(feeds, np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32))
    done = intarsia("run", artifact, "--input", f"x={feeds}", "--output", tmp_path / "out")
    assert done.code == 0, done.err
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    [wanted] = session.run(None, {"x": np.load(feeds)})
    found = np.load(tmp_path / "out" / "y.npy")
    assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()


@pytest.mark.usefixtures("_two_devices")
def test_a_device_that_is_not_there_is_an_error(
    device: str, model: Path, intarsia: Callable[..., Run], tmp_path: Path
) -> None:
    done = intarsia("compile", model, "--target", f"{device}:2, llvm", "-o", tmp_path / "out.intarsia")
    assert done.code == 3
    assert f"this machine has no device {device}:2; it has {device}:0" in done.err


def report_of(artifact: Path, intarsia: Callable[..., Run]) -> dict[str, Any]:
    return intarsia("explain", artifact, "--json").json()


def test_a_composite_obeys_its_order(engine: str, device: str, model: Path) -> None:
    first, between, last = partition(model, of_order(device, "llvm", engine=engine)).partitions
    assert [str(part.target) for part in (first, between, last)] == [
        f"{engine} -base={device}", "onnxruntime", f"{engine} -base={device}",
    ]  # fmt: skip
    assert {"conv_1", "relu"} <= set(first.nodes)
    assert "det" in between.nodes
    assert "conv_2" in last.nodes


def test_the_other_order_leaves_nothing_to_the_device(engine: str, device: str, model: Path) -> None:
    found = partition(model, of_order("llvm", device, engine=engine))
    assert {part.target.device_type for part in found.partitions} == {"cpu"}


@pytest.mark.slow
def test_a_compile_obeys_it_and_says_where_each_part_runs(
    artifact: Path, device: str, intarsia: Callable[..., Run]
) -> None:
    assert [part["device"] for part in report_of(artifact, intarsia)["partitions"]] == [device, "cpu", device]


@pytest.mark.slow
def test_both_devices_together_answer_as_onnx_runtime_does(
    engine: str, artifact: Path, model: Path, intarsia: Callable[..., Run], tmp_path: Path
) -> None:
    import onnxruntime

    x = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    done = intarsia("run", artifact, "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out")
    assert done.code == 0, done.err
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    [wanted] = session.run(None, {"x": x})
    found = np.load(tmp_path / "out" / "y.npy")
    assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()


@pytest.mark.slow
def test_transfers_are_planned_shared_and_measured(
    engine: str, device: str, artifact: Path, intarsia: Callable[..., Run]
) -> None:
    transfers = report_of(artifact, intarsia)["transfers"]
    crossings = [(t["value"], t["destination"], t["partition"], t["readers"]) for t in transfers]
    shares = registry.get(engine).traits.device_values
    assert ("h", "cpu", 1, [2] if shares else [2, 3]) in crossings
    assert ("x", device, 1, [1, 3] if shares else [1]) in crossings
    assert ("y", "cpu", 3, []) in crossings
    assert all(t["bytes"] == 4 * np.prod(SHAPE) for t in transfers if t["value"] in "xhy")
    assert all(t["is_inside"] is not shares for t in transfers)
    assert all((t["ms"] is not None) is shares for t in transfers)
    shown = intarsia("explain", artifact)
    assert f"cpu → {device}" in shown.out
    assert f"{device} → cpu" in shown.out


@pytest.mark.slow
def test_a_search_measures_the_device_too(
    engine: str, device: str, model: Path, intarsia: Callable[..., Run], tmp_path: Path
) -> None:
    arguments = ("--budget", 30, "-o", tmp_path / "out.intarsia", "--json")
    report = intarsia("compile", model, "--target", both(engine, device), *arguments).json()
    assert any(segment["ms"][f"{engine} -base={device}"] for segment in report["segments"])
    assert report["max_rel_error"] < 1e-5
