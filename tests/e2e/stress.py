"""Threads that call, load, close, stream and forget models in every form at one time, and forks in between.

``python -m tests.e2e.stress FOLDER --seconds N --seed S`` does so and prints as JSON what it did and what went wrong.
It is a program of its own, since it may hang or die; whoever starts it has the patience for that.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from intarsia.errors import BackendUnavailableError, ClosedError, FeedError
from intarsia.runtime import CompiledModel
from intarsia.runtime.executors.executor import Executor
from tests.e2e.plan_forms import FEEDS, feeds, load, write

THREADS = 4
CHILD_S = 120.0
"""How long a forked child may take; it needs a fraction of a second."""
BEYOND_S = 400.0
"""Seconds beyond its own after which it must have hung: it tells where each thread is, and ends."""
MORE = {"descriptors": 16, "executors": 0, "threads": 48, "bytes": 256 << 20}
"""What may be left over after the second half of the time beyond what was after the first. OpenVINO keeps the threads
of models that ended for later ones, so there are as many as models have ever lived at one time."""
SETTLED_S = 60.0
"""How long the threads of streams that nobody reads may take to end, and to let go of their executors."""
Results = Mapping[str, np.ndarray]


class Form:
    """An artifact, its answers, and the model that all threads share."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.feeds = [feeds(number) for number in range(FEEDS)]
        with load(path) as model:
            self.answers = [model(each) for each in self.feeds]
        self.model = load(path)

    def is_right(self, number: int, results: Results) -> bool:
        """Whether these are the answers to the feeds of this number, to the bit."""
        return all(np.array_equal(results[name], array) for name, array in self.answers[number].items())


class Stress:
    """What is done, and what came of it."""

    def __init__(self, forms: Mapping[str, Path], seed: int) -> None:
        self.forms = [Form(name, path) for name, path in forms.items()]
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []
        self._seed = seed
        self._executors = sys.maxsize
        self._acts: list[Callable[[random.Random, Form], None]] = [
            *([self.call] * 6),
            self.close,
            self.load,
            self.forget,
            self.stream,
            self.profile,
            self.change,
            self.refuse,
        ]

    def serve(self, number: int, end: float) -> None:
        """Act until then."""
        draw = random.Random(f"{self._seed} {number}")
        while time.monotonic() < end and not self.faults:
            act, form = draw.choice(self._acts), draw.choice(self.forms)
            try:
                act(draw, form)
                self.done[act.__name__] += 1
            except ClosedError:
                self.done["closed meanwhile"] += 1
            except BaseException as error:
                self.faults.append(f"{form.name}, {act.__name__}: {type(error).__name__}: {error}")

    def check(self, form: Form, number: int, results: Results, what: str) -> None:
        """Note a wrong answer."""
        if not form.is_right(number, results):
            self.faults.append(f"{form.name}, {what}: a wrong answer to feeds {number}")

    def call(self, draw: random.Random, form: Form) -> None:
        """Call the model that all share."""
        number = draw.randrange(FEEDS)
        self.check(form, number, form.model(form.feeds[number]), "call")

    def close(self, draw: random.Random, form: Form) -> None:
        """Close it, whoever calls it, and put another in its place."""
        model = form.model
        fresh = load(form.path) if draw.random() < 0.5 else CompiledModel(model.artifact)
        form.model = fresh
        model.close()
        try:
            model(form.feeds[0])
        except ClosedError:
            return
        self.faults.append(f"{form.name}: a closed model answered")

    def load(self, draw: random.Random, form: Form) -> None:
        """One of this thread's own."""
        number = draw.randrange(FEEDS)
        with load(form.path) as model:
            self.check(form, number, model(form.feeds[number]), "load")

    def forget(self, draw: random.Random, form: Form) -> None:
        """One that nobody closes, in a cycle; and a stream that nobody reads to its end."""
        model = load(form.path)
        stream = model.stream(form.feeds)
        cycle = [model, stream]
        cycle.append(cycle)  # type: ignore[arg-type]
        self.check(form, 0, next(stream), "forget")

    def stream(self, draw: random.Random, form: Form) -> None:
        """Several requests, and the end of the model in the middle of others."""
        for number, results in enumerate(form.model.stream(form.feeds)):
            self.check(form, number, results, "stream")
            if draw.random() < 0.1:
                return

    def profile(self, draw: random.Random, form: Form) -> None:
        """Time the partitions."""
        form.model.profile(form.feeds[0], runs=1)

    def change(self, draw: random.Random, form: Form) -> None:
        """An array that is changed in place between two calls."""
        number = draw.randrange(FEEDS)
        array = form.feeds[number]["x"].copy()
        shape = array.shape
        self.check(form, number, form.model({"x": array}), "change")
        content = form.feeds[(number + 1) % FEEDS]["x"]
        array.resize((1,), refcheck=False)
        array.resize(shape, refcheck=False)
        array[...] = content
        self.check(form, (number + 1) % FEEDS, form.model({"x": array}), "change")

    def refuse(self, draw: random.Random, form: Form) -> None:
        """Feeds that no engine may see."""
        for wrong in (
            {0: form.feeds[0]["x"]},
            {"x": form.feeds[0]["x"][:, 1:]},
            {"x": form.feeds[0]["x"].tolist()[0]},
            {},
        ):
            try:
                form.model(wrong)
            except FeedError:
                continue
            self.faults.append(f"{form.name}: wrong feeds were answered")

    def fork(self, draw: random.Random) -> None:
        """A child while the threads are at work: what all share, or a model of its own, answers or says why not."""
        form, number, is_own = draw.choice(self.forms), draw.randrange(FEEDS), draw.random() < 0.5
        child = os.fork()
        if not child:
            os._exit(self._in_child(form, number, is_own=is_own))
        status = _ended(child)
        what = f"{form.name}, in a fork, {'loaded there' if is_own else 'loaded before'}"
        if status is None:
            self.faults.append(f"{what}: hangs")
        elif os.WIFSIGNALED(status):
            self.faults.append(f"{what}: {signal.Signals(os.WTERMSIG(status)).name}")
        elif os.WEXITSTATUS(status):
            self.faults.append(f"{what}: see the log")
        self.done["fork"] += 1

    def _in_child(self, form: Form, number: int, *, is_own: bool) -> int:
        try:
            model = load(form.path) if is_own else form.model
            right = form.is_right(number, model(form.feeds[number]))
            model.close()
        except (BackendUnavailableError, ClosedError):
            return 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)  # noqa: T201 - the log
            return 1
        return 0 if right else 2

    def held(self) -> dict[str, int]:
        """What this process holds once each shared model has made all its executors and each other has ended.

        Models for several sizes make the executor of a size at its first call, pipelines those of their stages at the
        first stream.
        """
        for form in self.forms:
            for number, results in enumerate(form.model.stream(form.feeds)):
                self.check(form, number, results, "stream")
        end, held = time.monotonic() + SETTLED_S, _held()
        while time.monotonic() < end and held["executors"] > self._executors:
            time.sleep(0.1)
            held = _held()
        self._executors = held["executors"]
        return held

    def end(self) -> None:
        """Close all that is shared."""
        for form in self.forms:
            form.model.close()


