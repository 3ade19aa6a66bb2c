"""Who races: those that are close and answer rightly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import competitors
from benchmarks.competitors import DEFAULT, Field, look, onnx_readers
from benchmarks.paired_benchmark import Contender, Look


def contenders(*names: str) -> list[Contender]:
    return [Contender(name=name, kind=name.split()[0], model=Path("model")) for name in names]


def test_the_default_and_the_close_ones_race() -> None:
    looks = {DEFAULT: 30.0, "openvino": 10.0, "mnn": 12.4, "ncnn": 12.6}
    found = Field(contenders={c.name: c for c in contenders(*looks)}, looks_ms=looks, wrong={})
    assert [c.name for c in found.racing()] == [DEFAULT, "openvino", "mnn"]
    assert found.tuned == ["openvino", "mnn", "ncnn"]
    assert [c.name for c in found.racing(["winograd", "ncnn", "mnn"])] == [DEFAULT, "openvino", "mnn", "ncnn"]


def test_no_more_than_a_few_race() -> None:
    looks = {f"onnxruntime {number}": 10.0 + number / 100 for number in range(8)}
    found = Field(contenders={c.name: c for c in contenders(*looks)}, looks_ms=looks, wrong={})
    assert [c.name for c in found.racing()] == [f"onnxruntime {number}" for number in range(competitors.MOST)]


def seen(monkeypatch: pytest.MonkeyPatch, **outputs: tuple[np.ndarray, ...]) -> Field:
    def screen(several: list[Contender], *_: object) -> dict[str, Look]:
        return {c.name: Look(ms=1.0, outputs=outputs[c.name]) for c in several if c.name in outputs}

    monkeypatch.setattr(competitors, "screen", screen)
    monkeypatch.setattr(competitors, "DEFAULT", "default")
    return look(contenders("default", *(name for name in outputs if name != "default"), "dead"), Path(), Path())


def test_who_answers_wrongly_is_no_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.array([[1.0, -2.0], [0.5, 0.0]], np.float32)
    found = seen(
        monkeypatch,
        default=(right,),
        reshaped=((right + 1e-4).reshape(-1),),
        wrong=(right + 1e-2,),
        nan=(right * np.float32("nan"),),
        short=(right[:1],),
        fewer=(),
    )
    assert set(found.looks_ms) == {"default", "reshaped"}
    assert set(found.wrong) == {"wrong", "nan", "short", "fewer"}
    assert "dead" not in found.contenders
    assert found.wrong["wrong"] == pytest.approx(0.005, rel=1e-3)


def test_onnx_runtime_is_tuned_over_levels_and_spinning() -> None:
    found = list(onnx_readers(Path("model.onnx")))
    assert [c.name for c in found if c.kind == "onnxruntime"] == [
        "onnxruntime-all",
        "onnxruntime-all-nospin",
        "onnxruntime-extended",
        "onnxruntime-extended-nospin",
    ]
    assert {c.kind for c in found} == {DEFAULT, "onnxruntime", "openvino"}
