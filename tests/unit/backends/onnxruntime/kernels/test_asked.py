from __future__ import annotations

import pytest

from intarsia.backends.onnxruntime.kernels.asked import asked, asking, misnamed
from intarsia.target import Target

TARGET = Target("winograd")
KNOWN = {"conv1": ("tile-2", "tile-4", "host"), "a=b, c": ("host",)}


def test_kernels_that_are_asked_for_are_told_and_survive_as_text() -> None:
    wanted = {"conv1": "tile-2", "a=b, c": "host", "*": "tile-4"}
    target = asking(TARGET, wanted)
    assert asked(target) == wanted
    assert asked(Target(str(target))) == wanted
    assert asking(target, {}) == TARGET
    assert asked(TARGET) == {}


@pytest.mark.parametrize(
    ("wanted", "wrong"),
    [
        ({"conv1": "host", "*": "tile-2"}, None),
        ({"conv2": "host"}, "-kernels has 'conv2=host', and no kernel of ours computes conv2"),
        ({"conv1": "tile-3"}, "-kernels has 'conv1=tile-3', and there are tile-2, tile-4, host"),
        ({"a=b, c": "tile-2"}, "-kernels has 'a=b, c=tile-2', and there is host"),
        ({"*": "gemm"}, "-kernels has '*=gemm', and there are tile-2, tile-4, host"),
        ({"": "host"}, "-kernels has '=host', and NODE=KERNEL is what it takes"),
    ],
)
def test_what_does_not_exist_is_told(wanted: dict[str, str], wrong: str | None) -> None:
    assert misnamed(asking(TARGET, wanted), KNOWN) == wrong
