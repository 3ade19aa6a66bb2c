"""Every public name of ONNX Runtime's interface is there, or is refused with what to do instead."""

from __future__ import annotations

import importlib
from typing import Any

import onnxruntime
import pytest

import intarsia.onnxruntime as ours
from intarsia.errors import IntarsiaError, UnsupportedError
from intarsia.interop import refusal

NO_INTERFACE = {
    "contextlib", "cuda_version", "import_capi_exception", "onnxruntime_validation", "package_name", "version",
}  # fmt: skip
"""What is visible in the module and no part of its interface."""
CLASSES = ("InferenceSession", "SessionOptions", "RunOptions", "OrtValue", "IOBinding", "NodeArg", "ModelMetadata")


def public(owner: Any) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def missing(theirs: Any, ours: Any, has: Any) -> set[str]:
    return {name for name in public(theirs) if not has(ours, name)} - NO_INTERFACE


def test_every_name_of_the_module_is_there_or_refused() -> None:
    importlib.import_module("onnxruntime.quantization")  # it makes further packages names of the module
    assert missing(onnxruntime, ours, hasattr) <= refusal._CURES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_every_member_of_a_class_is_there_or_refused(name: str) -> None:
    def has(owner: Any, member: str) -> bool:
        return member in dir(owner) or member in getattr(owner, "__dataclass_fields__", ())

    assert missing(getattr(onnxruntime, name), getattr(ours, name), has) <= refusal._CURES.keys()


@pytest.mark.parametrize("name", ["GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"])
def test_every_choice_is_there_by_its_number(name: str) -> None:
    theirs = {key: int(value) for key, value in getattr(onnxruntime, name).__members__.items()}
    assert {each.name: each.value for each in getattr(ours, name)} == theirs


def test_nothing_is_refused_that_is_there() -> None:
    owners = [ours, *(getattr(ours, name) for name in CLASSES)]
    assert {name for name in refusal._CURES for owner in owners if name in dir(owner)} == set()


def test_what_is_not_there_is_told_with_its_cure() -> None:
    with pytest.raises(UnsupportedError, match=r"'LoraAdapter' here; merge the adapter"):
        ours.LoraAdapter  # noqa: B018
    with pytest.raises(IntarsiaError, match=r"'InferenceSesion' here; did you mean 'InferenceSession'"):
        ours.InferenceSesion  # noqa: B018
    assert not hasattr(ours, "ModelCompiler")
    with pytest.raises(ImportError, match="SparseTensor"):
        from intarsia.onnxruntime import SparseTensor  # noqa: F401
