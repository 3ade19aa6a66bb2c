from __future__ import annotations

import pytest

from intarsia.partitioning.capability import refusal_text


@pytest.mark.parametrize(
    ("refused", "asked", "told"),
    [
        ({"gru_1": "no GRU"}, 9, "no GRU (gru_1)"),
        ({"gru_1": "no GRU"}, 1, "no GRU (gru_1)"),
        ({"gru_1": "no GRU", "lstm": "no LSTM"}, 9, "no GRU (gru_1 and 1 more node)"),
        ({"gru_1": "no GRU", "b": "no GRU", "c": "no LSTM"}, 9, "no GRU (gru_1 and 2 more nodes)"),
        ({"a": "float32 only", "b": "float32 only"}, 2, "float32 only"),
        ({"a": "float32 only", "b": "float32 only"}, 3, "float32 only (a and 1 more node)"),
    ],
)
def test_the_reason_stands_before_the_nodes(refused: dict[str, str], asked: int, told: str) -> None:
    assert refusal_text(refused, asked) == told
