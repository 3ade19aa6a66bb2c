"""Our own C against ONNX Runtime, both on one thread: how many times as long the engine ``c`` takes.

``python -m benchmarks.one_thread [NETWORK …] [--missing]`` adds the figures to ``benchmarks/results/one_thread.json``.
Each network is compiled with ``c`` alone, and races against ONNX Runtime at default settings in processes of their own.
The networks need the ``bench`` extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import competitors, results_file
from benchmarks.paired_benchmark import CONTROL, Contender, Effort, race
from intarsia.config import RunSettings, Spin
from intarsia.cost.worker.lock import machine_lock
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import build, plan_of, write_artifact
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "one_thread.json"
NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "squeezenet")
ENGINE = "c"
THREADS = 1
EFFORT = Effort(sets=3, rounds=10, seconds=8.0, more_sets=6, half_width=0.03)
Json = dict[str, Any]


def measure(name: str, folder: Path) -> Json:
    """Compile one network with the engine, and race it against ONNX Runtime's defaults.

    Raises:
        IntarsiaError: The engine does not take the network, or cannot be used here.
        RuntimeError: A contender of the race died, or does not answer as the other one.
        ImportError: The network needs the ``bench`` extra.
    """
    model = competitors.save_network(name, folder)
    feeds = competitors.save_feeds(model, folder)
    graph, artifact = load_model(model), folder / "model.intarsia"
    whole = Partition(target=Target(ENGINE), nodes=tuple(node.id for node in graph.nodes))
    settings = RunSettings(threads=THREADS, spin=Spin.CALL)
    write_artifact(artifact, graph, build(graph, plan_of(graph, [whole], settings)))
    with machine_lock():
        return compared(
            Contender(name=ENGINE, kind=competitors.PRODUCT, model=artifact),
            Contender(name=competitors.DEFAULT, kind=competitors.DEFAULT, model=model),
            feeds,
            folder,
        )


def compared(ours: Contender, other: Contender, feeds: Path, folder: Path, effort: Effort = EFFORT) -> Json:
    """Race two, once both are seen to compute the same.

    Raises:
        RuntimeError: One of them died, or they do not compute the same.
    """
    seen = competitors.look([ours, other], feeds, folder, THREADS)
    if ours.name not in seen.looks_ms:
        raise RuntimeError(f"{ours.name} does not answer as {other.name}: {seen.wrong.get(ours.name, 'it died')}")
    result = race([ours, other], feeds, THREADS, effort=effort, may_leave=[other.name])
    return {
        **competitors.figures(result),
        "times_as_long": competitors.interval(result.ratio(ours.name, other.name)),
        "control_interval": competitors.interval(result.ratio(ours.name, CONTROL)),
    }


def table(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The rows of the table in the docs, the header first; networks that could not be measured are left out."""
    yield ("network", "ONNX Runtime, ms", "`c`, ms", "times as long", "`c` against itself")
    for name, entry in found["networks"].items():
        if "failed" in entry:
            continue
        ms, ratio = entry["median_ms"], entry["times_as_long"]
        yield (
            name,
            f"{ms[competitors.DEFAULT]:.1f}",
            f"{ms[ENGINE]:.1f}",
            f"**{ratio['median']:.2f}** ({ratio['low']:.2f} to {ratio['high']:.2f}){' (void)' * entry['void']}",
            f"{entry['control']:.3f}",
        )


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    ratio = found["times_as_long"]
    return (
        f"{ratio['median']:.2f} times as long as ONNX Runtime ({ratio['low']:.2f} to {ratio['high']:.2f}), "
        f"control {found['control']:.3f}{' (void)' * found['void']}"
    )


def main() -> None:
    """Run what is named, or all."""
    parser = results_file.arguments("one_thread", "Race the engine c against ONNX Runtime on one thread.", RESULTS)
    given = parser.parse_args()
    given.networks = given.networks or list(NETWORKS)
    results_file.run(given.results, results_file.named(parser, given), measure, told)


if __name__ == "__main__":
    main()
