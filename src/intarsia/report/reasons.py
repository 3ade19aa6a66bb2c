"""Why the plan is as it is, in sentences made from a report. An older report lacks some figures: those are left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from intarsia.wording import counted

NOTHING = "-"
MOST_OPPORTUNITIES = 3
MUCH = 1.3
"""A size so many times as large as expected is worth a sentence."""
LEAST_BYTES = 1_000_000
"""A smaller excess is not, whatever its ratio."""
BEFORE_THEY_WERE_KEPT = "it was compiled before runners-up were recorded: compile the model again to see them"
NEEDED = frozenset(
    {
        *("model", "singles", "best_single", "chosen", "reason", "latency_ms", "speedup_vs_best_single"),
        *("predicted_ms", "partitions", "transitions", "spin", "threads", "search", "machine", "max_rel_error"),
    }
)
"""What every report of a compile has, however old."""

_NOTHING_SHOWN = {"no difference shown": "no difference shown", "void": "the benchmark is void, so nothing is shown"}

Json = Mapping[str, Any]


def decision(report: Json, rest: str = "--verbose") -> Iterator[str]:
    """What ships and why; of a single engine also where another would have been faster.

    ``rest`` is where the reader finds the places that are left out here.
    """
    yield f"chosen: {report['chosen']}; {report['reason']}"
    yield from report.get("remarks", ())
    if any("runners_up" not in part for part in report["partitions"]):
        yield BEFORE_THEY_WERE_KEPT
        return
    if report["chosen"] != report["best_single"] or not report["segments"]:
        return
    opportunities = report["opportunities"]
    yield from map(opportunity, opportunities[:MOST_OPPORTUNITIES])
    if len(opportunities) > MOST_OPPORTUNITIES:
        more = counted(len(opportunities) - MOST_OPPORTUNITIES, "more place")
        yield f"{more} where another engine is faster ({rest})"
    if not opportunities and not report["search"]["unmeasured"]:
        yield "no other engine would save as much as 0.5 % on any run of segments, transitions aside"


def opportunity(place: Json) -> str:
    """One place where another engine is faster than the only one of the plan."""
    start, end = place["segments"]
    segments = f"segment {start}" if end - start == 1 else f"segments {start}-{end - 1}"
    gain, cost = place["gain_ms"], place["transition_ms"]
    said = f"{place['target']} would be faster on {segments} by {ms(gain)} ms"
    count = {1: "one transition", 2: "two transitions"}[place["transitions"]]
    if cost is None:
        return f"{said}; what {count} would cost was not measured"
    verb = "costs" if place["transitions"] == 1 else "cost"
    return f"{said}, {'but' if cost >= gain else 'and'} {count} {verb} {ms(cost)} ms"


def in_precision(part: Json) -> str:
    """A part's target, and of how many nodes it computes in less than fp32."""
    schemes = {name: len(nodes) for name, nodes in (part.get("precision") or {}).items() if name != "ranges"}
    return ", ".join([part["target"], *(f"{count} in {name}" for name, count in schemes.items())])


def rows_inside(part: Json, number: str) -> Iterator[tuple[str, str, int]]:
    """Number, target, indented, and nodes of what a nested configuration runs inside of a partition, at any depth."""
    for place, each in enumerate(part.get("inside", {}).get("partitions", ()), start=1):
        own = f"{number}.{place}"
        yield own, "  " * own.count(".") + in_precision(each), len(each["nodes"])
        yield from rows_inside(each, own)


def driven_inside(inside: Json) -> str:
    """By which executor and on how many threads a nested configuration runs its partitions."""
    pipeline = inside.get("pipeline")
    parts = [f"executor {inside['executor']}, runtime {inside['runtime']}"]
    if "threads" in inside:
        parts.append(counted(inside["threads"], "thread"))
    if inside.get("parallel"):
        parts.append("independent partitions at one time")
    if pipeline:
        stages = ", ".join(map(str, pipeline["threads"]))
        parts.append(f"a stream through {counted(len(pipeline['stages']), 'stage')} (threads {stages})")
    elif inside["executor"].split()[0] == "pipeline":
        parts.append("no stages: it has one thread, or nothing that can be cut")
    return "; ".join(parts)


def accuracy(report: Json) -> Iterator[str]:
    """The error of each output on the validation set."""
    found = report.get("accuracy")
    if not found:
        return
    errors = ", ".join(f"{name} {error:.2g} (mean {found['mean'][name]:.2g})" for name, error in found["worst"].items())
    yield f"error on {counted(found['inputs'], 'validation input')}: {errors}; {found['max_error']:g} is allowed"


