"""How long requests take at one to a thousand replicas: a simulation, held to what one, two and four replicas do here.

``python -m benchmarks.scale`` serves a model of some milliseconds in one, two and four processes that are bound to the
cores of this machine in turn. Requests come at random times, at a rate that keeps each core busy for a part of it, and
are sent to a replica that is drawn, or to the one of two that has fewer in hand. Before, it measures what a request
takes of a core that has nothing else to do, and how many requests a door lets through. From these figures alone
`benchmarks.queue_simulation` predicts the times; then it goes on to fleets that are not here. Figures are written to
``benchmarks/results/scale.json``. Wants a quiet machine, and about ten minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from benchmarks import competitors, results_file
from benchmarks.queue_simulation import Fleet, Policy, Seconds, poisson, simulate
from benchmarks.served_models import feed, write_model
from benchmarks.serving import over_grpc, per_second, served
from intarsia.cost.worker.lock import machine_lock
from intarsia.runtime.executors.pinning import pinned
from intarsia.serving.grpc.messages import SERVICE, messages

RESULTS = Path(__file__).parent / "results" / "scale.json"
LAYERS = 160
"""Of the model: a request takes some milliseconds, so that what the client computes beside it is little."""
LOAD = 0.6
"""Part of the time that the cores are busy."""
HERE = (
    *((1, Policy.RANDOM), (2, Policy.RANDOM), (2, Policy.TWO_CHOICES)),
    *((4, Policy.RANDOM), (4, Policy.TWO_CHOICES)),
)
"""Replicas that are measured, and which one of them a request goes to."""
UNBOUNDED = ("--queue", "10000", "--timeout", "600")
"""Nothing is refused: the simulation has no bounds either."""
FLEETS = (1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1000)
POLICIES = (Policy.RANDOM, Policy.TWO_CHOICES)
ASKING = 16
NETWORK_BITS_S = 10e9
"""What a machine's network carries, as stated by those who rent such machines out; it is not measured here."""
BUSY = 0.8
"""Part of what a door, or a network, can do at which it is said to limit the fleet: queues grow fast from there on."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured, and simulated.

    Attributes:
        rounds: How often each number of replicas has its turn.
        requests: In each round.
        calls: By which it is known what a request takes.
        door_seconds: For what a door lets through.
        simulated: Requests of the simulation of a fleet: the 99th percentile of 200,000 is known to about a hundredth.
    """

    rounds: int
    requests: int
    calls: int
    door_seconds: float
    simulated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the predictions are made from.

    Attributes:
        demands_s: What requests took one after the other, at a replica with a core of its own.
        door_s: What a door takes for a request, by how many it answered that ask for nothing.
        bytes: Sent and received for a request.
    """

    demands_s: Seconds
    door_s: float
    bytes: int

    @property
    def mean_s(self) -> float:
        """What a request takes in the mean."""
        return float(self.demands_s.mean())


@contextmanager
def replicas(artifact: Path, number: int) -> Iterator[list[str]]:
    """The gRPC addresses of so many servers of one instance, bound to the cores of this process in turn."""
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        addresses = []
        for replica in range(number):
            with pinned((cores[replica % len(cores)],)):  # which those that are started inherit
                addresses.append(stack.enter_context(served(artifact, 1, *UNBOUNDED))["grpc"])
        yield addresses


def demands(address: str, calls: int) -> Seconds:
    """Seconds of calls one after the other."""
    ask, taken = over_grpc(address, feed()), []
    for _ in range(calls + 20):
        began = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - began)
    return np.array(taken[20:])


def method(channel: Any, name: str) -> Any:
    """A call of the protocol on a channel."""
    kinds = messages()
    return channel.unary_unary(
        f"/{SERVICE}/{name}",
        request_serializer=getattr(kinds, f"{name}Request").SerializeToString,
        response_deserializer=getattr(kinds, f"{name}Response").FromString,
    )


def door(address: str, seconds: float) -> float:
    """Seconds that a server takes for a request that asks whether it lives, while many ask."""
    kinds = messages()
    with ExitStack() as stack:
        options = [("grpc.use_local_subchannel_pool", 1)]
        channels = [stack.enter_context(grpc.insecure_channel(address, options=options)) for _ in range(ASKING)]
        calls = [method(channel, "ServerLive") for channel in channels]
        return 1.0 / per_second([partial(call, kinds.ServerLiveRequest()) for call in calls], seconds)


def measured(artifact: Path, effort: Effort) -> Measured:
    """What the predictions are made from."""
    with replicas(artifact, 1) as (address,):
        found = demands(address, effort.calls)
        return Measured(demands_s=found, door_s=door(address, effort.door_seconds), bytes=2 * feed().nbytes)


def schedule(here: Measured, number: int, requests: int, seed: int) -> Seconds:
    """When requests come to so many replicas on the cores of this process."""
    cores = min(number, len(os.sched_getaffinity(0)))
    return poisson(LOAD * cores / here.mean_s, requests, np.random.default_rng(seed))


async def asked(addresses: Sequence[str], arrivals_s: Seconds, policy: Policy, seed: int) -> Seconds:
    """Seconds of each request, from when it was to be sent to its answer."""
    kinds, x = messages(), feed()
    request = kinds.ModelInferRequest(model_name="m", raw_input_contents=[x.tobytes()])
    request.inputs.add(name="x", datatype="FP32", shape=x.shape)
    rng, in_hand = np.random.default_rng(seed), [0] * len(addresses)
    taken = np.empty_like(arrivals_s)

    async def one(number: int, due: float, replica: int) -> None:
        in_hand[replica] += 1
        await calls[replica](request)
        in_hand[replica] -= 1
        taken[number] = time.perf_counter() - due

    async with _Channels(addresses) as channels:
        calls = [method(channel, "ModelInfer") for channel in channels]
        await asyncio.gather(*(call(request) for call in calls))
        began, running = time.perf_counter() + 0.1, []
        for number, arrival in enumerate(arrivals_s):
            due = began + arrival
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            drawn = rng.integers(len(addresses), size=2)
            replica = int(drawn[0] if policy is Policy.RANDOM else min(drawn, key=in_hand.__getitem__))
            running.append(asyncio.create_task(one(number, due, replica)))
        await asyncio.gather(*running)
    return taken


class _Channels:
    """One channel to each address."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._channels = [grpc.aio.insecure_channel(address) for address in addresses]

    async def __aenter__(self) -> list[grpc.aio.Channel]:
        return self._channels

    async def __aexit__(self, *_: object) -> None:
        for channel in self._channels:
            await channel.close()


