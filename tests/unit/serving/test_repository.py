from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.errors import ArtifactError
from intarsia.serving.figures import Figures
from intarsia.serving.limits import Limits
from intarsia.serving.loaded import Loaded
from intarsia.serving.logs import JsonLine
from intarsia.serving.repository import Repository
from intarsia.serving.statuses import RequestError, Status
from tests.unit.serving.fakes import Gated, loaded


class Shelf:
    """Loads what a file says: its content is the version's fault, if it has one."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    def __call__(self, name: str, version: str, path: Path) -> Loaded:
        del name
        if fault := path.read_text():
            raise ArtifactError(fault)
        return loaded(Gated(), version=version, closed=self.closed)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.intarsia"
    path.write_text("")
    return path


@pytest.fixture
def repository(shelf: Shelf, file: Path) -> Iterator[Repository]:
    made = Repository({"m": file}, shelf, Limits(), Figures())
    yield made
    made.close()


def version(repository: Repository) -> str:
    found = repository.model("m").metadata
    assert found is not None
    return found.version


def look(repository: Repository, file: Path, times: int = 1) -> None:
    for _ in range(times):
        repository._look_at("m", file)


def test_all_are_ready_once_all_are_loaded(repository: Repository) -> None:
    assert not repository.is_ready
    repository.load_all()
    assert repository.is_ready
    repository.drain()
    assert not repository.is_ready
    assert repository.wait_drained(0.0) == 0


def test_an_unknown_model_is_named_beside_those_that_there_are(repository: Repository) -> None:
    with pytest.raises(RequestError, match="no model 'n'; served are m") as caught:
        repository.model("n")
    assert caught.value.status is Status.NOT_FOUND


def test_a_model_that_cannot_be_loaded_first_ends_the_start(repository: Repository, file: Path) -> None:
    file.write_text("damaged")
    with pytest.raises(ArtifactError, match="damaged"):
        repository.load_all()


def test_a_file_that_changed_is_served_once_it_rests(repository: Repository, file: Path, shelf: Shelf) -> None:
    repository.load_all()
    look(repository, file, 3)
    assert version(repository) == "1"
    os.utime(file, ns=(1, 1))
    look(repository, file)
    os.utime(file, ns=(2, 2))  # it is being written still
    look(repository, file)
    assert version(repository) == "1"
    look(repository, file)
    assert version(repository) == "2"
    assert shelf.closed == ["1"]
    look(repository, file, 3)
    assert version(repository) == "2"


def test_a_broken_file_leaves_the_old_version_and_is_said(
    repository: Repository, file: Path, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    repository.load_all()
    file.write_text("damaged")
    with caplog.at_level(logging.INFO):
        look(repository, file, 4)
    assert version(repository) == "1"
    assert shelf.closed == []
    lines = [json.loads(JsonLine().format(record)) for record in caplog.records]
    told = [(line["level"], line["error"]) for line in lines if line["event"] == "not reloaded"]
    assert told == [("error", "damaged")]
    file.write_text("")
    look(repository, file, 2)
    assert version(repository) == "2"


def test_a_file_that_is_gone_for_a_while_changes_nothing(repository: Repository, file: Path) -> None:
    repository.load_all()
    file.unlink()
    look(repository, file, 3)
    assert repository.is_ready
    file.write_text("")
    look(repository, file, 2)
    assert version(repository) == "2"
