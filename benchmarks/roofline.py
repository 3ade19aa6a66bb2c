"""What no kernel here can beat: each network's arithmetic and memory traffic at the peaks measured on this machine.

``python -m benchmarks.roofline [NETWORK …]`` measures the peaks and adds to ``benchmarks/results/roofline.json``. Where
Winograd's method may be used, plain 3x3 convolutions count a quarter of their operations, as its F(4, 3) needs them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks import competitors, results_file
from benchmarks.paired_benchmark import screen
from intarsia.graph import Graph, Node, load_model
from intarsia.graph.work import bytes_moved, flops
from intarsia.runtime import thread_budget
from networks.assembly import Assembly

RESULTS = Path(__file__).parent / "results" / "roofline.json"
WINOGRAD_SHARE = 1 / 4
SIZE = 1536
"""Rows and columns of the product of matrices that shows the peak: 7.2 GFLOP."""
COPIED = 1 << 26
"""Numbers that each thread copies to show the bandwidth: more than any cache holds."""
REPEATS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What this machine does at most, all threads together.

    Attributes:
        flops_per_ms: Operations, a multiply-add counted as two.
        bytes_per_ms: Bytes from and to memory.
        cache_bytes: What the last cache may keep from one call to the next.
    """

    flops_per_ms: float
    bytes_per_ms: float
    cache_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Least milliseconds of one network.

    Attributes:
        direct_ms: Of kernels that convolve directly: all operations, or its weights, inputs and outputs as far as no
            cache keeps them, whichever takes longer.
        least_ms: Of any way to compute it: all its arithmetic, or its weights, inputs and outputs as far as no cache
            keeps them, whichever takes longer.
        unfused_ms: Of kernels that each read and write memory: the sum over the nodes of the longer of the two.
    """

    direct_ms: float
    least_ms: float
    unfused_ms: float


def bound(graph: Graph, peaks: Peaks) -> Bound:
    """The network's bounds at these peaks."""
    arithmetic_ms = {node.id: counted_flops(graph, node) / peaks.flops_per_ms for node in graph.nodes}
    traffic_ms = {node.id: bytes_moved(graph, node) / peaks.bytes_per_ms for node in graph.nodes}
    compulsory = max(0, _compulsory_bytes(graph) - peaks.cache_bytes)
    compulsory_ms = compulsory / peaks.bytes_per_ms
    return Bound(
        direct_ms=max(sum(flops(graph, node) for node in graph.nodes) / peaks.flops_per_ms, compulsory_ms),
        least_ms=max(sum(arithmetic_ms.values()), compulsory_ms),
        unfused_ms=sum(max(arithmetic_ms[id_], traffic_ms[id_]) for id_ in arithmetic_ms),
    )


def counted_flops(graph: Graph, node: Node) -> float:
    """Operations of a node, but for those that Winograd's algorithm saves."""
    return flops(graph, node) * (WINOGRAD_SHARE if takes_winograd(graph, node) else 1.0)


def takes_winograd(graph: Graph, node: Node) -> bool:
    """Whether it is a convolution of 3x3, with stride and dilation 1 and one group."""
    if node.op_type != "Conv" or node.domain:
        return False
    weight = graph.values[node.inputs[1]].shape
    steps = (
        *node.attributes.get("strides", ()),
        *node.attributes.get("dilations", ()),
        node.attributes.get("group", 1),
    )
    return weight is not None and weight[2:] == (3, 3) and set(steps) == {1}


def _compulsory_bytes(graph: Graph) -> int:
    borders = sum(graph.values[name].nbytes for name in (*graph.inputs, *graph.outputs))
    return borders + sum(weight.nbytes for weight in graph.weights.values())


def peaks() -> Peaks:
    """Measure this machine: a large product of matrices on the engine that is best at it, and a copy."""
    with tempfile.TemporaryDirectory() as folder:
        return Peaks(
            flops_per_ms=2 * SIZE**3 / _product_ms(Path(folder)),
            bytes_per_ms=_copied_bytes_per_ms(thread_budget()),
            cache_bytes=_cache_bytes(),
        )


def _product_ms(folder: Path) -> float:
    net = Assembly("product", seed=0)
    weight = net.weight("right", net.draw.normal("right", (SIZE, SIZE)))
    shape = (SIZE, SIZE)
    model = folder / "product.onnx"
    onnx.save(net.model(("left", shape), (net.node("MatMul", "product", "left", weight), shape)), model)
    feeds = competitors.save_feeds(model, folder)
    looks = screen(list(competitors.onnx_readers(model)), feeds, thread_budget(), folder, runs=REPEATS)
    return min(look.ms for look in looks.values())


def _copied_bytes_per_ms(threads: int) -> float:
    """The best of several copies by all threads at once, what is read and what is written both counted."""
    pairs = [(np.ones(COPIED, np.float32), np.zeros(COPIED, np.float32)) for _ in range(threads)]
    best_ms = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter_ns()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            best_ms = min(best_ms, (time.perf_counter_ns() - start) / 1e6)
    return sum(source.nbytes + copy.nbytes for source, copy in pairs) / best_ms


def _cache_bytes(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    sizes = [file.read_text(encoding="ascii").strip() for file in folder.glob("index*/size")]
    return max((int(size.removesuffix("K")) * 1024 for size in sizes), default=0)


def measure(name: str, folder: Path, of: Peaks) -> dict[str, Any]:
    """The bounds of a network, and what they come from."""
    graph = load_model(competitors.save_network(name, folder))
    return {
        **{key: round(ms, 4) for key, ms in asdict(bound(graph, of)).items()},
        "gflop": round(sum(flops(graph, node) for node in graph.nodes) / 1e9, 4),
        "gflop_with_winograd": round(sum(counted_flops(graph, node) for node in graph.nodes) / 1e9, 4),
        "compulsory_mb": round(_compulsory_bytes(graph) / 1e6, 2),
    }


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    directly, least = f"directly {found['direct_ms']:.2f} ms", f"at least {found['least_ms']:.2f} ms"
    return f"{directly}, {least}, {found['unfused_ms']:.2f} ms unfused"


def main() -> None:
    """Measure the peaks if they are not there, then the networks that are named, or all."""
    parser = results_file.arguments("roofline", "Bound each network by the peaks of this machine.", RESULTS)
    given = parser.parse_args()
    names = results_file.named(parser, given)
    results = results_file.load(given.results)
    if "peaks" not in results:
        results["peaks"] = asdict(peaks())
        results_file.store(given.results, results)
    of = Peaks(**results["peaks"])
    results_file.run(given.results, names, lambda name, folder: measure(name, folder, of), told)


if __name__ == "__main__":
    main()
