"""Which runs of atoms a target takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.capability import Capability
from intarsia.partitioning.intervals import Intervals

SEGMENTS = (("n0", "n1"), ("n2",), ("n3",), ("n4", "n5"))


@given(st.sets(st.sampled_from([f"n{number}" for number in range(6)])))
def test_a_run_is_accepted_if_none_of_its_nodes_is_refused(refused: set[str]) -> None:
    intervals = Intervals.of(SEGMENTS, Capability(refusals=dict.fromkeys(refused, "not here")))
    for start in range(4):
        for end in range(start + 1, 5):
            nodes = {node for segment in SEGMENTS[start:end] for node in segment}
            assert intervals.accepts(start, end) == nodes.isdisjoint(refused)
