"""A light dataclass does all that a standard one does that is frozen, has slots and takes keywords only."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from intarsia import light_dataclass


@light_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """A value."""

    name: str
    sizes: tuple[int, ...] = (1, 2)
    facts: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def first(self) -> int:
        """The first size."""
        return self.sizes[0]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """A value."""

    name: str
    sizes: tuple[int, ...] = (1, 2)
    facts: Mapping[str, int] = dataclasses.field(default_factory=dict)


@light_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A value with a text and an equality of its own."""

    number: int

    def __str__(self) -> str:
        return f"number {self.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spoken) and self.number % 2 == other.number % 2

    def __hash__(self) -> int:
        return self.number % 2


def test_its_fields_defaults_and_text_are_those_of_a_standard_one() -> None:
    light, standard = Light(name="a"), Standard(name="a")
    assert repr(light) == repr(standard).replace("Standard", "Light")
    assert dataclasses.asdict(light) == dataclasses.asdict(standard)
    assert [field.name for field in dataclasses.fields(light)] == ["name", "sizes", "facts"]
    assert light.first == 1
    assert Light(name="a").facts is not light.facts


def test_equal_values_are_equal_and_hash_alike() -> None:
    values = [Light(name=name, sizes=sizes, facts=None) for name in "ab" for sizes in ((), (1,))]  # type: ignore[arg-type]
    for one in values:
        for other in values:
            assert (one == other) is (one is other)
    assert len({*values, *map(copy.deepcopy, values)}) == len(values)
    assert hash(values[0]) == hash(Standard(name="a", sizes=(), facts=None))  # type: ignore[arg-type]
    assert Light(name="a") != Standard(name="a")  # type: ignore[comparison-overlap]


def test_methods_that_a_class_writes_itself_stay() -> None:
    assert str(Spoken(number=3)) == "number 3"
    assert Spoken(number=3) == Spoken(number=5)
    assert len({Spoken(number=3), Spoken(number=5), Spoken(number=4)}) == 2


def test_it_cannot_be_changed_and_holds_nothing_else() -> None:
    light: Any = Light(name="a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        light.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del light.name
    with pytest.raises(dataclasses.FrozenInstanceError):
        light.other = "b"
    assert not hasattr(light, "__dict__")


def test_copies_are_equal_and_a_changed_copy_differs_in_what_was_changed() -> None:
    light = Light(name="a", facts={"b": 1})
    assert copy.copy(light) == copy.deepcopy(light) == pickle.loads(pickle.dumps(light)) == light
    assert dataclasses.replace(light, name="c") == Light(name="c", facts={"b": 1})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "Light is missing name"),
        ({"name": "a", "other": 1}, "Light has no other"),
        ({"other": 1, "more": 2}, "Light is missing name and has no other, more"),
    ],
)
def test_fields_that_are_missing_or_unknown_are_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Light(**given)


@pytest.mark.parametrize("unset", ["frozen", "slots", "kw_only"])
def test_other_kinds_are_refused(unset: str) -> None:
    options = {"frozen": True, "slots": True, "kw_only": True, unset: False}
    make: Any = light_dataclass.dataclass
    with pytest.raises(TypeError, match="frozen, has slots and takes keywords only"):
        make(**options)
