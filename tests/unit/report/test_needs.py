from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intarsia.report.plan_figures import needs_json
from intarsia.report.reasons import larger_needs

MB = 1_000_000


def single(target: str, peak: int | None, ms: float = 1.0) -> dict[str, Any]:
    return {"target": target, "latency_ms": ms, "memory": None if peak is None else {"peak": peak * MB}}


def needs(tmp_path: Path, chosen: str, peak: int | None, *singles: dict[str, Any], **sizes: int) -> dict[str, Any]:
    """Of a model and an artifact of so many bytes each."""
    for name, size in ({"artifact": 100, "model": 100} | sizes).items():
        (tmp_path / name).write_bytes(bytes(size))
    figures = single(chosen, peak)
    return needs_json(chosen, figures, singles, tmp_path / "artifact", str(tmp_path / "model"), 0)


def told(found: dict[str, Any]) -> list[str]:
    return list(larger_needs({"needs": found}))


def test_our_kernels_are_held_against_the_engine_that_they_run_in(tmp_path: Path) -> None:
    others = single("winograd", 640), single("mnn", 100, 0.5), single("onnxruntime -optimization-level=all", 326, 2.0)
    found = needs(tmp_path, "winograd", 640, *others)
    assert (found["memory"], found["alternative_memory"]) == (640 * MB, 326 * MB)
    assert told(found) == [
        "it needs 640 MB of memory where onnxruntime -optimization-level=all alone needs 326 MB"
    ]  # fmt: skip


def test_a_mix_is_held_against_the_fastest_engine_that_is_not_ours(tmp_path: Path) -> None:
    others = single("winograd", 640, 0.5), single("mnn", 100, 2.0), single("openvino", 200, 1.0)
    assert needs(tmp_path, "collage-2", 300, *others)["alternative"] == "openvino"
    assert told(needs(tmp_path, "collage-2", 300, *others)) == [
        "it needs 300 MB of memory where openvino alone needs 200 MB"
    ]


def test_an_engine_that_is_not_ours_is_held_against_none_but_itself(tmp_path: Path) -> None:
    found = needs(tmp_path, "openvino", 900, single("openvino", 900, 1.0), single("mnn", 100, 2.0))
    assert found["alternative"] is None
    assert told(found) == []


@pytest.mark.parametrize(("mine", "theirs"), [(260, 200), (None, 200), (900, None)])
def test_what_is_little_or_not_known_is_not_told(tmp_path: Path, mine: int | None, theirs: int | None) -> None:
    assert told(needs(tmp_path, "winograd", mine, single("winograd", mine), single("onnxruntime", theirs))) == []


def test_the_artifact_is_held_against_the_model(tmp_path: Path) -> None:
    found = needs(tmp_path, "winograd", None, artifact=4 * MB, model=2 * MB)
    assert told(found) == ["its artifact takes 4 MB for a model of 2 MB"]
    assert told(needs(tmp_path, "winograd", None, artifact=1000, model=100)) == []  # times of nothing
    assert told(needs(tmp_path, "winograd", None, artifact=13 * MB, model=10 * MB)) == []


def test_weights_outside_of_the_model_s_file_count(tmp_path: Path) -> None:
    (tmp_path / "artifact").write_bytes(bytes(5 * MB))
    for model in (None, str(tmp_path / "absent.onnx")):
        found = needs_json("mnn", {}, [], tmp_path / "artifact", model, 4 * MB)
        assert found["model"] == 4 * MB
        assert told(found) == []


def test_both_are_one_sentence(tmp_path: Path) -> None:
    found = needs(tmp_path, "winograd", 640, single("onnxruntime", 326), artifact=4 * MB, model=2 * MB)
    assert told(found) == [
        "it needs 640 MB of memory where onnxruntime alone needs 326 MB, "
        "and its artifact takes 4 MB for a model of 2 MB"
    ]


def test_an_older_report_says_nothing() -> None:
    assert list(larger_needs({})) == []
