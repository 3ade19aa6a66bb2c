"""What is moved arrives whole, wherever it goes."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.codegen import harness
from intarsia.codegen.copying import MOVE
from intarsia.codegen.harness import Array, Program
from intarsia.codegen.toolchain import Build
from tests.unit.codegen.tools import CC

SIZES = (0, 1, 15, 16, 17, 100, 160, 1003)
FAR = (-64, -16, -7, -1, 0, 1, 7, 16, 64)
ROOM = 1200


@CC
@pytest.mark.parametrize("size", SIZES)
def test_bytes_are_moved_up_and_down_over_themselves(size: int) -> None:
    calls = "\n".join(
        f"    memcpy(y, x, {ROOM});\n    move_bytes(y + {80 + far}, y + 80, {size}u);\n    y += {ROOM};" for far in FAR
    )
    text = f"""#include <stdint.h>
#include <stddef.h>
#include <string.h>

void entry(const void *const *inputs, void *const *outputs, void *workspace);

{MOVE.text}

void entry(const void *const *inputs, void *const *outputs, void *workspace)
{{
    const unsigned char *const x = (const unsigned char *)inputs[0];
    unsigned char *y = (unsigned char *)outputs[0];
    (void)workspace;
{calls}
}}
"""
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    numbers = np.random.default_rng(size).integers(0, 256, ROOM).astype(np.uint8)
    program = Program(
        what=Build(sources={"entry.c": text}, flags=flags, link=flags, strict=True),
        entry="entry",
        inputs=(Array(dtype="uint8", shape=(ROOM,)),),
        outputs=(Array(dtype="uint8", shape=(len(FAR), ROOM)),),
        workspace=0,
    )
    ((found,),) = harness.run(program, [[numbers]]).results
    for far, row in zip(FAR, found, strict=True):
        wanted = numbers.copy()
        wanted[80 + far : 80 + far + size] = numbers[80 : 80 + size]
        np.testing.assert_array_equal(row, wanted)
