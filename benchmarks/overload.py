"""More than a server takes: minutes of it, its end and changes of the model under load.

``python -m benchmarks.overload`` serves a model of a few milliseconds, measures how many requests a second it answers,
and asks for 120 % of that for ten minutes in an open loop, half over HTTP with tensors as bytes and half over gRPC. A
machine grows faster and slower within minutes, so what is asked follows what was answered in the last half minute.
Each answer is compared with the right one, each refusal must name a time to come again, and the server's memory is
sampled. Then a server is told to end while it is asked as much, and one has its file changed a hundred times. It writes
``benchmarks/results/overload.json``, with what of this holds. Wants a quiet machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psutil

from benchmarks import competitors, results_file
from benchmarks.loopback_load import BYTES, GRPC, MODEL, Door, doors, turn
from benchmarks.open_loop import ANSWERED, CUT, REFUSED, Ask, Asked, Outcome, OverGrpc, OverHttp, asking
from benchmarks.served_models import LAYERS, feed, write_model
from benchmarks.serving_tables import OVERLOAD
from intarsia.cost.timing.statistics import median, percentile
from intarsia.cost.worker.lock import machine_lock
from intarsia.runtime import Artifact, CompiledModel
from tests.serving.process import PATIENCE_S, Running, serving

TIMES_AS_MUCH = 1.2
PACE_S = 30
"""Seconds after which the rate is set anew, to so many times what was answered in them."""
LONGER = 4
"""Times as many layers as the model of `benchmarks.serving`, so that the clients' own work is small beside it."""
WAITING, LIMIT_S = 32, 1.0
MOST_GROWTH = 0.05
OPEN = (BYTES, GRPC)
_UNDER_RELOADS = 0.5
"""Of what the server takes: it loads a model beside answering."""
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured: seconds of too much, of which some settle the memory, and changes of the file."""

    seconds: float
    settle_s: float
    reloads: int
    capacity_s: float


def running(artifact: Path, *options: str) -> AbstractContextManager[Running]:
    """A server of this artifact on one thread, once it is ready."""
    return serving(f"{MODEL}={artifact}", "--timeout", str(LIMIT_S), *options)


@contextmanager
def asked(server: Running, ways: Mapping[str, Door], right: Sequence[np.ndarray], per_second: float) -> Iterator[Asked]:
    """Ask a server at this rate while the block runs."""
    with grpc.insecure_channel(server.grpc) as channel:
        make: dict[str, Callable[[], Ask]] = {
            BYTES: lambda: OverHttp(server.http, ways[BYTES], right),
            GRPC: lambda: OverGrpc(channel, ways[GRPC], right),
        }
        with asking(make, per_second) as found:
            yield found


def capacity(artifact: Path, ways: Mapping[str, Door], seconds: float, folder: Path) -> Mapping[str, float]:
    """Requests a second that the server answers at each door."""
    with running(artifact) as server:
        addresses = {BYTES: server.http, GRPC: server.grpc}
        return {name: turn(ways[name], addresses[name], 16, seconds, folder).per_second for name in OPEN}


def counted_ends(outcomes: Sequence[Outcome]) -> Json:
    """How many requests of each door ended how."""
    return {door: dict(Counter(each.end for each in outcomes if each.door == door)) for door in OPEN}


def growth(memory_mb: Sequence[float], settled: int) -> float:
    """How much larger the last tenth of the samples is than those about the one after which it is to stay."""
    window = max(1, len(memory_mb) // 10)
    return median(memory_mb[-window:]) / median(memory_mb[settled : settled + window]) - 1


def overload(
    artifact: Path, ways: Mapping[str, Door], right: Sequence[np.ndarray], rate: float, effort: Effort
) -> Json:
    """Minutes of too much."""
    memory_mb, before = [], 0
    with running(artifact, "--queue", str(WAITING)) as server:
        process = psutil.Process(server.process.pid)
        with asked(server, ways, right, rate) as found:
            for second in range(1, round(effort.seconds) + 1):
                time.sleep(1.0)
                memory_mb.append(process.memory_info().rss / 1e6)
                if second % PACE_S == 0:
                    so_far = found.of(ANSWERED)
                    found.per_second, before = TIMES_AS_MUCH * (so_far - before) / PACE_S, so_far
        failed = len(server.events("failed"))
    answered = [each.ms for each in found.outcomes if each.end == ANSWERED]
    return {
        "seconds": effort.seconds,
        "asked_per_second": len(found.outcomes) / effort.seconds,
        "ends": counted_ends(found.outcomes),
        "failed": failed,
        "answered_ms": {"p50": percentile(answered, 0.5), "p99": percentile(answered, 0.99), "most": max(answered)},
        "late_ms": {"p99": percentile([each.late_ms for each in found.outcomes], 0.99)},
        "limit_ms": 1e3 * LIMIT_S,
        "memory_mb": {"settled": memory_mb[min(int(effort.settle_s), len(memory_mb) - 1)], "end": memory_mb[-1]},
        "growth": growth(memory_mb, min(int(effort.settle_s), len(memory_mb) - 1)),
    }


def told_to_end(artifact: Path, ways: Mapping[str, Door], right: Sequence[np.ndarray], rate: float) -> Json:
    """SIGTERM while too much is asked."""
    with running(artifact, "--queue", str(WAITING), "--log-requests") as server:
        with asked(server, ways, right, rate) as found:
            time.sleep(5.0)
            server.process.terminate()
            code = server.process.wait(PATIENCE_S)
        left = [line["unanswered"] for line in server.events("ended")]
        answered = len(server.events("answered"))
    return {
        "exit_code": code,
        "admitted_and_answered": answered,
        "answers_that_came": found.of(ANSWERED),
        "unanswered": left,
        "ends": counted_ends(found.outcomes),
    }


def reloads(
    files: Sequence[Path], folder: Path, ways: Mapping[str, Door], right: Sequence[np.ndarray], rate: float, times: int
) -> Json:
    """The file changes so many times under load."""
    served = Path(shutil.copyfile(files[0], folder / "changing.intarsia"))
    with running(served, "--queue", "1000", "--reload-every", "0.05") as server:
        with asked(server, ways, right, rate) as found:
            for number, file in zip(range(1, times + 1), itertools.cycle((*files[1:], files[0])), strict=False):
                os.replace(shutil.copyfile(file, folder / "draft"), served)
                server.await_events("ready", number + 1)
        failed = len(server.events("failed")) + len(server.events("not reloaded"))
    return {"times": times, "ends": counted_ends(found.outcomes), "failed": failed}


def holds(results: Json) -> Mapping[str, bool]:
    """What was to be shown, and whether it was."""
    much, end, changed = results["overload"], results["sigterm"], results["reloads"]
    ends = [set(found) for found in much["ends"].values()]
    return {
        "every request is answered rightly or refused with a time": all(each <= {ANSWERED, REFUSED} for each in ends),
        "too much is refused at each door": all(REFUSED in each for each in ends),
        "no request fails": much["failed"] == 0,
        "p99 of what is answered is within the limit": much["answered_ms"]["p99"] <= much["limit_ms"],
        "memory stays": much["growth"] <= MOST_GROWTH,
        "SIGTERM loses nothing that was admitted": (end["exit_code"], end["unanswered"]) == (0, [0])
        and end["admitted_and_answered"] == end["answers_that_came"]
        and all(set(each) <= {ANSWERED, REFUSED, CUT} for each in end["ends"].values()),
        "changes of the file lose nothing": changed["failed"] == 0
        and all(set(each) == {ANSWERED} for each in changed["ends"].values()),
    }


def measure(folder: Path, effort: Effort) -> Json:
    """All of it."""
    files, right = [folder / "a.intarsia", folder / "b.intarsia"], []
    for number, file in enumerate(files):
        write_model(file, LONGER * LAYERS + number)
        with CompiledModel(Artifact(file)) as model:
            right.append(model({"x": feed()})["y"])
    ways = doors(feed(), "y")
    rates = capacity(files[0], ways, effort.capacity_s, folder)
    both = len(OPEN) / sum(1 / rate for rate in rates.values())
    results: Json = {"capacity_per_second": {**rates, "both": both}, "waiting": WAITING}
    results["overload"] = overload(files[0], ways, right[:1], TIMES_AS_MUCH * both, effort)
    results["sigterm"] = told_to_end(files[0], ways, right[:1], TIMES_AS_MUCH * both)
    results["reloads"] = reloads(files, folder, ways, right, _UNDER_RELOADS * both, effort.reloads)
    return {**results, "holds": holds(results)}


def main() -> None:
    """Measure, write the figures and print them; the exit code is 1 where something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overload", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of too much")
    parser.add_argument("--reloads", type=int, default=100, help="changes of the file")
    parser.add_argument("--results", type=Path, default=OVERLOAD, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    seconds = 60 * given.minutes
    effort = Effort(
        seconds=seconds, settle_s=min(60.0, seconds / 3), reloads=given.reloads, capacity_s=min(20.0, seconds / 4)
    )
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, machine_lock():
        results = {"machine": competitors.machine(), "load_before": before, **measure(Path(folder), effort)}
    results_file.store(given.results, results)
    print(json.dumps(results, indent=1))
    sys.exit(not all(results["holds"].values()))


if __name__ == "__main__":
    main()
