"""Puts the figures of ``benchmarks/results`` into the README: ``python -m benchmarks.table``.

No figure in the README is typed by hand; a test compares the two. ``--suite`` prints the suite's table instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import networks, suite
from benchmarks.field import BASELINES, DEFAULT, PRODUCT
from benchmarks.road import RESULTS

README = Path(__file__).parents[1] / "README.md"
DEMO = RESULTS.with_name("demo.txt")
ENGINES = ("openvino", "mnn", "ncnn")
HEADER = ("network", "ORT default", "ORT tuned", "OpenVINO", "MNN", "ncnn", "Intarsia", "time ÷ best single", "ships")


def render(readme: str, results: dict[str, Any], demo: str) -> str:
    """The README with every marked part written anew."""
    for name, text in {
        "demo": f"```\n{demo.strip()}\n```",
        "networks": _networks(results),
        "manual": _manual(results["manual"]),
        "overhead": _overhead(results["overhead"]),
        "machine": _machine(results["machine"]),
    }.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = readme.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"the README has no place marked {begin} … {end}")
        readme = f"{before}{begin}\n{text}\n{end}{after}"
    return readme


def _networks(results: dict[str, Any]) -> str:
    rows = [HEADER, ("---",) + ("---:",) * (len(HEADER) - 2) + ("---",)]
    rows += [_network(name, results[name]) for name in networks.NAMES if name in results]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _network(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    times = found["median_ms"]
    tuned = [ms for key, ms in times.items() if key.startswith("onnxruntime-") and key != DEFAULT]
    ratio = found["time_over_best_single"]
    void = " (void)" if found["void"] else ""
    return (
        name,
        _ms(times.get(DEFAULT)),
        _ms(min(tuned, default=_look(found, "onnxruntime"))),
        *(_ms(_raced(found, engine) or _look(found, engine)) for engine in ENGINES),
        _ms(times[PRODUCT]),
        f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}){void}",
        " → ".join(dict.fromkeys(part["target"].split()[0] for part in found["compile"]["partitions"])),
    )


def _raced(found: dict[str, Any], engine: str) -> float | None:
    """The best of an engine's settings in the race; a setting is written behind the engine's name."""
    return min((ms for key, ms in found["median_ms"].items() if key.split()[0] == engine), default=None)


def _look(found: dict[str, Any], engine: str) -> float | None:
    """The first look at an engine that was too slow to race."""
    return min(
        (ms for key, ms in found["first_look_ms"].items() if key.startswith(engine) and key != DEFAULT), default=None
    )


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _manual(found: dict[str, Any]) -> str:
    ratio = found["time_over_onnxruntime"]
    return (
        f"{found['median_ms']['23 pieces']:.1f} ms in pieces, {found['median_ms'][found['best_onnxruntime']]:.1f} ms "
        f"on ONNX Runtime alone: {ratio['median']:.2f} times the time ({ratio['low']:.2f} to {ratio['high']:.2f}); "
        f"the sum of the pieces predicted {found['predicted_over_measured']:.2f} of what was measured."
    )


def _overhead(found: dict[str, Any]) -> str:
    ratio, control = found["time_over_session"], found["control"]
    return (
        f"{found['median_ms'][PRODUCT]:.3f} ms against {found['median_ms']['session']:.3f} ms: {ratio['median']:.3f} "
        f"times ({ratio['low']:.3f} to {ratio['high']:.3f}); a second session: {control['median']:.3f}."
    )


def _machine(found: dict[str, Any]) -> str:
    return f"{found['cpu']} ({found['architecture']}), {found['threads']} threads, fp32, batch 1."


SUITE_HEADER = (*HEADER[:-2], "as best single", "as ORT default", "ships")


def suite_table(results: Mapping[str, Any]) -> str:
    """The suite: milliseconds of each engine's best setting, and how many times faster the product is."""
    rows = [SUITE_HEADER, ("---", *("---:",) * (len(SUITE_HEADER) - 2), "---")]
    rows += [_suite_row(name, found) for name, found in results["networks"].items() if "failed" not in found]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _suite_row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    times = found["median_ms"]
    single, default = found["speedup_over_best_single"], found["speedup_over_onnxruntime_default"]
    void = " (void)" if found["void"] else ""
    return (
        name,
        _ms(times.get(DEFAULT)),
        *(_ms(found["baselines"][engine].get("ms")) for engine in BASELINES),
        _ms(times[PRODUCT]),
        f"{single['median']:.3f} ({single['low']:.3f} to {single['high']:.3f}){void}",
        f"{default['median']:.2f}" if default else "-",
        " → ".join(dict.fromkeys(found["plan"]["engines"])),
    )


def main() -> None:
    """Rewrite the README, or print the suite's table."""
    if "--suite" in sys.argv[1:]:
        print(suite_table(json.loads(suite.RESULTS.read_text(encoding="utf-8"))))
        return
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    README.write_text(render(README.read_text(encoding="utf-8"), results, DEMO.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
