"""A range of sizes on a transformer: who is fastest in each bucket, what a size costs that is new, and memory.

``python -m benchmarks.size_ranges`` writes ``benchmarks/results/size_ranges.json``, in about three minutes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import intarsia
from benchmarks import competitors
from benchmarks.paired_benchmark import CONTROL, Contender, Effort, race
from intarsia.cost.worker.lock import machine_lock
from intarsia.runtime import thread_budget
from networks.unlike import text_encoder

RESULTS = Path(__file__).parent / "results" / "size_ranges.json"
RANGE = "1..128/2,16"
HIGHEST = 128
WIDTH = 256
INPUT = "words"
ENGINES = {"onnxruntime": "onnxruntime -optimization-level=all", "openvino": "openvino"}
BUDGET_S = 45.0
CALLS = 1000
SETTLED = 200
"""Calls behind which memory should no longer grow."""
EFFORT = Effort(sets=2, rounds=10, seconds=4.0, more_sets=1)
TOLERANCE = 1e-3
_LENGTHS = "--lengths"


def main() -> None:
    """Compile, race, and run through the lengths; or, asked by itself, only the last, in a process of its own."""
    if sys.argv[1:2] == [_LENGTHS]:
        print(json.dumps(_through_lengths(Path(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        artifacts, buckets = _artifacts(folder)
        with machine_lock():
            rows = [_bucket(bucket, artifacts, folder) for bucket in buckets]
            lengths = {engine: _in_a_process(path) for engine, path in artifacts.items()}
    told = {
        "network": "text_encoder",
        "range": RANGE,
        "machine": competitors.machine(),
        "versions": {name: competitors.versions().get(name) for name in ENGINES},
        "buckets": rows,
        "lengths": lengths,
    }
    RESULTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _artifacts(folder: Path) -> tuple[dict[str, Path], list[Mapping[str, Any]]]:
    """What the product ships for the range and each engine alone; and the product's buckets."""
    model, store = folder / "m.onnx", folder / "store.sqlite"
    onnx.save(text_encoder(), model)
    artifacts = {name: folder / f"{name}.intarsia" for name in (competitors.PRODUCT, *ENGINES)}
    shapes = {"seq": RANGE}
    with intarsia.compile(model, ", ".join(ENGINES.values()), shapes=shapes, budget=BUDGET_S, store=store) as compiled:
        compiled.save(artifacts[competitors.PRODUCT])
        buckets = list(compiled.report["buckets"])
    for name, target in ENGINES.items():
        with intarsia.compile(model, target, shapes=shapes, partition="greedy", budget=0, store=store) as compiled:
            compiled.save(artifacts[name])
    return artifacts, buckets


def _bucket(bucket: Mapping[str, Any], artifacts: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """A race at the size at which the bucket was measured."""
    size = bucket["measured_at"]["seq"]
    feeds = folder / "feeds.npz"
    np.savez(feeds, allow_pickle=False, **_feeds(size))
    contenders = [Contender(name=name, kind=competitors.PRODUCT, model=path) for name, path in artifacts.items()]
    result = race(contenders, feeds, thread_budget(), effort=EFFORT)
    speeds = {name: competitors.interval(result.ratio(competitors.PRODUCT, name)) for name in (*ENGINES, CONTROL)}
    row = {
        "seq": bucket["ranges"]["seq"],
        "measured_at": size,
        "shipped": list(dict.fromkeys(part["target"] for part in bucket["partitions"])),
        "speed_over": speeds,
        **competitors.figures(result),
    }
    low, high = row["seq"]
    times = ", ".join(f"{name} {value:.3g} ms" for name, value in row["median_ms"].items())
    print(f"seq {low} to {high}: {' + '.join(row['shipped'])}; {times}")
    return row


def _in_a_process(artifact: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.size_ranges", _LENGTHS, str(artifact)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{artifact.stem}: {told}")
    return told


def _through_lengths(artifact: Path) -> dict[str, float]:
    """Memory over calls of random lengths, and a call's time where the length is another one, or the same again.

    Raises:
        RuntimeError: A length that was run first and last, behind all the others, is answered differently.
    """
    import psutil

    rng, process = np.random.default_rng(0), psutil.Process()
    lengths = [1, HIGHEST, 2, 1, *rng.integers(1, HIGHEST, CALLS, endpoint=True).tolist()]
    probes = {length: _feeds(length) for length in (2, HIGHEST // 2, HIGHEST)}
    with intarsia.load(artifact) as model:
        before = {length: model(feeds)["meanings"] for length, feeds in probes.items()}
        changing, settled = [], 0
        for number, length in enumerate(lengths):
            changing.append(_ms(model, length))
            if number == SETTLED:
                settled = process.memory_info().rss
        grown = process.memory_info().rss - settled
        again = []
        for length in lengths[-100:]:
            _ms(model, length)
            again.append(_ms(model, length))
        for length, feeds in probes.items():
            if np.abs(model(feeds)["meanings"] - before[length]).max() > TOLERANCE:
                raise RuntimeError(f"{artifact.name} answers length {length} differently behind {CALLS} others")
    return {
        "mb_settled": round(settled / 1e6, 1),
        "mb_grown": round(grown / 1e6, 1),
        "another_length_ms": round(statistics.mean(changing[-SETTLED:]), 3),
        "same_length_ms": round(statistics.mean(again), 3),
    }


def _ms(model: intarsia.CompiledModel, length: int) -> float:
    feeds = _feeds(length)
    start = time.perf_counter()
    model(feeds)
    return (time.perf_counter() - start) * 1000


def _feeds(length: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(length)
    return {INPUT: rng.standard_normal((1, length, WIDTH)).astype(np.float32)}


if __name__ == "__main__":
    main()
