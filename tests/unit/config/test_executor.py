from __future__ import annotations

import pytest

from intarsia.config import EXECUTORS, Executor, Runtime
from intarsia.errors import SpecError
from intarsia.spec import Bool, Kind, ListOf, Option, Str, schema


def test_stated_options_and_defaults() -> None:
    executor = Executor("aot", {"interface-api": "c"})
    assert dict(executor.options) == {"interface-api": "c"}
    assert dict(executor.values) == {"interface-api": "c", "link-params": True}
    assert "interface-api" in executor
    assert "woof" not in executor
    assert "unpacked-api" not in executor
    assert executor == Executor("aot -interface-api=c") == Executor({"kind": "aot", "interface-api": "c"})
    assert executor.with_options({"interface-api": None}) == Executor("aot")


@pytest.mark.parametrize(
    ("form", "options", "words"),
    [
        ("woof", {}, "executor kind 'woof' is not defined; known are graph, vm, aot, pipeline, cuda-graph"),
        ("aot", {"woof": "bark"}, "cannot recognize 'woof' as an option of 'aot'"),
        ("aot", {"interface-api": True}, "interface-api: must be a str, found True (bool)"),
        ("aot", {"interface-api": "cc"}, "is not one of packed, c"),
        ("aot", {"unpacked-api": 1}, "unpacked-api: must be a bool, found 1 (int)"),
        ("aot -unpacked-api", {"unpacked-api": True}, "unpacked-api: stated by 'aot -unpacked-api=true'"),
        ("graph", {"system-lib": True}, "it belongs to the runtime"),
        ("graph", {"partition": "greedy"}, "setting of compile()"),
        ("pipeline -depth=0", None, "too small; the least value is 1"),
        ("aot -workspace-byte-alignment=0", None, "too small; the least value is 1"),
        ("aot -workspace-byte-alignment=12", None, "12 (int) is no power of two; 8 and 16 are"),
        ("aot -constant-byte-alignment=131072", None, "too large; the greatest value is 65536"),
        (3, None, "found 3"),
    ],
)
def test_errors(form: object, options: dict[str, object] | None, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Executor(form, options)
    assert words in str(caught.value)


def test_an_executor_is_no_runtime() -> None:
    assert Executor("graph") != Runtime("python")
    assert Executor("vm") != Executor("graph")


def test_one_more_executor() -> None:
    options = schema(
        (
            Option(name="my_bool", type=Bool(), meaning="mine"),
            Option(name="your_names", type=ListOf(Str()), meaning="yours"),
            Option(name="by_default", type=Bool(), default=False, meaning="off unless stated"),
        )
    )
    with EXECUTORS.scope():
        EXECUTORS.register("mine", Kind(name="mine", meaning="a test", options=options))
        assert dict(Executor("mine", {"my_bool": True}).values) == {"by_default": False, "my_bool": True}
        assert "your_names" not in Executor("mine")
        with pytest.raises(SpecError, match="previously defined"):
            EXECUTORS.register("mine", Kind(name="mine", meaning="another", options=options))
