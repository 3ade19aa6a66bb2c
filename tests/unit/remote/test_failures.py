"""An error that a worker tells arrives as the same class with the same message."""

from __future__ import annotations

import json

import pytest

from intarsia import errors
from intarsia.errors import (
    BackendCrashError,
    ConfigError,
    DiskError,
    IntarsiaError,
    MissingStageError,
    ModelError,
    WorkerDiedError,
)
from intarsia.remote.failures import class_and_message, error_of, failure_of


def plain_classes() -> list[type[IntarsiaError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, IntarsiaError)]
    special = (MissingStageError, errors.BackendError)
    return [each for each in found if not issubclass(each, special)]


@pytest.mark.parametrize("class_", plain_classes())
def test_every_class_arrives_as_itself(class_: type[IntarsiaError]) -> None:
    found = error_of(failure_of(class_("what is wrong — and where")), "there:1")
    assert type(found) is class_
    assert str(found) == "what is wrong — and where"


def test_what_an_error_holds_arrives_too() -> None:
    missing = error_of(failure_of(MissingStageError("a plan", ("no engine",), ("a remark",))), "there:1")
    assert isinstance(missing, MissingStageError)
    assert (missing.plan, missing.missing, missing.remarks) == ("a plan", ("no engine",), ("a remark",))
    crash = error_of(failure_of(BackendCrashError("mnn", "signal 11")), "there:1")
    assert isinstance(crash, BackendCrashError)
    assert (crash.backend, crash.detail, str(crash)) == ("mnn", "signal 11", str(BackendCrashError("mnn", "signal 11")))


@pytest.mark.parametrize("error", [TypeError("unexpected"), KeyboardInterrupt(), OSError("of a disk")])
def test_what_is_no_error_of_ours_is_one_of_the_worker(error: BaseException) -> None:
    found = error_of(failure_of(error), "there:1")
    assert type(found) is WorkerDiedError
    assert "there:1" in str(found)
    assert type(error).__name__ in str(found)


@pytest.mark.parametrize(
    "text", [b"", b"\xff", b"[]", b'{"class": 1, "message": ""}', b'{"class": "x"}', '{"class": "\\ud800"}']
)
def test_nonsense_is_an_error_of_the_worker(text: bytes | str) -> None:
    assert class_and_message(text) == ("", "")
    assert type(error_of(text, "there:1")) is WorkerDiedError


def test_no_other_class_is_ever_made() -> None:
    for name in ("Exception", "Any", "ClassVar", "Interrupted", "__builtins__"):
        text = json.dumps({"class": name, "message": "m", "fields": {}})
        assert type(error_of(text, "there:1")) is WorkerDiedError


def test_fields_of_another_type_are_left_empty() -> None:
    text = json.dumps({"class": "MissingStageError", "message": "m", "fields": {"plan": 3, "missing": "x"}})
    found = error_of(text, "there:1")
    assert isinstance(found, MissingStageError)
    assert (found.plan, found.missing) == ("", ())


def test_a_full_disk_there_is_no_full_disk_here() -> None:
    found = error_of(failure_of(DiskError("cannot write: the disk is full")), "there:1")
    assert isinstance(found, OSError)
    assert found.errno is None
    assert not isinstance(error_of(failure_of(ModelError("m")), "x"), ConfigError)
