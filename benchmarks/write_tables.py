"""Puts the figures of ``benchmarks/results`` into the README and the docs: ``python -m benchmarks.write_tables``.

No figure there is typed by hand; a test compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import record_stores, scale, serving_tables, weight_only
from benchmarks.accuracy import RESULTS as ACCURACY
from benchmarks.as_it_comes import OTHER
from benchmarks.as_it_comes import RESULTS as AS_IT_COMES
from benchmarks.cold_start import RESULTS as COLD_START
from benchmarks.competitors import BASELINES, DEFAULT, PRODUCT
from benchmarks.control_flow import RESULTS as CONTROL_FLOW
from benchmarks.cpp_runtime import RESULTS as CPP_RUNTIME
from benchmarks.exported import RESULTS as EXPORTED
from benchmarks.fixed_plans import RESULTS as FIXED_PLANS
from benchmarks.goals import geometric_mean
from benchmarks.integers import RESULTS as INTEGERS
from benchmarks.integers import rows as integer_rows
from benchmarks.microcontroller_session import RESULTS as MICROCONTROLLER_SESSION
from benchmarks.microcontroller_tables import bytes_beside, instructions, memory
from benchmarks.microcontrollers import RESULTS as MICROCONTROLLERS
from benchmarks.one_thread import RESULTS as ONE_THREAD
from benchmarks.one_thread import table
from benchmarks.roofline import RESULTS as ROOFLINE
from benchmarks.runtime_tables import control_flow, cpp_runtime, starts
from benchmarks.suite import RESULTS as SUITE

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_PAGES = (
    *("accuracy.md", "benchmarks.md", "configuration.md", "cpp.md", "deployments.md", "microcontrollers.md"),
    *("scale.md", "serving.md"),
)
PAGES = (README, *(ROOT / "docs" / name for name in _PAGES))
"""Those with figures."""
ELSEWHERE = SUITE.with_name("suite-xeon.json")
"""The suite on another machine."""
ACCURACY_ELSEWHERE = ACCURACY.with_name("accuracy-xeon.json")
"""What an allowed error buys on a machine without bf16."""
DEMO = FIXED_PLANS.with_name("demo.txt")
KNOWN = (
    *("resnet18", "resnet50", "vgg19", "inception_v1", "mobilenet_v2", "efficientnet_b0", "densenet121", "yolo"),
    *("unet", "edsr", "lipnet", "bert_base", "vit_b16", "swin_tiny", "gpt2_decode", "whisper_tiny_encoder"),
)
WIN = 1.05
"""A gain that counts as one."""
SHORT = ("network", "ONNX Runtime default", "best tuned engine", "**Intarsia**", "gain")
_TIMES = ("network", "ORT default", "ORT tuned", "OpenVINO", "MNN", "ncnn", "**Intarsia**")
_GAINS = ("x ORT default", "x best tuned")
_REST = ("transitions", "memory, MB", "cold start, ms", "error", "why")
HEADER = (*_TIMES, *_GAINS, *_REST)
CALLED = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "mnn": "MNN", "ncnn": "ncnn"}
"""What the engines call themselves."""
NOTHING = "-"
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured.

    Attributes:
        suite: By `benchmarks.suite`.
        elsewhere: By the same on another machine.
        roofline: By `benchmarks.roofline`, on the machine of ``suite``.
        fixed_plans: By `benchmarks.fixed_plans`.
        accuracy: By `benchmarks.accuracy`.
        accuracy_elsewhere: By the same on another machine.
        as_it_comes: By `benchmarks.as_it_comes`.
        exported: By `benchmarks.exported`.
        integers: By `benchmarks.integers`.
        microcontrollers: By `benchmarks.microcontrollers`.
        one_thread: By `benchmarks.one_thread`.
        cold_starts: By `benchmarks.cold_start`.
        cpp_runtime: By `benchmarks.cpp_runtime`.
        control_flow: By `benchmarks.control_flow`.
        demo: What the demo printed.
        microcontroller_session: What `benchmarks.microcontroller_session` typed, and what came back.
        served: By the scripts that `SERVED` names, as far as they were run, by their files.
    """

    suite: Json
    elsewhere: Json
    roofline: Json
    fixed_plans: Json
    accuracy: Json
    accuracy_elsewhere: Json
    as_it_comes: Json
    exported: Json
    integers: Json
    microcontrollers: Json
    one_thread: Json
    cold_starts: Json
    cpp_runtime: Json
    control_flow: Json
    demo: str
    microcontroller_session: str
    served: Mapping[Path, Json]

    @staticmethod
    def read() -> Figures:
        """Those that are committed."""

        def read(file: Path) -> Json:
            found: Json = json.loads(file.read_text(encoding="utf-8"))
            return found

        return Figures(
            suite=read(SUITE),
            elsewhere=read(ELSEWHERE),
            roofline=read(ROOFLINE),
            fixed_plans=read(FIXED_PLANS),
            accuracy=read(ACCURACY),
            accuracy_elsewhere=read(ACCURACY_ELSEWHERE),
            as_it_comes=read(AS_IT_COMES),
            exported=read(EXPORTED),
            integers=read(INTEGERS),
            microcontrollers=read(MICROCONTROLLERS),
            one_thread=read(ONE_THREAD),
            cold_starts=read(COLD_START),
            cpp_runtime=read(CPP_RUNTIME),
            control_flow=read(CONTROL_FLOW),
            demo=DEMO.read_text(encoding="utf-8"),
            microcontroller_session=MICROCONTROLLER_SESSION.read_text(encoding="utf-8"),
            served={file: read(file) for file in SERVED if file.exists()},
        )

    @property
    def parts(self) -> Mapping[str, str]:
        """The parts of pages, by name."""
        suite, elsewhere = self.suite, self.elsewhere
        return {
            "demo": f"```\n{self.demo.strip()}\n```",
            "gain": summary(suite, KNOWN),
            "known networks": in_short(suite, KNOWN),
            "networks": networks(suite, sorted(suite["networks"])),
            "machine": _machine(suite["machine"]),
            "networks elsewhere": networks(elsewhere, sorted(elsewhere["networks"])),
            "machine elsewhere": _machine(elsewhere["machine"]),
            "wins elsewhere": wins(elsewhere),
            "wins": wins(suite),
            "limits": limits(suite, self.roofline),
            "peaks": peaks(self.roofline),
            "manual": _manual(self.fixed_plans["manual"]),
            "overhead": _overhead(self.fixed_plans["overhead"]),
            "accuracy": _table(_accuracy(self.accuracy)),
            "accuracy elsewhere": _table(_accuracy(self.accuracy_elsewhere)),
            "mean accuracy elsewhere": _mean_accuracy(self.accuracy_elsewhere),
            "as it comes": _table(_as_it_comes(self.as_it_comes)),
            "mean as it comes": _mean_as_it_comes(self.as_it_comes),
            "reduced precision": _in_short_in_less(self.accuracy, self.as_it_comes),
            "exported": _table(_exported(self.exported)),
            "integers": _table(integer_rows(self.integers)),
            "microcontroller session": f"```text\n{self.microcontroller_session.strip()}\n```",
            "microcontroller memory": _numbers(memory(self.microcontrollers)),
            "microcontroller instructions": _numbers(instructions(self.microcontrollers)),
            "microcontroller bytes": _numbers(bytes_beside(self.microcontrollers)),
            "one thread": _numbers(table(self.one_thread)),
            "machine of one thread": f"{_cpu(self.one_thread['machine'])}, 1 thread, fp32, batch 1.",
            "starts": starts(self.cold_starts, self.cpp_runtime),
            "runtime cpp": _numbers(cpp_runtime(self.cpp_runtime)),
            "control flow": control_flow(self.control_flow),
            **{name: part(found) for file, found in self.served.items() for name, part in SERVED[file].items()},
        }


