"""`intarsia serve` beside another server of the same protocol: the same model, engine, threads and clients.

``python -m benchmarks.serving_beside`` serves two models of about a millisecond (one of fixed sizes, one of open
batches) by ONNX Runtime, each once, on one thread, with ``intarsia serve`` and with kserve's own server (a custom model
of a few lines, `benchmarks.kserve_program`, in an environment that is made for it). One client and 16 of h2load's ask
over HTTP with JSON, over HTTP with tensors as bytes and over gRPC. The servers take turns; Intarsia has two turns in
each round, of which the second is the control. It writes ``benchmarks/results/serving_beside.json``. Wants a quiet
machine; takes about twelve minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import competitors, results_file
from benchmarks.loopback_load import MODEL, Door, Turn, answer_over_http, doors, turn
from benchmarks.other_server import NAME, environment, other_server, versions
from benchmarks.paired_benchmark import CONTROL, CONTROL_LIMIT
from benchmarks.served_models import Served, fixed_size, open_batches
from benchmarks.serving import served
from benchmarks.serving_tables import BESIDE, OWN
from intarsia.cost.timing.statistics import median, median_interval, paired_ratios
from intarsia.cost.worker.lock import machine_lock

CLIENTS = (1, 16)
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured: rounds, and the seconds of each turn."""

    rounds: int
    seconds: float


FULL, QUICK = Effort(rounds=5, seconds=3.0), Effort(rounds=1, seconds=1.0)


def check_answers(found: Mapping[str, Door], addresses: Mapping[str, Mapping[str, str]]) -> None:
    """See that the servers answer alike.

    Raises:
        RuntimeError: They do not.
    """
    for name, door in found.items():
        if not door.is_grpc:
            own, other = (answer_over_http(door, addresses[each]["http"]) for each in (OWN, NAME))
            if own.shape != other.shape or not np.allclose(own, other, rtol=1e-4, atol=1e-4):
                raise RuntimeError(f"{name}: the servers do not answer alike")


def rounds(ask: Mapping[str, Callable[[], Turn]], count: int) -> Mapping[str, Sequence[Turn]]:
    """So many turns of each, in rounds; every other round is the other way round."""
    turns: dict[str, list[Turn]] = {name: [] for name in ask}
    for number in range(count):
        for name in ask if number % 2 == 0 else reversed([*ask]):
            turns[name].append(ask[name]())
    return turns


def figures(turns: Mapping[str, Sequence[Turn]]) -> Json:
    """Requests a second and milliseconds of each server, and how many times as many ours answers."""
    rates = {name: [each.per_second for each in own] for name, own in turns.items()}
    control = median(paired_ratios(rates[OWN], rates[CONTROL]))
    return {
        "per_second": {name: competitors.interval(median_interval(rates[name])) for name in (OWN, NAME)},
        "p50_ms": {name: median([each.p50_ms for each in turns[name]]) for name in (OWN, NAME)},
        "p99_ms": {name: median([each.p99_ms for each in turns[name]]) for name in (OWN, NAME)},
        "times_as_many": competitors.interval(median_interval(paired_ratios(rates[OWN], rates[NAME]))),
        "control": round(control, 4),
        "void": abs(control - 1) > CONTROL_LIMIT,
    }


def measure(model: Served, folder: Path, python: Path, effort: Effort) -> Json:
    """The figures by door and number of clients."""
    found, results = doors(model.x, "y"), Json()
    with served(model.artifact, 1) as own, other_server(python, {MODEL: model.onnx}, threads=1) as other:
        addresses = {OWN: own, NAME: other, CONTROL: own}
        check_answers(found, addresses)
        for name, door in found.items():
            for clients in CLIENTS:
                protocol = "grpc" if door.is_grpc else "http"
                asks: dict[str, Callable[[], Turn]] = {
                    server: lambda at=each[protocol], door=door, clients=clients: turn(  # type: ignore[misc]
                        door, at, clients, effort.seconds, folder
                    )
                    for server, each in addresses.items()
                }
                results.setdefault(name, {})[str(clients)] = figures(rounds(asks, effort.rounds))
    return results


def main() -> None:
    """Measure, write the figures and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving_beside", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short turn of each, to see that it works")
    parser.add_argument("--results", type=Path, default=BESIDE, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    python = environment(version("onnxruntime"))
    before = os.getloadavg()[0]
    effort = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory() as folder, machine_lock():
        place = Path(folder)
        models = {"fixed": fixed_size(place), "batches": open_batches(place)}
        results = {
            "machine": competitors.machine(),
            "versions": {OWN: version("intarsia"), NAME: dict(versions(python))},
            "load_before": before,
            **{
                name: {"batch": model.batch, "doors": measure(model, place, python, effort)}
                for name, model in models.items()
            },
        }
    results_file.store(given.results, results)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
