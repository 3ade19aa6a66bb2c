"""Each layer gets the kernel that is faster on the machine that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import KernelChoice
from intarsia.backends.contract.failures import Cause
from intarsia.backends.onnxruntime.kernels.asked import asked
from intarsia.backends.winograd import WinogradBackend
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.worker.progress import unwatched
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.kernels.kernel_choice import choice_of, drift_of, with_chosen_kernels
from intarsia.search.single.single_engine import Single
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured

OURS, OTHER = Target("winograd"), Target("openvino")
NODES = ("n0", "n1", "n2")
SETTINGS = RunSettings(threads=2)
BLOCKS = tuple(KernelChoice(name=name, layout="blocks") for name in ("", "tile-2", "tile-4", "host"))
Table = Mapping[str, tuple[float, ...]]
"""By kernel: milliseconds of each node."""
HERE: Table = {"": (4.0, 4.0, 4.0), "tile-2": (2.0, 6.0, 4.0), "tile-4": (4.0, 4.0, 3.95), "host": (9.0, 1.0, 9.0)}
THERE: Table = {"": (4.0, 4.0, 4.0), "tile-2": (9.0, 9.0, 9.0), "tile-4": (4.0, 4.0, 4.0), "host": (1.0, 9.0, 9.0)}


class Machine:
    """Tells what is in a table: of nodes by profile, and of the whole model."""

    def __init__(self, table: Table, change_ms: float = 0.0, *, failing: bool = False) -> None:
        self.wholes: list[dict[str, str]] = []
        self._table = table
        self._change_ms = change_ms
        self._failing = failing

    def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        [kernel] = set(asked(partition.target).values()) or [""]
        return dict(zip(NODES, self._table.get(kernel, ()), strict=False))

    def cost(self, partition: Partition, settings: RunSettings, **_: object) -> Outcome:
        wanted = asked(partition.target)
        self.wholes.append(wanted)
        if self._failing:
            return Failure(stage="run", reason="on purpose", cause=Cause.ENGINE)
        layouts = ["plain" if wanted.get(node) == "host" else "blocks" for node in NODES]
        changes = sum(one != other for one, other in pairwise(layouts))
        ms = sum(self._table[wanted.get(node, "")][place] for place, node in enumerate(NODES))
        return measured(ms + changes * self._change_ms)


@pytest.fixture(autouse=True)
def several_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WinogradBackend, "kernel_choices", lambda *_: dict.fromkeys(NODES, BLOCKS))


def single(target: Target, ms: float) -> Single:
    plan = Candidate(
        name=str(target),
        label=str(target),
        partitions=(Partition(target=target, nodes=NODES),),
        settings=SETTINGS,
        predicted_ms=(ms,),
    )
    return Single(target=target, outcome=measured(ms), candidates=(plan,))


def chosen(machine: Machine, *, ms: float = 12.0, other_ms: float = 20.0) -> Single:
    problem = chain_problem(3, (OURS, OTHER))
    singles = [single(OURS, ms), single(OTHER, other_ms)]
    found = with_chosen_kernels(problem, cast(Measurer, machine), singles, unwatched)
    assert found[1] is singles[1]
    return found[0]


def test_each_layer_is_computed_by_what_is_fastest_there() -> None:
    found = chosen(Machine(HERE))
    assert asked(found.tuned) == {"n0": "tile-2", "n1": "host"}
    assert found.outcome.cost_ms == 7.0
    assert found.target == OURS
    assert [str(each.partitions[0].target) for each in found.candidates] == [str(found.tuned), "winograd"]


def test_other_records_give_other_kernels() -> None:
    assert asked(chosen(Machine(THERE)).tuned) == {"n0": "host"}


def test_what_is_faster_by_less_than_profiles_tell_is_left_as_usual() -> None:
    assert "n2" not in asked(chosen(Machine(HERE)).tuned)


def test_what_changes_of_layout_cost_is_learned_from_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    several = (*BLOCKS[:-1], KernelChoice(name="host", layout="plain"))
    monkeypatch.setattr(WinogradBackend, "kernel_choices", lambda *_: dict.fromkeys(NODES, several))
    machine = Machine(HERE, change_ms=5.0)
    found = chosen(machine)
    assert machine.wholes == [{"n0": "tile-2", "n1": "host"}, {"n0": "tile-2"}]
    assert asked(found.tuned) == {"n0": "tile-2"}


def test_nodes_that_one_kernel_computes_together_are_weighed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    both = tuple(KernelChoice(name=name, layout="blocks", also=("n0",)) for name in ("", "host"))
    monkeypatch.setattr(WinogradBackend, "kernel_choices", lambda *_: {"n1": both})
    together: Table = {"": (0.0, 3.0, 4.0), "host": (2.0, 2.0, 4.0)}
    assert asked(chosen(Machine(together), ms=7.0).tuned) == {}
    apart: Table = {"": (0.0, 6.0, 4.0), "host": (2.0, 2.0, 4.0)}
    assert asked(chosen(Machine(apart), ms=10.0).tuned) == {"n1": "host"}


def test_each_run_has_another_kernel_for_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"n0": BLOCKS, "n1": BLOCKS[:1] + BLOCKS[-1:], "n2": BLOCKS[:3]}
    monkeypatch.setattr(WinogradBackend, "kernel_choices", lambda *_: few)
    runs: list[dict[str, str]] = []

    class Mixing(Machine):
        def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
            runs.append(asked(partition.target))
            return {node: HERE[runs[-1].get(node, "")][place] for place, node in enumerate(NODES)}

    assert asked(chosen(Mixing(HERE)).tuned) == {"n0": "tile-2", "n1": "host"}
    assert runs == [
        {},
        {"n0": "tile-2", "n1": "host", "n2": "tile-2"},
        {"n0": "tile-4", "n2": "tile-4"},
        {"n0": "host"},
    ]


def test_an_engine_that_is_far_behind_or_fails_stays_as_it_is() -> None:
    machine = Machine(HERE)
    assert chosen(machine, ms=31.0).tuned == OURS
    assert machine.wholes == []
    assert chosen(Machine(HERE, failing=True)).tuned == OURS


def test_what_is_slower_as_a_whole_comes_behind_the_usual() -> None:
    found = chosen(Machine(HERE), ms=6.0)
    assert (found.tuned, found.outcome.cost_ms) == (OURS, 6.0)
    assert [asked(each.partitions[0].target) for each in found.candidates] == [{}, {"n0": "tile-2", "n1": "host"}]


def test_an_engine_that_tells_nothing_stays_as_it_is() -> None:
    assert chosen(Machine({"": ()})).tuned == OURS
    assert chosen(Machine({"": (4.0, 4.0, 4.0)})).tuned == OURS


def test_what_the_user_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    backend: Any = registry.of(OURS)
    target = backend.with_kernels(OURS, {"n0": "host"})
    assert backend.kernel_choices(chain_problem(1, (OURS,)).graph, target) == {}


def test_a_kernel_that_a_node_lacks_is_none_of_its_choices() -> None:
    few = (KernelChoice(name="", layout="blocks"), KernelChoice(name="host", layout="blocks"))
    times = {kernel: dict(zip(NODES, row, strict=True)) for kernel, row in HERE.items()}
    path = choice_of({"n0": few, "n1": BLOCKS}, times, 0.0)
    assert path.kernels == ("", "host")


def test_runs_that_drifted_are_compared_by_what_the_same_kernels_took() -> None:
    usual, slow = {"a": 2.0, "b": 6.0}, {"a": 4.0, "b": 3.0}
    assert drift_of(usual, slow, ["a"]) == 0.5
    assert drift_of(usual, slow, []) == 1.0
    assert drift_of(usual, {"a": 0.1, "b": 3.0}, ["a"]) == 1.0
