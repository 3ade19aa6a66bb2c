"""Values and weights are given to memories; what does not fit is an error that names the layer and the bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intarsia.codegen.boards.board import Memory
from intarsia.codegen.memories import lay_out
from intarsia.codegen.module import Constant, Read, SourceModule
from intarsia.errors import ConfigError
from tests.unit.codegen.modules import Drawing, run_at_worst

FAST, SLOW = (Memory(name=name, address=0, size=size) for name, size in (("dtcm", 128), ("sram", 256)))
FLASH = Memory(name="flash", address=0, size=100, is_written=False)


def network() -> SourceModule:
    drawing = Drawing()
    small = drawing.call(64)
    large = drawing.call(160, small)
    drawing.call(32, drawing.call(96, large), small)
    return drawing.module()


def with_weights(*sizes: int) -> SourceModule:
    module = network()
    constants = {f"k{place}": Constant(name=f"k{place}", array=np.zeros(n, np.int8)) for place, n in enumerate(sizes)}
    calls = [
        replace(call, arguments=(*call.arguments, Read(f"k{place}"))) if place < len(sizes) else call
        for place, call in enumerate(module.calls)
    ]
    return replace(module, constants=constants, calls=tuple(calls))


def test_nothing_stated_limits_nothing() -> None:
    layout = lay_out(with_weights(10_000), (), 1)
    assert list(layout.arenas) == [""]
    assert layout.constants == {}
    assert layout.workspace == layout.arenas[""].size == 64 + 160 + 96


def test_what_fits_into_the_fastest_memory_lies_there() -> None:
    layout = lay_out(network(), (Memory(name="sram", address=0, size=320), SLOW), 1)
    assert list(layout.arenas) == [""]


def test_what_is_touched_least_goes_into_the_next_memory() -> None:
    layout = lay_out(network(), (FAST, SLOW), 1)
    assert set(layout.arenas) == {"dtcm", "sram"}
    assert "b1" in layout.arenas["sram"].offsets, "it never fits into the fast one"
    assert layout.arenas["dtcm"].size <= 128
    assert layout.arenas["sram"].size <= 256
    for arena in layout.arenas.values():
        others = {name for each in layout.arenas.values() if each is not arena for name in each.offsets}
        shown = replace(layout.module, buffers={**layout.module.buffers})
        assert not others & arena.offsets.keys()
        assert shown.buffers.keys() >= arena.offsets.keys()


def test_the_values_of_all_memories_are_right_together() -> None:
    layout = lay_out(network(), (FAST, SLOW), 1)
    offsets: dict[str, int] = {}
    start = 0
    for arena in layout.arenas.values():
        offsets |= {name: start + offset for name, offset in arena.offsets.items()}
        start += arena.size
    whole = replace(next(iter(layout.arenas.values())), offsets=offsets, scratch={}, size=start)
    run_at_worst(layout.module, whole)


def test_what_others_need_of_the_fastest_memory_stays_free() -> None:
    arenas = lay_out(network(), (FAST, Memory(name="sram", address=0, size=400)), 1, reserved=64).arenas
    assert arenas["dtcm"].size <= 64


@pytest.mark.parametrize(
    ("memories", "words"),
    [
        ((Memory(name="sram", address=0, size=300),), ("'node of b2'", "320 bytes", "sram has 300", "20 bytes are")),
        ((FAST, Memory(name="sram", address=0, size=150)), ("node of b2", "dtcm has 128", "sram has 150", "42 bytes")),
    ],
)  # fmt: skip
def test_a_workspace_that_is_too_large_names_the_layer(memories: tuple[Memory, ...], words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as error:
        lay_out(network(), memories, 1)
    assert all(each in str(error.value) for each in words), str(error.value)


def test_weights_that_are_too_large_name_the_layer() -> None:
    with pytest.raises(
        ConfigError, match=r"weights take 140 bytes, and flash has 100: 40 bytes .*'node of b1' no longer"
    ):
        lay_out(with_weights(60, 80), (SLOW, SLOW, FLASH), 1)


def test_weights_elsewhere_are_nobodys_matter_here() -> None:
    large = Memory(name="sram", address=0, size=1000)
    assert lay_out(with_weights(60, 80), (large, FLASH), 1, linked=False).constants == {}


def test_weights_fill_the_largest_read_only_memory_first() -> None:
    large = Memory(name="sram", address=0, size=1000)
    code = Memory(name="itcm", address=0, size=90, is_written=False)
    layout = lay_out(with_weights(60, 80), (large, code, FLASH), 1)
    assert layout.constants == {"k0": "flash", "k1": "itcm"}
