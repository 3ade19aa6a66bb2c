from __future__ import annotations

import pytest

from intarsia.target import KINDS


@pytest.mark.parametrize(
    ("kind", "options", "keys"),
    [
        ("opencl", {}, ("opencl", "gpu")),
        ("opencl", {"device": "mali"}, ("mali", "opencl", "gpu")),
        ("opencl", {"device": "mali", "keys": ("a",)}, ("a", "mali")),
        ("opencl", {"device": "gpu"}, ("gpu", "opencl")),
        ("c", {"mcpu": "cortex-m4"}, ("arm_cpu", "cpu")),
        ("c", {"mcpu": "cortex-m4", "keys": ("cpu",)}, ("cpu", "arm_cpu")),
        ("cmsis-nn", {"mcpu": "cortex-m4"}, ("arm_cpu", "cpu")),
        ("composite", {}, ()),
    ],
)
def test_keys(kind: str, options: dict[str, object], keys: tuple[str, ...]) -> None:
    assert KINDS[kind].keys(options) == keys


@pytest.mark.parametrize("kind", KINDS)
def test_completing_is_idempotent(kind: str) -> None:
    stated = {"keys": KINDS[kind].default_keys, "device": "a"}
    once = KINDS[kind].complete(stated)
    assert KINDS[kind].complete(once) == once
    assert KINDS[kind].keys(once) == KINDS[kind].keys(stated)


@pytest.mark.parametrize(
    ("engine", "device", "device_type", "takes"),
    [
        ("tensorrt", "cuda", None, True),
        ("tensorrt", "nvptx", None, False),
        ("reference", "llvm", None, True),
        ("reference", "llvm", "cuda", False),
        ("reference", "cuda", "cpu", True),
        ("cuda", "cuda", None, False),
        ("tensorrt", "tensorrt", None, False),
        ("reference", "composite", None, False),
    ],
)
def test_what_an_engine_generates_code_for(engine: str, device: str, device_type: str | None, takes: bool) -> None:
    assert KINDS[engine].takes(KINDS[device], device_type) is takes
