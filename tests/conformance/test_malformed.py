"""What `load_model` refuses, ONNX Runtime refuses too, and the other way round; where not, the table says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.errors import ModelError
from intarsia.graph import load_model
from tests import onnxruntime_takes
from tests.malformed import EXCEPTED, MALFORMED

pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.engine]


def test_both_refuse_what_is_not_sound(tmp_path: Path) -> None:
    asked = [case for case in MALFORMED if not case.harmful]
    paths = [tmp_path / f"{number}.onnx" for number in range(len(asked))]
    for case, path in zip(asked, paths, strict=True):
        path.write_bytes(case.model)
        with pytest.raises(ModelError):
            load_model(path)
    answers = dict(zip((case.name for case in asked), onnxruntime_takes.answers(paths), strict=True))
    taken = {name: onnxruntime_takes.refuses(answer) for name, answer in answers.items()}
    wrong = {case.name: answers[case.name] for case in asked if taken[case.name] == bool(case.taken)}
    assert not wrong


def test_it_refuses_what_the_table_of_exceptions_says(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.onnx" for number in range(len(EXCEPTED))]
    for case, path in zip(EXCEPTED, paths, strict=True):
        path.write_bytes(case.model)
        load_model(path)
    answers = dict(zip((case.name for case in EXCEPTED), onnxruntime_takes.answers(paths), strict=True))
    assert all(onnxruntime_takes.refuses(answer) for answer in answers.values()), answers
