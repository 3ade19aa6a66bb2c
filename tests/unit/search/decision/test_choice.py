"""Memory as a constraint: what is too big never ships, and a mix may not need much more than the best engine alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from intarsia.config import RunSettings
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.verdict import CONTROL_NAME, MEMORY_STAGE, Verdict
from intarsia.errors import BackendCrashError, ExecutionError, MemoryLimitError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.decision.choice import Choice, check_last, check_memory, choose
from intarsia.search.decision.conclusion import Conclusion
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
    choice = choose([MIX], SINGLE, found)
    assert choice.plan is ships
    if ships is SINGLE:
        assert choice.conclusion is Conclusion.OVER_MEMORY
        told = f"({mix_mb} MB against 100 MB), where 130 MB is the limit; --max-memory would allow it"
        assert told in choice.reason


@pytest.mark.parametrize(("usable_gb", "ships"), [(24, MIX), (8, MIX), (7, SINGLE), (1, SINGLE)])
def test_a_mix_may_need_a_sixteenth_of_the_memory_of_the_machine(usable_gb: int, ships: Candidate) -> None:
    found = verdict({"single": 10.0, "mix": 8.0}, {"single": 58, "mix": 450})
    choice = choose([MIX], SINGLE, found, usable_bytes=usable_gb * 1000 * MB)
    assert choice.plan is ships
    if usable_gb == 7:
        assert "(450 MB against 58 MB), where 438 MB is the limit; --max-memory would allow it" in choice.reason
    if usable_gb == 1:
        assert "7.8 times the memory (450 MB against 58 MB), where 75 MB is the limit; --max-memory" in choice.reason


def test_a_stated_limit_rules_whatever_the_machine_has() -> None:
    found = verdict({"single": 10.0}, {"single": 100, "mix": 300}, too_big=("mix",))
    assert choose([MIX], SINGLE, found, 200 * MB, usable_bytes=24_000 * MB).plan is SINGLE


def test_with_a_limit_a_mix_may_need_all_of_it() -> None:
    found = verdict({"single": 10.0, "mix": 8.0}, {"single": 100, "mix": 300})
    assert choose([MIX], SINGLE, found, 400 * MB).plan is MIX


def test_of_two_faster_mixes_the_one_that_is_small_enough_ships() -> None:
    found = verdict({"single": 10.0, "mix": 7.0, "other": 8.0}, {"single": 100, "mix": 300, "other": 110})
    choice = choose([MIX, OTHER], SINGLE, found)
    assert (choice.plan, "1.25 times" in choice.reason) == (OTHER, True)


def test_a_mix_over_the_limit_is_not_the_reason_of_a_failure() -> None:
    found = verdict({"single": 10.0}, {"single": 100, "mix": 300}, too_big=("mix",))
    told = "every mix needs more memory than it may, or failed"
    assert choose([MIX], SINGLE, found, 200 * MB) == Choice(plan=SINGLE, conclusion=Conclusion.OVER_MEMORY, reason=told)


def test_a_mix_ships_where_no_engine_alone_is_small_enough() -> None:
    found = verdict({"mix": 8.0}, {"single": 300, "mix": 150}, too_big=("single",))
    told = "no engine alone gets by with so little memory"
    assert choose([MIX], None, found, 200 * MB) == Choice(plan=MIX, conclusion=Conclusion.NO_SINGLE, reason=told)


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


def test_a_mix_that_left_the_paired_benchmark_is_told_with_its_figure() -> None:
    left = replace(verdict({"single": 10.0}, {"single": 100, "mix": 100}), left_ms={"mix": (20.0,) * 10})
    choice = choose([MIX], SINGLE, left)
    assert choice.conclusion is Conclusion.LOST
    assert choice.reason == "the best mix is slower: 0.50 times as fast (0.50 to 0.50)"
    void = choose([MIX], SINGLE, replace(left, is_void=True))
    assert (void.conclusion, "slower" in void.reason) == (Conclusion.VOID, False)


def test_a_loss_within_the_noise_is_none() -> None:
    """0.95 times as fast (0.69 to 1.05) reads badly as a loss."""
    found = verdict({"single": 10.0}, {"single": 100, "mix": 100})
    left = replace(found, left_ms={"mix": (14.5, 14.5, *[10.5] * 5, 9.5, 9.5, 9.5)})
    choice = choose([MIX], SINGLE, left)
    assert choice.conclusion is Conclusion.NO_DIFFERENCE
    assert choice.reason == "no difference shown between the best mix and it (0.69 to 1.05 times as fast)"


def test_a_mix_that_failed_says_how_and_several_are_summed_up() -> None:
    found = replace(verdict({"single": 10.0}, {"single": 100}), failed={"mix": ("run", "SIGSEGV")})
    choice = choose([MIX], SINGLE, found)
    assert (choice.conclusion, choice.reason) == (Conclusion.FAILED, "the mix failed at run: SIGSEGV")
    several = replace(found, failed={"mix": ("run", "SIGSEGV"), "other": ("load", "no")})
    assert choose([MIX, OTHER], SINGLE, several).reason == "every mix failed"
    assert choose([], SINGLE, found).conclusion is Conclusion.NO_ALTERNATIVE


def test_it_is_spoken_of_the_mix_that_came_nearest() -> None:
    found = verdict({"single": 10.0, "other": 10.0}, {"single": 100, "other": 100})
    left = replace(found, left_ms={"mix": (20.0,) * 10})
    assert choose([MIX, OTHER], SINGLE, left).conclusion is Conclusion.NO_DIFFERENCE


REDUCED = replace(
    candidate("reduced"),
    label="single in bf16",
    partitions=(Partition(target=Target("openvino -inference-precision=bf16"), nodes=("n0",)),),
    settings=RunSettings(threads=2, max_error=0.1),
)


def test_a_plan_in_reduced_precision_that_does_not_ship_has_a_reason() -> None:
    assert REDUCED.precisions
    found = verdict({"single": 10.0, "reduced": 10.0}, {"single": 100, "reduced": 100})
    told = choose([REDUCED], SINGLE, found)
    assert told.conclusion is Conclusion.NO_ALTERNATIVE
    assert told.reason == (
        "no mix of engines promised to be faster; "
        "no difference shown between single in bf16 and single (1.00 to 1.00 times as fast)"
    )
    left = replace(verdict({"single": 10.0}, {"single": 100}), left_ms={"reduced": (20.0,) * 10})
    assert choose([REDUCED], SINGLE, left).reason.endswith("it is slower: 0.50 times as fast (0.50 to 0.50)")
    fast = verdict({"single": 10.0, "reduced": 5.0}, {"single": 100, "reduced": 100})
    over = {"reduced": "single in bf16 has an error of 0.2 on validation inputs; 0.1 is allowed"}
    choice = choose([REDUCED], SINGLE, fast, over_error=over)
    assert (choice.plan, choice.reason.endswith(over["reduced"])) == (SINGLE, True)
    assert choose([REDUCED], SINGLE, fast).plan is REDUCED


def test_a_mix_that_wins_says_what_became_of_reduced_precision() -> None:
    found = verdict({"single": 10.0, "mix": 7.0, "reduced": 10.0}, {"single": 100, "mix": 100, "reduced": 100})
    choice = choose([REDUCED, MIX], SINGLE, found)
    assert choice.plan is MIX
    assert choice.reason.startswith(
        "the mix is 1.43 times as fast (1.43 to 1.43); no difference shown between single in"
    )


def test_each_conclusion_is_told_and_no_sentence_contradicts_it() -> None:
    """A gain is only told where one was shown."""
    seen = set()
    for mix_ms in (5.0, 10.0, 20.0):
        for mix_mb in (100, 300):
            for is_void in (False, True):
                found = verdict({"single": 10.0, "mix": mix_ms}, {"single": 100, "mix": mix_mb})
                choice = choose([MIX], SINGLE, replace(found, is_void=is_void))
                seen.add(choice.conclusion)
                assert (choice.plan is MIX) is (choice.conclusion is Conclusion.WON)
                assert ("is 2.00 times as fast" in choice.reason) is (
                    choice.conclusion in (Conclusion.WON, Conclusion.OVER_MEMORY)
                )
                assert ("slower" in choice.reason) is (choice.conclusion is Conclusion.LOST)
    assert seen == {
        Conclusion.WON,
        Conclusion.OVER_MEMORY,
        Conclusion.NO_DIFFERENCE,
        Conclusion.LOST,
        Conclusion.VOID,
    }


def test_a_plan_that_grows_over_the_limit_in_the_last_process_does_not_ship() -> None:
    check_last("single", 200 * MB, 200 * MB)
    check_last("single", 200 * MB, None)
    with pytest.raises(MemoryLimitError, match="single takes 201 MB at its peak"):
        check_last("single", 201 * MB, 200 * MB)


@pytest.mark.parametrize("alternatives", [[], [MIX]])
def test_where_no_plan_ran_the_failure_of_one_is_told(alternatives: list[Candidate]) -> None:
    found = replace(verdict({}, {}), failed={"single": ("crash", "the process was killed by SIGKILL")})
    with pytest.raises(BackendCrashError, match="killed by SIGKILL"):
        choose(alternatives, None, found, singles=[SINGLE])
    with pytest.raises(ExecutionError, match="nothing ran"):
        choose(alternatives, None, verdict({}, {}), singles=[SINGLE])