def _ended(child: int) -> int | None:
    end = time.monotonic() + CHILD_S
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGUSR1)  # it tells where it hangs
    time.sleep(1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _held() -> dict[str, int]:
    """What this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "executors": sum(isinstance(each, Executor) for each in gc.get_objects()),
        "threads": len(os.listdir("/proc/self/task")),
        "bytes": pages * os.sysconf("SC_PAGE_SIZE"),
    }


def run(stress: Stress, seconds: float, *, forks: bool, turn: int) -> None:
    """Have all threads act for so long, and fork meanwhile."""
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=stress.serve, args=(turn * THREADS + number, end), daemon=True)
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    draw = random.Random(f"forks {turn}")
    while time.monotonic() < end and not stress.faults:
        if forks:
            stress.fork(draw)
        time.sleep(0.05)
    for thread in threads:
        thread.join()


def main() -> None:
    """Two halves, so that what the second one leaves behind can be told from what the first one had to set up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forms", help="only these, by comma")
    arguments = parser.parse_args()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    faulthandler.dump_traceback_later(arguments.seconds + BEYOND_S, exit=True)
    written = write(arguments.folder)
    chosen = arguments.forms.split(",") if arguments.forms else written
    stress, held = Stress({name: written[name] for name in chosen}, arguments.seed), []
    stress.held()
    for turn in range(2):
        run(stress, arguments.seconds / 2, forks=hasattr(os, "fork"), turn=turn)
        held.append(stress.held())
    stress.end()
    for what, more in MORE.items():
        if held[1][what] > held[0][what] + more:
            stress.faults.append(f"{what} grew from {held[0][what]} to {held[1][what]}")
    forms = [form.name for form in stress.forms]
    told = {"forms": forms, "done": dict(stress.done), "held": held, "faults": stress.faults}
    print(json.dumps(told))  # noqa: T201 - this is how a program answers


if __name__ == "__main__":
    main()
