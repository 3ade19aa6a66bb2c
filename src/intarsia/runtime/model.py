"""`CompiledModel`: an artifact that can be called."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from intarsia.backends.contract import EngineArtifact, Signature
from intarsia.errors import ArtifactError, ClosedError, ConfigError, FeedError, IntarsiaError
from intarsia.extras import compiling
from intarsia.files import AnyPath
from intarsia.forks import Forkable, left_behind
from intarsia.runtime.artifact.artifact import Artifact
from intarsia.runtime.artifact.trust import Trust
from intarsia.runtime.executors.arrays import handed_back, library_of
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.feeds import check_feeds, named_feeds
from intarsia.runtime.executors.turns import Turns
from intarsia.runtime.loading import load_steps
from intarsia.runtime.plan import Plan

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.runtime.buckets import Bucket
    from intarsia.runtime.executors.pipeline import PipelineExecutor
    from intarsia.runtime.executors.stream import Stream

Loaded = TypeVar("Loaded", "Executor", "PipelineExecutor")


class CompiledModel(Forkable):
    """A model compiled for this machine.

    Engines are loaded at the first call, or by ``load``. Calls from several threads take turns. In a process that was
    forked from one that had loaded it, the first call loads it anew, where its engines can be.

    Example::

        model = intarsia.load("resnet50.intarsia")
        probabilities = model({"data": image})["softmax"]
    """

    def __init__(self, artifact: Artifact, on_close: Callable[[], None] | None = None) -> None:
        self._artifact = artifact
        self._on_close = on_close
        self._is_rehearsed = artifact.trust.is_settled
        self._turns = self._loading()
        self._executor: Executor | None = None
        self._pipeline: PipelineExecutor | None = None

    @property
    def plan(self) -> Plan:
        """Which engine runs which nodes, and the threads and spinning all of them obey."""
        return self._artifact.plan

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """The sizes that share a plan, ascending, where dimensions are open; ``plan`` is that of the last."""
        return self._artifact.buckets

    @property
    def report(self) -> Mapping[str, Any]:
        """What the compile measured: the object that ``intarsia compile --json`` prints."""
        return self._artifact.report()

    @property
    def artifact(self) -> Artifact:
        """The file behind it."""
        return self._artifact

    @property
    def inputs(self) -> tuple[Signature, ...]:
        """Name, dtype and shape of each input; no shape where a dimension is open."""
        return self.plan.inputs

    @property
    def sample_inputs(self) -> tuple[Signature, ...]:
        """The inputs with a shape that each may have: their own, or where dimensions are open, what was measured."""
        return self._artifact.sample_inputs

    @property
    def outputs(self) -> tuple[Signature, ...]:
        """Name, dtype and shape of each output."""
        return self.plan.outputs

    @overload
    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]: ...

    @overload
    def __call__(self, /, *feeds: Any, **named: Any) -> dict[str, Any]: ...

    def __call__(self, /, *feeds: Any, **named: Any) -> dict[str, Any]:
        """Run once.

        Arrays of numpy, tensors of PyTorch, and whatever else has ``__dlpack__`` are taken, where they lie if they are
        contiguous. Results are of the feeds' library: tensors for tensors; numpy's for feeds of several libraries.

        Example::

            model({"ids": ids, "mask": mask})  # by name
            model(ids=ids, mask=mask)
            model(ids, mask)  # in the order of `inputs`

        Args:
            *feeds: One mapping of arrays by input name, or arrays for the first inputs. Each array is of the input's
                dtype and shape; numbers and lists of numbers take the input's dtype.
            **named: Arrays for the other inputs.

        Returns:
            One array per output by its name, in the order of `outputs`, owned by the caller.

        Raises:
            FeedError: A feed is missing, unknown, of another dtype or shape, or not in the host's memory; no engine
                has seen it.
            ExecutionError: An engine failed.
            ClosedError: The model was closed.
        """
        if not named and len(feeds) == 1 and (feeds[0].__class__ is dict or isinstance(feeds[0], Mapping)):
            arrays: Mapping[str, Any] = feeds[0]
        elif feeds and isinstance(feeds[0], Mapping):
            raise FeedError("a mapping of all arrays is given, and more beside it; put those into the mapping")
        else:
            arrays = named_feeds(self.inputs, feeds, named)
        results = (self._executor or self.load()).run(arrays)
        for array in arrays.values():
            if array.__class__ is not np.ndarray:
                make = library_of(arrays.values())
                return results if make is None else handed_back(results, make)
        return results

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Stream:
        """Run once for each of a stream of requests, and yield the results in their order.

        A plan with a pipeline works on several requests at one time, on engines that it loads for the purpose; any
        other runs them one after the other, each when its result is asked for.

        Example::

            with model.stream({"data": image} for image in images) as results:
                for result in results:
                    print(result["softmax"].argmax())

        Args:
            feeds: One mapping per request, as for a call; taken as results are asked for, a few ahead of them.

        Returns:
            An iterator with ``close``. What goes wrong in a request is raised in the place of its result.
        """
        self._turns.check()
        if not self.plan.has_pipeline:
            return self.load().stream(feeds)
        if self._pipeline is None:
            self._turns.run(self._load_pipeline)
        return self._open(self._pipeline).stream(feeds)

    def load(self) -> Executor:
        """Load the engines, once.

        Raises:
            ArtifactError: Built for another machine class, and it cannot be rebuilt for this one.
            BackendUnavailableError: An engine it needs is not installed.
            LoadError: An engine did not load its part.
            ClosedError: The model was closed.
        """
        executor = self._executor
        if executor is not None:
            return executor
        self._turns.run(self._load)
        return self._open(self._executor)

    def _load(self) -> None:
        if self._executor is None:  # no other thread was first
            self._rehearse()
            load = partial(self._loaded, self._differs())
            self._executor = self._by_size(load) if self.buckets else load(self.plan)

    def _by_size(self, load: Callable[[Plan], Executor]) -> Executor:
        from intarsia.runtime.executors.vm import VmExecutor

        return VmExecutor(self._artifact.input_spec, load)

    def _load_pipeline(self) -> None:
        if self._pipeline is None:
            self._rehearse()
            from intarsia.runtime.executors.pipeline import load_pipeline

            self._pipeline = load_pipeline(*self._parts(self._differs(), self.plan))

    def _open(self, loaded: Loaded | None) -> Loaded:
        """What was loaded, unless the model was closed meanwhile."""
        if loaded is None or self._turns.is_closed:
            self.close()
            self._turns.check()
        assert loaded is not None, "only closing takes it away"
        return loaded

    def _rehearse(self) -> None:
        """Before the first load of what is not trusted: once for each file (`intarsia.runtime.rehearsal`)."""
        if not self._is_rehearsed:
            from intarsia.runtime.artifact.known import known_digest

            self._artifact.check_code()
            if known_digest(self._artifact.place, self._artifact.content) is None:
                from intarsia.runtime.rehearsal import rehearse

                rehearse(self._artifact)
            self._is_rehearsed = True

    def _differs(self) -> bool:
        """Tell what differs from where it was built; whether the engines' parts are therefore to be built anew."""
        fault = self._artifact.machine_fault()
        for remark in self._artifact.check_machine() if fault is None else ():
            _warn(f"{self._artifact.path}: {remark}")
        with self._named_fault():
            changed = self._artifact.changed_engines()
        if fault is not None:
            _warn(f"{self._artifact.path}: rebuilt in memory, since it was {fault}; recompile here")
        elif changed:
            _warn(f"{self._artifact.path}: rebuilt in memory, since {', '.join(changed)}")
        return fault is not None or bool(changed)

    def _loaded(self, anew: bool, plan: Plan) -> Executor:
        return load_steps(*self._parts(anew, plan))

    def _parts(self, anew: bool, plan: Plan) -> tuple[Plan, Sequence[EngineArtifact], Mapping[str, np.ndarray]]:
        """The engines' parts of a plan with their weights, as they were built or built anew."""
        if not anew:
            return plan, self._artifact.build(plan).artifacts, self._artifact.weights()
        with self._named_fault(), compiling(f"{self._artifact.path}: building its partitions anew"):
            from intarsia.runtime.building import build, weights_of

            graph = self._artifact.graph()
            built = build(graph, plan)
        return plan, built.artifacts, weights_of(graph, built)

    @contextmanager
    def _named_fault(self) -> Iterator[None]:
        """Where it is of another machine class, an error says that first: without that nothing would be built anew."""
        try:
            yield
        except IntarsiaError as error:
            fault = self._artifact.machine_fault()
            if fault is None:
                raise
            raise ArtifactError(
                f"{self._artifact.path}: {fault}; it cannot be rebuilt here: {error}; recompile here"
            ) from error

    def checked(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The feeds as numpy's arrays, their names, dtypes and shapes checked; open dimensions are checked by a run.

        Raises:
            FeedError: Naming each missing, unknown or ill-formed feed.
        """
        return check_feeds(self.inputs, feeds)

    def profile(self, feeds: Mapping[str, np.ndarray], runs: int = 10) -> list[float]:
        """Median milliseconds of each partition over ``runs`` runs, in the plan's order.

        Raises:
            ConfigError: ``runs`` is less than 1.
            FeedError: As a call.
        """
        from intarsia.numbers import shown, whole

        if (whole(runs) or 0) < 1:
            raise ConfigError(f"cannot profile {shown(runs)} runs: give at least 1")
        executor, arrays = self.load(), self.checked(feeds)
        spent = np.array([executor.timed_run(arrays)[1] for _ in range(runs + 1)][1:])
        return [float(ms) for ms in np.median(spent, axis=0) / 1e6]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Copy the artifact to ``path``; it appears whole or not at all. A link is followed, a pipe is written to.

        Returns:
            The path.

        Raises:
            OutputError: Nothing can be written there.
            DiskError: The disk is full. Both are an ``OSError`` too.
            ClosedError: It was only kept until the model was closed.
        """
        from pathlib import Path

        from intarsia.files import make_folder, place_file
        from intarsia.runtime.artifact.known import known_digest, remember

        if self._turns.is_closed and not self._artifact.path.exists():
            raise ClosedError("the model was closed, and it was not saved before; save it, then close it")
        destination = Path(path)
        digest = known_digest(self._artifact.place, self._artifact.content)
        make_folder(destination.parent)
        place_file(self._artifact.path, destination, is_spare=self._on_close is not None)
        if digest is not None:
            remember(destination, digest)
        return destination

    def close(self) -> None:
        """Free the engines' memory and any temporary file, once no call runs; every later call is an error.

        Calling it twice is fine, from any thread.
        """
        self._turns.close()
        for loaded in (self._pipeline, self._executor):
            if loaded is not None:
                loaded.close()
        self._pipeline = self._executor = None
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    def after_fork(self) -> None:
        """Load anew when it is called; the temporary file is the parent's."""
        left_behind((self._executor, self._pipeline))
        self._executor = self._pipeline = self._on_close = None
        if not self._turns.is_closed:
            self._turns = self._loading()

    def _loading(self) -> Turns:
        """Turns of those who load: at the end of the interpreter no thread is in the middle of it."""
        turns = Turns()
        weakref.finalize(self, turns.finish)
        return turns

    def __enter__(self) -> CompiledModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        from intarsia.runtime import summary

        return summary.as_text(self._artifact)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from intarsia.runtime import summary

        return summary.as_html(self._artifact)


def load(
    path: str | os.PathLike[str],
    *,
    allow: AnyPath | Iterable[AnyPath] = (),
    machine_code: bool = True,
    signed_by: AnyPath | Iterable[AnyPath] = (),
    trusted: bool = False,
) -> CompiledModel:
    """Load an artifact with its engines, ready to call.

    This trusts whoever made the file. It hands what the file holds to the parsers of the engines, which are C++ and
    were not written for hostile input; and artifacts of some engines hold machine code, which runs in this process
    (``intarsia explain`` lists it). The checksum shows damage, and anyone can compute it anew. So load what you made
    yourself, or have it signed (``intarsia sign``) and say by whom. What an artifact names beside itself, a library of
    operators or another interpreter, never runs unless ``allow`` names it too.

    The first time, a file that was not made here and is not signed as asked is loaded and run in another process
    before, since what was made to break an engine's parser would end this one. That takes as long as starting Python
    and loading the file once more.

    Args:
        path: The artifact.
        allow: Absolute paths of libraries and interpreters that the artifact names and may run.
        machine_code: Whether it may hold machine code; without, such an artifact is refused.
        signed_by: Files of public keys, one of which must have signed it. The variable ``INTARSIA_SIGNED_BY`` asks for
            a signature everywhere, whatever is said here.
        trusted: Whether to load it in this process at once, wherever it comes from.

    Raises:
        ArtifactError: Missing, damaged, or built for another machine class and not to be rebuilt for this one; or it
            is not signed as asked, or would run what is not allowed, or an engine dies of it.
        ConfigError: A path that is allowed is relative, or a key cannot be read.
        BackendUnavailableError: An engine it needs is not installed.
        LoadError: An engine did not load its part.
    """
    trust = Trust.of(allow, machine_code=machine_code, signed_by=signed_by, trusted=trusted)
    model = CompiledModel(Artifact(path, trust))
    model.load()
    return model


def _warn(what: str) -> None:
    """Tell by the logger of this module."""
    import logging  # a run with nothing to tell does not need it

    logging.getLogger(__name__).warning("%s", what)
