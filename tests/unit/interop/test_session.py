"""A session where it is not what `tests/e2e/test_onnxruntime_script.py` sees: sizes, artifacts, refusals, profiles."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import intarsia.onnxruntime as ort
from intarsia.driver import CompileSettings
from intarsia.errors import ConfigError, FeedError, IntarsiaError, ModelError, NoCoverError, UnsupportedError
from intarsia.interop import compiled as module
from intarsia.runtime import CompiledModel
from tests.unit.graph.models import info, model, two_layers
from tests.unmeasured import unmeasured

X = np.ones((4, 32), np.float32)


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes of each compile, none of which measures anything."""
    calls: list[Any] = []

    def noted(source: Any, target: Any, settings: CompileSettings) -> CompiledModel:
        calls.append(settings.shapes and {name: str(size) for name, size in settings.shapes.items()})
        return unmeasured(source, target, settings=settings)

    monkeypatch.setattr(module, "compile", noted)
    return calls


def session(source: onnx.ModelProto, **settings: Any) -> ort.InferenceSession:
    return ort.InferenceSession(source.SerializeToString(), target="reference", cache=False, **settings)


def lengths(*dims: str | int | None) -> onnx.ModelProto:
    """y = -x and z = |m|, of the same dimensions."""
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["m"], ["z"])]
    ends = [info(name, dims) for name in ("x", "m", "y", "z")]
    return model(nodes, ends[:2], ends[2:])


def run(of: ort.InferenceSession, *shape: int) -> None:
    x = np.ones(shape, np.float32)
    assert [array.shape for array in of.run(None, {"x": x, "m": -x})] == [shape, shape]


