"""Options of sessions and runs: defaults as ONNX Runtime has them, and no setting that is lost in silence."""

from __future__ import annotations

import onnxruntime
import pytest

from intarsia.errors import ConfigError, UnsupportedError
from intarsia.interop.options import RunOptions, SessionOptions, check_session_options


@pytest.mark.parametrize(
    ("ours", "theirs"), [(SessionOptions(), onnxruntime.SessionOptions()), (RunOptions(), onnxruntime.RunOptions())]
)
def test_the_defaults_are_the_same(ours: object, theirs: object) -> None:
    names = [name for name in dir(theirs) if not name.startswith("_") and not callable(getattr(theirs, name))]
    assert len(names) >= 5
    for name in names:
        expected = getattr(theirs, name)
        assert getattr(ours, name) == (expected.value if hasattr(expected, "value") else expected), name


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"'intra_op_threads' here; did you mean 'intra_op_num_threads'"):
        SessionOptions().intra_op_threads = 2
    with pytest.raises(UnsupportedError, match=r"RunOptions has no 'training_mode'"):
        RunOptions().training_mode = True
    with pytest.raises(UnsupportedError, match="merge the adapter"):
        RunOptions().add_active_adapter(None)


def test_hints_pass() -> None:
    options = SessionOptions()
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    check_session_options(options)


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [("optimized_model_filepath", "out.onnx", r"session\.model\.save"), ("use_deterministic_compute", True, "target=")],
)
def test_what_would_change_what_comes_out_is_refused(name: str, value: object, cure: str) -> None:
    options = SessionOptions()
    setattr(options, name, value)
    with pytest.raises(UnsupportedError, match=f"{name}.*{cure}"):
        check_session_options(options)


def test_an_entry_without_a_meaning_is_refused() -> None:
    options = SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    with pytest.raises(UnsupportedError, match=r"'session\.set_denormal_as_zero' has no meaning here"):
        check_session_options(options)


def test_an_entry_is_read_back() -> None:
    options = RunOptions()
    options.add_run_config_entry("a", "1")
    assert options.get_run_config_entry("a") == "1"
    with pytest.raises(ConfigError, match=r"no run entry 'b' was set; there are a"):
        options.get_run_config_entry("b")
