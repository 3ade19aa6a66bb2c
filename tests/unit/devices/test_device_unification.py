"""Places that share a device."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from intarsia.devices.constraint import Constraint
from intarsia.devices.device_unification import Conflict, DeviceUnification, Pin
from intarsia.target import VirtualDevice

DEVICES = [VirtualDevice.of(text) for text in ("any", "any:1", "cpu", "cpu:0", "cuda", "any -memory-scope=s")]


def pin(place: int, device: VirtualDevice) -> Pin:
    return Pin(place, device, Constraint.node(f"n{place}", device))


STEPS = st.lists(
    st.one_of(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.tuples(st.integers(0, 7), st.sampled_from(DEVICES))),
    max_size=30,
)


@given(STEPS)
def test_each_set_is_on_the_join_of_its_pins_and_each_clash_has_a_path(
    steps: list[tuple[int, int | VirtualDevice]],
) -> None:
    unification = DeviceUnification(8)
    accepted: list[Pin] = []
    links: set[frozenset[int]] = set()
    for place, other in steps:
        if isinstance(other, int):
            conflict = Conflict(first=place, second=other, why="tied")
            held = unification.unite(place, other, "tied")
            links |= {frozenset((place, other))} if held else set()
        else:
            conflict = Conflict(first=place, second=place, pin=(new := pin(place, other)))
            held = unification.pin(new)
            accepted += [new] if held else []
        if not held:
            story = unification.explain(conflict)
            assert story.first.device.join(story.second.device) is None
            hops = [story.first.place, *(there for _, there in story.path)]
            assert hops[-1] == story.second.place
            known = {*links, frozenset((conflict.first, conflict.second))}
            assert all(frozenset(hop) in known for hop in pairwise(hops))
    for place in range(8):
        joined: VirtualDevice | None = VirtualDevice()
        for each in unification.pins(place):
            assert each in accepted
            joined = joined and joined.join(each.device)
        assert joined == unification.device(place)
    assert all(each in unification.pins(each.place) for each in accepted)
