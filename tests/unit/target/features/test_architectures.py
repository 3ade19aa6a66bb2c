"""The tables hold together, and implication keeps its laws in both directions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.target.features import ARCHITECTURES, Architecture, architecture

TABLES = Path(__file__).parents[4] / "src" / "intarsia" / "target" / "features" / "tables"


def raw(name: str) -> dict[str, Any]:
    return tomllib.loads((TABLES / f"{name}.toml").read_text(encoding="utf-8"))


def features_of(name: str) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(sorted(architecture(name).implies)), max_size=12)


SOME = st.sampled_from(ARCHITECTURES).flatmap(lambda name: st.tuples(st.just(architecture(name)), features_of(name)))
SOME_AND_ONE = SOME.flatmap(
    lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.sampled_from(sorted(pair[0].implies)))
)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_each_table_is_sourced_and_whole(name: str) -> None:
    table, found = raw(name), architecture(name)
    assert re.match(r"LLVM \d+\.\d+\.\d+, llvm/", found.source)
    assert not set(table["standalone"].split()) & set(table["implies"])
    assert {other for implied in found.implies.values() for other in implied} <= set(found.implies)
    assert set(table["spellings"].values()) <= set(found.implies)
    seen: set[str] = set()
    for processor, words in table["cpus"].items():
        first, *rest = words.split()
        assert set(rest) | {first} <= set(found.implies) | seen
        assert not set(rest) & seen  # an ancestor stands first
        seen.add(processor)
    assert set(" ".join(table["triples"].values()).split()) <= seen | set(found.implies)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_two_features_share_a_spelling(name: str) -> None:
    loose = [re.sub("[-_.]", "", feature).lower() for feature in architecture(name).implies]
    assert len(loose) == len(set(loose))
    assert not set(raw(name)["spellings"]) & set(architecture(name).implies)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_nothing_implies_itself(name: str) -> None:
    found = architecture(name)
    for feature, implied in found.implies.items():
        assert feature not in found.closed(implied)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_processor_has_what_its_features_imply(name: str) -> None:
    found = architecture(name)
    for has in [*found.processors.values(), *found.triples.values()]:
        assert found.closed(has) == has


@given(SOME)
def test_closing_adds_and_is_idempotent(case: tuple[Architecture, frozenset[str]]) -> None:
    found, features = case
    closed = found.closed(features)
    assert features <= closed == found.closed(closed)
    assert all(found.implies[feature] <= closed for feature in closed)


@given(SOME_AND_ONE)
def test_what_implies_a_feature_goes_with_it_and_nothing_else(
    case: tuple[Architecture, frozenset[str], str],
) -> None:
    found, features, gone = case
    on = found.closed(features)
    left = found.without(on, gone)
    assert left == {feature for feature in on if gone not in found.closed((feature,))}
    assert found.closed(left) == left == found.without(left, gone)


@given(SOME_AND_ONE)
def test_on_after_off_restores_a_feature_and_all_it_needs(case: tuple[Architecture, frozenset[str], str]) -> None:
    found, features, one = case
    again = found.without(found.closed(features), one) | found.closed((one,))
    assert found.closed((one,)) <= again == found.closed(again)


@pytest.mark.parametrize(
    ("name", "written", "feature"),
    [
        ("x86", "avx512_vnni", "avx512vnni"),
        ("x86", "AMX-INT8", "amx-int8"),
        ("x86", "sse4_1", "sse4.1"),
        ("x86", "pni", "sse3"),
        ("aarch64", "asimd", "neon"),
        ("aarch64", "fp16", "fullfp16"),
        ("arm", "fp16", "fp16"),
        ("arm", "dotprod", "dotprod"),
        ("aarch64", "dsp", None),
        ("x86", "", None),
    ],
)
def test_spellings(name: str, written: str, feature: str | None) -> None:
    assert architecture(name).feature(written) == feature


def test_processors_by_other_names() -> None:
    x86, aarch64, arm, riscv = map(architecture, ("x86", "aarch64", "arm", "riscv"))
    assert x86.processor("skylake_avx512") == x86.processor("skx") == x86.processors["skylake-avx512"]
    assert aarch64.processor("armv8.2-a") == aarch64.closed(("v8.2a",))
    assert arm.processor("armv7e-m") == arm.closed(("armv7e-m",))
    assert riscv.processor("rva23u64") == riscv.closed(("rva23u64",))
    assert x86.processor("avx2") is None
    assert riscv.processor("v") is None
    assert x86.processor("cortex-a53") is None
