"""What MNN's file does without MNN: taking weights out of its files and putting them back, and saying what it is."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.mnn.backend import _NOT_FINITE, MnnBackend, MnnExecutable, cut, restore
from intarsia.config.settings import RunSettings
from intarsia.errors import LoadError
from intarsia.target import Target

WEIGHTS = {
    "kernel": np.arange(64, dtype=np.float32).reshape(4, 4, 4),
    "bias": np.full(16, -0.0, dtype=np.float32),
    "zeros": np.zeros(16, dtype=np.float32),
}


def joined(partitions: list[bytes]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """A weight file of these pieces, and where they are in it."""
    starts = np.cumsum([0, *map(len, partitions)]).tolist()
    return np.frombuffer(b"".join(partitions), np.uint8), list(zip(starts, map(len, partitions), strict=False))


@given(
    st.lists(
        st.one_of(st.sampled_from([array.tobytes() for array in WEIGHTS.values()]), st.binary(min_size=1, max_size=80))
    ),
    st.randoms(use_true_random=False),
)
def test_what_is_cut_out_comes_back(partitions: list[bytes], random: Random) -> None:
    data, spans = joined(partitions)
    random.shuffle(spans)
    layout, rest = cut(data, spans, WEIGHTS)
    assert b"".join(restore(layout, rest, WEIGHTS)) == data.tobytes()
    assert sum(size for name, size in layout if name is None) == len(rest)


def test_each_weight_is_named_and_nothing_of_it_stays() -> None:
    data, spans = joined([WEIGHTS["kernel"].tobytes(), b"own!", WEIGHTS["zeros"].tobytes()])
    assert cut(data, spans, WEIGHTS) == ([("kernel", 256), (None, 4), ("zeros", 64)], b"own!")


def test_equal_numbers_of_other_bytes_are_not_the_same_weight() -> None:
    data, spans = joined([WEIGHTS["zeros"].tobytes()])
    layout, _ = cut(data, spans, {"bias": WEIGHTS["bias"]})
    assert layout == [(None, 64)]


def test_a_weight_that_the_converter_changed_stays_inside() -> None:
    folded = WEIGHTS["kernel"] * np.float32(2)
    data, spans = joined([folded.tobytes()])
    assert cut(data, spans, WEIGHTS) == ([(None, 256)], folded.tobytes())


def test_a_weight_of_another_size_is_refused() -> None:
    with pytest.raises(LoadError, match=r"weight kernel has 64 bytes, the artifact expects 256"):
        list(restore([("kernel", 256)], b"", {"kernel": WEIGHTS["zeros"]}))


def test_both_winograd_sizes_are_worth_timing_unless_one_is_stated() -> None:
    backend = MnnBackend()
    assert [target["memory"] for target in backend.variants(Target("mnn"))] == ["normal", "high"]
    assert backend.variants(Target("mnn -memory=low")) == (Target("mnn -memory=low"),)


def test_it_needs_no_variable() -> None:
    assert MnnBackend().environment(RunSettings(threads=2)) == {}


def test_a_missing_package_is_told_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intarsia.backends.mnn.backend.util.find_spec", lambda name: None)
    found = MnnBackend().probe()
    assert not found.usable
    assert found.fix == "pip install 'intarsia[mnn]'"


def test_numbers_that_json_does_not_have_are_read_over() -> None:
    assert json.loads(_NOT_FINITE.sub("0", '{"a": [-inf, nan,inf ], "name": "inf"}')) == {"a": [0, 0, 0], "name": "inf"}


def test_types_that_mnn_would_answer_in_another_are_not_run() -> None:
    meta = {"inputs": [("x", "float16", (2,))], "outputs": [("y", "float16", (2,))]}
    with pytest.raises(LoadError, match="x is float16"):
        MnnExecutable(None, None, meta)