def figures(report: Json) -> Iterator[str]:
    """The figures of the chosen plan, one sentence a line."""
    latency, gain, search = report["latency_ms"], report["speedup_vs_best_single"], report["search"]
    load = load_of(report)
    if load is not None:
        yield f"{answers(load, here(report))}; {_predicted(report)} for a call by itself"
    elif latency is not None:
        spread = f"min {ms(latency['min'])}, p90 {ms(latency['p90'])}"
        yield f"latency {ms(latency['median'])} ms{here(report)} ({spread}); {_predicted(report)}"
    else:
        yield _predicted(report)
    if gain is not None and report["chosen"] != report["best_single"]:
        shown = report.get("shown_vs_best_single")
        remark = f"; {_NOTHING_SHOWN[shown]}" if shown in _NOTHING_SHOWN else ""
        what = "speed" if load is None else "requests a second"
        speed = f"{gain['median']:.3f} x the {what} of {report['best_single']}"
        yield f"{speed}, the best single engine ({_interval(gain)}){remark}"
    error = report["max_rel_error"]
    known = "" if error is None else f"; largest relative error {error:.2g}{_allowed(report)}"
    ways = {"embed": "inside one session", "parallel": "branches in parallel"}
    way = "".join(f", {way}" for name, way in ways.items() if report.get(name))
    many = "" if load is None else f", {counted(load['instances'], 'instance')}"
    yield f"{_transitions(report)}{way}{many}, threads {report['threads']}, spin {report['spin']}{known}"
    yield from accuracy(report)
    if footprint := _footprint(report):
        yield footprint
    control = _control(search)
    if control:
        yield control
    cached = f", {search['cached']} from the store" if "cached" in search else ""
    yield f"search took {search['seconds']:.1f} s: {search['measured']} measured{cached}"
    yield from unmeasured(search, report.get("budget_s"))


def _allowed(report: Json) -> str:
    """What was allowed, where that is more than fp32 explains, and why."""
    why = report.get("allowed_reason")
    return f", allowed {report['allowed_error']:.2g}: {why}" if why else ""


def larger_needs(report: Json) -> Iterator[str]:
    """One sentence on memory and artifact, where they are `MUCH` larger than what each is compared with."""
    found = report.get("needs") or {}
    larger = []
    if _is_much(found.get("memory"), found.get("alternative_memory")):
        larger.append(
            f"it needs {megabytes(found['memory'])} of memory where {found['alternative']} alone needs "
            f"{megabytes(found['alternative_memory'])}"
        )
    if _is_much(found.get("artifact"), found.get("model")):
        larger.append(f"its artifact takes {megabytes(found['artifact'])} for a model of {megabytes(found['model'])}")
    if larger:
        yield ", and ".join(larger)


def _is_much(size: int | None, other: int | None) -> bool:
    return bool(size and other) and size > MUCH * other and size - other >= LEAST_BYTES  # type: ignore[operator]


def void(report: Json) -> Iterator[str]:
    """What goes with every table of speeds that show nothing."""
    if report["search"].get("control_void"):
        yield "the benchmark of these plans is void: no speed here shows that one is faster"


def unmeasured(search: Json, budget_s: float | None = None) -> Iterator[str]:
    """What the search left out because its time ended."""
    if search["finished"]:
        return
    left: dict[int, list[str]] = defaultdict(list)
    for each in search.get("unmeasured", ()):
        left[len(each["segments"])].append(each["target"])
    unmeasured_on = "; ".join(
        f"{count} of {counted(search['segments'], 'segment')} on {', '.join(several)}"
        for count, several in left.items()
    )
    yield _ended(search, budget_s) + (f"; not measured: {unmeasured_on}" if unmeasured_on else "")


def _ended(search: Json, budget_s: float | None) -> str:
    """What ended before the search did."""
    if search.get("interrupted"):
        return "it was interrupted before its end"
    whose = "its share of the time" if budget_s is None else f"its share of the {budget_s:g} s budget"
    if search.get("replayed"):
        return f"the search, of an earlier compile, had used up {whose}"
    return f"the search used up {whose}"


def runner_up(part: Json) -> str:
    """The first of a part's alternatives, or why there is none."""
    for each in part.get("runners_up", ()):
        plan = "" if each["plan_ms"] is None else f" ({signed_ms(each['plan_ms'])})"
        return f"{about_ms(each)}{plan} {each['target']}"
    for each in part.get("not_chosen", ()):
        return f"none; {each['target']} {each['reason']}"
    return NOTHING


def about_ms(each: Json) -> str:
    """Milliseconds, marked where they are an estimate."""
    return f"{'' if each['is_measured'] else '~'}{ms(each['ms'])}"


def load_of(report: Json) -> Json | None:
    """How what ships answers under load; ``None`` where single calls were timed."""
    found: Json | None = (report.get("figures") or {}).get("load")
    return found


def divided(load: Json) -> str:
    """Instances by the threads of each."""
    return f"{load['instances']} x {load['threads']}"


def per_second(load: Json) -> str:
    """Requests a second, to three digits or all before the point."""
    rate = load["requests_per_second"]
    if rate is None:
        return NOTHING
    return _digits(rate["median"])


