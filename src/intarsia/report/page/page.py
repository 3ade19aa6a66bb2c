"""The page as one file: template, style, scripts and data together, and a policy that lets nothing else in or out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import jinja2

from intarsia.report.default_settings import sentences
from intarsia.report.page import facts, partitions, plans
from intarsia.report.page.drawing import drawing
from intarsia.report.page.facts import Provenance
from intarsia.report.program_lines import program_notes
from intarsia.report.reasons import here, larger_needs, load_of, ms, per_second, percent
from intarsia.version import __version__
from intarsia.wording import visible

if TYPE_CHECKING:
    from intarsia.graph import Graph

_ASSETS = files("intarsia.report.page") / "assets"
_LIBRARIES = (
    *("d3-dispatch", "d3-timer", "d3-color", "d3-ease", "d3-selection", "d3-interpolate"),
    *("d3-drag", "d3-transition", "d3-zoom"),
)
"""Each after what it needs."""
_SCRIPTS = ("graph.js", "page.js")


def render(report: Mapping[str, Any], graph: Graph | None = None, provenance: Provenance | None = None) -> str:
    """The page, as HTML, of a report that ``intarsia compile --json`` prints; without its graph, none is drawn.

    ``provenance`` is what the artifact knows beside the report.
    """
    timed = plans.plans(report)
    style = _asset("style.css")
    scripts = [*(_asset(f"vendor/{name}.min.js") for name in _LIBRARIES), *map(_asset, _SCRIPTS)]
    run_ms = None if provenance is None else provenance.run_ms
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            name=PurePath(report["model"]).name,
            provenance=provenance,
            version=__version__,
            policy=_policy(style, scripts),
            style=style,
            scripts=scripts,
            data=drawing(report, graph),
            unit=f"ms{here(report)}",
            load=load_of(report),
            figure_unit=f"{'ms' if load_of(report) is None else 'requests/s'}{here(report)}",
            verdict=facts.verdict(report),
            reasons=facts.reasons(report),
            notes=[*report.get("remarks", ()), *larger_needs(report), *sentences(report), *program_notes(report)],
            error_note=facts.error_note(report),
            legend=partitions.legend(report),
            plans=timed,
            groups=plans.groups(timed),
            foremost=plans.foremost(timed),
            shared=partitions.shared(report),
            failures=list(facts.failures(report)),
            parts=partitions.parts(report, run_ms),
            strip=partitions.timeline(report, None),
            timeline=partitions.timeline(report, run_ms),
            opportunities=facts.opportunities(report),
            segments=facts.segments(report),
            layers=facts.layers(report),
            memory=facts.memory(report),
            command=facts.command(report),
            replay=facts.replay(report),
        )
    )


def _shown(value: Any) -> Any:
    """Names that come from a model or an artifact, so that no browser obeys their signs; what is markup is ours."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ms": ms,
        "per_second": per_second,
        "percent": percent,
        "megabytes": lambda size: f"{size / 1e6:,.1f} MB",
        "counted": counted,
    }
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}
    return environment


@cache
def _asset(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


def counted(count: int, thing: str, things: str = "") -> str:
    """So many things: ``1 thread``, ``2 threads``."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def _policy(style: str, scripts: list[str]) -> str:
    """Only what we wrote is run or styled, and nothing is fetched: whatever a model's names may hold."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src-elem {_digest(style)}; style-src-attr 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
