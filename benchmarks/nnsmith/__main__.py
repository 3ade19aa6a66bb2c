"""``python -m benchmarks.nnsmith [--count 500] [--seconds 50]``: that many generated models, each on a forced mix.

Models are taken in the order of their seeds; one that cannot be mixed, since an operator of it is taken by nobody or
only one engine takes any, is passed over and counted. What is found is added to ``benchmarks/results/nnsmith.json``;
calling it again goes on where it stopped. The status is 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.nnsmith.mix import as_json, try_seed
from intarsia.backends import registry

RESULTS = Path(__file__).parents[1] / "results" / "nnsmith.json"
COUNT = 500


def _version(engine: str) -> str | None:
    return registry.require(engine).version


def summary(
    models: Mapping[str, Mapping[str, Any] | None], version: Callable[[str], str | None] = _version
) -> dict[str, Any]:
    """Figures over all seeds so far, and every disagreement."""
    tried = {seed: row for seed, row in models.items() if row is not None}
    engines = Counter(engine for row in tried.values() for engine in row["engines"])
    return {
        "models": len(tried),
        "passed_over": len(models) - len(tried),
        "agree": sum("disagreement" not in row for row in tried.values()),
        "disagreements": {seed: row["disagreement"] for seed, row in tried.items() if "disagreement" in row},
        "values_compared": sum(row["compared"] for row in tried.values()),
        "values_unsteady": sum(row["unsteady"] for row in tried.values()),
        "partitions": sum(row["partitions"] for row in tried.values()),
        "embedded": sum(row["embed"] for row in tried.values()),
        "plans_with": {name: engines[name] for name in sorted(engines)},
        "versions": {name: version(name) for name in sorted(engines)},
    }


def _write(models: Mapping[str, Mapping[str, Any] | None]) -> None:
    rows = ",\n".join(f"  {json.dumps(seed)}: {json.dumps(row)}" for seed, row in models.items())
    head = json.dumps(summary(models), indent=1).removesuffix("\n}")
    RESULTS.write_text(f'{head},\n "seeds": {{\n{rows}\n }}\n}}\n', encoding="utf-8")


def main() -> None:
    """Try models until there are enough, or the time is spent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="models in all, those of earlier calls among them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further model after this time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    models = json.loads(RESULTS.read_text(encoding="utf-8"))["seeds"] if RESULTS.exists() else {}
    while sum(row is not None for row in models.values()) < arguments.count and time.monotonic() < end:
        seed = len(models)
        outcome = try_seed(seed)
        models[str(seed)] = None if outcome is None else as_json(outcome)
        if outcome is not None and outcome.disagreement is not None:
            print(seed, outcome.disagreement, flush=True)
        _write(models)
    found = summary(models)
    print(f"{found['agree']} of {found['models']} models agree, {found['passed_over']} were passed over")
    sys.exit(found["agree"] < found["models"])


if __name__ == "__main__":
    main()
