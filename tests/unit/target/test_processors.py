"""How the cores of a machine are divided into processors, by descriptions of machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import ConfigError
from intarsia.target.processors import processors_here


def machine(root: Path, nodes: list[str], cores: dict[int, int]) -> Path:
    """Where Linux would describe a machine of these nodes, and of these physical cores by logical ones."""
    for number, listed in enumerate(nodes):
        folder = root / f"node/node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{listed}\n")
    for logical, physical in cores.items():
        folder = root / f"cpu/cpu{logical}/topology"
        folder.mkdir(parents=True)
        (folder / "core_id").write_text(f"{physical}\n")
        (folder / "physical_package_id").write_text("0\n")
    return root


def divided(monkeypatch: pytest.MonkeyPatch, usable: set[int], count: int, root: Path) -> list[list[int]]:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: usable)
    return [sorted(each) for each in processors_here(count, root)]


def test_they_are_the_nodes_where_there_are_as_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = machine(tmp_path, ["0-1,6", "2-5"], {})
    assert divided(monkeypatch, {0, 1, 2, 3, 6}, 2, root) == [[0, 1, 6], [2, 3]]


def test_the_threads_of_a_core_stay_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = machine(tmp_path, ["0-7"], {0: 0, 1: 1, 2: 2, 3: 3, 4: 0, 5: 1, 6: 2, 7: 3})
    assert divided(monkeypatch, set(range(8)), 2, root) == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_a_node_is_divided_before_two_are_mixed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = machine(tmp_path, ["0,2,4,6", "1,3,5,7"], {})
    assert divided(monkeypatch, set(range(8)), 4, root) == [[0, 2], [4, 6], [1, 3], [5, 7]]


@given(st.sets(st.integers(0, 300), min_size=1, max_size=40), st.data())
def test_each_usable_core_is_in_one_of_them_and_none_is_empty(usable: set[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(usable)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: usable)
        found = processors_here(count, Path("nowhere"))
    assert len(found) == count
    assert sorted(core for each in found for core in each) == sorted(usable)
    assert max(map(len, found)) - min(map(len, found)) <= 1
    assert min(map(len, found)) > 0


def test_fewer_cores_than_processors_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = "cpu:2: this process may use 2 cores, and 3 processors need one each; name no device beyond cpu:1"
    with pytest.raises(ConfigError, match=told):
        divided(monkeypatch, {4, 5}, 3, tmp_path)


def test_a_system_without_affinity_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    with pytest.raises(ConfigError, match="does not bind threads to cores"):
        processors_here(2)
