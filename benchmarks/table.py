"""Puts the figures of ``benchmarks/results`` into the README: ``python -m benchmarks.table``.

No figure in the README is typed by hand; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.field import BASELINES, DEFAULT, PRODUCT
from benchmarks.road import RESULTS as ROAD
from benchmarks.suite import RESULTS as SUITE

README = Path(__file__).parents[1] / "README.md"
DEMO = ROAD.with_name("demo.txt")
HEADER = (
    *("network", "ORT default", "ORT tuned", "OpenVINO", "MNN", "ncnn", "Intarsia"),
    *("as best single", "as ORT default", "ships"),
)


def render(readme: str, suite: Mapping[str, Any], road: Mapping[str, Any], demo: str) -> str:
    """The README with every marked part written anew."""
    for name, text in {
        "demo": f"```\n{demo.strip()}\n```",
        "networks": networks(suite),
        "manual": _manual(road["manual"]),
        "overhead": _overhead(road["overhead"]),
        "machine": _machine(suite["machine"]),
    }.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = readme.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"the README has no place marked {begin} … {end}")
        readme = f"{before}{begin}\n{text}\n{end}{after}"
    return readme


def networks(suite: Mapping[str, Any]) -> str:
    """Milliseconds of each engine's best setting and of the product, and how many times faster the product is."""
    rows = [HEADER, ("---", *("---:",) * (len(HEADER) - 2), "---")]
    rows += [_network(name, found) for name, found in sorted(suite["networks"].items()) if "failed" not in found]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _network(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
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


def main() -> None:
    """Rewrite the README."""
    suite, road = (json.loads(file.read_text(encoding="utf-8")) for file in (SUITE, ROAD))
    README.write_text(render(README.read_text("utf-8"), suite, road, DEMO.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
