"""What may run where."""

from __future__ import annotations

from dataclasses import replace

from intarsia.runtime.artifact.machine import Machine, _cpuinfo, this_machine

HERE = Machine(architecture="x86_64", isa=("avx", "avx2", "fma"), cpu="A", cores=4, system="Linux")


def test_another_architecture_or_a_missing_feature_blocks() -> None:
    assert HERE.blocking(replace(HERE, architecture="aarch64"))
    assert "avx512f" in HERE.blocking(replace(HERE, isa=("avx", "avx512f")))[0]
    assert HERE.blocking(replace(HERE, isa=("avx",))) == []


def test_another_model_or_core_count_is_only_a_remark() -> None:
    other = replace(HERE, cpu="B", cores=2)
    assert HERE.blocking(other) == []
    assert len(HERE.remarks(other)) == 2
    assert HERE.remarks(HERE) == []


def test_the_fingerprint_moves_with_every_fact() -> None:
    others = [replace(HERE, cpu="B"), replace(HERE, cores=2), replace(HERE, isa=()), replace(HERE, system="x")]
    assert len({machine.fingerprint for machine in [HERE, *others]}) == 5


def test_cpuinfo_of_both_vendors_is_read() -> None:
    x86 = ["processor\t: 0", "model name\t: Some CPU", "flags\t\t: fpu avx2 sse4_1", "model name\t: no"]
    assert _cpuinfo(x86) == ("Some CPU", frozenset({"fpu", "avx2", "sse4_1"}))
    assert _cpuinfo(["Features\t: fp asimd sve"]) == ("", frozenset({"fp", "asimd", "sve"}))


def test_this_machine_has_a_name() -> None:
    assert this_machine().architecture
    assert this_machine().cores >= 1
