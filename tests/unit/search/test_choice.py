"""Memory as a constraint: what is too big never ships, and a mix may not need much more than the best engine alone."""

from __future__ import annotations

import pytest

from intarsia.config import RunSettings
from intarsia.cost.duel import MEMORY_STAGE
from intarsia.cost.footprint import Footprint
from intarsia.cost.memory import Memory
from intarsia.cost.verdict import CONTROL_NAME, Verdict
from intarsia.errors import MemoryLimitError
from intarsia.partition import Partition
from intarsia.search.choice import check_last, check_memory, choose
from intarsia.search.problem import Candidate
from intarsia.target import Target

MB = 10**6


def candidate(name: str) -> Candidate:
    partitions = (Partition(target=Target("onnxruntime"), nodes=("n0",)),)
    return Candidate(
        name=name, label=name, partitions=partitions, settings=RunSettings(threads=2), predicted_ms=(10.0,)
    )


SINGLE, MIX, OTHER = candidate("single"), candidate("mix"), candidate("other")


def verdict(rounds: dict[str, float], peaks_mb: dict[str, int], *, too_big: tuple[str, ...] = ()) -> Verdict:
    times = {name: (ms,) * 30 for name, ms in rounds.items()}
    first = next(iter(times.values()), (1.0,) * 30)
    return Verdict(
        rounds_ms=times | ({CONTROL_NAME: first} if rounds else {}),
        set_sizes=(10, 10, 10) if rounds else (),
        profile_ms={},
        errors={},
        failed=dict.fromkeys(too_big, (MEMORY_STAGE, "its peak is over the limit")),
        is_void=False,
        footprints={
            name: Footprint(cold_s=(), memory=(Memory(peak=mb * MB, steady=mb * MB),)) for name, mb in peaks_mb.items()
        },
    )


@pytest.mark.parametrize(("mix_mb", "ships"), [(100, MIX), (130, MIX), (131, SINGLE), (300, SINGLE)])
def test_a_mix_may_need_a_little_more_memory_than_the_best_engine(mix_mb: int, ships: Candidate) -> None:
    found = verdict({"single": 10.0, "mix": 8.0}, {"single": 100, "mix": mix_mb})
    chosen, reason = choose([MIX], SINGLE, found)
    assert chosen is ships
    if ships is SINGLE:
        assert f"({mix_mb} MB against 100 MB); --max-memory would allow it" in reason


def test_with_a_limit_a_mix_may_need_all_of_it() -> None:
    found = verdict({"single": 10.0, "mix": 8.0}, {"single": 100, "mix": 300})
    assert choose([MIX], SINGLE, found, 400 * MB)[0] is MIX


def test_of_two_faster_mixes_the_one_that_is_small_enough_ships() -> None:
    found = verdict({"single": 10.0, "mix": 7.0, "other": 8.0}, {"single": 100, "mix": 300, "other": 110})
    chosen, reason = choose([MIX, OTHER], SINGLE, found)
    assert (chosen, "1.25 times" in reason) == (OTHER, True)


def test_a_mix_over_the_limit_is_not_the_reason_of_a_failure() -> None:
    found = verdict({"single": 10.0}, {"single": 100, "mix": 300}, too_big=("mix",))
    assert choose([MIX], SINGLE, found, 200 * MB) == (SINGLE, "every mix needs more memory than it may, or failed")


def test_a_mix_ships_where_no_engine_alone_is_small_enough() -> None:
    found = verdict({"mix": 8.0}, {"single": 300, "mix": 150}, too_big=("single",))
    assert choose([MIX], None, found, 200 * MB) == (MIX, "no engine alone gets by with so little memory")


def test_if_nothing_fits_the_error_names_what_needs_least() -> None:
    found = verdict({}, {"single": 300, "mix": 250, "other": 400}, too_big=("single", "mix", "other"))
    with pytest.raises(MemoryLimitError, match=r"with 200 MB: the one that needs least, mix, takes 250 MB") as caught:
        choose([MIX], None, found, 200 * MB)
    assert caught.value.exit_code == 4


def test_the_plan_that_was_asked_for_obeys_the_limit_too() -> None:
    found = verdict({"single": 10.0}, {"single": 100, "mix": 300}, too_big=("mix",))
    with pytest.raises(MemoryLimitError, match="mix, takes 300 MB"):
        check_memory(["mix"], found, 200 * MB)
    check_memory(["single"], found, 200 * MB)
    check_memory(["mix"], found, None)


def test_a_mix_that_left_the_duel_is_told_with_its_figure() -> None:
    found = verdict({"single": 10.0}, {"single": 100, "mix": 100})
    left = Verdict(
        rounds_ms=found.rounds_ms,
        set_sizes=found.set_sizes,
        profile_ms={},
        errors={},
        failed={},
        is_void=False,
        left_ms={"mix": (20.0,) * 10},
    )
    assert choose([MIX], SINGLE, left)[1] == "the best mix is 0.50 times as fast (0.50 to 0.50): clearly slower"


def test_a_plan_that_grows_over_the_limit_in_the_last_process_does_not_ship() -> None:
    check_last("single", 200 * MB, 200 * MB)
    check_last("single", 200 * MB, None)
    with pytest.raises(MemoryLimitError, match="single takes 201 MB at its peak"):
        check_last("single", 201 * MB, 200 * MB)
