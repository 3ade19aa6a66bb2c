"""What a script catches of ONNX Runtime's, it catches of ours, and what it caught of ours it still does."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as native

import intarsia.onnxruntime as ort
from intarsia.errors import CompileError, ExecutionError, FeedError, IntarsiaError, ModelError, UnsupportedError
from intarsia.interop.failures import theirs
from intarsia.onnxruntime.capi import onnxruntime_pybind11_state as state
from intarsia.onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
from tests.unit.graph.models import two_layers


def test_every_exception_is_there_by_its_name() -> None:
    names = [name for name, each in vars(native).items() if isinstance(each, type) and issubclass(each, Exception)]
    assert len(names) > 9
    for name in names:
        assert issubclass(getattr(ort.capi.onnxruntime_pybind11_state, name), Exception)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("absent.onnx", None, "NoSuchFile"),
        ("torn.onnx", b"torn" * 99, "InvalidProtobuf"),
        ("empty.onnx", b"", "Fail"),
        ("graphless.onnx", onnx.ModelProto(ir_version=9).SerializeToString(), "Fail"),
    ],
)
def test_a_model_that_cannot_be_read_is_caught_as_theirs(
    tmp_path: Path, name: str, content: bytes | None, kind: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what is found out
        onnxruntime.InferenceSession(str(tmp_path / name))
    with pytest.raises(getattr(state, kind)):
        ort.InferenceSession(str(tmp_path / name))
    with pytest.raises(getattr(state, type(raised.value).__name__)):  # as theirs
        ort.InferenceSession(str(tmp_path / name))
    with pytest.raises(ModelError):  # as ours
        ort.InferenceSession(str(tmp_path / name))


@pytest.mark.parametrize(
    "feeds",
    [
        {"x": np.zeros((9, 9, 9), np.float32)},
        {"x": np.zeros((2, 3), np.float64)},
        {"none": np.zeros((2, 3), np.float32)},
        {},
    ],
)
def test_a_wrong_feed_is_caught_as_theirs(
    tmp_path: Path, feeds: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    onnx.save(two_layers(), tmp_path / "m.onnx")
    session = ort.InferenceSession(tmp_path / "m.onnx", target="reference", partition="greedy", budget=0)
    with pytest.raises(state.InvalidArgument):
        session.run(None, feeds)
    with pytest.raises(ValueError, match="input"):
        session.run(None, feeds)
    with pytest.raises(FeedError):
        session.run(None, feeds)
    with pytest.raises(state.InvalidArgument):
        session.run(["nowhere"], {})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ExecutionError("mnn", "signal 11"), state.RuntimeException),
        (CompileError("mnn", "no memory"), state.EPFail),
        (FeedError("no input"), state.InvalidArgument),
        (IntarsiaError("else"), state.Fail),
    ],
)
def test_an_error_keeps_all_that_it_had(error: IntarsiaError, kind: type[Exception]) -> None:
    found = theirs(error)
    assert isinstance(found, type(error))
    assert isinstance(found, kind)
    assert (str(found), found.args, vars(found), found.exit_code) == (
        str(error), error.args, vars(error), error.exit_code
    )  # fmt: skip
    assert type(found).__name__ == type(error).__name__
    assert theirs(found) is found
    sent = pickle.loads(pickle.dumps(found))
    assert isinstance(sent, kind)
    assert (str(sent), vars(sent)) == (str(error), vars(error))


def test_a_missing_attribute_stays_one() -> None:
    error = UnsupportedError("no such thing", name="x")
    assert theirs(error) is error


def test_the_version_is_that_of_what_is_installed() -> None:
    assert ort.__version__ == metadata.version("onnxruntime") == ort.get_version_string()
    assert ort.__intarsia_version__ == metadata.version("intarsia")
    assert InferenceSession is ort.InferenceSession


def test_quantization_is_that_of_onnxruntime() -> None:
    script = """
import sys
import intarsia.onnxruntime as ort
assert "onnxruntime" not in sys.modules
from intarsia.onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static
import intarsia.onnxruntime.quantization.calibrate as ours
from intarsia.onnxruntime.quantization.preprocess import quant_pre_process
import onnxruntime.quantization
assert ort.quantization is onnxruntime.quantization
assert ours.CalibrationDataReader is CalibrationDataReader is onnxruntime.quantization.CalibrationDataReader
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_onnxruntime_it_says_what_to_install() -> None:
    script = """
import sys
sys.modules["onnxruntime"] = None
import intarsia.onnxruntime as ort
try:
    ort.quantization
except ImportError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("BackendUnavailableError intarsia.onnxruntime.quantization is ONNX Runtime's own")
    assert "pip install 'intarsia[onnxruntime]'" in done.stdout