def render(text: str, parts: Mapping[str, str]) -> str:
    """A page with every marked part that it has written anew.

    Args:
        text: The page as it is; a part stands between ``<!-- NAME -->`` and ``<!-- end of NAME -->``.
        parts: What is to stand there, by name.

    Raises:
        ValueError: A part does not end.
    """
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _, ends, after = rest.partition(end)
        if found and not ends:
            raise ValueError(f"the part {begin} does not end with {end}")
        if found:
            text = f"{before}{begin}\n{part}\n{end}{after}"
    return text


def networks(suite: Json, names: Sequence[str]) -> str:
    """The wide table: milliseconds of each engine's best setting and of the product, and what the product takes."""
    return _table([HEADER, *(_network(*each) for each in _measured(suite, names).items())])


def in_short(suite: Json, names: Sequence[str]) -> str:
    """The table of five columns; all that stands in a row comes from one paired benchmark."""
    rows = ((name, *_in_short(found)) for name, found in _measured(suite, names).items())
    return "\n".join((_row(SHORT), _row(("---", *("---:",) * (len(SHORT) - 1))), *map(_row, rows)))


def summary(suite: Json, names: Sequence[str]) -> str:
    """How much faster than the best tuned engine the product is, in a sentence."""
    gains = [found["speedup_over_best_single"] for found in _measured(suite, names).values()]
    faster = [each["median"] for each in gains if each["low"] > 1]
    others = [each["median"] for each in gains if each["low"] <= 1]
    return (
        f"On {len(faster)} of {len(gains)} known networks the result is {min(faster):.2f} to {max(faster):.2f} times "
        f"as fast as the best engine\nalone, with that engine's best settings; on the other {len(others)} it is about "
        f"as fast ({min(others):.2f} to {max(others):.2f} times)."
    )


