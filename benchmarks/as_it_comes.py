"""OpenVINO as it comes, which computes in bf16 on processors that have it, against what we ship at no larger an error.

``python -m benchmarks.as_it_comes [NETWORK …] [--missing]`` adds each network to
``benchmarks/results/as_it_comes.json``. The error of OpenVINO at its own defaults is measured from outside, on 32
inputs, against ONNX Runtime's defaults; that is the error which the compile may make. What ships, OpenVINO as it comes
and ONNX Runtime take turns in fresh processes. Wants a quiet machine; takes two to four minutes a network.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import intarsia
from benchmarks import competitors, results_file
from benchmarks.accuracy import errors_of
from benchmarks.paired_benchmark import Contender, Effort, race
from intarsia.runtime import thread_budget

RESULTS = Path(__file__).parent / "results" / "as_it_comes.json"
OTHER = "openvino as it comes"
BUDGET_S = 60.0
EFFORT = Effort(sets=3, rounds=10, seconds=6.0, more_sets=2, half_width=0.03)
Json = dict[str, Any]


def measure(name: str, budget_s: float, folder: Path) -> Json:
    """Compile one network with the error that OpenVINO makes by default, and race what ships.

    Raises:
        IntarsiaError: It cannot be compiled.
        ImportError: It needs the ``bench`` extra.
        RuntimeError: A contender of the race died.
    """
    model = competitors.save_network(name, folder)
    feeds = competitors.save_feeds(model, folder)
    allowed = max(errors_of(model, _as_it_comes(model)))
    with intarsia.compile(model, max_error=allowed, budget=budget_s, store=folder / "store.sqlite") as compiled:
        report = compiled.report
        artifact = compiled.save(folder / "rough.intarsia")
        errors = errors_of(model, compiled)
    contenders = [
        Contender(name=competitors.PRODUCT, kind="intarsia", model=artifact),
        Contender(name=OTHER, kind="openvino", model=model, options={"as_it_comes": True}),
        Contender(name=competitors.DEFAULT, kind=competitors.DEFAULT, model=model),
    ]
    result = race(contenders, feeds, thread_budget(), effort=EFFORT, may_leave=[competitors.DEFAULT])
    return {
        **competitors.figures(result),
        "times_as_fast": competitors.interval(result.ratio(OTHER, competitors.PRODUCT)),
        "speedup_over_onnxruntime_default": competitors.interval(
            result.ratio(competitors.DEFAULT, competitors.PRODUCT)
        ),
        "allowed": allowed,
        "worst_error": max(errors),
        "chosen": report["chosen"],
        "engines": [part["target"] for part in report["partitions"]],
        "reason": report["reason"],
        "planning_s": report["search"]["seconds"],
    }


def _as_it_comes(model: Path) -> Any:
    """OpenVINO with no setting but the number of threads."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would write to the home folder
    import openvino as ov

    compiled = ov.Core().compile_model(str(model), "CPU", {"INFERENCE_NUM_THREADS": thread_budget()})

    def answer(feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = compiled(dict(feeds))
        return {port.get_any_name(): np.array(value) for port, value in found.items()}

    return answer


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    times = found["times_as_fast"]
    return (
        f"{times['median']:.3f} ({times['low']:.3f} to {times['high']:.3f}) times as fast as OpenVINO as it comes, "
        f"error {found['worst_error']:.2g} of {found['allowed']:.2g}, {found['chosen']}, control {found['control']:.3f}"
        f"{' (void)' if found['void'] else ''}"
    )


def main() -> None:
    """Run what is named, or all."""
    parser = results_file.arguments("as_it_comes", (__doc__ or "").splitlines()[0], RESULTS)
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS", help="of each compile")
    given = parser.parse_args()
    names = results_file.named(parser, given)
    results_file.run(given.results, names, lambda name, folder: measure(name, given.budget, folder), told)


if __name__ == "__main__":
    main()
