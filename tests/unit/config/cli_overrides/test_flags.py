from __future__ import annotations

import pytest

from intarsia.config.cli_overrides.flags import all_flags, find_flag
from intarsia.target import KINDS


def test_every_option_of_every_kind_has_a_flag() -> None:
    for flag in map(str, all_flags()):
        assert str(find_flag(flag)) == flag
        assert str(find_flag(flag.replace("_", "-"))) == flag


def test_no_flag_is_there_twice() -> None:
    flags = [str(flag).replace("_", "-") for flag in all_flags()]
    assert len(flags) == len(set(flags))
    assert len([flag for flag in flags if flag.startswith("--target-")]) == sum(len(k.options) for k in KINDS.values())


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("--target-cmsisnn-mcpu", "--target-cmsis-nn-mcpu"),
        ("--target-arm-acl-threads", "--target-arm_acl-threads"),
        ("--target-ethos-n77-variant", "--target-ethos-n-variant"),
        ("--target-ethos-u-accelerator-config", "--target-ethos-u-accelerator_config"),
        ("--target-cuda-target_host", "--target-cuda-host"),
        ("--executor-cuda-graph-link-params", None),
        ("--target-cmsis-nn-from_device", None),
        ("--target-llvm", None),
        ("--target", None),
        ("target-llvm-mcpu", None),
        ("--seed-llvm-mcpu", None),
    ],
)
def test_spellings(word: str, flag: str | None) -> None:
    found = find_flag(word)
    assert (None if found is None else str(found)) == flag
