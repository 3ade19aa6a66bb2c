"""The public API: every name that `intarsia` has, with its signature, and the methods and attributes of its classes.

``pytest tests/golden --regenerate`` writes the file anew; read the diff. What it shows is a promise to users.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, is_typeddict

import pytest

import intarsia
import intarsia.onnxruntime as ort
from intarsia.driver import CompileOptions
from intarsia.interop.torch_compile import BackendOptions

ADDRESS = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")
UNTYPED = ("**settings: Any", "**kwargs: Any")
SIGNATURES = Path(__file__).parent / "signatures.txt"
SHOWN: dict[str, Any] = {
    **{f"intarsia.{name}": getattr(intarsia, name) for name in intarsia.__all__},
    **{
        f"intarsia.errors.{name}": value
        for name, value in vars(intarsia.errors).items()
        if inspect.isclass(value) and value is not Any
    },
    **{f"intarsia.onnxruntime.{name}": getattr(ort, name) for name in ort.__all__},
    "intarsia.driver.CompileOptions": CompileOptions,
    "intarsia.interop.torch_compile.BackendOptions": BackendOptions,
}


def shown(name: str, value: Any) -> Iterator[str]:
    """The lines of one name: of a class also its public methods, properties and fields."""
    if is_typeddict(value):
        yield f"{name}: keywords"
        yield from (f"    {key}: {_text(type_)}" for key, type_ in value.__annotations__.items())
    elif inspect.isclass(value):
        yield f"class {name}{_signature(value)}"
        yield from sorted(line for own in _public(value) for line in _member(value, own))
    elif callable(value):
        yield f"{name}{_signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _public(owner: type) -> set[str]:
    """The names that the class and its bases here have, without those of Python's own classes."""
    ours = [base for base in owner.__mro__ if base.__module__.startswith("intarsia")]
    names = {name for base in ours for name in (*vars(base), *inspect.get_annotations(base))}
    return {name for name in names if name == "__call__" or not name.startswith("_")}


def _member(owner: type, name: str) -> Iterator[str]:
    value = getattr(owner, name, None)
    if inspect.isroutine(value):
        yield f"    .{name}{_signature(value)}"
    else:
        yield f"    {name}"


def _signature(value: Any) -> str:
    """As one writes it, whatever the version of Python and the addresses in memory."""
    if inspect.isclass(value) and (issubclass(value, Enum) or not inspect.isfunction(value.__init__)):
        return ""
    found = inspect.signature(value)
    parameters = [each.replace(annotation=_plain(each.annotation)) for each in found.parameters.values()]
    text = str(found.replace(parameters=parameters, return_annotation=_plain(found.return_annotation)))
    return ADDRESS.sub(r"\1", text)


def _plain(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


class _Plain(str):
    """An annotation without quotes around it."""

    __slots__ = ()
    __repr__ = str.__str__


def _text(type_: Any) -> str:
    return str(getattr(type_, "__forward_arg__", type_))


def test_the_public_signatures_are_these(pytestconfig: pytest.Config) -> None:
    text = "".join(f"{line}\n" for name, value in SHOWN.items() for line in shown(name, value))
    if pytestconfig.getoption("regenerate"):
        SIGNATURES.write_text(text, encoding="utf-8")
    assert SIGNATURES.read_text(encoding="utf-8") == text


def test_no_setting_of_the_public_api_is_untyped() -> None:
    root = Path(intarsia.__file__).parent
    found = [path for path in root.rglob("*.py") if any(each in path.read_text("utf-8") for each in UNTYPED)]
    assert found == []
