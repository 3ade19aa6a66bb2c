"""Equal pieces are measured once, keys hold what a time depends on and no names, and failures are kept."""

from __future__ import annotations

import errno
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings, Spin
from intarsia.cost import measure as module
from intarsia.cost.keys import measurement_key
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Measurement, Outcome
from intarsia.cost.records.store import Store
from intarsia.cost.thresholds import DURATIONS
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.cost.worker import pool, process
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.neighbours import Neighbours
from intarsia.cost.worker.protocol import Answer, Failed, Measure, Measured, NodeTimes, Timed, Times
from intarsia.cost.worker.repro import Origin
from intarsia.graph import Graph, load_model, save_graph
from intarsia.partitioning import Partition
from intarsia.target import Target
from tests.unit.graph.models import two_layers

REFERENCE = Target("reference")
SETTINGS = RunSettings(threads=1, spin=Spin.NEVER)
MEASURED = Measured(samples_ms=(1.0, 2.0, 3.0), compile_s=0.5, load_s=0.25, error=1e-6, is_complete=True)


class FakeClient:
    """Answers as it was told, and keeps what it was asked."""

    answer: Answer = MEASURED
    asked: tuple[Measure, ...] = ()
    started = 0
    closed = 0

    def __init__(self, folder: Path, environment: dict[str, str | None]) -> None:
        type(self).started += 1

    def ask(self, request: Measure, timeout_s: float) -> Answer:
        type(self).asked += (request,)
        return self.answer

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    """The class that stands in for worker processes during one test."""

    class Client(FakeClient):
        pass

    monkeypatch.setattr(pool, "WorkerClient", Client)
    return Client


def measurer(graph: Graph, tmp_path: Path) -> Measurer:
    store = Store(tmp_path / "records.sqlite")
    return Measurer(graph, tmp_path / "work", store, ["reference"], Origin(model="m.onnx"))


def block(graph: Graph, *numbers: int, target: Target = REFERENCE) -> Partition:
    return Partition(target=target, nodes=tuple(graph.nodes[number].id for number in numbers))


def test_equal_partitions_are_measured_once(graph: Graph, tmp_path: Path, client: type[FakeClient]) -> None:
    costs = measurer(graph, tmp_path)
    first = costs.cost(block(graph, 0, 1), SETTINGS)
    second = costs.cost(block(graph, 2, 3), SETTINGS)
    assert first == second
    assert isinstance(first, Measurement)
    assert first.samples_ms == (1.0, 2.0, 3.0)
    assert (costs.measured, costs.cached, len(client.asked)) == (1, 0, 1)
    costs.cost(block(graph, 0), SETTINGS)
    assert costs.measured == 2


@pytest.mark.usefixtures("client")
def test_the_next_compile_finds_them_under_other_names(graph: Graph, tmp_path: Path) -> None:
    before = measurer(graph, tmp_path)
    found = before.cost(block(graph, 0, 1), SETTINGS)
    renamed = load_model(two_layers(seed=5, prefix="other/"))
    after = measurer(renamed, tmp_path)
    assert after.cost(block(renamed, 2, 3), SETTINGS) == found
    assert after.cost(block(renamed, 0, 1), SETTINGS) == found
    assert (after.measured, after.cached) == (0, 1)  # the second time it is remembered, not looked up


@pytest.fixture
def keys(graph: Graph, tmp_path: Path) -> Iterator[Measurer]:
    with measurer(graph, tmp_path) as costs:
        yield costs


def digest(
    costs: Measurer, partitions: Sequence[Partition], settings: RunSettings = SETTINGS, timed: Timed = "last"
) -> str:
    return measurement_key(costs.graph, partitions, timed, settings).digest


