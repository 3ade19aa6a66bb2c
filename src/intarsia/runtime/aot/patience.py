"""How long a program in an emulator may run: emulation is slow, and how slow depends on the machine and on its load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intarsia.codegen.emulator import TIMEOUT_S
from intarsia.graph import Graph
from intarsia.graph.work import flops

RUN_S = "run_s"
"""What an artifact keeps: the seconds that one run took where it was compiled."""
_SLOWEST = 2e6
"""Operations a second. QEMU does some hundred million where nothing else runs, and ten where much does."""
_SLOWER = 10.0
"""A run may take so many times as long as the one of the compile: other machines are slower, and counting is."""


def first_run_s(graph: Graph) -> float:
    """Seconds that the first run of a network may take, by how much it computes."""
    return TIMEOUT_S + sum(flops(graph, node) for node in graph.nodes) / _SLOWEST


def later_run_s(meta: Mapping[str, Any]) -> float:
    """Seconds that a run may take, by what an artifact keeps beside its program."""
    return TIMEOUT_S + _SLOWER * float(meta.get(RUN_S, 0.0))
