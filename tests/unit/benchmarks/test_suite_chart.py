"""The chart shows each network with valid figures once, and what ships."""

from __future__ import annotations

from benchmarks.suite_chart import bars
from tests.unit.benchmarks.made_up import entry, suite


def test_bars_are_in_order_and_coloured_by_what_ships() -> None:
    found = bars(
        suite(
            mixed=entry(1.5, engines=("mnn", "onnxruntime")),
            plain=entry(0.99, 1.3),
            own=entry(1.2, engines=("winograd",)),
            noisy=entry(9.0, void=True),
            broken={"failed": "no engine"},
        )
    )
    assert [(bar.name, bar.ships) for bar in found] == [
        ("plain", "one engine"),
        ("own", "our own kernels"),
        ("mixed", "a mix of engines"),
    ]
    assert (found[0].single[0], found[0].default) == (0.99, 1.3)
