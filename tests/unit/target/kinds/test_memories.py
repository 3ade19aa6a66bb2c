from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.target import Target


def test_memories_keep_their_order() -> None:
    target = Target("c -ram=sram:393216,dtcm:131072 -flash=2097152 -stack=4096")
    assert list(target.ram.items()) == [("sram", 393216), ("dtcm", 131072)]
    assert (target.flash, target.stack, target.board) == (2097152, 4096, "")
    assert Target(str(target)) == target


def test_an_engine_has_the_memories_of_its_base() -> None:
    target = Target("cmsis-nn -base='c -mcpu=cortex-m4 -ram=sram:65536 -board=mps2-an386'")
    assert (dict(target.ram), target.flash, target.board) == ({"sram": 65536}, None, "mps2-an386")


@pytest.mark.parametrize("entry", ["", "262144", "sram", "sram:", "sram:-1", "sram:0", "SRAM:1", "sram:256K", "a b:1"])
def test_what_is_no_memory_is_refused(entry: str) -> None:
    with pytest.raises(SpecError, match=r"ram: malformed memory .*; write NAME:BYTES, as sram:262144"):
        Target({"kind": "c", "ram": [entry]})


def test_a_name_stands_once_and_flash_is_an_option_of_its_own() -> None:
    with pytest.raises(SpecError, match="ram: the memory 'sram' appears more than once"):
        Target("c -ram=sram:1,sram:2")
    with pytest.raises(
        SpecError, match="ram: 'flash' is the memory of code and weights; its bytes are the option flash"
    ):
        Target("c -ram=flash:1")
