"""Numbers that a compile cannot be asked with are refused at the door, whoever hands them over."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intarsia
from intarsia import numbers
from intarsia.driver import tune
from intarsia.errors import ConfigError
from intarsia.interop.session import InferenceSession
from tests.unit.graph.models import two_layers

NO_NUMBERS: tuple[Any, ...] = (
    math.nan,
    -math.nan,
    np.nan,
    "60",
    b"60",
    True,
    [1],
    {},
    ...,
    1j,
    math.inf,
    -math.inf,
)
HOSTILE: dict[str, tuple[Any, ...]] = {
    "budget": (*NO_NUMBERS, None, -1, -0.5, 1e308, 10**400, numbers.MOST_SECONDS * 2),
    "seed": (*NO_NUMBERS, None, -5, 1.5, 1e308, 2**63, 10**5000),
    "threads": (*NO_NUMBERS, 1.5, 1e308),
    "max_error": (*NO_NUMBERS, 0, 1, -0.1, 1e308, 10**400),
    "max_memory": (
        *NO_NUMBERS,
        0,
        -1,
        1.5,
        1e308,
        2**63,
        10**5000,
        "1e308GB",
        "9" * 400 + "GB",
        "nanMB",
        "infB",
        "0kB",
    ),
    "shapes": (
        *(
            {"N": size}
            for size in (*NO_NUMBERS[7:], math.nan, None, 1.5, 2**63, 10**5000, True, ("1",), (1, math.nan), (1, 2**63))
        ),
        *({"N": text} for text in ("0..4", "5..1", "1..", "nan..4", "1..9" + "9" * 5000, "-1..4", "1..8/9", "")),
        [1, 2],
        "N=1",
        3,
        {1: 2},
    ),
}
CASES = [(name, value) for name, values in HOSTILE.items() for value in values]


def said(case: tuple[str, Any]) -> str:
    return f"{case[0]}-{numbers.shown(case[1])}"


@pytest.mark.parametrize(("name", "value"), CASES, ids=map(said, CASES))
def test_every_door_of_python_refuses_them(name: str, value: Any, tmp_path: Path) -> None:
    input_specs: list[Callable[[], object]] = [
        lambda: intarsia.compile("no.onnx", "mnn", store=tmp_path / "s", **{name: value}),
        lambda: intarsia.compare("no.onnx", "mnn", store=tmp_path / "s", **{name: value}),
    ]
    if name == "budget":
        input_specs.append(lambda: next(iter(tune(["no.onnx"], "mnn", budget=value))))
    if name in ("budget", "shapes"):
        session = {"target": "mnn", "store": tmp_path / "s", "cache": False, name: value}
        input_specs.append(lambda: InferenceSession(two_layers().SerializeToString(), **session))
    for input_spec in input_specs:
        with pytest.raises(ConfigError) as caught:
            input_spec()
        assert len(str(caught.value)) < 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [0, 60, 0.5, np.float32(0.5), np.int64(3), numbers.MOST_SECONDS])
def test_seconds(value: Any) -> None:
    assert numbers.seconds(value) == value
    assert type(numbers.seconds(value)) is float


@pytest.mark.parametrize("value", [0, np.int32(7), np.uint64(2**63 - 1), numbers.MOST_SEED])
def test_seeds(value: Any) -> None:
    assert numbers.seed(value) == int(value)
    assert type(numbers.seed(value)) is int


def test_what_is_shown_of_a_value_is_short() -> None:
    assert numbers.shown(10**5000) == "a int"
    assert len(numbers.shown("x" * 10**6)) == 60
