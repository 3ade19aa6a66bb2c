from __future__ import annotations

from dataclasses import replace
from importlib import util

import numpy as np
import pytest

from intarsia.backends.contract import EngineArtifact
from intarsia.backends.native import library, recipe
from intarsia.backends.native.library import Lack
from intarsia.backends.winograd import WinogradBackend
from intarsia.config.settings import RunSettings
from intarsia.errors import CompileError, LoadError
from intarsia.graph import Graph, load_model
from intarsia.target import Target
from tests.conformance.boundary_cases import BOUNDARY_CASES, SMALL_NET
from tests.conformance.cases import Case, Feed, f32, node

TARGET = Target("winograd")
NOTHING = "no convolution to at most 4 channels or of 3x3 in groups of 2, 4 or 8 channels or of 1x1 or of 3x3"


@pytest.fixture(autouse=True)
def eight_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "block", lambda: 8)


def graph(case: Case = SMALL_NET) -> Graph:
    return load_model(case.model())


def refusals(case: Case) -> dict[str, str]:
    return dict(WinogradBackend().capability(graph(case), TARGET).refusals)


def convolution(channels: tuple[int, int] = (8, 16), **attributes: object) -> Case:
    return Case(
        name="one",
        nodes=(node("Conv", "x w", **{"pads": [1, 1, 1, 1], **attributes}),),
        inputs={"x": f32(1, channels[0], 12, 12)},
        weights={"w": (channels[1], channels[0], 3, 3)},
    )


def test_a_graph_with_a_convolution_to_replace_is_taken_as_onnxruntime_takes_it() -> None:
    assert refusals(SMALL_NET) == {}
    assert refusals(convolution()) == {}
    assert refusals(convolution(pads=[0, 0, 0, 0], auto_pad="SAME_LOWER")) == {}
    assert refusals(convolution(pads=[0, 0, 0, 0])) == {}
    assert refusals(convolution(pads=[3, 0, 1, 2])) == {}


HALF = Case(
    name="half",
    nodes=(node("Conv", "x w", "a", pads=[1, 1, 1, 1]), node("Conv", "a v", pads=[1, 1, 1, 1])),
    inputs={"x": Feed(shape=(1, 8, 12, 12), dtype="float16")},
    weights={"w": np.ones((16, 8, 3, 3), np.float16), "v": np.ones((8, 16, 3, 3), np.float16)},
)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (next(case for case in BOUNDARY_CASES if case.name == "several-outputs"), NOTHING),
        (convolution(strides=[2, 2]), NOTHING),
        (convolution(dilations=[2, 2]), NOTHING),
        (convolution(channels=(8, 12)), "convolutions, 8 to 12, are no multiples of 8"),
        (convolution(channels=(4, 8)), "convolutions, 4 to 8, are no multiples of 8"),
        (HALF, "it computes in float32 only, and the convolutions of 3x3 are float16"),
    ],
)
def test_a_graph_with_nothing_to_replace_is_left_to_onnxruntime(case: Case, reason: str) -> None:
    found = refusals(case)
    assert len(found) == len(graph(case).nodes)
    [told] = set(found.values())
    assert reason in told


def test_weights_that_are_computed_are_nothing_to_replace() -> None:
    weights = Case(
        name="computed",
        nodes=(node("Relu", "v", "w"), node("Conv", "x w", pads=[1, 1, 1, 1])),
        inputs={"x": f32(1, 8, 12, 12), "v": f32(16, 8, 3, 3)},
    )
    found = refusals(weights)
    assert len(found) == 2
    assert all("are computed, and ours need constants" in told for told in found.values())


def test_the_reason_is_that_of_the_convolution_that_comes_nearest() -> None:
    depthwise = Case(
        name="depthwise",
        nodes=(node("Conv", "x w", "a", strides=[2, 2]), node("Conv", "a v", pads=[1, 1, 1, 1], group=8)),
        inputs={"x": f32(1, 8, 12, 12)},
        weights={"w": (8, 8, 3, 3), "v": (8, 1, 3, 3)},
    )
    [told] = set(refusals(depthwise).values())
    channels = "1 to 1 in each of 8 groups"
    assert told == f"the channels of its 3x3 stride-1 convolutions, {channels}, are no multiples of 8"


