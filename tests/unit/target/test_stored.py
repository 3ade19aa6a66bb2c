"""A target as an artifact states it: what a run asks for is answered from its text, all else as `Target` does."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import chain

import pytest

from intarsia.backends import registry
from intarsia.errors import SpecError
from intarsia.target import KINDS, Target
from intarsia.target.kinds.engine_choices import ENGINE_CHOICES
from intarsia.target.stored import StoredTarget, stored_target

LIGHT = [
    *ENGINE_CHOICES,
    *(
        f"{engine} -{name}={word}"
        for engine, table in ENGINE_CHOICES.items()
        for name, (_, words, _) in table.items()
        for word in words
    ),
    "onnxruntime -execution-mode=parallel -optimization-level=extended -threads=2",
    "winograd -threads=1",
]
WHOLE = [
    "llvm -mcpu=skylake-avx512",
    "c",
    "ncnn -winograd=false",
    "torch",
    'openvino -base="llvm -mcpu=znver3"',
    "onnxruntime -custom-ops=/lib/a.so",
    "openvino -python=/usr/bin/python3",
    # Not canonical: the value is equal, its text is another.
    "onnxruntime --threads 2",
    "onnxruntime -threads=2 -optimization-level=all",
    "onnxruntime  -threads=2",
    "winograd -threads=02",
]
_LIGHT_RUN = """
import sys
from intarsia.target.stored import stored_target
target = stored_target("onnxruntime -optimization-level=extended -threads=2")
assert target["optimization-level"] == "extended" and target["execution-mode"] == "sequential"
assert target["threads"] == 2 and target["custom-ops"] is None and target.device_type == "cpu"
assert not list(target.executed()) and target == stored_target(str(target)) and "python" not in target.options
print([name for name in sys.modules if name.startswith(("intarsia.spec", "intarsia.target.target"))])
"""


@pytest.mark.parametrize("text", [*LIGHT, *WHOLE])
def test_it_is_the_target_of_its_text(text: str) -> None:
    stored, target = stored_target(text), Target(text)
    assert stored == target
    assert target == stored
    assert {target: "found"}[stored] == {stored: "found"}[target] == "found"
    assert isinstance(stored, Target)
    assert Target(stored) == target
    assert (str(stored), stored.key, stored.tags) == (str(target), target.key, target.tags)
    assert repr(stored) == repr(target)
    assert dict(stored.options) == dict(target.options)
    assert stored.kind is target.kind
    assert stored.kind_name == target.kind_name == target.kind.name
    assert stored.device_type == target.device_type
    assert registry.engine_of(stored) == registry.engine_of(target)
    assert list(stored.executed()) == list(target.executed())
    assert all(stored[name] == target[name] for name in target.kind.options)
    assert pickle.loads(pickle.dumps(stored)) == target
    assert copy.deepcopy(stored) == target
    assert stored.with_options({"threads": 7}) == target.with_options({"threads": 7})


def _outcome(read: Callable[[str], Target], text: str) -> Target | str:
    try:
        return read(text)
    except SpecError as refused:
        return str(refused)


def _type(value: object) -> type[object]:
    return type(value)


@pytest.mark.parametrize("text", LIGHT)
def test_canonical_text_of_an_engine_and_choices_is_read_without_the_language(text: str) -> None:
    assert _type(stored_target(text)) is StoredTarget


@pytest.mark.parametrize("text", WHOLE)
def test_any_other_text_is_read_at_once(text: str) -> None:
    assert _type(stored_target(text)) is Target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "openvino -performance-hint=none",
        "openvino -performance-hint",
        "openvino -mode=default",
        "winograd -threads=0",
        "winograd -threads=1 -threads=2",
        "winograd -threads=1 ",
    ],
)
def test_what_is_refused_is_refused_alike(text: str) -> None:
    assert _outcome(stored_target, text) == _outcome(Target, text)


def test_different_texts_are_different_targets() -> None:
    targets = [stored_target(text) for text in LIGHT]
    assert all((one == other) == (one.key == other.key) for one in targets for other in targets)
    assert stored_target("winograd") != "winograd"


def test_an_unknown_option_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="has no option 'nothing'"):
        stored_target("openvino")["nothing"]


def test_a_scope_of_it_is_that_of_its_target() -> None:
    with stored_target("openvino") as target:
        assert Target.current() is target
    assert Target.current() is None


def test_what_a_run_asks_loads_no_language() -> None:
    ran = subprocess.run([sys.executable, "-c", _LIGHT_RUN], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


def test_the_table_of_choices_is_that_of_the_kinds() -> None:
    for engine, table in ENGINE_CHOICES.items():
        kind = KINDS[engine]
        assert (kind.device_type, kind.level) == ("cpu", "engine")
        own = [name for name in kind.options if name in table]
        assert own == list(table)
    assert all(default in words for _, words, default in chain(*(each.values() for each in ENGINE_CHOICES.values())))