def answers(load: Json, where: str = "") -> str:
    """A sentence on what a plan answers under load."""
    rate = load["requests_per_second"]
    each = f"{counted(load['instances'], 'instance')} on {counted(load['threads'], 'thread')} each"
    if rate is None:
        return f"{each}, not measured under load"
    ends = "" if rate["low"] is None else f" (95 % interval {_digits(rate['low'])} to {_digits(rate['high'])})"
    calls = f"; a call then takes {ms(load['p50_ms'])} ms, 99 of 100 at most {ms(load['p99_ms'])} ms"
    said = f"{each} answer {_digits(rate['median'])} requests a second{where}{ends}"
    return said + ("" if load["p50_ms"] is None else calls)


def _digits(value: float) -> str:
    return ms(value) if value < 1000.0 else f"{value:.0f}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share of the whole."""
    return NOTHING if share is None else f"{100 * share:.{digits}f} %"


def ms(value: float | None) -> str:
    """Three significant digits, or a dash for what was not measured."""
    return NOTHING if value is None else format(value, "#.3g").removesuffix(".")


def here(report: Json) -> str:
    """What stands behind the unit of each figure: nothing where the described machine is this one."""
    return " here" if report.get("described") else ""


def latency(plan: Json) -> str:
    """A plan's milliseconds, marked where they are not of the benchmark."""
    return f"{'' if was_benchmarked(plan) else '~'}{ms(plan['latency_ms'])}"


def joined(targets: Iterable[str]) -> str:
    """Each engine once; a plan of many parts goes to and fro."""
    return " + ".join(dict.fromkeys(targets))


def signed_ms(value: float) -> str:
    """A difference, to three digits."""
    return f"{'+' if value >= 0 else '-'}{ms(abs(value))}"


def transitions(count: int) -> str:
    """So many transitions."""
    return counted(count, "transition", "transitions")


def _predicted(report: Json) -> str:
    predicted, found = report["predicted_ms"], report.get("prediction")
    if found is None:
        return f"predicted {ms(predicted)} ms{here(report)}"
    off = found["predicted_over_measured"] - 1
    by = f"{percent(abs(off), 1)} {'more' if off > 0 else 'less'}"
    return f"predicted {ms(predicted)} ms{here(report)}, {by} than measured"


def _transitions(report: Json) -> str:
    costs = [part["transition_ms"] for part in report["partitions"] if part.get("transition_ms") is not None]
    paid = (
        f" ({ms(sum(costs))} ms{here(report)} together)"
        if costs and len(costs) == len(report["partitions"]) - 1
        else ""
    )
    return transitions(report["transitions"]) + paid


def _footprint(report: Json) -> str:
    """What the plan adds to its process, and its start; beside a mix what the best single engine needs."""
    found = report.get("figures") or {}
    memory, cold_s = found.get("memory"), found.get("cold_s")
    said = []
    if memory:
        said.append(
            f"memory{here(report)} {megabytes(memory['peak'])} at its peak, {megabytes(memory['steady'])} between runs"
        )
        best: Json = next((each for each in report["singles"] if each["target"] == report["best_single"]), {})
        if report["chosen"] != report["best_single"] and best.get("memory"):
            said.append(f"{best['target']} alone {megabytes(best['memory']['peak'])}")
    if cold_s is not None:
        said.append(f"cold start {cold_s:.2f} s{here(report)}")
    return "; ".join(said)


def megabytes(count: float) -> str:
    """Bytes as people read them."""
    return f"{count / 1e6:.0f} MB"


def _control(search: Json) -> str:
    control = search.get("control")
    why = search.get("void_reason") or "it left 2 %"
    void = f"; the benchmark is void: {why}" if search.get("control_void") else ""
    kept = "; the benchmark is of an earlier compile, from the store" if search.get("benchmark_replayed") else ""
    if control is None:
        return f"control:{void.removeprefix(';')}" if void else ""
    return f"control: the plan to beat against itself {control['median']:.3f} ({_interval(control)}){void}{kept}"


def _interval(found: Json) -> str:
    return f"95 % interval {found['low']:.3f} to {found['high']:.3f}"


def ranked(plans: Iterable[Json]) -> list[Json]:
    """The plans that have a time: first those of the benchmark, then those timed apart; each the best first."""
    timed = [plan for plan in plans if plan.get("latency_ms") is not None]
    return sorted(timed, key=lambda plan: (not was_benchmarked(plan), _between_ms(plan)))


def _between_ms(plan: Json) -> float:
    """Milliseconds of a call, or of a request under load."""
    rate = (plan.get("load") or {}).get("requests_per_second")
    return float(plan["latency_ms"] if rate is None else 1e3 / rate["median"])


def was_benchmarked(plan: Json) -> bool:
    """Whether its time is of the benchmark; of what older reports do not tell, it is."""
    return bool(plan.get("benchmarked", True))
