from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.report.page.engines import COLOURS, FIXED, OTHERS, colour, label, shares
from intarsia.target.kinds.catalogue import ENGINES
from tests.cli_fakes import ALONE, OLD, PARTITIONS, REPORT


def test_the_plans_engines_come_first_by_their_share() -> None:
    assert shares(REPORT) == {"mnn": 11.9 / 16.0, "onnxruntime": 4.1 / 16.0}
    assert list(shares(ALONE)) == ["mnn"]


def test_an_engine_on_another_device_has_a_colour_of_its_own() -> None:
    there = {**PARTITIONS[1], "target": "mnn -base=vulkan", "device": "vulkan:0"}
    assert list(shares(REPORT | {"partitions": [PARTITIONS[0], there]})) == ["mnn", "mnn on vulkan:0"]
    assert label(there["target"], there["device"]) == "mnn on vulkan:0"
    there_too = {colour("mnn -base=vulkan", "vulkan:0"), colour("mnn -threads=2 -base='vulkan -x=1'")}
    assert len(there_too) == 1
    assert colour("mnn on vulkan:0") in there_too
    assert colour("mnn", "cpu:0") == colour("mnn -base=llvm") == FIXED.index("mnn")
    assert there_too.isdisjoint(range(len(FIXED)))


def test_times_that_lack_leave_the_nodes_to_share() -> None:
    unmeasured: dict[str, Any] = {"measured_ms": None, "predicted_ms": None}
    assert shares(OLD | {"partitions": [part | unmeasured for part in PARTITIONS]}) == {
        "mnn": 0.75,
        "onnxruntime": 0.25,
    }
    predicted = [part | {"measured_ms": None} for part in PARTITIONS]
    assert shares(OLD | {"partitions": predicted})["mnn"] == 11.25 / 15.2


def test_the_colours_of_our_engines_stay_where_they_are() -> None:
    """Reports of other days are laid beside one another: a new kind gets the next colour, and moves none."""
    kept = (
        *("onnxruntime", "openvino", "mnn", "ncnn", "winograd", "iree", "tvm", "inductor", "torch", "xla"),
        *("litert", "tinygrad", "triton", "reference"),
    )
    assert kept == FIXED
    assert list(map(colour, FIXED)) == list(range(len(FIXED)))
    assert {kind.name for kind in ENGINES if not kind.partial} == set(FIXED)


@pytest.mark.parametrize("target", [*FIXED, "numpy", "away", "tensorrt -base=cuda"])
def test_every_engine_has_a_colour(target: str) -> None:
    assert 0 <= colour(target) < COLOURS


@given(st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True).filter(lambda name: name not in FIXED))
def test_an_engine_of_a_plug_in_takes_no_colour_of_ours(name: str) -> None:
    assert len(FIXED) <= colour(name) == colour(f"{name} -threads=2") < len(FIXED) + OTHERS


@pytest.mark.parametrize(
    ("device", "engines"),
    [("vulkan", ("mnn", "ncnn", "iree")), ("cuda", ("torch", "inductor", "xla", "tinygrad", "iree", "tvm"))],
)
def test_engines_on_one_gpu_differ(device: str, engines: tuple[str, ...]) -> None:
    assert len({colour(f"{engine} -base={device}") for engine in engines}) == len(engines)
