from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import NoKernelError, Site
from intarsia.codegen import arena
from intarsia.codegen.boards.board import EMULATED, Board
from intarsia.codegen.module import Kernel
from intarsia.cost.records.record import Failure
from intarsia.cost.records.store import Store
from intarsia.errors import MismatchError
from intarsia.runtime.tolerance import Tolerance
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.candidates import Offer
from intarsia.search.boards.placement import Choice, Placement, place
from tests.unit.codegen.tools import BOARDS
from tests.unit.search.boards.programs import FEEDS, NAIVE, WASTEFUL, answers, network, products, right

BOARD = EMULATED["mps2-an386"]
ARM = Processor(architecture="arm", vector_bytes=4, vector_registers=32, pointer_bytes=4, has_dsp=True)


def found_by(offers: Mapping[str, Offer], board: Board = BOARD, **more: object) -> Placement:
    return place(*network(), ARM, offers, board, FEEDS, answers(), **more)  # type: ignore[arg-type]


def chosen(found: Placement, name: str) -> list[Choice]:
    return [each for each in found.choices if each.name == name]


def everything_but_products(site: Site) -> Sequence[Kernel]:
    if site.each.name == "matmul":
        raise NoKernelError("no products")
    return kernels_for(site)


@BOARDS
@pytest.mark.parametrize("name", ["mps2-an386", "mps3-an547"])
def test_each_instruction_gets_the_kernel_that_executes_least(name: str) -> None:
    offers = {"wasteful": products(WASTEFUL), "naive": products(NAIVE), "rest": everything_but_products}
    found = found_by(offers, EMULATED[name])
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    assert [each.engine for each in chosen(found, "matmul")] == ["naive", "naive"]
    assert abs(found.predicted - found.instructions) <= 20  # what the compiler moves over a border
    assert found.alone("naive") == found.instructions
    assert found.alone("wasteful") > found.instructions + 2 * 100
    assert {call.engine for call in found.module.calls} == {"naive", "rest"}


@BOARDS
def test_our_own_kernels_take_part() -> None:
    found = found_by({"wasteful": products(WASTEFUL), "c": kernels_for})
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    assert {each.engine for each in chosen(found, "matmul")} == {"c"}


NOTHING = "    for (int i = 0; i < M * N; i++) {\n        y[i] = a[0] * b[0];\n    }"


@BOARDS
@pytest.mark.parametrize("order", [("naive", "wrong"), ("wrong", "naive")])
def test_a_kernel_that_is_wrong_is_not_chosen_however_cheap_or_preferred_it_is(order: Sequence[str]) -> None:
    both = {"naive": products(NAIVE), "wrong": products(NOTHING)}
    found = found_by({**{name: both[name] for name in order}, "rest": everything_but_products})
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    for each in chosen(found, "matmul"):
        assert each.engine == "naive"
        failure = each.counts[order.index("wrong")]
        assert isinstance(failure, Failure)
        assert failure.stage == "verify"
        assert "against the reference" in failure.reason


@BOARDS
def test_a_wrong_kernel_of_an_engine_costs_its_right_ones_nothing() -> None:
    """The first engine is wrong at the wider product alone."""

    def half(site: Site) -> Sequence[Kernel]:
        return products(NOTHING if site.each.shape[-1] == 8 else NAIVE)(site)

    found = found_by({"half": half, "other": products(WASTEFUL), "rest": everything_but_products})
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    assert {each.engine for each in chosen(found, "matmul")} == {"half", "other"}


@BOARDS
def test_an_engine_with_a_wrong_and_a_right_kernel_is_not_lost() -> None:
    def both(site: Site) -> Sequence[Kernel]:
        return (*products(NOTHING)(site), *products(NAIVE)(site))

    found = found_by({"both": both, "rest": everything_but_products})
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    assert {each.chosen for each in chosen(found, "matmul")} == {1}


@BOARDS
def test_a_wrong_first_engine_is_found_where_the_model_leaves_much_open() -> None:
    """The reference alone would allow it; another engine is nearer."""
    off = NAIVE.replace("= sum;", "= sum * 1.02f;")
    loose = Answers(values={"y": right()}, tolerances={"y": Tolerance(largest=0.2, length=0.2)})
    offers = {"off": products(off), "naive": products(NAIVE), "rest": everything_but_products}
    found = place(*network(), ARM, offers, BOARD, FEEDS, loose)
    np.testing.assert_allclose(found.results["y"], right(), rtol=0.2)
    assert {each.engine for each in chosen(found, "matmul")} == {"naive"}


