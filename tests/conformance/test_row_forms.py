"""The harness of the row tests: what it takes for conveyed, for a graph and for a form, and that it can fail."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from intarsia.target import Target
from tests.conformance.rows.diagnostics import missing
from tests.conformance.rows.facts import FACTS, check_target
from tests.conformance.rows.programs import is_readable, read_program
from tests.conformance.rows.rejections import REJECTIONS
from tests.conformance.rows.row import Form, Rejection, Row, verdict
from tests.conformance.test_rows import FORMS


def row(area: str, given: dict[str, Any], **more: Any) -> Row:
    fields = {"expect": {}, "error": "", "fixtures": MappingProxyType({}), "status": "tested"} | more
    return Row(id="made here", area=area, input=given, **fields)


@pytest.mark.parametrize(
    ("message", "idea"),
    [
        ("cannot recognize 'woof' as an option of 'llvm'", "Cannot recognize 'woof'. Candidates are: ..."),
        ("executor kind 'woof' is not defined; known are aot", 'Executor "woof" is not defined'),
        ("there is no model file x.onnx", "Input file 'x.onnx' doesn't exist, is a broken link, or a directory."),
        ("my_bool: must be a bool, found 'true' (str)", "option 'my_bool' must be a bool (no coercion in dict form)"),
    ],
)
def test_an_idea_is_conveyed_in_other_words(message: str, idea: str) -> None:
    assert missing(message, idea) == ""


@pytest.mark.parametrize(
    ("message", "idea", "lack"),
    [
        ("executor kind 'woof' is not defined", 'Executor "meow" is not defined', "it does not name meow"),
        ("the moon is full", "require at least one target", "without least, one, require, target"),
        ("x.onnx is too large", "Input file 'x.onnx' doesn't exist, is a broken link, or a directory.", "too few"),
    ],
)
def test_an_idea_is_not_conveyed(message: str, idea: str, lack: str) -> None:
    assert lack in missing(message, idea)


@pytest.mark.parametrize(
    ("facts", "is_true"),
    [
        ({"kind": "cuda", "attrs": {"arch": "sm_80"}, "keys": ["cuda", "gpu"], "host": None}, True),
        ({"kind": "llvm"}, False),
        ({"attrs": {"arch": "sm_70"}}, False),
        ({"keys": ["gpu", "cuda"]}, False),
        ({"host": {"kind": "llvm"}}, False),
        ({"tag": "a/b"}, False),
        ({"device_type": 1}, False),
        ({"colour": "green"}, False),
    ],
)
def test_facts_are_checked(facts: dict[str, Any], is_true: bool) -> None:
    if is_true:
        check_target(Target("cuda -arch=sm_80"), facts)
    else:
        with pytest.raises((AssertionError, KeyError)):
            check_target(Target("cuda -arch=sm_80"), facts)
    assert "colour" not in FACTS


def test_a_wrong_row_fails() -> None:
    wrong = row("config", {"targets": ["cuda", "llvm"]}, expect={"host": "cuda"})
    treated = verdict(wrong, FORMS, REJECTIONS)
    assert isinstance(treated, Form)
    with pytest.raises(AssertionError):
        treated.run(wrong)


def test_a_row_of_no_known_form_has_no_verdict() -> None:
    assert verdict(row("target", {"moon": 1}), FORMS, REJECTIONS) is None


def test_a_rejection_needs_its_condition() -> None:
    body = {"config": {}, "body": ["let f=fn(a){add(a,x)}", "return f(x)"]}
    assert isinstance(verdict(row("virtual_device", body), FORMS, REJECTIONS), Rejection)
    assert isinstance(verdict(row("virtual_device", body | {"body": ["return neg(x)"]}), FORMS, REJECTIONS), Form)


def test_programs_are_read() -> None:
    program = read_program(["let t=split(x,2)", "a=add(on_device(t.0,cpu),t.1)", "return (a,device_copy(a,cpu,gpu))"])
    assert program.rows == [("t", "Split", ["x"], ["t.0", "t.1"]), ("a", "Add", ["t.0", "t.1"], ["a"])]
    assert program.pins == [("t", "cpu", False), ("a", "cpu", False)]
    assert program.outputs == ("a", "a")
    assert not is_readable(["let r=ref(x)"])
    assert not is_readable("three primitive functions")