def test_sizes_get_a_model_each_then_one_for_a_range(compiles: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    of = session(lengths("batch", "length", 2))
    assert compiles == []
    with caplog.at_level(logging.WARNING):
        for length in (3, 3, 6, 8, 1, 9):
            run(of, 1, length, 2)
    assert compiles == [
        {"batch": "1", "length": "3"},
        {"batch": "1", "length": "1..8/8"},
        {"batch": "1", "length": "1..16/16"},
    ]
    assert "shapes={'length': '1..8'}" in caplog.text
    run(of, 2, 3, 2)
    assert compiles[3:] == [{"batch": "1..2/2", "length": "1..16/16"}]


def test_stated_ranges_are_compiled_at_once(compiles: list[Any]) -> None:
    of = session(lengths(1, "length"), shapes={"length": "1..64"})
    assert compiles == [{"length": "1..64"}]
    run(of, 1, 64)
    assert [value.dtype for value in of.model.inputs] == ["float32", "float32"]
    assert len(compiles) == 1


def test_dimensions_without_a_name_get_a_model_for_each_size(compiles: list[Any]) -> None:
    of = session(lengths(1, None))
    for length in (3, 4, 3):
        run(of, 1, length)
    assert compiles == [dict.fromkeys(("x", "m"), f"(1, {length})") for length in (3, 4)]


def test_where_ranges_do_not_do_each_size_gets_a_model(compiles: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def exact_only(source: Any, target: Any, settings: CompileSettings) -> CompiledModel:
        assert settings.shapes is not None
        if not all(isinstance(size, int) for size in settings.shapes.values()):
            raise NoCoverError("ranges are too hard")
        compiles.append(settings.shapes)
        return unmeasured(source, target, settings=settings)

    monkeypatch.setattr(module, "compile", exact_only)
    of = session(lengths(1, "length"))
    for length in (3, 4, 4):
        run(of, 1, length)
    assert compiles == [{"length": 3}, {"length": 4}]


def test_feeds_that_do_not_fit_compile_nothing(compiles: list[Any]) -> None:
    of = session(lengths("batch", "length", 2))
    x = np.ones((1, 3, 2), np.float32)
    for feeds, message in (
        ({"x": x}, "input m is missing"),
        ({"x": x, "m": x[0]}, r"input m\[batch,length,2\] was given the shape \[3,2\]"),
        ({"x": x, "m": x[..., :1]}, r"input m\[batch,length,2\] was given the shape \[1,3,1\]"),
        ({"x": x, "m": x[:, :2]}, "but length is 3 elsewhere"),
    ):
        with pytest.raises(FeedError, match=message):
            of.run(None, feeds)
    with pytest.raises(ConfigError, match="compiled at its first run"):
        of.model  # noqa: B018
    assert compiles == []


def test_a_model_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model file"):
        ort.InferenceSession(tmp_path / "absent.onnx")
    with pytest.raises(ModelError, match="is not an ONNX model"):
        ort.InferenceSession(b"nonsense")


def test_an_artifact_is_a_session_too(compiles: list[Any], tmp_path: Path) -> None:
    with unmeasured(two_layers(), "reference") as compiled:
        path = compiled.save(tmp_path / "net.intarsia")
        expected = compiled(X)["y"]
    of = ort.InferenceSession(path)
    assert [(each.name, each.type, each.shape) for each in of.get_inputs()] == [("x", "tensor(float)", [4, 32])]
    assert np.array_equal(of.run(None, {"x": X})[0], expected)
    assert of.model.save(tmp_path / "copy.intarsia").read_bytes() == path.read_bytes()
    assert compiles == []
    for stated, names in (
        ({"shapes": {"n": 1}}, "shapes"),
        ({"budget": 60.0, "max_error": 0.01}, "budget, max_error"),
        ({"target": "reference", "cache": False}, "target or providers, cache"),
    ):
        with pytest.raises(ConfigError, match=rf"net\.intarsia is compiled already; leave out {names}, or"):
            ort.InferenceSession(path, **stated)


def test_what_contradicts_or_is_unknown_is_refused() -> None:
    source = two_layers().SerializeToString()
    with pytest.raises(ConfigError, match="both say what the model runs on"):
        ort.InferenceSession(source, target="reference", providers=["CPUExecutionProvider"])
    with pytest.raises(ConfigError, match=r"make it from that module"):
        ort.InferenceSession(source, object())  # type: ignore[arg-type]


def test_a_session_takes_every_setting_of_a_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(source: Any, target: Any, settings: CompileSettings) -> CompiledModel:
        asked.append(settings)
        return unmeasured(source, target, settings=settings)

    monkeypatch.setattr(module, "compile", noted)
    stated: dict[str, Any] = {"budget": 5, "max_error": 0.01, "max_memory": "500MB", "seed": 1, "strict": True}
    session(two_layers(), **stated)
    session(two_layers(), settings=CompileSettings(**stated))
    assert asked == [CompileSettings(**stated)] * 2


def test_threads_are_stated_once(compiles: list[Any]) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    with pytest.raises(ConfigError, match="threads= and intra_op_num_threads say the same; state one of them"):
        session(two_layers(), sess_options=options, threads=1)
    with pytest.raises(ConfigError, match="InferenceSession has no setting 'budgett'; did you mean 'budget'"):
        session(two_layers(), budgett=1)
    assert compiles == []


def test_names_of_a_run_are_checked(compiles: list[Any]) -> None:
    of = session(two_layers())
    with pytest.raises(FeedError, match="no output 'yy'; did you mean 'y'"):
        of.run(["yy"], {"x": X})
    binding = of.io_binding()
    with pytest.raises(FeedError, match="no input 'q'; the inputs are x"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(UnsupportedError, match="use get_outputs"):
        binding.get_outputs_as_ortvaluevector()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_shape_and_type([4, 31], np.float32))
    with pytest.raises(FeedError, match=r"room for float32\[4, 31\]"):
        of.run_with_iobinding(binding)


def test_a_run_that_was_called_off_is_not_begun(compiles: list[Any]) -> None:
    of, options = session(two_layers()), ort.RunOptions()
    options.terminate = True
    with pytest.raises(IntarsiaError, match="terminate is set"):
        of.run(None, {"x": X}, options)
    options.terminate = False
    assert of.run(None, {"x": X}, options)[0].shape == (4, 32)


def test_a_failure_of_an_asynchronous_run_is_handed_over(compiles: list[Any]) -> None:
    import threading

    told: list[Any] = []
    done = threading.Event()

    def landed(results: list[np.ndarray], user_data: Any, error: str) -> None:
        told.extend((results, user_data, error))
        done.set()

    session(two_layers()).run_async(None, {}, landed, "mine")
    assert done.wait(30)
    assert told[:2] == [[], "mine"]
    assert "input x float32[4,32] is missing" in told[2]


def test_other_providers_compile_anew(compiles: list[Any]) -> None:
    of = session(two_layers())
    assert of.get_providers() == ["CPUExecutionProvider"]
    of.set_providers(["CPUExecutionProvider"])
    assert len(compiles) == 2
    assert of.run(None, {"x": X})[0].shape == (4, 32)


def test_a_profile_has_each_run_and_partition(compiles: list[Any], tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "p_")
    of = session(two_layers(), sess_options=options)
    assert of.get_profiling_start_time_ns() > 0
    for _ in range(2):
        of.run(None, {"x": X})
    events = json.loads(Path(of.end_profiling()).read_text(encoding="utf-8"))
    assert [event["name"] for event in events] == ["model_run", "partition 0: reference"] * 2
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    assert events[1]["dur"] <= events[0]["dur"]
    with pytest.raises(ConfigError, match="set enable_profiling"):
        of.end_profiling()


def test_text_goes_in_and_out(compiles: list[Any]) -> None:
    ends = [info(name, (2,), TensorProto.STRING) for name in ("s", "t")]
    of = session(model([helper.make_node("Identity", ["s"], ["t"])], ends[:1], ends[1:]))
    value = ort.OrtValue.ortvalue_from_numpy(np.array(["a", "bc"], object))
    assert of.run(None, {"s": ["a", "bc"]})[0].tolist() == ["a", "bc"]
    assert of.run_with_ort_values(None, {"s": value})[0].data_type() == "tensor(string)"