def figures(taken_s: Seconds) -> Json:
    """Milliseconds: the median, and what 99 of 100 stay below."""
    return {f"p{p}_ms": round(1e3 * float(np.percentile(taken_s, p)), 3) for p in (50, 99)}


def compared(artifact: Path, here: Measured, effort: Effort) -> list[Json]:
    """What each number of replicas does here, and what was predicted of it."""
    cores = len(os.sched_getaffinity(0))
    taken: dict[int, list[Seconds]] = {place: [] for place in range(len(HERE))}
    for turn in range(effort.rounds):
        for place, (number, policy) in enumerate(HERE):
            with replicas(artifact, number) as addresses:
                arrivals = schedule(here, number, effort.requests, turn)
                taken[place].append(asyncio.run(asked(addresses, arrivals, policy, turn)))
    rows = []
    for place, (number, policy) in enumerate(HERE):
        fleet = Fleet(replicas=number, cores=cores, policy=policy)
        parts = []
        for turn in range(effort.rounds):
            arrivals = schedule(here, number, effort.requests, turn)
            for repeat in range(10):
                rng = np.random.default_rng([turn, repeat])
                parts.append(simulate(arrivals, rng.choice(here.demands_s, len(arrivals)), fleet, rng))
        rows.append(
            {
                "replicas": number,
                "policy": policy.value,
                "measured": figures(np.concatenate(taken[place])),
                "rounds": [figures(each) for each in taken[place]],
                "predicted": figures(np.concatenate(parts)),
            }
        )
    return rows


