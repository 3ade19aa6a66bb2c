"""What an allowed error buys: each network, compiled with it, against ONNX Runtime at default settings, in fp32.

``python -m benchmarks.accuracy [NETWORK …] [--missing] [--allowed ERROR …]`` adds the figures to
``benchmarks/results/accuracy.json``; `benchmarks.goals` judges them. The error is measured from outside: the saved
artifact against ONNX Runtime's defaults on 32 inputs that no compile has seen. Wants a quiet machine; takes two to four
minutes a network and error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import intarsia
import networks
from benchmarks import competitors, results_file
from benchmarks.paired_benchmark import Contender, Effort, race
from intarsia.runtime import thread_budget
from intarsia.runtime.verify import distance

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
NETWORKS = ("bert_base", "vit_b16", "resnet18", "resnet50", "mobilenet_v2")
ALLOWED = (0.05, 0.01)
INPUTS = 32
FIRST_SEED = 500
BUDGET_S = 60.0
EFFORT = Effort(sets=3, rounds=10, seconds=8.0, more_sets=4, half_width=0.03)
Json = dict[str, Any]


def measure(name: str, budget_s: float, allowed: Sequence[float], folder: Path) -> Json:
    """Compile one network with each allowed error, race what ships, and see its error.

    Raises:
        IntarsiaError: It cannot be compiled.
        RuntimeError: A contender of the race died.
    """
    model = competitors.save_network(name, folder)
    feeds = competitors.save_feeds(model, folder)
    found = {str(each): _with(model, feeds, each, budget_s, folder) for each in allowed}
    return {"allowed": found, "void": any(each["void"] for each in found.values())}


def _with(model: Path, feeds: Path, allowed: float, budget_s: float, folder: Path) -> Json:
    store = folder / "store.sqlite"
    with intarsia.compile(model, max_error=allowed, budget=budget_s, store=store) as compiled:
        report = compiled.report
        artifact = compiled.save(folder / "rough.intarsia")
        errors = errors_of(model, compiled)
    product = Contender(name=competitors.PRODUCT, kind="intarsia", model=artifact)
    default = Contender(name=competitors.DEFAULT, kind=competitors.DEFAULT, model=model)
    result = race([product, default], feeds, thread_budget(), effort=EFFORT, may_leave=[competitors.DEFAULT])
    return {
        **competitors.figures(result),
        "speedup_over_onnxruntime_default": competitors.interval(
            result.ratio(competitors.DEFAULT, competitors.PRODUCT)
        ),
        "worst_error": max(errors),
        "mean_error": float(np.mean(errors)),
        "inputs": len(errors),
        "told": report["accuracy"],
        "chosen": report["chosen"],
        "reason": report["reason"],
        "layers": [_layers(part["precision"]) for part in report["partitions"]],
        "planning_s": report["search"]["seconds"],
    }


def errors_of(model: Path, answer: Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]) -> list[float]:
    """Of each input the error of the worst output, against ONNX Runtime's defaults."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = thread_budget()
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    errors = []
    for number in range(INPUTS):
        feeds = networks.feeds(model, FIRST_SEED + number)
        answers = answer(feeds)
        pairs = zip(names, session.run(names, feeds), strict=True)
        errors.append(max(distance(answers[name], expected) for name, expected in pairs))
    return errors


def _layers(precision: Mapping[str, Any] | None) -> dict[str, int]:
    """How many nodes compute in each scheme."""
    return {name: len(nodes) for name, nodes in (precision or {}).items() if name != "ranges"}


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    return "; ".join(
        f"{allowed}: {each['speedup_over_onnxruntime_default']['median']:.2f} times as fast as ONNX Runtime, "
        f"error {each['worst_error']:.4f}, {each['chosen']}{' (void)' if each['void'] else ''}"
        for allowed, each in found["allowed"].items()
    )


def main() -> None:
    """Run what is named, or all."""
    parser = results_file.arguments("accuracy", "Compile networks with an allowed error and race what ships.", RESULTS)
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS", help="of each compile")
    parser.add_argument(
        "--allowed", type=float, nargs="+", default=ALLOWED, metavar="ERROR", help="errors, each a compile"
    )
    given = parser.parse_args()
    given.networks = given.networks or list(NETWORKS)
    names = results_file.named(parser, given)
    measured = partial(measure, budget_s=given.budget, allowed=given.allowed)
    results_file.run(given.results, names, lambda name, folder: measured(name, folder=folder), told)


if __name__ == "__main__":
    main()
