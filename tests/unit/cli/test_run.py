from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli_fakes import Fakes, invoke


@pytest.fixture(autouse=True)
def artifact(folder: Path) -> None:
    """What is run: a file that stands for one."""
    (folder / "m.intarsia").touch()


def save(path: Path) -> np.ndarray:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(path, array)
    return array


def test_an_input_is_read_and_outputs_are_described(fakes: Fakes, folder: Path) -> None:
    save(folder / "x.npy")
    done = invoke("run", "m.intarsia", "--input", "x=x.npy", "--json")
    assert json.loads(done.stdout) == {
        "artifact": "m.intarsia",
        "outputs": [
            {"name": "y", "dtype": "float32", "shape": [2, 3], "min": 1.0, "max": 6.0, "mean": 3.5},
            {"name": "block/flag:0", "dtype": "bool", "shape": [2], "min": 0.0, "max": 1.0, "mean": 0.5},
            {"name": "odd", "dtype": "float64", "shape": [3], "min": 1.0, "max": 1.0, "mean": 1.0, "not_finite": 2},
        ],
    }
    assert fakes.model.closed


def test_outputs_are_written_under_names_a_folder_can_hold(fakes: Fakes, folder: Path) -> None:
    array = save(folder / "x.npy")
    done = invoke("run", "m.intarsia", "--input", "x=x.npy", "--output", "out/deep", "--json")
    assert done.exit_code == 0
    files = {each["name"]: each["file"] for each in json.loads(done.stdout)["outputs"]}
    assert files["block/flag:0"] == "out/deep/block%2Fflag%3A0.npy"
    np.testing.assert_array_equal(np.load(folder / files["y"]), array + 1)


def test_random_fills_only_what_was_not_given(fakes: Fakes, folder: Path) -> None:
    save(folder / "x.npy")
    given = json.loads(invoke("run", "m.intarsia", "--random", "--input", "x=x.npy", "--json").stdout)
    drawn = json.loads(invoke("run", "m.intarsia", "--random", "--json").stdout)
    assert given["outputs"][0]["max"] == 6.0
    assert drawn["outputs"][0]["max"] == 1.0


def test_the_profile_lists_each_partition(fakes: Fakes, folder: Path) -> None:
    profile = json.loads(invoke("run", "m.intarsia", "--random", "--profile", "--json").stdout)["profile"]
    assert profile == [{"target": "mnn", "nodes": 2, "ms": 1.5}, {"target": "onnxruntime", "nodes": 1, "ms": 0.25}]
    assert "1.75" in invoke("run", "m.intarsia", "--random", "--profile").stdout.splitlines()[-1]


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00truncated"])
def test_an_unreadable_file_is_bad_input(fakes: Fakes, folder: Path, content: bytes) -> None:
    (folder / "x.npy").write_bytes(content)
    done = invoke("run", "m.intarsia", "--input", "x=x.npy")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: input x: cannot read x.npy as a .npy file")


def test_an_archive_of_arrays_is_bad_input(fakes: Fakes, folder: Path) -> None:
    np.savez(folder / "x.npz", a=np.zeros(1))
    done = invoke("run", "m.intarsia", "--input", "x=x.npz")
    assert done.exit_code == 2
    assert "holds several arrays" in done.stderr


def test_pickled_objects_are_refused(fakes: Fakes, folder: Path) -> None:
    np.save(folder / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert invoke("run", "m.intarsia", "--input", "x=x.npy").exit_code == 2
