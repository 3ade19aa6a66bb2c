"""What Core ML takes, without coremltools."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.backends.coreml import backend
from intarsia.backends.coreml.backend import CoremlBackend
from intarsia.graph import load_model
from intarsia.planning.engine_set import absence
from intarsia.target import Target
from tests.conformance.cases import Case, Feed, f32, one


def reasons(case: Case) -> list[str]:
    graph = load_model(case.model())
    return list(registry.get("coreml").capability(graph, Target("coreml")).refusals.values())


def test_it_takes_a_convolution_with_weights() -> None:
    assert reasons(one("Conv", "c", {"x": f32(1, 3, 8, 8), "w": (4, 3, 3, 3)})) == []


def test_it_takes_none_by_what_is_computed() -> None:
    case = one("Conv", "c", {"x": f32(1, 3, 8, 8), "w": f32(4, 3, 3, 3)})
    assert reasons(case) == ["coreml has no conv by what is computed"]


def test_it_takes_no_more_than_five_dimensions() -> None:
    x = f32(1, 1, 1, 1, 2, 3)
    assert reasons(one("Relu", "r", {"x": x})) == ["coreml has no relu over 6 dimensions"]


@pytest.mark.parametrize(("dtype", "taken"), [("float32", True), ("int32", True), ("int64", False), ("uint8", False)])
def test_it_takes_few_types_of_numbers(dtype: str, taken: bool) -> None:
    x = Feed(shape=(2, 3), dtype=dtype, low=0, high=9)
    assert (reasons(one("Add", "a", {"x": x, "b": x})) == []) is taken


def test_a_padding_as_wide_as_the_window_is_refused() -> None:
    case = one("MaxPool", "m", {"x": f32(1, 1, 8, 8)}, kernel_shape=[2, 2], pads=[0, 0, 2, 2])
    (reason,) = reasons(case)
    assert "padding" in reason


def test_where_packages_can_be_built_they_are_still_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "installed", lambda package, extra: Availability(usable=True, version="9.0"))
    found = CoremlBackend().probe()
    assert (found.usable, found.version, found.devices) == (False, "9.0", ())
    assert "only built here" in (absence(Target("coreml")) or "")
