"""A machine of a cluster, as its caller sees it: what is lost, what is asked again, and who is told what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from intarsia.errors import (
    ClosedError,
    ConfigError,
    FeedError,
    MachineDiedError,
    RemoteError,
    WorkerTimeoutError,
    WorkerUnreachableError,
    WorkerVersionError,
)
from intarsia.remote.actors.actor_worker import ActorWorker
from intarsia.remote.actors.machine_actor import MachineActor
from intarsia.remote.actors.node_place import NodePlace
from intarsia.remote.verbs import compile_on, load_on
from tests.artifacts import written
from tests.fake_ray import FakeActor, FakeRay, GetTimeoutError, ObjectStoreFullError, RayActorError
from tests.unit.graph.models import two_layers

FEEDS = {"x": np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)}


@pytest.fixture
def worker(ray: FakeRay, place: NodePlace) -> Iterator[ActorWorker]:
    made = ActorWorker(place)
    yield made
    made.close()


@pytest.fixture
def actor(worker: ActorWorker, ray: FakeRay) -> FakeActor:
    return ray.actors[-1]


def test_a_model_runs_there_and_what_it_answers_belongs_to_the_caller(
    ray: FakeRay, place: NodePlace, tmp_path: Path
) -> None:
    path = written(tmp_path / "net.intarsia")
    with load_on(place, path) as model:
        y = model(FEEDS)["y"]
        assert y.flags.writeable
        assert y.flags.owndata
        with pytest.raises(FeedError):
            model({"x": np.zeros(3, np.float32)})
    assert ray.killed == ray.actors
    with pytest.raises(ClosedError):
        model(FEEDS)


def test_a_request_that_a_dying_process_had_is_an_error_and_the_next_one_is_answered(
    ray: FakeRay, place: NodePlace, tmp_path: Path
) -> None:
    with load_on(place, written(tmp_path / "net.intarsia")) as model:
        expected = model(FEEDS)["y"]
        (actor,) = ray.actors
        actor.fails = [RayActorError("it died"), GetTimeoutError("it is being started")]
        actor.retries.clear()
        with pytest.raises(MachineDiedError, match=r"machine desktop \(the Ray node .*: its process ended before"):
            model(FEEDS)
        assert np.array_equal(model(FEEDS)["y"], expected)
    assert ray.actors == [actor]
    retried = [name for name, times in actor.retries if times]
    assert retried == ["hello"], "Ray itself makes no call of a model again"


def test_a_process_that_is_not_started_again_is_told_so(actor: FakeActor, worker: ActorWorker) -> None:
    actor.fails = [RayActorError("it died")] * 2
    with pytest.raises(MachineDiedError, match="with the request in hand"):
        worker.run("a model", {})
    with pytest.raises(MachineDiedError, match="is not started again; load the model again"):
        worker.run("a model", {})


def test_a_node_that_is_gone_is_named(actor: FakeActor, worker: ActorWorker, ray: FakeRay) -> None:
    actor.fails = [RayActorError("it died"), GetTimeoutError()]
    with pytest.raises(MachineDiedError):
        worker.run("a model", {})
    ray.alive.remove("a")
    with pytest.raises(WorkerUnreachableError, match=r"machine desktop .* is gone: no node .* the label machine=a any"):
        worker.run("a model", {})


def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(
    ray: FakeRay, place: NodePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = ActorWorker(NodePlace(label=place.label, timeout=0.01))
    (actor,) = ray.actors
    with monkeypatch.context() as patched:
        patched.setattr(ray, "get", lambda *_, timeout: (_ for _ in ()).throw(GetTimeoutError(str(timeout))))
        with pytest.raises(WorkerTimeoutError, match="does not answer within"):
            worker.echo(b"anybody?")
    assert worker.echo(b"anybody?") == b"anybody?"
    worker.close()
    assert ray.killed == [actor]


def test_what_ray_cannot_carry_is_an_error_of_ours(actor: FakeActor, worker: ActorWorker) -> None:
    actor.fails = [ObjectStoreFullError("no room")]
    with pytest.raises(RemoteError, match=r"Ray does not bring values to machine desktop .*: no room"):
        worker.echo(b"1" * 100)


def test_another_version_is_refused(ray: FakeRay, place: NodePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MachineActor, "hello", lambda _: ("ok", {"version": "0.0.9", "pid": 1}))
    with pytest.raises(WorkerVersionError, match=r"has Intarsia 0.0.9, and the caller has"):
        ActorWorker(place)
    assert ray.killed == ray.actors


def test_a_node_where_intarsia_is_not_installed_is_told_so(
    ray: FakeRay, place: NodePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def died(_: object) -> None:
        raise RayActorError("No module named 'intarsia'")

    monkeypatch.setattr(MachineActor, "hello", died)
    with pytest.raises(WorkerVersionError, match=r"install Intarsia .* for its Ray's Python \(No module named 'int"):
        ActorWorker(place)


def test_several_nodes_that_could_be_meant_are_refused(ray: FakeRay, place: NodePlace) -> None:
    ray.alive.append("a")
    with pytest.raises(ConfigError, match="the label machine=a is of 2 nodes of the cluster"):
        ActorWorker(place)


def test_a_child_of_a_fork_has_no_link(worker: ActorWorker, ray: FakeRay) -> None:
    worker.after_fork()
    with pytest.raises(ClosedError, match="forked from"):
        worker.echo(b"")
    worker.close()
    assert not ray.killed


def test_a_compile_runs_there_and_its_artifact_comes_here(ray: FakeRay, place: NodePlace, tmp_path: Path) -> None:
    told: list[str] = []
    with compile_on(
        place, two_layers(), "reference", partition="greedy", budget=5.0, progress=lambda now: told.append(now.stage)
    ) as made:
        assert set(made(FEEDS)) == {"y"}
        made.save(tmp_path / "kept.intarsia")
    assert len(told) > 1
    assert (tmp_path / "kept.intarsia").is_file()


def test_a_compile_whose_process_dies_is_an_error(ray: FakeRay, place: NodePlace) -> None:
    def dies(_: object) -> None:
        for actor in ray.actors:
            actor.fails = [RayActorError("it died")]

    with pytest.raises(MachineDiedError, match="machine desktop"):
        compile_on(place, two_layers(), "reference", partition="greedy", budget=5.0, progress=dies)
    assert ray.killed == ray.actors


def test_an_interrupted_compile_ends_there_with_the_best_so_far_or_nothing(ray: FakeRay, place: NodePlace) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_on(place, two_layers(), "reference", partition="greedy", budget=60.0, progress=interrupt)
    assert ray.killed == ray.actors