def test_what_the_next_compile_finds_tells_it_how_long_the_engine_takes(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    whole = (block(graph, *range(len(graph.nodes))),)
    measurer(graph, tmp_path).cost(whole[0], SETTINGS)
    again = measurer(graph, tmp_path)
    unknown_s = again.time.whole_s(["reference"])
    again.cost(whole[0], SETTINGS)
    assert len(client.asked) == 1
    known_s = MEASURED.compile_s + MEASURED.load_s + sum(MEASURED.samples_ms) / 1e3 + DURATIONS.partition_s
    assert again.time.whole_s(["reference"]) == pytest.approx(known_s)
    assert again.time.whole_s(["reference"]) != unknown_s


def test_a_key_moves_with_what_changes_a_time(keys: Measurer) -> None:
    ort, other = Target("reference -threads=2"), Target("reference -threads=1")
    partition = block(keys.graph, 0, 1)
    digests = [
        digest(keys, [partition]),
        digest(keys, [partition], timed="all"),
        digest(keys, [partition], replace(SETTINGS, threads=2)),
        digest(keys, [partition], replace(SETTINGS, spin=Spin.CALL)),
        digest(keys, [replace(partition, target=ort)]),
        digest(keys, [replace(partition, target=other)]),
        digest(keys, [block(keys.graph, 0)]),
        digest(keys, [block(keys.graph, 1)]),
        digest(keys, [block(keys.graph, 0), block(keys.graph, 1)]),
    ]
    assert len(set(digests)) == len(digests)


def test_a_key_does_not_move_with_names_weights_or_the_order_nodes_are_listed_in(keys: Measurer) -> None:
    renamed = load_model(two_layers(seed=5, prefix="other/"))
    there = Measurer(renamed, keys.folder, keys.store, ["reference"], Origin(model=None))
    assert digest(keys, [block(keys.graph, 0, 1)]) == digest(there, [block(renamed, 0, 1)])
    assert digest(keys, [block(keys.graph, 1, 0)]) == digest(keys, [block(keys.graph, 0, 1)])


def test_a_key_moves_with_the_version_of_the_engine(keys: Measurer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(keys, [block(keys.graph, 0)])
    found = registry.probe("reference")
    monkeypatch.setattr(registry, "probe", lambda name: replace(found, version="0.0"))
    assert digest(keys, [block(keys.graph, 0)]) != before


def test_a_key_moves_with_the_devices_that_a_partition_ran_on_and_with_no_others(
    keys: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digests(*devices: Target) -> tuple[str, str]:
        monkeypatch.setattr("intarsia.cost.keys.devices_here", lambda type_: devices)
        partitions = [block(keys.graph, 0, target=Target("ncnn -base=vulkan")), block(keys.graph, 0)]
        there, on_the_cpu = (digest(keys, [partition]) for partition in partitions)
        return there, on_the_cpu

    first = digests(Target("vulkan -device_name=one -driver_version=1"))
    second = digests(Target("vulkan -device_name=one -driver_version=2"))
    assert first[0] != second[0]
    assert first[1] == second[1]


def test_a_failure_is_recorded_with_its_script(graph: Graph, tmp_path: Path, client: type[FakeClient]) -> None:
    client.answer = Failed(stage="crash", reason="the process was killed by SIGSEGV", cause=Cause.ENGINE)
    failure = measurer(graph, tmp_path).cost(block(graph, 0), SETTINGS)
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.reason) == ("crash", "the process was killed by SIGSEGV")
    assert failure.repro is not None
    assert Path(failure.repro).is_file()
    client.answer = MEASURED
    again = measurer(graph, tmp_path)
    assert again.cost(block(graph, 0), SETTINGS) == failure
    assert (again.measured, again.cached) == (0, 1)


def test_an_answer_to_another_question_is_a_failure(graph: Graph, tmp_path: Path, client: type[FakeClient]) -> None:
    client.answer = Times(ms=(1.0,))
    failure = measurer(graph, tmp_path).cost(block(graph, 0), SETTINGS)
    assert isinstance(failure, Failure)
    assert "times" in failure.reason


def test_what_the_worker_is_asked(graph: Graph, tmp_path: Path, client: type[FakeClient]) -> None:
    costs = measurer(graph, tmp_path)
    effort = Effort(seconds=0.125, min_runs=4, hopeless_ms=9.0)
    before, partition = block(graph, 0, 1), block(graph, 2, 3)
    costs.cost(partition, SETTINGS, after=before, effort=effort)
    costs.cost_of_plan([before, partition], SETTINGS, effort)
    behind, whole = client.asked
    assert (behind.timed, whole.timed) == ("last", "all")
    assert [part.partition() for part in behind.workload.partitions] == [before, partition]
    assert behind.workload.settings == SETTINGS
    assert (behind.seconds, behind.min_runs, behind.hopeless_ms) == (0.125, 4, 9.0)


def test_what_an_engine_tells_of_its_nodes_is_asked_once(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    partition = block(graph, 0, 1, 2, 3)
    told = {graph.nodes[0].id: 1.5, graph.nodes[2].id: 0.5}
    client.answer = NodeTimes(ms=told)
    costs = measurer(graph, tmp_path)
    expected = {node.id: told.get(node.id, 0.0) for node in graph.nodes}
    assert costs.node_times(partition, SETTINGS) == expected
    assert costs.node_times(partition, SETTINGS) == expected
    assert (costs.measured, costs.cached, len(client.asked)) == (1, 1, 1)
    client.answer = MEASURED
    assert isinstance(costs.cost(partition, SETTINGS), Measurement), "it is no answer to what the piece costs"


@pytest.mark.parametrize("answer", [NodeTimes(ms={}), Failed(stage="run", reason="no profiler", cause=Cause.ENGINE)])
def test_an_engine_that_tells_nothing_of_its_nodes_is_not_asked_again(
    graph: Graph, tmp_path: Path, client: type[FakeClient], answer: Answer
) -> None:
    client.answer = answer
    costs = measurer(graph, tmp_path)
    assert [costs.node_times(block(graph, 0), SETTINGS) for _ in range(2)] == [{}, {}]
    assert len(client.asked) == 1


def test_one_worker_for_each_way_of_running_and_all_are_ended(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    with measurer(graph, tmp_path) as costs:
        for settings in (SETTINGS, replace(SETTINGS, threads=2), SETTINGS):
            costs.cost(block(graph, 0), settings)
            costs.cost(block(graph, 1), settings)
        assert (client.started, client.closed) == (2, 0)
    assert client.closed == 2


@pytest.mark.usefixtures("plugins")
def test_a_real_crash_comes_back_from_the_store(graph: Graph, saved: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "records.sqlite")
    partition = block(graph, 0, target=Target("faulty -mode=segfault"))
    with Measurer(graph, saved, store, ["faulty", "reference"], Origin(model=None)) as costs:
        failure = costs.cost(partition, SETTINGS)
        assert isinstance(failure, Failure)
        assert failure.stage == "crash"
        healthy = costs.cost(block(graph, 0), SETTINGS)
        assert isinstance(healthy, Measurement)
    with Measurer(graph, saved, store, ["faulty", "reference"], Origin(model=None)) as again:
        assert again.cost(partition, SETTINGS) == failure
        assert again.cost(block(graph, 0), SETTINGS) == healthy
    assert (again.measured, again.cached) == (0, 2)
    assert store.count() == 2


def moody(graph: Graph, store: Store, timeout_s: float = 300.0) -> tuple[Measurer, Outcome]:
    """A compile's measurer, and what it finds of an engine whose machine has a mood."""
    partition = Partition(target=Target("moody"), nodes=tuple(node.id for node in graph.nodes))
    folder = Path(
        tempfile.mkdtemp(dir=store.folder.parent)
    )  # its own, as every compile has: what compiled is kept there
    save_graph(graph, folder)
    with Measurer(graph, folder, store, ["moody"], Origin(model=None)) as costs:
        costs.timeout_s = timeout_s
        return costs, costs.cost(partition, SETTINGS)


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("mood", "cause"),
    [
        ("full", Cause.NO_SPACE),
        ("short of memory", Cause.NO_MEMORY),
        ("killed", Cause.KILLED),
    ],
)
def test_what_the_machine_did_is_not_kept_and_the_next_compile_uses_the_engine_again(
    graph: Graph, tmp_path: Path, mood: str, cause: Cause
) -> None:
    store = Store(tmp_path / "records.sqlite")
    (tmp_path / "mood").write_text(mood)
    costs, failure = moody(graph, store)
    assert isinstance(failure, Failure)
    assert (failure.cause, failure.repro) == (cause, None)
    assert costs.left_out == {"moody": failure}
    assert not costs.may_conclude
    assert store.count() == 0
    (tmp_path / "mood").unlink()
    costs, found = moody(graph, store)
    assert isinstance(found, Measurement)
    assert (costs.left_out, costs.may_conclude, store.count()) == ({}, True, 1)


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("mood", ["killed once", "crashes once"])
def test_what_passes_is_asked_once_more_in_the_same_compile(graph: Graph, tmp_path: Path, mood: str) -> None:
    (tmp_path / "mood").write_text(mood)
    costs, found = moody(graph, Store(tmp_path / "records.sqlite"))
    assert isinstance(found, Measurement)
    assert costs.left_out == {}


@pytest.mark.usefixtures("plugins")
def test_an_engine_that_ends_its_process_twice_is_to_blame(graph: Graph, tmp_path: Path) -> None:
    store = Store(tmp_path / "records.sqlite")
    (tmp_path / "mood").write_text("crashes")
    _, failure = moody(graph, store)
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.cause, store.count()) == ("crash", Cause.ENGINE, 1)
    (tmp_path / "mood").unlink()
    assert moody(graph, store)[1] == failure


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(("are_busy", "cause"), [(True, Cause.NO_ANSWER), (False, Cause.ENGINE)])
def test_a_time_limit_is_believed_only_on_a_calm_machine(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_busy: bool, cause: Cause
) -> None:
    monkeypatch.setattr(Neighbours, "were_busy", lambda _: are_busy)
    store = Store(tmp_path / "records.sqlite")
    (tmp_path / "mood").write_text("hangs")
    _, failure = moody(graph, store, timeout_s=2.0)
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.cause) == ("timeout", cause)
    assert store.count() == (0 if are_busy else 1)
    (tmp_path / "mood").unlink()
    assert isinstance(moody(graph, store)[1], Measurement if are_busy else Failure)


def test_a_process_that_cannot_be_started_is_the_machine_s_doing(
    graph: Graph, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "records.sqlite")
    started = subprocess.Popen

    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    with monkeypatch.context() as patch, Measurer(graph, saved, store, ["reference"], Origin(model=None)) as costs:
        patch.setattr(process, "_servers", [])  # that of all tests would fork it
        patch.setattr(subprocess, "Popen", refused)
        costs.start([SETTINGS])
        failure = costs.cost(block(graph, 0), SETTINGS)
        assert isinstance(failure, Failure)
        assert (failure.stage, failure.cause, store.count()) == ("start", Cause.NO_PROCESS, 0)
    assert subprocess.Popen is started
    with Measurer(graph, saved, store, ["reference"], Origin(model=None)) as again:
        assert isinstance(again.cost(block(graph, 0), SETTINGS), Measurement)


@pytest.mark.parametrize("cause", [Cause.KILLED, Cause.NO_SPACE, Cause.NO_ANSWER])
def test_no_failure_of_the_machine_is_kept_whatever_was_asked(
    graph: Graph, tmp_path: Path, client: type[FakeClient], cause: Cause
) -> None:
    client.answer = Failed(stage="crash", reason="it was killed", cause=cause)
    (tmp_path / "work").mkdir()
    costs = measurer(graph, tmp_path)
    partition = block(graph, 0)
    costs.cost(partition, SETTINGS)
    assert costs.node_times(partition, SETTINGS) == {}
    assert isinstance(costs.write([partition], SETTINGS, tmp_path / "x"), Failure)
    assert isinstance(costs.answers([partition], SETTINGS, []), Failure)
    assert (costs.store.count(), set(costs.left_out)) == (0, {"reference"})


def test_stopped_it_answers_what_is_known_and_measures_nothing(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    costs = measurer(graph, tmp_path)
    known = costs.cost(block(graph, 0, 1), SETTINGS)
    costs.stop()
    assert costs.cost(block(graph, 2, 3), SETTINGS) == known
    unknown = costs.cost(block(graph, 0), SETTINGS)
    assert isinstance(unknown, Failure)
    assert unknown.stage == "interrupted"
    assert (client.closed, costs.store.count()) == (1, 1)  # what was not measured is not recorded


def hurried(graph: Graph, tmp_path: Path, seconds: float) -> Measurer:
    store = Store(tmp_path / "records.sqlite")
    deadline = Deadline(seconds, clock=lambda: 0.0)
    return Measurer(graph, tmp_path / "work", store, ["reference"], Origin(model="m.onnx"), deadline=deadline)


def test_what_there_is_no_time_for_is_not_asked_unless_it_is_needed(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    late = hurried(graph, tmp_path, 0.0)
    found = late.cost(block(graph, 0), SETTINGS)
    assert isinstance(found, Failure)
    assert (found.stage, client.asked, late.measured) == (NO_TIME, (), 0)
    assert late.node_times(block(graph, 0), SETTINGS) == {}
    assert client.asked == ()
    needed = hurried(graph, tmp_path, 0.0).cost(block(graph, 0), SETTINGS, effort=Effort(is_needed=True))
    assert isinstance(needed, Measurement)


def test_what_the_end_cut_off_is_no_failure_of_the_engine(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    client.answer = Failed(stage="timeout", reason="no answer", cause=Cause.ENGINE)
    cut = hurried(graph, tmp_path, 20.0).cost(block(graph, 0), SETTINGS)
    assert isinstance(cut, Failure)
    assert (cut.stage, cut.repro) == (NO_TIME, None)
    looked_at = hurried(graph, tmp_path, 1e6).cost(block(graph, 0), SETTINGS, effort=Effort(given_up=1e-5))
    assert isinstance(looked_at, Failure)
    assert looked_at.stage == NO_TIME
    hung = hurried(graph, tmp_path, 1e6).cost(block(graph, 1), SETTINGS)
    assert isinstance(hung, Failure)
    assert hung.stage == "timeout"


def test_a_first_look_that_was_cut_off_is_not_taken_again_though_the_machine_was_busy(
    graph: Graph, tmp_path: Path, client: type[FakeClient]
) -> None:
    client.answer = Failed(stage="timeout", reason="no answer", cause=Cause.NO_ANSWER)
    look, other = Effort(given_up=1e-5), Effort()
    for effort, seconds, asks in ((look, 1e6, 0), (other, 20.0, 1)):
        for again in (False, True):
            before = len(client.asked)
            hurried(graph, tmp_path, seconds).cost(block(graph, 0), SETTINGS, effort=effort)
            assert (len(client.asked) > before) is (not again or bool(asks))


def test_only_what_measures_waits_for_its_turn(
    graph: Graph, tmp_path: Path, client: type[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[object] = []

    def lock(watch: object, deadline: object) -> nullcontext[None]:
        taken.append(deadline)
        return nullcontext()

    monkeypatch.setattr(module, "machine_lock", lock)
    costs = measurer(graph, tmp_path)
    with costs.turn():
        assert taken == []
    costs.cost(block(graph, 0), SETTINGS)
    with costs.turn():
        assert len(taken) == 2
    again = measurer(graph, tmp_path)
    again.cost(block(graph, 0), SETTINGS)
    with again.turn():
        assert len(taken) == 2
