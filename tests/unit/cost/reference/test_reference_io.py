"""Values come back as they were, by name, and a later call adds to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from intarsia.backends.contract.failures import Cause, cause_of
from intarsia.cost.reference.reference_io import (
    forget_damaged,
    record_tolerances,
    record_values,
    recorded_names,
    recorded_tolerances,
    recorded_values,
)
from intarsia.runtime.tolerance import Tolerance

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_values_come_back(tmp_path: Path) -> None:
    values: dict[str, np.ndarray] = {
        "a/b:0": X,
        "..": X.T,
        "scalar": np.array(7, np.int64),
        "flags": np.array([True, False]),
    }
    record_values(tmp_path / "new", values)
    found = recorded_values(tmp_path / "new", [*values, "absent"])
    assert set(found) == recorded_names(tmp_path / "new") == set(values)
    for name, array in values.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
    with pytest.raises(ValueError, match="read-only"):
        found["a/b:0"][0, 0] = 1


def test_a_later_call_adds_and_replaces(tmp_path: Path) -> None:
    record_values(tmp_path, {"x": X, "y": X})
    record_values(tmp_path, {"z": X + 1, "y": X + 2})
    found = recorded_values(tmp_path, ["x", "y", "z"])
    for name, expected in {"x": X, "y": X + 2, "z": X + 1}.items():
        np.testing.assert_array_equal(found[name], expected)


def test_strings_are_left_out_and_nothing_is_there_at_first(tmp_path: Path) -> None:
    assert recorded_values(tmp_path / "none", ["x"]) == {}
    record_values(tmp_path, {"text": np.array(["a"], dtype=object), "x": X})
    assert recorded_names(tmp_path) == {"x"}


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint2])
def test_types_that_numpy_has_no_name_for_come_back(dtype: type, tmp_path: Path) -> None:
    values: np.ndarray = np.array([1.0, 0.0, 2.0], dtype)
    record_values(tmp_path, {"x": values, "scalar": values[0].reshape(())})
    found = recorded_values(tmp_path, ["x", "scalar"])
    assert found["x"].dtype == found["scalar"].dtype == values.dtype
    np.testing.assert_array_equal(found["x"].astype(np.float32), [1.0, 0.0, 2.0])


def test_what_earlier_versions_wrote_without_a_type_is_not_there(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", X)
    (tmp_path / "values.json").write_text('{"x": "0.npy"}', encoding="utf-8")
    assert recorded_names(tmp_path) == frozenset()
    record_values(tmp_path, {"x": X + 1})
    np.testing.assert_array_equal(recorded_values(tmp_path, ["x"])["x"], X + 1)


def test_what_is_there_already_stays_where_it_is(tmp_path: Path) -> None:
    record_values(tmp_path, {"x": X, "y": X + 1})
    record_values(tmp_path, {"x": X, "z": X + 2})
    found = recorded_values(tmp_path, ["x", "y", "z"])
    for name, array in {"x": X, "y": X + 1, "z": X + 2}.items():
        np.testing.assert_array_equal(found[name], array)


def test_what_was_changed_on_disk_is_told_and_forgotten(tmp_path: Path) -> None:
    record_values(tmp_path, {"x": X, "y": X + 1, "z": X + 2})
    assert forget_damaged(tmp_path) == ()
    index = json.loads((tmp_path / "values.json").read_text())["rows"]
    first, second = (tmp_path / index[name][0] for name in ("x", "y"))
    flipped = bytearray(first.read_bytes())
    flipped[-1] ^= 1
    first.write_bytes(flipped)
    second.unlink()
    assert forget_damaged(tmp_path) == ("x", "y")
    assert recorded_names(tmp_path) == {"z"}
    record_values(tmp_path, {"x": X, "y": X + 1})
    assert set(recorded_values(tmp_path, ["x", "y", "z"])) == {"x", "y", "z"}
    np.testing.assert_array_equal(recorded_values(tmp_path, ["z"])["z"], X + 2)


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-9], lambda text: re.sub(r"[0-9a-f]+\.float32", "../../x", text), lambda _: "[]"]
)
def test_an_index_that_is_not_as_it_was_written_names_nothing(spoil: Callable[[str], str], tmp_path: Path) -> None:
    record_values(tmp_path, {"x": X})
    index = tmp_path / "values.json"
    index.write_text(spoil(index.read_text()))
    assert recorded_names(tmp_path) == frozenset()
    record_values(tmp_path, {"x": X + 1})
    np.testing.assert_array_equal(recorded_values(tmp_path, ["x"])["x"], X + 1)


def test_a_value_that_breaks_later_is_the_disk_s_doing(tmp_path: Path) -> None:
    record_values(tmp_path, {"x": X})
    (file,) = tmp_path.glob("*.npy")
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(OSError, match="is damaged") as raised:
        recorded_values(tmp_path, ["x"])
    assert cause_of(raised.value) is Cause.NO_SPACE


def test_tolerances_that_are_not_as_they_were_written_are_none(tmp_path: Path) -> None:
    record_tolerances(tmp_path, {"y": Tolerance(largest=0.5, length=0.25)})
    assert recorded_tolerances(tmp_path) == {"y": Tolerance(largest=0.5, length=0.25)}
    file = tmp_path / "tolerances.json"
    file.write_text(file.read_text().replace("0.25", "9.25"))
    assert recorded_tolerances(tmp_path) == {}
