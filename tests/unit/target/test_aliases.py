from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.target import ALIASES, KINDS, TAGS, Target, parse_targets


@pytest.mark.parametrize("name", ALIASES)
def test_each_alias(name: str) -> None:
    alias = ALIASES[name]
    assert name not in KINDS
    assert name not in TAGS
    target = parse_targets([name, "ext_dev"])[0]
    assert target == Target(alias.form)
    assert target.tags == ()
    assert parse_targets([{"kind": name}, "ext_dev"])[0] == target


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("ethosn", "ethos-n"),
        ("ethos-n77 -threads=2", "ethos-n -threads=2 -variant=n77"),
        ({"kind": "ethosu", "accelerator_config": "ethos-u55-128"}, "ethos-u -accelerator_config=ethos-u55-128"),
        ("x86 -mcpu=haswell", "llvm -mcpu=haswell -mtriple=x86_64-linux-gnu"),
        ("cuda -host=arm", "cuda -host='llvm -mtriple=aarch64-linux-gnu'"),
        ("acl", "composite -devices=arm_acl -host=llvm"),
        ({"kind": "acl"}, "composite -devices=arm_acl -host=llvm"),
        ("acl -host=arm", "composite -devices=arm_acl -host='llvm -mtriple=aarch64-linux-gnu'"),
        ("composite -devices=acl,opencl", "composite -devices=arm_acl,opencl"),
        ("arm_acl", "arm_acl"),
    ],
)
def test_aliases_of_a_target(form: object, text: str) -> None:
    assert str(Target(form)) == text


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("ethos-n77, acl, llvm mattr=+neon", ["ethos-n -variant=n77", "arm_acl", "llvm -mattr=+neon"]),
        (["acl", "llvm"], ["arm_acl", "llvm"]),
        ("acl", ["arm_acl -host=llvm"]),
        (["acl"], ["arm_acl -host=llvm"]),
        ("arm_cl,opencl", ["arm_acl -base='opencl -device=mali'", "opencl"]),
    ],
)
def test_alone_an_accelerator_is_a_machine_and_in_a_list_itself(form: object, texts: list[str]) -> None:
    assert [str(target) for target in parse_targets(form)] == texts


def test_an_alias_helps_to_spell() -> None:
    with pytest.raises(SpecError, match="did you mean 'risc-v'"):
        Target("riscv")


def test_the_machine_around_an_accelerator_has_the_host_that_is_given() -> None:
    assert Target("acl", "arm") == Target("acl -host=arm")
    assert Target("arm_acl", "arm") == Target("arm_acl -host=arm")
    with pytest.raises(SpecError, match="host: the target states 'llvm' and the argument 'c'"):
        Target("acl -host=llvm", "c")