def wins(suite: Json) -> str:
    """On how many networks our kernels win, and on how many a mix of engines, in a sentence."""
    found = _measured(suite, sorted(suite["networks"]))
    won = {name: each for name, each in found.items() if each["speedup_over_best_single"]["median"] >= WIN}
    mixes = [name for name, each in won.items() if each["plan"]["true_mix"]]
    kernels = [name for name, each in won.items() if name not in mixes and "winograd" in each["plan"]["engines"]]
    return (
        f"Of {len(found)} networks, our kernels alone are at least {WIN} times as fast as the best engine without them "
        f"on {len(kernels)}\n({', '.join(kernels)}), and a mix of engines on "
        + (f"{len(mixes)}\n({', '.join(mixes)})." if mixes else "none.")
    )


def limits(suite: Json, roofline: Json) -> str:
    """What each network would take if all of it were computed directly at the machine's peak, and the share reached."""
    found = _measured(suite, sorted(suite["networks"].keys() & roofline["networks"].keys()))
    header = ("network", "GFLOP", "at the peak, ms", *map(CALLED.__getitem__, BASELINES), "**Intarsia**")
    rows = ((name, *_shares(each, roofline["networks"][name])) for name, each in found.items())
    return _numbers([header, *rows])


def _shares(found: Json, limit: Json) -> Iterator[str]:
    yield f"{limit['gflop']:.3g}"
    yield _ms(limit["direct_ms"])
    times = [
        _baseline_ms(found, each.get("setting"), each.get("ms")) for each in map(found["baselines"].get, BASELINES)
    ]
    for time in (*times, f"{found['median_ms'][PRODUCT]}"):
        share = NOTHING if time == NOTHING else f"{limit['direct_ms'] / float(time.removeprefix('~')):.0%}"
        yield f"~{share}" if time.startswith("~") else share


def peaks(roofline: Json) -> str:
    """What the machine does at most, in a sentence."""
    found = roofline["peaks"]
    return (
        f"The machine multiplies matrices at {found['flops_per_ms'] / 1e6:.0f} GFLOP/s at most and moves "
        f"{found['bytes_per_ms'] / 1e6:.1f} GB/s, with all threads."
    )


def _measured(suite: Json, names: Sequence[str]) -> Mapping[str, Json]:
    found = suite["networks"]
    return {name: found[name] for name in names if "failed" not in found.get(name, ("failed",))}


def _table(rows: Iterable[Sequence[str]]) -> str:
    """The first row is the header; figures stand between the first column and the last."""
    header, *others = rows
    rule = ("---", *("---:",) * (len(header) - 2), "---")
    return "\n".join(map(_row, (header, rule, *others)))


def _numbers(rows: Iterable[Sequence[str]]) -> str:
    """A table of figures behind a first column of words."""
    header, *others = rows
    return "\n".join(map(_row, (header, ("---", *("---:",) * (len(header) - 1)), *others)))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _accuracy(found: Json) -> Iterator[tuple[str, ...]]:
    yield ("network", "allowed", "ORT default, ms", "Intarsia, ms", "x ORT default", "largest error", "ships")
    for name, entry in found["networks"].items():
        for allowed, each in entry["allowed"].items():
            product_ms, gain = each["median_ms"][PRODUCT], each["speedup_over_onnxruntime_default"]
            yield (
                name,
                allowed,
                _ms(product_ms * gain["median"]),
                f"**{_ms(product_ms)}**",
                f"{gain['median']:.2f} ({gain['low']:.2f} to {gain['high']:.2f}){' (void)' * each['void']}",
                f"{each['worst_error']:.4f}",
                each["chosen"],
            )


def _mean_accuracy(found: Json) -> str:
    entries = [each["allowed"]["0.01"] for each in found["networks"].values()]
    mean = geometric_mean(each["speedup_over_onnxruntime_default"]["median"] for each in entries)
    errors = [each["worst_error"] for each in entries]
    return (
        f"On {_cpu(found['machine'])}, {found['machine']['threads']} threads. Over these {len(entries)} networks, the "
        f"geometric mean is {mean:.2f} times as fast as ONNX Runtime's default; "
        f"{sum(error > 0.01 for error in errors)} of them erred by more than 0.01 on inputs that no compile has seen."
    )


