"""What serving costs: a request over HTTP and gRPC against the call in the process, and what many clients get.

``python -m benchmarks.serving`` builds two models of about a millisecond on one engine (one of fixed sizes, and one of
open batches, which is compiled for requests), serves each in a process of its own on loopback, and writes
``benchmarks/results/serving.json``. With one client, calls in the process, over HTTP (tensors
as bytes, kept connection, the standard library's client) and over gRPC (raw tensors) take turns, so that what slows the
machine slows all alike. Clients in Python take a good part of that time themselves, so that one client of h2load, which
is C, has turns as well. With 16 clients of h2load, the requests per second of each are compared with the best that
threads of one process get from so many loaded models. The server and that process have the same cores, and the clients
have others where there is more than one.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from benchmarks import competitors, results_file
from benchmarks.loopback_load import MODEL, Turn, doors, turn
from benchmarks.served_models import Served, fixed_size, open_batches
from benchmarks.serving_tables import IN_PROCESS, SERVING
from intarsia.cost.worker.lock import machine_lock
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.executors.pinning import pinned
from intarsia.serving.grpc.messages import SERVICE, messages
from tests.serving.process import serving

CLIENTS = 16
_ROUNDS_OF_A_TURN = 10
"""Rounds of calls for each turn of a client in C."""
Json = dict[str, Any]
Ask = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured: rounds, calls of each sort in a round, seconds of each sort with many clients."""

    rounds: int
    calls: int
    seconds: float


def over_http(address: str, x: np.ndarray) -> Ask:
    """A request over HTTP with tensors as bytes, on one connection."""
    connection = http.client.HTTPConnection(address)
    tensor = {"name": "x", "datatype": "FP32", "shape": list(x.shape), "parameters": {"binary_data_size": x.nbytes}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}

    def ask() -> np.ndarray:
        connection.request("POST", f"/v2/models/{MODEL}/infer", head + x.tobytes(), headers)
        response = connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(content)
        return np.frombuffer(content[int(response.headers["Inference-Header-Content-Length"]) :], np.float32)

    return ask


def over_grpc(address: str, x: np.ndarray) -> Ask:
    """A request over gRPC with raw tensors, on one channel."""
    kinds = messages()
    channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
    call = channel.unary_unary(
        f"/{SERVICE}/ModelInfer",
        request_serializer=kinds.ModelInferRequest.SerializeToString,
        response_deserializer=kinds.ModelInferResponse.FromString,
    )

    def ask() -> np.ndarray:
        request = kinds.ModelInferRequest(model_name=MODEL, raw_input_contents=[x.tobytes()])
        request.inputs.add(name="x", datatype="FP32", shape=x.shape)
        return np.frombuffer(call(request).raw_output_contents[0], np.float32)

    return ask


ASKED: Mapping[str, Callable[[str, np.ndarray], Ask]] = {"http": over_http, "grpc": over_grpc}


@contextmanager
def served(artifact: Path, instances: int, *options: str) -> Iterator[Mapping[str, str]]:
    """The addresses of a server by protocol; ``options`` are more of ``intarsia serve``."""
    with serving(f"{MODEL}={artifact}", "--instances", str(instances), *options) as server:
        yield {"http": server.http, "grpc": server.grpc}


def one_client(served_model: Served, effort: Effort, folder: Path) -> Json:
    """Milliseconds of each sort of call, which take turns, and of the same requests by a client in C."""
    artifact, x = served_model.artifact, served_model.x
    ways = doors(x, "y")
    turns: dict[str, list[Turn]] = {name: [] for name in ways}
    with served(artifact, 1) as addresses, CompiledModel(Artifact(artifact)) as model:
        asks: dict[str, Ask] = {name: ask(addresses[name], x) for name, ask in ASKED.items()}
        asks[IN_PROCESS] = lambda: model({"x": x.copy()})
        taken: dict[str, list[float]] = {name: [] for name in asks}
        for number in range(effort.rounds + 1):
            for name, ask in asks.items():
                for _ in range(effort.calls):
                    before = time.perf_counter()
                    ask()
                    if number:  # the first round warms up
                        taken[name].append(1e3 * (time.perf_counter() - before))
            if number % _ROUNDS_OF_A_TURN == 1:
                for name, door in ways.items():
                    address = addresses["grpc" if door.is_grpc else "http"]
                    turns[name].append(turn(door, address, 1, effort.seconds / 4, folder))
    figures = {name: {f"p{p}": float(np.percentile(ms, p)) for p in (10, 50, 99)} for name, ms in taken.items()}
    for name, of_door in turns.items():
        figures[name] = {
            "p50": float(np.median([each.p50_ms for each in of_door])),
            "p99": float(np.median([each.p99_ms for each in of_door])),
        }
    base = figures[IN_PROCESS]["p50"]
    return {
        "ms": figures,
        "p50_overhead_ms": {name: ms["p50"] - base for name, ms in figures.items() if name != IN_PROCESS},
    }


