"""Values alive at one time never share memory; values that are not, may."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.buffers import PAGE, Need, allocate, place


def need(name: str, elements: int, first: int, last: int) -> Need:
    return Need(name=name, dtype=np.dtype("float32"), shape=(elements,), first=first, last=last)


lives = st.tuples(st.integers(0, 5000), st.integers(-1, 12), st.integers(0, 6))


@given(st.lists(lives, max_size=20))
def test_values_alive_at_one_time_do_not_overlap(spans: list[tuple[int, int, int]]) -> None:
    needs = [need(str(i), elements, first, first + length) for i, (elements, first, length) in enumerate(spans)]
    offsets, total = place(needs)
    for i, a in enumerate(needs):
        assert offsets[a.name] % PAGE == 0
        assert offsets[a.name] + a.nbytes <= total
        for b in needs[:i]:
            alive_together = a.first <= b.last and b.first <= a.last
            apart = offsets[a.name] + a.nbytes <= offsets[b.name] or offsets[b.name] + b.nbytes <= offsets[a.name]
            assert apart or not alive_together


def test_memory_of_a_dead_value_is_used_again() -> None:
    _, total = place([need("a", 1024, 0, 1), need("b", 1024, 2, 3)])
    assert total == 4096


def test_arrays_are_page_aligned_and_hold_what_is_written() -> None:
    arrays = allocate([need("a", 5, 0, 3), need("empty", 0, 0, 3), need("b", 3000, 1, 2)])
    arrays["a"][:] = 1
    arrays["b"][:] = 2
    assert all(array.ctypes.data % PAGE == 0 for array in arrays.values())
    assert arrays["a"].tolist() == [1] * 5
    assert arrays["empty"].shape == (0,)
    assert (arrays["b"] == 2).all()
