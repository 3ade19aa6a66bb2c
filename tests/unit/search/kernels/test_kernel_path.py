"""The path is the cheapest of all, by trying them all."""

from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from intarsia.search.kernels.kernel_path import KernelCost, KernelPath, cheapest_kernels

COSTS = st.builds(KernelCost, ms=st.integers(0, 9).map(float), layout=st.sampled_from(["blocks", "plain"]))
LAYERS = st.lists(st.dictionaries(st.sampled_from("abc"), COSTS, min_size=1), max_size=5)


@given(layers=LAYERS, change_ms=st.sampled_from([0.0, 1.0, 5.0]))
def test_no_other_choice_takes_less(layers: list[dict[str, KernelCost]], change_ms: float) -> None:
    def total(names: tuple[str, ...]) -> float:
        chosen = [layer[name] for layer, name in zip(layers, names, strict=True)]
        changes = sum(one.layout != other.layout for one, other in pairwise(chosen))
        return sum(each.ms for each in chosen) + changes * change_ms

    found = cheapest_kernels(layers, change_ms)
    assert found.ms == total(found.kernels) == min(map(total, product(*layers)))


def test_a_change_of_layout_is_worth_its_price_or_is_not_made() -> None:
    ours, host = KernelCost(ms=2.0, layout="blocks"), KernelCost(ms=3.0, layout="plain")
    quick = KernelCost(ms=0.5, layout="plain")
    layers = [{"ours": ours, "host": host}, {"ours": ours, "host": quick}, {"ours": ours, "host": host}]
    assert cheapest_kernels(layers, 0.1) == KernelPath(kernels=("ours", "host", "ours"), ms=4.7, changes=2)
    assert cheapest_kernels(layers, 1.0) == KernelPath(kernels=("ours", "ours", "ours"), ms=6.0, changes=0)


def test_of_equals_the_one_named_first_wins() -> None:
    cost = KernelCost(ms=1.0, layout="blocks")
    assert cheapest_kernels([{"usual": cost, "host": cost}], 0.0).kernels == ("usual",)


def test_without_layers_there_is_nothing_to_choose() -> None:
    assert cheapest_kernels([], 1.0) == KernelPath(kernels=(), ms=0.0, changes=0)
