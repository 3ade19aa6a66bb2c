"""Devices that are not here are said first, and a reason that several engines share once."""

from __future__ import annotations

import pytest

from intarsia.planning import absent_engines as module
from intarsia.planning.absent_engines import absent_engines
from intarsia.target import Target

LACKS = {
    "mnn": "mnn runs here on cpu, not on cuda",
    "torch": "torch runs here on cpu, not on cuda",
    "tvm": "tvm compiles here for x86, not for aarch64",
    "xla": "the engine 'xla' cannot be used here: it is not installed",
}


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "lack", {"cuda": "no GPU"}.get)


def said(*names: str) -> list[str]:
    return list(
        absent_engines([Target({"kind": name, "base": "cuda"}) for name in names], lambda t: LACKS.get(t.kind.name))
    )


def test_a_reason_of_several_is_said_once_with_its_verb_in_the_plural() -> None:
    assert said("mnn", "torch", "mnn") == ["no GPU", "mnn and torch run here on cpu, not on cuda"]


def test_a_reason_of_one_stays_as_it_is() -> None:
    assert said("mnn", "tvm", "xla") == ["no GPU", *(LACKS[name] for name in ("mnn", "tvm", "xla"))]


def test_of_engines_that_can_be_used_nothing_is_said() -> None:
    assert said("onnxruntime") == []
