"""The bodies of control flow in a report: what is shown below the partition that runs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from intarsia.report.reasons import Json, in_precision

_INDENT = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerRow:
    """A row below a partition: the heading of a body, or a partition of it.

    Attributes:
        place: Indented as deep as it is; of a partition its number in the body.
        text: The body, or the partition's target.
        nodes: How many nodes it has; empty for a heading.
        predicted_ms: For one round, as the other figures.
    """

    place: str
    text: str
    nodes: str = ""
    predicted_ms: float | None = None
    measured_ms: float | None = None
    share: float | None = None


def parts_of_bodies(part: Json, bodies: Sequence[Json], depth: int = 1) -> Iterator[InnerRow]:
    """The rows below a partition, for each body that it runs step by step, and for those inside of these."""
    if part["target"] != "control-flow":
        return
    for body in bodies:
        if body["node"] not in part["nodes"] or "partitions" not in body:
            continue
        yield InnerRow(place=_INDENT * depth, text=f"{body['body']} of {body['node']} ({body['op']})")
        for number, inner in enumerate(body["partitions"], start=1):
            yield InnerRow(
                place=f"{_INDENT * depth}{number}",
                text=_INDENT * depth + in_precision(inner),
                nodes=str(len(inner["nodes"])),
                predicted_ms=inner["predicted_ms"],
                measured_ms=inner["measured_ms"],
                share=inner["share"],
            )
            yield from parts_of_bodies(inner, body.get("bodies", ()), depth + 1)
