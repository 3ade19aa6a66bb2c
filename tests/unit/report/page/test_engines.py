from __future__ import annotations

from typing import Any

from intarsia.report.page.engines import COLOURS, engines_of, shares
from tests.cli_fakes import ALONE, OLD, PARTITIONS, REPORT


def test_the_plans_engines_come_first_by_their_share() -> None:
    engines = engines_of(REPORT)
    assert engines.labels == ("mnn", "onnxruntime")
    assert shares(REPORT) == {"mnn": 11.9 / 16.0, "onnxruntime": 4.1 / 16.0}
    assert engines_of(ALONE).labels == ("mnn", "onnxruntime")


def test_an_engine_on_another_device_has_a_colour_of_its_own() -> None:
    there = {**PARTITIONS[1], "target": "mnn -base=vulkan", "device": "vulkan:0"}
    engines = engines_of(REPORT | {"partitions": [PARTITIONS[0], there]})
    assert engines.labels == ("mnn", "mnn on vulkan:0", "onnxruntime")
    assert engines.number("mnn -base=vulkan", "vulkan:0") == 1
    assert engines.number("mnn", "cpu:0") == 0
    assert engines.number("onnxruntime -optimization-level=all") == 2


def test_times_that_lack_leave_the_nodes_to_share() -> None:
    unmeasured: dict[str, Any] = {"measured_ms": None, "predicted_ms": None}
    assert shares(OLD | {"partitions": [part | unmeasured for part in PARTITIONS]}) == {
        "mnn": 0.75,
        "onnxruntime": 0.25,
    }
    predicted = [part | {"measured_ms": None} for part in PARTITIONS]
    assert shares(OLD | {"partitions": predicted})["mnn"] == 11.25 / 15.2


def test_many_engines_share_the_last_colour() -> None:
    singles = [{"target": f"engine{number}", "latency_ms": 1.0} for number in range(20)]
    engines = engines_of(REPORT | {"singles": singles})
    assert max(engines.number(label) for label in engines.labels) == COLOURS
    assert engines.number("unheard-of") == COLOURS
