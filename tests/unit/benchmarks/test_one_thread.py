"""Two contenders are raced once they compute the same, and what came of it is a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import competitors, one_thread
from benchmarks.one_thread import compared, table
from benchmarks.paired_benchmark import CONTROL, Contender, Effort, Look, Result

OURS = Contender(name="c", kind=competitors.PRODUCT, model=Path("model.intarsia"))
OTHER = Contender(name=competitors.DEFAULT, kind=competitors.DEFAULT, model=Path("model.onnx"))


def raced(monkeypatch: pytest.MonkeyPatch, answer: float) -> list[tuple[object, ...]]:
    """Stand in for processes: each round takes the one twice as long as the other."""
    asked: list[tuple[object, ...]] = []

    def screen(several: list[Contender], feeds: Path, threads: int, folder: Path) -> dict[str, Look]:
        asked.append((threads, [each.name for each in several]))
        answers = {"c": np.full(3, answer), competitors.DEFAULT: np.ones(3)}
        return {each.name: Look(ms=1.0, outputs=(answers[each.name],)) for each in several}

    def race(several: list[Contender], feeds: Path, threads: int, **told: object) -> Result:
        asked.append((threads, [each.name for each in several]))
        rounds = {"c": (2.0,) * 20, competitors.DEFAULT: (1.0,) * 20, CONTROL: (2.0,) * 20}
        return Result(rounds_ms=rounds, set_sizes=(20,))

    monkeypatch.setattr(competitors, "screen", screen)
    monkeypatch.setattr(one_thread, "race", race)
    return asked


def test_the_ratio_is_of_rounds_on_one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = raced(monkeypatch, 1.0)
    found = compared(OURS, OTHER, tmp_path / "feeds.npz", tmp_path, Effort())
    assert asked == [(1, ["c", competitors.DEFAULT])] * 2
    assert found["times_as_long"]["median"] == 2.0
    assert (found["control"], found["void"]) == (1.0, False)
    rows = list(table({"networks": {"net": found, "broken": {"failed": "no engine"}}}))
    assert rows[1:] == [("net", "1.0", "2.0", "**2.00** (2.00 to 2.00)", "1.000")]
    assert "times as long" in rows[0]


def test_what_answers_otherwise_does_not_race(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raced(monkeypatch, 1.5)
    with pytest.raises(RuntimeError, match=r"c does not answer as onnxruntime-default: 0\.5"):
        compared(OURS, OTHER, tmp_path / "feeds.npz", tmp_path, Effort())