def _as_it_comes(found: Json) -> Iterator[tuple[str, ...]]:
    yield (
        "network",
        "error of OpenVINO's default",
        "OpenVINO's default, ms",
        "Intarsia, ms",
        "x OpenVINO's default",
        "x ORT default",
        "largest error",
        "ships",
    )
    for name, each in sorted(found["networks"].items()):
        product_ms, gain = each["median_ms"][PRODUCT], each["times_as_fast"]
        yield (
            name,
            f"{each['allowed']:.2g}",
            _ms(each["median_ms"][OTHER]),
            f"**{_ms(product_ms)}**",
            f"{gain['median']:.2f} ({gain['low']:.2f} to {gain['high']:.2f}){' (void)' * each['void']}",
            f"{each['speedup_over_onnxruntime_default']['median']:.2f}",
            f"{each['worst_error']:.2g}",
            each["chosen"],
        )


def _mean_as_it_comes(found: Json) -> str:
    networks = found["networks"].values()
    by_openvino = geometric_mean(each["times_as_fast"]["median"] for each in networks)
    by_default = geometric_mean(each["speedup_over_onnxruntime_default"]["median"] for each in networks)
    return (
        f"Over these {len(networks)} networks, the geometric mean is {by_openvino:.2f} times as fast as OpenVINO at "
        f"its default settings, and {by_default:.2f} times as fast as ONNX Runtime at its own."
    )


def _in_short_in_less(accuracy: Json, as_it_comes: Json) -> str:
    fine = [each["allowed"]["0.01"] for each in accuracy["networks"].values()]
    gains = [each["speedup_over_onnxruntime_default"]["median"] for each in fine]
    others = [each["times_as_fast"]["median"] for each in as_it_comes["networks"].values()]
    return (
        f"With answers within 1 % of those in fp32 (`--max-error 0.01`), {len(gains)} networks "
        f"({', '.join(accuracy['networks'])}) are {min(gains):.1f} to {max(gains):.1f} times as fast as ONNX Runtime's "
        f"default in fp32. With the error that OpenVINO makes by default, which computes in bf16 on this machine, "
        f"{len(others)} networks are {min(others):.2f} to {max(others):.2f} times as fast as OpenVINO's default."
    )


def _exported(found: Json) -> Iterator[tuple[str, ...]]:
    yield ("engine", "times as fast as the artifact", "the artifact against itself", "")
    for engine, each in found["engines"].items():
        speed, control = each["speed"], each["control"]
        yield (
            engine,
            f"{speed['median']:.3f} ({speed['low']:.3f} to {speed['high']:.3f})",
            f"{control['median']:.3f} ({control['low']:.3f} to {control['high']:.3f})",
            "void" * each["is_void"],
        )


def _in_short(found: Json) -> tuple[str, ...]:
    engine = CALLED[re.split(r"[ -]", found["best_single"])[0]]
    best_ms = _baseline_ms(found, found["best_single"], None)
    product_ms = f"**{_ms(found['median_ms'][PRODUCT])}**"
    return _baseline_ms(found, DEFAULT, None), f"{best_ms} ({engine})", product_ms, _gain(found)


def _gain(found: Json) -> str:
    single = found["speedup_over_best_single"]
    return f"{single['median']:.2f} ({single['low']:.2f} to {single['high']:.2f}){' (void)' * found['void']}"


def _network(name: str, found: Json) -> tuple[str, ...]:
    single, default = found["speedup_over_best_single"], found["speedup_over_onnxruntime_default"]
    return (
        name,
        _baseline_ms(found, DEFAULT, None),
        *(_baseline_ms(found, each.get("setting"), each.get("ms")) for each in map(found["baselines"].get, BASELINES)),
        f"**{_ms(found['median_ms'][PRODUCT])}**",
        f"{default['median']:.2f}" if default else NOTHING,
        _gain(found),
        str(found["plan"]["transitions"]),
        _started(found, "peak_mb"),
        _started(found, "cold_ms"),
        f"{found['compile']['max_rel_error']:.0e}",
        why(found["plan"], single),
    )