def per_second(work: Sequence[Ask], seconds: float) -> float:
    """Calls per second of threads that each repeat one of these."""
    counts, stop = [0] * len(work), threading.Event()

    def repeat(place: int) -> None:
        while not stop.is_set():
            work[place]()
            counts[place] += 1

    threads = [threading.Thread(target=repeat, args=(place,)) for place in range(len(work))]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    took = time.perf_counter() - began
    for thread in threads:
        thread.join()
    return sum(counts) / took


def divided(cores: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cores for what answers, and those for the clients, a quarter of all; the same one where there is one."""
    most = max(1, len(cores) // 4)
    return tuple(cores[:-most] or cores), tuple(cores[-most:])


def many_clients(served_model: Served, effort: Effort, folder: Path) -> Json:
    """Requests per second of 16 clients, and of one process with as many threads as loaded models, by their number.

    Both have the same cores, and the clients have others: what they take themselves is told beside.
    """
    artifact, x = served_model.artifact, served_model.x
    ways = doors(x, "y")
    found: dict[str, list[float]] = {}
    clients: dict[str, list[Turn]] = {}
    own, theirs = divided(sorted(os.sched_getaffinity(0)))
    with pinned(own), ExitStack() as stack:
        models = [stack.enter_context(CompiledModel(Artifact(artifact))) for _ in own]
        works = [[lambda model=model: model({"x": x.copy()}) for model in models[: n + 1]] for n in range(len(own))]
        addresses = stack.enter_context(served(artifact, len(own)))
        for _ in range(max(3, effort.rounds // 10)):
            for work in works:
                found.setdefault(f"{IN_PROCESS}, {len(work)}", []).append(per_second(work, effort.seconds))
            for name, door in ways.items():
                address = addresses["grpc" if door.is_grpc else "http"]
                clients.setdefault(name, []).append(turn(door, address, CLIENTS, effort.seconds, folder, theirs))
    rates = {name: float(np.median(each)) for name, each in found.items()}
    most = max(rates.values())
    rates |= {name: float(np.median([each.per_second for each in turns])) for name, turns in clients.items()}
    return {
        "cores": {"answering": len(own), "clients": len(theirs), "shared": own == theirs},
        "per_second": rates,
        "of_best_in_process": {name: rates[name] / most for name in clients},
        "p99_ms": {name: float(np.median([each.p99_ms for each in turns])) for name, turns in clients.items()},
        "cores_of_clients_at_work": {
            name: float(np.median([each.cores_at_work for each in turns])) for name, turns in clients.items()
        },
    }


def main() -> None:
    """Measure, write the figures and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few calls, to see that it works")
    parser.add_argument("--results", type=Path, default=SERVING, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    effort = Effort(rounds=3, calls=20, seconds=0.5) if given.quick else Effort(rounds=60, calls=50, seconds=4.0)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, machine_lock():
        place = Path(folder)
        models = {"fixed": fixed_size(place), "batches": open_batches(place)}
        results = {
            "machine": competitors.machine(),
            "engines": competitors.versions(),
            "load_before": before,
            "clients": CLIENTS,
            **{
                name: {
                    "batch": model.batch,
                    "one_client": one_client(model, effort, place),
                    "many_clients": many_clients(model, effort, place),
                }
                for name, model in models.items()
            },
        }
    results_file.store(given.results, results)
    print(json.dumps({name: results[name] for name in ("load_before", *models)}, indent=1))


if __name__ == "__main__":
    main()
