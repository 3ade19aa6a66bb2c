"""How long a look-up and a warm compile take with a thousand records and with a million, in SQLite and in PostgreSQL.

``python -m benchmarks.record_stores [--records N]`` fills stores of both kinds, looks up records in a random order as
they grow, and compiles a network whose times are all in the store, with few and with many records in turns. It writes
``benchmarks/results/record_stores.json`` and prints the table. It starts a server of PostgreSQL of its own, and wants a
machine with nothing else on it, 6 GB on the disk and about half an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import networks
from benchmarks import competitors
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Record, Store
from tests.postgres import Cluster, running

RESULTS = Path(__file__).parent / "results" / "record_stores.json"
FEW, MANY = 1_000, 1_000_000
AT_ONCE = 10_000
LOOK_UPS = 3_000
COMPILES, FIRST = 7, 2
TARGET = "onnxruntime"
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
Json = dict[str, Any]


def facts(number: int) -> Json:
    """Facts of the size that a partition's have."""
    return {
        "engines": {"onnxruntime": "1.30.0"},
        "graph": f"{number:064x}",
        "machine": f"{number % 50:032x}",
        "partitions": [["onnxruntime -threads=2", [f"node{number % 97}.{each}" for each in range(20)]]],
        "settings": {"threads": 2, "spin": "on", "parallel": False, "bound": True},
    }


def made(first: int, last: int) -> Iterator[Record]:
    """Records as a fleet would have measured them."""
    for number in range(first, last):
        outcome = {"samples_ms": [1.0 + each / 7 for each in range(30)], "compile_s": 0.5, "load_s": 0.1, "error": 1e-6}
        provenance = {"model": f"/models/{number % 1000}.onnx"}
        yield Record(
            kind="partition", facts=facts(number), outcome=outcome, provenance=provenance, made_at=1e9 + number
        )


def sizes(count: int) -> tuple[int, ...]:
    """The numbers of records at which a store is looked at while it grows: each ten times the one before."""
    return (*(size for size in (FEW, 10 * FEW, 100 * FEW) if size < count), count)


def filled(named: str, first: int, count: int) -> Json:
    """Fill a store that holds so many records up to so many, and tell how long that took."""
    store = Store(named)
    began = time.perf_counter()
    for start in range(first, count, AT_ONCE):
        store.add(made(start, min(count, start + AT_ONCE)))
    return {"records": count, "added": count - first, "seconds_to_fill": round(time.perf_counter() - began, 1)}


def looked_up(named: str, count: int) -> Json:
    """Milliseconds of a look-up: of what is there, and of what is not."""
    store, rng = Store(named), random.Random(0)
    found: Json = {}
    for what, start in (("hit", 0), ("miss", count)):
        times = []
        for _ in range(LOOK_UPS):
            key = Key(facts=facts(start + rng.randrange(count)))
            began = time.perf_counter()
            outcome = store.get(key, "partition")
            times.append(1e3 * (time.perf_counter() - began))
            assert (outcome is None) is (what == "miss")
        found[f"{what}_ms"] = {"median": round(median(times), 3), "p99": round(quantiles(times, n=100)[-1], 3)}
    return found


def compiled(model: Path, named: str, output: Path) -> tuple[float, int]:
    """Seconds of a compile in a process of its own, and how much it measured."""
    line = (
        "compile",
        model,
        "--target",
        TARGET,
        "--budget",
        20,
        "--partition",
        "single",
        "--store",
        named,
        "-o",
        output,
        "--json",
        "-q",
    )
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "intarsia", *map(str, line)], capture_output=True, check=True)
    return time.perf_counter() - began, int(json.loads(done.stdout)["search"]["measured"])


def warm(model: Path, stores: Sequence[str], folder: Path) -> list[list[float]]:
    """Seconds of warm compiles with each store, in turns; none on a machine so busy that no benchmark decides anything.

    A benchmark that decided nothing is run again, so that compile is none of these.
    """
    found: list[list[float]] = [[] for _ in stores]
    for _ in range(COMPILES + FIRST):
        for named, seconds in zip(stores, found, strict=True):
            took, measured = compiled(model, named, folder / "warm.intarsia")
            if not measured:
                seconds.append(took)
    return found


def on_disk(named: str, server: Cluster) -> int:
    """Bytes of a store: of its files, or of the database, which holds the small stores beside it."""
    if named.startswith("postgresql"):
        return int(server.sql("SELECT pg_database_size(current_database())")[0][0])
    return sum(path.stat().st_size for path in Path(named).parent.glob(f"{Path(named).name}*"))


def grown(named: str, count: int, server: Cluster) -> list[Json]:
    """The figures of a store at each of its sizes."""
    rows, first = [], 0
    for size in sizes(count):
        row = filled(named, first, size)
        rows.append({**row, "bytes": on_disk(named, server), **looked_up(named, size)})
        first = size
    return rows


def places(folder: Path, server: Cluster) -> dict[str, list[str]]:
    """Two stores in each kind of database."""
    return {
        "sqlite": [str(folder / "few.sqlite"), str(folder / "many.sqlite")],
        "postgresql": [server.url(server.schema()), server.url(server.schema())],
    }


def measured(count: int) -> Json:
    """All figures."""
    results: Json = {"machine": competitors.machine(), "network": "tiny", "stores": {}}
    with tempfile.TemporaryDirectory() as made_here, running() as server:
        folder = Path(made_here)
        model = networks.save("tiny", folder)
        for kind, stores in places(folder, server).items():
            few, many = stores
            filled(few, 0, min(FEW, count))
            rows = grown(many, count, server)
            for row, seconds in zip((rows[0], rows[-1]), warm(model, (few, many), folder), strict=True):
                row["warm_compile_s"] = [round(each, 2) for each in seconds]
            results["stores"][kind] = rows
    return results


def projected(rows: Sequence[Json]) -> Json:
    """A store of ten times the records of its last row: look-ups by the logarithm of it, bytes in proportion."""
    before, last = rows[-2:]
    step = 1.0 / math.log10(last["records"] / before["records"])
    found: Json = {"records": 10 * last["records"], "bytes": 10 * last["bytes"]}
    for what in ("hit_ms", "miss_ms"):
        found[what] = {
            name: max(last[what][name], last[what][name] + step * (last[what][name] - before[what][name]))
            for name in ("median", "p99")
        }
    return found


def table(results: Mapping[str, Any]) -> Iterator[str]:
    """The figures, with what a larger store would do."""
    yield "| store | records | MB | look-up, ms (p99) | of what is not there | warm compile, s |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for kind, rows in results["stores"].items():
        for row in (*rows, *([projected(rows)] if len(rows) > 1 else ())):
            figures = [f"{row[each]['median']:.2f} ({row[each]['p99']:.2f})" for each in ("hit_ms", "miss_ms")]
            warm_s = row.get("warm_compile_s")
            figures.append("" if warm_s is None else f"{median(warm_s):.2f}" if warm_s else "void")
            records = f"{row['records']:,}{'' if row in rows else ', predicted'}"
            yield f"| {NAMES[kind]} | {records} | {row['bytes'] / 1e6:,.0f} | {' | '.join(figures)} |"


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.record_stores", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--records", type=int, default=MANY, metavar="N", help="how many are many")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    results = measured(given.records)
    draft = given.results.with_suffix(".tmp")
    draft.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, given.results)
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