def test_groups_of_few_channels_are_left_to_a_direct_convolution() -> None:
    case = Case(
        name="grouped",
        nodes=(node("Conv", "x w", pads=[1, 1, 1, 1], group=2),),
        inputs={"x": f32(1, 32, 12, 12)},
        weights={"w": (32, 16, 3, 3)},
    )
    [told] = set(refusals(case).values())
    assert "16 to 16 in each of 2 groups, are so few that a direct convolution is as fast" in told


def test_kernels_may_be_asked_for_and_what_is_no_kernel_of_a_layer_is_refused() -> None:
    model = graph(convolution())
    [layer] = [each.id for each in model.nodes]
    engine = WinogradBackend()
    asking = engine.with_kernels(TARGET, {layer: "tile-2"})
    assert engine.capability(model, asking).refusals == {}
    [told] = engine.capability(model, engine.with_kernels(TARGET, {layer: "tile-3"})).refusals.values()
    assert told.endswith("and there are tile-2, tile-4, tile-6, host")
    assert [each.name for each in engine.kernel_choices(model, TARGET)[layer]] == ["", "tile-4", "host"]
    assert engine.kernel_choices(model, asking) == {}


def test_in_16_bits_ours_compute_what_the_host_was_faster_at_in_floats() -> None:
    case = Case(
        name="two",
        nodes=(node("Conv", "x w", "a", pads=[1, 1, 1, 1]), node("Elu", "a", "b"), node("Conv", "b v", strides=[2, 2])),
        inputs={"x": f32(1, 8, 12, 12)},
        weights={"w": (16, 8, 3, 3), "v": (8, 16, 3, 3)},
    )
    model, engine = graph(case), WinogradBackend()
    first, elu, last = (each.id for each in model.nodes)
    short = Target("winograd -inference-precision=i16")
    asking = engine.with_kernels(short, {first: "tile-2", elu: "host", last: "host"})
    assert engine.in_less(asking, model) == engine.with_kernels(short, {first: "tile-2", elu: "host"})
    assert engine.in_less(engine.with_kernels(short, {last: "host"}), model) == short


def test_without_a_convolution_of_ours_nothing_is_in_16_bits() -> None:
    depthwise = convolution(channels=(8, 8), group=8)
    depthwise = replace(depthwise, weights={"w": (8, 1, 3, 3)})
    assert WinogradBackend().in_less(Target("winograd -inference-precision=i16"), graph(depthwise)) is None


def test_what_is_compiled_in_16_bits_is_not_what_is_in_floats() -> None:
    """The options by which an artifact differs are those that reading the target changes."""
    assert {"inference-precision", "kernels"} <= set(WinogradBackend.traits.compiled_by)


def test_what_the_library_lacks_makes_the_engine_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "lack", lambda: Lack(reason="no compiler", fix="apt-get install g++"))
    found = WinogradBackend().probe()
    assert (found.usable, found.reason, found.fix) == (False, "no compiler", "apt-get install g++")


def test_the_library_is_what_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(library, "built_before", lambda: None)
    monkeypatch.setattr(library, "built", asked.append)
    assert not WinogradBackend().is_prepared()
    WinogradBackend().prepare(3.0)
    assert asked == [3.0]

    def failing(within_s: float) -> None:
        raise CompileError("native library", "there is no compiler")

    monkeypatch.setattr(library, "built", failing)
    WinogradBackend().prepare(3.0)


def test_without_onnxruntime_its_own_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    assert WinogradBackend().probe().fix == "pip install 'intarsia[winograd]'"


def test_sources_and_layout_are_part_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "lack", lambda: None)
    monkeypatch.setattr(util, "find_spec", lambda name: object())
    monkeypatch.setattr("intarsia.backends.onnxruntime.backend._version", lambda: "1.2.3")
    monkeypatch.setattr(recipe, "fingerprint", lambda: "0123abcd")
    assert WinogradBackend().probe().version == "1.2.3+0123abcd.8"


def test_an_artifact_of_another_layout_is_not_loaded() -> None:
    artifact = EngineArtifact(files={"model.onnx": b"", "weights.bin": b""}, meta={"block": 16, "weights": []})
    with pytest.raises(LoadError, match="blocks of 16 channels"):
        WinogradBackend().load(artifact, {}, TARGET, RunSettings(threads=1))