def _baseline_ms(found: Json, name: str | None, look_ms: float | None) -> str:
    """What it takes beside the product: the product's median times the median ratio in the rounds that both ran in.

    Its own median would not do: a machine is not always equally fast, and who left the benchmark early ran in other
    rounds. Of such an engine older results hold no ratio, but its milliseconds: those are held against ONNX Runtime's
    default settings, which ran in the same rounds and have one. What was not in the benchmark has the prefilter's time.
    """
    raced, product_ms = found["median_ms"], found["median_ms"][PRODUCT]
    default = found["speedup_over_onnxruntime_default"]
    ratios = dict(found.get("times_as_long", {}))
    ratios |= {found["best_single"]: found["speedup_over_best_single"]["median"]}
    ratios |= {DEFAULT: default["median"]} if default else {}
    if name in ratios and name in raced:
        return _ms(product_ms * ratios[name])
    if name in raced and default:
        return f"~{_ms(raced[name] / raced[DEFAULT] * product_ms * default['median'])}"
    return NOTHING if look_ms is None else f"~{_ms(look_ms)}"


def _started(found: Json, figure: str) -> str:
    """Of the product, and of the best single engine."""
    footprint = found.get("footprint")
    if footprint is None:
        return NOTHING
    return f"{footprint[PRODUCT][figure]:.0f} ({footprint[found['best_single']][figure]:.0f})"


def why(plan: Json, gain: Json) -> str:
    """What ships, in some six words; ``gain`` is how many times as fast as the best single engine it is."""
    engines = tuple(dict.fromkeys(plan["engines"]))
    if plan["true_mix"]:
        return f"{'mix wins' if gain['low'] > 1 else 'mix ships, no gain here'}: {' → '.join(engines)}"
    if "winograd" in engines:
        return "our kernels in ONNX Runtime"
    return f"no mix wins: {' + '.join(engines)} alone"


def _ms(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _manual(found: Json) -> str:
    ratio, naive = found["time_over_onnxruntime"], found.get("naive_time_over_onnxruntime")
    mix_ms = found["median_ms"]["23 partitions"]
    embedded = (
        f"{mix_ms:.1f} ms for the mix, {mix_ms / ratio['median']:.1f} ms on ONNX Runtime alone: "
        f"{ratio['median']:.2f} times the time ({ratio['low']:.2f} to {ratio['high']:.2f}). The sum over the "
        f"partitions had predicted {found['predicted_over_measured']:.2f} of what was measured."
    )
    if naive is None:
        return embedded
    return (
        f"{embedded} Run naively, with each engine's threads left to spin: "
        f"{mix_ms / ratio['median'] * naive['median']:.0f} ms, "
        f"{naive['median']:.2f} times the time ({naive['low']:.2f} to {naive['high']:.2f})."
    )


def _overhead(found: Json) -> str:
    ratio, control = found["time_over_session"], found["control"]
    product_ms = found["median_ms"][PRODUCT]
    return (
        f"{product_ms:.3f} ms against {product_ms / ratio['median']:.3f} ms: {ratio['median']:.3f} "
        f"times ({ratio['low']:.3f} to {ratio['high']:.3f}); a second session: {control['median']:.3f}."
    )


def _machine(found: Json) -> str:
    return f"{_cpu(found)}, {found['threads']} threads, fp32, batch 1."


def _cpu(found: Json) -> str:
    return f"{found['cpu']} ({found['architecture']})"


SERVED: Mapping[Path, Mapping[str, Callable[[Json], str]]] = {
    serving_tables.SERVING: {
        "overhead of serving": lambda found: _numbers(serving_tables.overhead(found["fixed"])),
        "overhead of batches": lambda found: _numbers(serving_tables.overhead(found["batches"])),
    },
    serving_tables.BESIDE: {
        "serving beside": lambda found: _numbers(serving_tables.beside(found["fixed"])),
        "batches beside": lambda found: _numbers(serving_tables.beside(found["batches"])),
    },
    serving_tables.OVERLOAD: {"overload": serving_tables.overload},
    serving_tables.THROUGHPUT: {"throughput": lambda found: _numbers(serving_tables.throughput(found))},
    serving_tables.DEPLOYMENTS: {"deployments": lambda found: _table(serving_tables.deployments(found))},
    serving_tables.PROTOCOL: {"protocol beside": lambda found: _table(serving_tables.protocol(found))},
    scale.RESULTS: {
        "scale demand": scale.demand_text,
        "scale here": lambda found: "\n".join(scale.here_table(found)),
        "scale fleets": lambda found: "\n".join(scale.fleet_table(found)),
    },
    weight_only.RESULTS: {"weight only": lambda found: _table(weight_only.table(found))},
    record_stores.RESULTS: {"scale stores": lambda found: "\n".join(record_stores.table(found))},
}
"""The parts of pages whose benchmarks write their own tables, by the files of their figures."""


def main() -> None:
    """Rewrite the pages."""
    parts = Figures.read().parts
    for page in PAGES:
        page.write_text(render(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main()
