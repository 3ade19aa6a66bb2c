"""What TVM refuses and is told, without TVM; how its kernels are cut and ordered, where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, Executable, Port
from intarsia.backends.lowering.lower import lower
from intarsia.backends.tvm.backend import TvmBackend, _device, _engine
from intarsia.backends.tvm.compiler import Call, Plan, Tensor, module_of
from intarsia.config import RunSettings, Spin
from intarsia.errors import CompileError
from intarsia.graph import SubModel, extract, load_model
from intarsia.runtime.environment import applied, load_environment
from intarsia.target import Target
from tests.conformance.cases import Case, Feed, f32, one
from tests.unit.graph.models import info, model

SETTINGS = RunSettings(threads=2)
backend = TvmBackend()
found = backend.probe()
needs_tvm = pytest.mark.skipif(not found.usable, reason=str(found.reason))


def reasons(case: Case, target: str = "tvm") -> list[str]:
    graph = load_model(case.model())
    return list(backend.capability(graph, Target(target)).refusals.values())


def submodel(case: Case) -> SubModel:
    graph = load_model(case.model())
    return extract(graph, (node.id for node in graph.nodes))


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("tvm"), TvmBackend)


def test_it_computes_in_no_type_of_eight_bits() -> None:
    values = [info("x", (4,), onnx.TensorProto.FLOAT8E4M3FN), info("y", (4,))]
    cast = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT)
    graph = load_model(model([cast], values[:1], values[1:], opset=23, ir_version=11))
    assert "float8_e4m3fn" in backend.capability(graph, Target("tvm")).refusals["Cast_0"]


@pytest.mark.parametrize("base", ["c", "llvm", "cuda"])
def test_it_refuses_no_node_for_a_device_whose_absence_is_said_as_a_whole(base: str) -> None:
    assert reasons(one("Relu", "r", {"x": f32(2, 3)}), f"tvm -base={base}") == []


def test_c_has_no_narrow_floats() -> None:
    case = one("Relu", "r", {"x": Feed(shape=(2, 3), dtype="float16")})
    assert reasons(case) == []
    assert reasons(case, "tvm -base=c") == ["C has no float16"]


def test_its_threads_obey_the_plan_and_stay_free_of_processors() -> None:
    wanted = backend.environment(RunSettings(threads=3, spin=Spin.NEVER))
    assert wanted["TVM_NUM_THREADS"] == "3"
    assert wanted["TVM_THREAD_POOL_SPIN_COUNT"] == "0"
    assert wanted["TVM_BIND_THREADS"] == "0"


def test_a_plan_is_read_back() -> None:
    plan = Plan(
        prepare=(Call(kernel="turn", values=("weight/w", "prepare/0")),),
        run=(Call(kernel="conv", values=("input/x", "prepare/0", "run/0")),),
        made={"prepare/0": Tensor(dtype="float32", shape=(3, 1)), "run/0": Tensor(dtype="float16", shape=())},
        outputs={"y": "run/0"},
    )
    assert Plan.of_bytes(plan.to_bytes()) == plan


def compiled(case: Case, target: str = "tvm") -> tuple[SubModel, Executable, EngineArtifact]:
    with applied(load_environment(["tvm"], SETTINGS)):
        cut = submodel(case)
        artifact = backend.compile(cut, Target(target), SETTINGS)
        weights = {name: cut.weights[name].array() for name in artifact.weights}
        return cut, backend.load(artifact, weights, Target(target), SETTINGS), artifact


def answer(executable: Executable, feeds: dict[str, np.ndarray]) -> np.ndarray:
    (output,) = executable.outputs
    result = np.empty(output.shape or (), output.dtype)
    executable.bind(feeds, {output.name: result})()
    return result


LAYER = Case(
    name="layer",
    nodes=(
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
    ),
    inputs={"x": f32(1, 8, 14, 14)},
    weights={"w": (32, 8, 3, 3), "b": (32,)},
)


@needs_tvm
def test_weights_are_turned_once_and_the_rest_is_one_kernel() -> None:
    _, _, artifact = compiled(LAYER)
    plan = Plan.of_bytes(artifact.files["plan.json"])
    assert len(plan.run) == 1
    assert "weight/w" in {value for call in plan.prepare for value in call.values}
    assert "weight/w" not in plan.run[0].values


@needs_tvm
def test_sums_of_products_are_tiled_in_registers() -> None:
    program = lower(submodel(LAYER), backend.natives)
    with applied(load_environment(["tvm"], SETTINGS)):
        _engine()
        device = _device(Target({"kind": "tvm", "base": "llvm -mcpu=skylake-avx512"}))
        kernels = module_of(program, device, 3).kernels
    text = kernels.script()
    assert "T.vectorized(T.int64(32))" in text
    assert "T.unroll(T.int64(14))" in text


@needs_tvm
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (7, 5, 3), (13, 64, 17), (64, 33, 128), (12, 64, 1500), (1, 256, 1000), (31, 8, 40)]
)
def test_products_of_any_size_are_right(shape: tuple[int, int, int]) -> None:
    rows, depth, columns = shape
    _, executable, _ = compiled(one("MatMul", "m", {"x": f32(2, rows, depth), "z": f32(2, depth, columns)}))
    rng = np.random.default_rng(0)
    x, z = (rng.standard_normal(each).astype(np.float32) for each in ((2, rows, depth), (2, depth, columns)))
    np.testing.assert_allclose(answer(executable, {"x": x, "z": z}), x @ z, rtol=1e-4, atol=1e-4)


@needs_tvm
def test_arrays_that_are_not_aligned_are_copied() -> None:
    _, executable, _ = compiled(one("Relu", "r", {"x": f32(5, 33)}))
    block = np.zeros(5 * 33 * 4 + 128, np.uint8)
    start = -block.ctypes.data % 64 + 4
    crooked = block[start : start + 5 * 33 * 4].view(np.float32).reshape(5, 33)
    port, result = Port(crooked), np.empty((5, 33), np.float32)
    call = executable.bind({"x": port}, {"y": Port(result)})
    for turn in range(3):
        crooked[...] = np.random.default_rng(turn).standard_normal((5, 33))
        call()
        np.testing.assert_array_equal(result, np.maximum(crooked, 0))


@needs_tvm
def test_where_nothing_links_the_kernels_are_compiled_when_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    with applied(load_environment(["tvm"], SETTINGS)):
        _engine()
    monkeypatch.setattr("tvm.support.cc.get_cc", lambda: None)
    _, executable, artifact = compiled(one("Relu", "r", {"x": f32(4)}))
    assert "kernels.ll" in artifact.files
    np.testing.assert_array_equal(answer(executable, {"x": np.array([-1, 2, -3, 4], np.float32)}), [0, 2, 0, 4])


@needs_tvm
def test_c_needs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    case = one("Softmax", "s", {"x": f32(3, 5)})
    _, executable, _ = compiled(case, "tvm -base=c")
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    expected = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    np.testing.assert_allclose(answer(executable, {"x": x}), expected, rtol=1e-5)
    monkeypatch.setattr("tvm.support.cc.get_cc", lambda: None)
    with pytest.raises(CompileError, match="no C compiler"):
        compiled(case, "tvm -base=c")


@needs_tvm
def test_division_by_zero_stops_no_process() -> None:
    x = Feed(shape=(3,), dtype="int32", low=0, high=2)
    _, executable, _ = compiled(one("Div", "d", {"x": x, "z": x}))
    least = np.iinfo(np.int32).min
    feeds = {"x": np.array([7, least, -7], np.int32), "z": np.array([0, -1, 2], np.int32)}
    assert answer(executable, feeds)[2] == -3


_ALONE = """
import sys
sys.addaudithook(lambda event, args: event.startswith("socket.") and sys.exit(f"it used {event}"))
from tests.unit.backends.tvm.test_backend import LAYER, compiled
compiled(LAYER)
assert "torch" not in sys.modules
"""


@needs_tvm
def test_it_writes_nothing_at_home_and_asks_nobody(tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-B", "-c", _ALONE],
        env=variables | {"PYTHONPATH": os.pathsep.join(["src", "."])},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