@BOARDS
def test_where_every_engine_is_wrong_nothing_ships() -> None:
    with pytest.raises(
        MismatchError, match=r"no engine's C answers rightly on QEMU's mps2-an386: y: error .* reference"
    ):
        found_by({"wrong": products(NOTHING), "rest": everything_but_products})


@BOARDS
def test_a_record_of_a_kernel_that_is_wrong_here_is_no_harm(tmp_path: Path) -> None:
    store = Store(tmp_path / "records.sqlite")
    offers = {"wrong": products(NOTHING), "naive": products(NAIVE), "rest": everything_but_products}
    lax = Answers(values={"y": right()}, tolerances={"y": Tolerance(largest=math.inf, length=math.inf)})
    taken = place(*network(), ARM, offers, BOARD, FEEDS, lax, store=store)
    assert {each.engine for each in chosen(taken, "matmul")} == {"wrong"}
    found = found_by(offers, store=store)
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    assert {each.engine for each in chosen(found, "matmul")} == {"naive"}


@BOARDS
@pytest.mark.parametrize(
    ("text", "stage"), [("    y[0] = a[0] + nothing;", "compile"), ("    *(volatile int *)0xf0000000u = 1;", "run")]
)
def test_a_kernel_that_fails_costs_no_other_its_count(text: str, stage: str) -> None:
    def wide(site: Site) -> Sequence[Kernel]:
        """Two ways for the wider product alone, the first of which fails."""
        if site.each.name != "matmul" or site.each.shape[-1] != 8:
            raise NoKernelError("only one product")
        return (*products(text)(site), *products(WASTEFUL)(site))

    found = found_by({"naive": products(NAIVE), "wide": wide, "other": products(WASTEFUL), "c": kernels_for})
    np.testing.assert_allclose(found.results["y"], right(), rtol=1e-4)
    failures = [count for each in found.choices for count in each.counts if isinstance(count, Failure)]
    assert [each.stage for each in failures] == [stage]
    assert found.runs < 15


@BOARDS
def test_an_instruction_that_no_engine_has_is_an_error() -> None:
    with pytest.raises(NoKernelError, match="no products"):
        found_by({"rest": everything_but_products})


@BOARDS
def test_where_memory_is_short_a_kernel_that_needs_less_steps_in() -> None:
    hungry = "    (void)scratch;\n" + NAIVE
    offers = {"wasteful": products(WASTEFUL), "hungry": products(hungry, 5000), "rest": everything_but_products}
    free = found_by(offers)
    assert {each.engine for each in chosen(free, "matmul")} == {"hungry"}
    assert arena.plan(free.module).size >= 5000
    tight = found_by(offers, limit_bytes=1000)
    assert {each.engine for each in chosen(tight, "matmul")} == {"wasteful"}
    assert arena.plan(tight.module).size <= 1000
    np.testing.assert_array_equal(tight.results["y"], free.results["y"])
    assert tight.instructions > free.instructions


@BOARDS
def test_what_saves_no_memory_is_not_exchanged_where_nothing_fits() -> None:
    """The scratch memory of the second product lies beside little, and that of the first decides."""

    def hungry(site: Site) -> Sequence[Kernel]:
        return products("    (void)scratch;\n" + NAIVE, 5000 if site.each.shape[-1] == 8 else 16)(site)

    offers = {"wasteful": products(WASTEFUL), "hungry": hungry, "rest": everything_but_products}
    found = found_by(offers, limit_bytes=1)
    assert [each.engine for each in chosen(found, "matmul")] == ["wasteful", "hungry"]
    assert arena.plan(found.module).size < 1000


@BOARDS
def test_what_was_counted_is_not_counted_again(tmp_path: Path) -> None:
    offers = {"naive": products(NAIVE), "wasteful": products(WASTEFUL), "c": kernels_for}
    store = Store(tmp_path / "records.sqlite")
    first = found_by(offers, store=store)
    again = found_by(offers, store=store)
    assert first.runs > again.runs <= 4
    assert again.choices == first.choices
    assert again.instructions == first.instructions
    records = store.records()
    assert records.damaged == 0
    assert {each.kind for each in records.records} == {"instructions"}
    assert {each.outcome["unit"] for each in records.records} == {"instructions in QEMU"}
    other = found_by(offers, EMULATED["mps3-an547"], store=store)
    assert other.runs > 1
