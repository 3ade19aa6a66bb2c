"""Models changed at random: each is refused in our words or planned, and what is planned, ONNX Runtime loads.

Most cases are only read and planned, for an executor that nothing here compiles for: that measures nothing, and asks
every engine what it takes. Some are compiled and run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import onnxruntime_takes
from tests.fuzz.base_models import BASES, EXTERNAL, write_data
from tests.fuzz.harness import Case, Outcome, faults, run_cases
from tests.fuzz.mutation import damage, mutate

ENGINES = "onnxruntime, openvino, mnn, ncnn"
FEW, MANY = 60, 1940
COMPILED_OF_FEW, COMPILED_OF_MANY = 4, 100
PLAN_LIMIT_S = 10.0
"""Of a case that only plans, which takes a tenth of a second, or several on a busy machine; what hangs goes on."""
COMPILE_LIMIT_S = 60.0
"""Of a case that compiles: the budget is a second, and starting processes that measure takes longer."""
PLANNED, REFUSED, UNCOVERED = 3, 2, 4
"""Exit codes: nothing compiles for this executor here; not a sound model; no engine takes some node."""
UNTAKEN = ("sequences", "optionals")
"""Bases that no engine takes: they are there for the reading."""

pytestmark = [pytest.mark.engine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A changed model.

    Attributes:
        name: The seed and what was changed.
        path: The file.
    """

    name: str
    path: Path


def mutant(seed: int, folder: Path) -> Mutant:
    """The changed model of one seed: one to three changes of its structure, or of its bytes."""
    rng = random.Random(seed)
    base = rng.choice(sorted(BASES))
    made = BASES[base]()
    told = []
    if rng.random() < 0.2:
        content, what = damage(made.SerializeToString(), rng)
        told.append(what)
    else:
        told.extend(mutate(made, rng) for _ in range(rng.choice((1, 1, 2, 3))))
        content = made.SerializeToString()
    folder.mkdir()
    if base == EXTERNAL:
        write_data(folder)
    path = folder / "model.onnx"
    path.write_bytes(content)
    return Mutant(name=f"seed {seed}: {base}: {'; '.join(told)}", path=path)


def planning(seeds: range, folder: Path) -> Iterator[Case]:
    """Cases that read and plan."""
    for seed in seeds:
        made = mutant(seed, folder / str(seed))
        line = ("compile", str(made.path), "--target", ENGINES, "--runtime", "rpc", "--shape", "N=2")
        yield Case(made.name, _without_shape(line, made), made.path.parent)


def compiling(seeds: range, folder: Path) -> Iterator[Case]:
    """Cases that compile with one engine."""
    for seed in seeds:
        made = mutant(seed, folder / str(seed))
        line = ("compile", str(made.path), "--target", "onnxruntime", "--partition", "single", "--budget", "1")
        yield Case(made.name, line, made.path.parent)


def _without_shape(line: tuple[str, ...], made: Mutant) -> tuple[str, ...]:
    """Only the model with an open size is told one."""
    return line if ": open: " in made.name else line[:-2]


def told(case: Case, outcome: Outcome) -> str:
    return f"{case.name}: {'; '.join(faults(outcome))}\n{outcome.output[-600:]}"


def check_planned(cases: Iterator[Case]) -> dict[str, int]:
    """Run them all, hold them to the rules and to ONNX Runtime, and count what became of them."""
    wrong, accepted, count = [], [], {"planned": 0, "refused": 0}
    for case, outcome in run_cases(cases, limit_s=PLAN_LIMIT_S):
        if faults(outcome):
            wrong.append(told(case, outcome))
        elif outcome.exit_code == PLANNED:
            accepted.append(case)
            count["planned"] += 1
        else:
            assert outcome.exit_code in (REFUSED, UNCOVERED), told(case, outcome)
            count["refused"] += 1
    answers = onnxruntime_takes.answers(case.folder / "model.onnx" for case in accepted)
    for case, answer in zip(accepted, answers, strict=True):
        is_own = any(word in answer for word in onnxruntime_takes.OWN_LIMITS)
        if onnxruntime_takes.refuses(answer) and not is_own:
            wrong.append(f"{case.name}: planned, and ONNX Runtime says: {answer}")
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong)
    return count


def check_compiled(cases: Iterator[Case]) -> None:
    wrong = [told(case, out) for case, out in run_cases(cases, limit_s=COMPILE_LIMIT_S) if faults(out)]
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong)


def test_every_base_is_planned(tmp_path: Path) -> None:
    """Or the fuzzer would show that what is refused anyway is refused."""
    cases = []
    for name, make in BASES.items():
        folder = tmp_path / name
        folder.mkdir()
        write_data(folder)
        (folder / "model.onnx").write_bytes(make().SerializeToString())
        line = ("compile", str(folder / "model.onnx"), "--target", ENGINES, "--runtime", "rpc")
        cases.append(Case(name, (*line, "--shape", "N=2") if name == "open" else line, folder))
    ended = {case.name: outcome for case, outcome in run_cases(cases, limit_s=PLAN_LIMIT_S)}
    expected = {**dict.fromkeys(BASES, PLANNED), **dict.fromkeys(UNTAKEN, UNCOVERED)}
    assert {name: out.exit_code for name, out in ended.items()} == expected, ended


def test_the_same_seed_is_the_same_model(tmp_path: Path) -> None:
    one, other = (mutant(7, tmp_path / name) for name in ("one", "other"))
    assert (one.name, one.path.read_bytes()) == (other.name, other.path.read_bytes())


def test_some_models(tmp_path: Path) -> None:
    count = check_planned(planning(range(FEW), tmp_path))
    assert min(count.values()) > FEW // 20, count


def test_some_compiles(tmp_path: Path) -> None:
    check_compiled(compiling(range(FEW, FEW + COMPILED_OF_FEW), tmp_path))


@pytest.mark.large
@pytest.mark.timeout(3600)
def test_many_models(tmp_path: Path) -> None:
    count = check_planned(planning(range(1000, 1000 + MANY - COMPILED_OF_MANY), tmp_path))
    assert min(count.values()) > MANY // 20, count


@pytest.mark.large
@pytest.mark.timeout(3600)
def test_many_compiles(tmp_path: Path) -> None:
    check_compiled(compiling(range(5000, 5000 + COMPILED_OF_MANY), tmp_path))
