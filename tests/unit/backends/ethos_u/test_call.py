"""The call of the driver: addresses by region, data in and out at the places that Vela gave them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intarsia.backends.ethos_u.call import DRIVER, kernel
from intarsia.backends.ethos_u.vela import Compiled, Port
from intarsia.codegen.module import Scratch

MADE = Compiled(
    commands=np.zeros(40, np.uint8),
    weights=np.zeros(64, np.uint8),
    weight_region=0,
    memory=256,
    memory_region=1,
    fast=0,
    fast_region=0,
    inputs=(Port(offset=16, size=8, region=1), Port(offset=32, size=4, region=1)),
    outputs=(Port(offset=0, size=6, region=1), Port(offset=8, size=2, region=1)),
    estimate={"cycles": 100.0},
)


def test_the_text_copies_in_invokes_and_copies_out() -> None:
    made = kernel(MADE)
    text = made.functions[0].text
    lines = [
        "memcpy((uint8_t *)memory + 16, x0, 8u);",
        "memcpy((uint8_t *)memory + 32, x1, 4u);",
        "uint64_t addresses[2] = {(uint64_t)(uintptr_t)weights, (uint64_t)(uintptr_t)memory};",
        "static const size_t sizes[2] = {64, 256};",
        "    ethosu_invoke_v3(driver, commands, 40, addresses, sizes, 2, NULL);",
        "ethos_u_failed(status);",
        "memcpy(y + 0, (const uint8_t *)memory + 0, 6u);",
        "memcpy(y + 6, (const uint8_t *)memory + 8, 2u);",
    ]
    for line in lines:
        assert line in text, line
    assert made.functions[1] is DRIVER
    assert "not run" in DRIVER.text
    assert made.estimate == {"cycles": 100.0}
    assert [each.size for each in made.arguments if isinstance(each, Scratch)] == [256]


def test_fast_memory_is_memory_of_its_own() -> None:
    made = kernel(replace(MADE, fast=128, fast_region=2))
    assert "(uint64_t)(uintptr_t)fast};" in made.functions[0].text
    assert [each.size for each in made.arguments if isinstance(each, Scratch)] == [256, 128]