def projected(here: Measured, simulated: int) -> list[Json]:
    """What fleets with a core for each replica would do at the same load, and what limits them first."""
    rows = []
    for number in FLEETS:
        rate = LOAD * number / here.mean_s
        doors = max(1, int(np.ceil(rate * here.door_s / BUSY)))
        bits = 8 * here.bytes * rate
        row: Json = {"replicas": number, "requests_s": round(rate, 1), "doors": doors, "bits_s": round(bits)}
        for policy in POLICIES:
            rng = np.random.default_rng(number)
            fleet = Fleet(replicas=number, cores=number, policy=policy, doors=doors, door_s=here.door_s)
            arrivals = poisson(rate, simulated, rng)
            row[policy.value] = figures(simulate(arrivals, rng.choice(here.demands_s, simulated), fleet, rng))
        rows.append({**row, "first_limit": first_limit(doors, bits)})
    return rows


def first_limit(doors: int, bits_s: float) -> str:
    """What a fleet runs out of first if it gets more requests."""
    if bits_s > BUSY * NETWORK_BITS_S:
        return "the network of the machine with the doors"
    return "the door" if doors > 1 else "the replicas"


def main() -> None:
    """Measure, predict, write the figures and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few requests, to see that it works")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    effort = (
        Effort(rounds=1, requests=200, calls=50, door_seconds=0.5, simulated=3_000)
        if given.quick
        else Effort(rounds=3, requests=3_000, calls=1_000, door_seconds=5.0, simulated=200_000)
    )
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, machine_lock():
        artifact = Path(folder) / "m.intarsia"
        write_model(artifact, LAYERS)
        here = measured(artifact, effort)
        results = {
            "machine": competitors.machine(),
            "engines": competitors.versions(),
            "load_before": before,
            "load": LOAD,
            "demand": {"mean_ms": round(1e3 * here.mean_s, 3), **figures(here.demands_s)},
            "door_ms": round(1e3 * here.door_s, 4),
            "bytes": here.bytes,
            "here": compared(artifact, here, effort),
            "fleets": projected(here, effort.simulated),
        }
    results_file.store(given.results, results)
    print("\n".join(told(results)))


def told(results: Mapping[str, Any]) -> Iterator[str]:
    """The figures as a paragraph and two tables."""
    yield demand_text(results)
    yield ""
    yield from here_table(results)
    yield ""
    yield from fleet_table(results)


def demand_text(results: Mapping[str, Any]) -> str:
    """What the predictions were made from."""
    demand, machine = results["demand"], results["machine"]
    return (
        f"On {machine['cpu']}: a request takes {demand['mean_ms']:.1f} ms in the mean of a replica that does nothing "
        f"else\n(median {demand['p50_ms']:.1f}, 99th percentile {demand['p99_ms']:.1f}). A server answers "
        f"{1e3 / results['door_ms']:,.0f} requests a second that ask for nothing.\nA request and its answer weigh "
        f"{results['bytes'] / 1e3:.0f} kB."
    )


def here_table(results: Mapping[str, Any]) -> Iterator[str]:
    """What was predicted of replicas on this machine, beside what they did."""
    yield "| replicas | a request goes to | p50, ms | predicted | p99, ms | predicted | ratio |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in results["here"]:
        ours, theirs = row["measured"], row["predicted"]
        pairs = " | ".join(f"{ours[name]:.1f} | {theirs[name]:.1f}" for name in ("p50_ms", "p99_ms"))
        ratio = theirs["p99_ms"] / ours["p99_ms"]
        yield f"| {row['replicas']} | {GOES_TO[row['policy']]} | {pairs} | {ratio:.2f} |"


def fleet_table(results: Mapping[str, Any]) -> Iterator[str]:
    """What fleets would do that are not here."""
    yield "| replicas | requests/s | doors | Gbit/s | p99 if drawn, ms | p99 of two choices, ms | what is short first |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for row in results["fleets"]:
        times = " | ".join(f"{row[policy.value]['p99_ms']:.1f}" for policy in POLICIES)
        rate, bits = f"{row['requests_s']:,.0f}", f"{row['bits_s'] / 1e9:.2f}"
        yield f"| {row['replicas']:,} | {rate} | {row['doors']} | {bits} | {times} | {row['first_limit']} |"


GOES_TO = {Policy.RANDOM.value: "one that is drawn", Policy.TWO_CHOICES.value: "the less busy of two"}

if __name__ == "__main__":
    main()
