"""The list of dispatches, fills and copies, read from what IREE's compiler leaves."""

from __future__ import annotations

import pytest

from intarsia.backends.iree.dispatches import CONSTANT, INPUT, TRANSIENT, Copy, Dispatch, Fill, Place, commands_of
from intarsia.errors import CompileError

TEXT = """module {
  util.global private @__constant : !hal.buffer
  util.initializer {
    %buffer_cst = util.buffer.constant <alignment = 64> : !util.buffer = #composite_of_128b
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %ok, %2 = hal.allocator.import<%a : !hal.allocator> source(%buffer_cst : !util.buffer)[%c0, %c128] : i1, !hal.buffer
    util.global.store %2, @__constant : !hal.buffer
    util.return
  }
  util.func private @__main_memoize_apply() -> !hal.command_buffer attributes {inlining_policy = #util.inline.never} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c-1_i32 = arith.constant -1 : i32
    %c7_i32 = arith.constant 7 : i32
    %__constant = util.global.load immutable @__constant : !hal.buffer
    %cmd = hal.command_buffer.create device(%d : !hal.device) mode("None") bindings(%c2) : !hal.command_buffer
    hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> \
target(%c1 : index)[%c16, %c4] pattern(%c-1_i32 : i32) flags("None")
    hal.command_buffer.execution_barrier<%cmd : !hal.command_buffer> source("Dispatch") target("Dispatch") flags("None")
    %f = hal.executable.lookup.function target(%e : !hal.executable) function(@m::@static::@main_dispatch_0) : i64
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : !hal.executable)[%f] \
workgroups([%c4, %c1, %c1]) constants([%c7_i32]) bindings([
      (%c0 : index)[%c0, %c64], 
      (%__constant : !hal.buffer)[%c0, %c128], 
      (%c1 : index)[%c0, %c64]
    ]) flags("None")
    hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> \
source(%c0 : index)[%c0] target(%c1 : index)[%c16] length(%c4) flags("None")
    hal.command_buffer.finalize<%cmd : !hal.command_buffer>
    util.return %cmd : !hal.command_buffer
  }
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %buffer = hal.buffer_view.buffer<%arg0 : !hal.buffer_view> : !hal.buffer
    %transient_buffer = hal.device.queue.alloca<%d : !hal.device> flags("None") : !hal.buffer{%c64}
    hal.device.queue.execute.indirect<%d : !hal.device> wait(%w) signal(%s) commands(%m) bindings([
      (%buffer : !hal.buffer)[%c0, %c64], 
      (%transient_buffer : !hal.buffer)[%c0, %c64]
    ]) flags("None")
    %view = hal.buffer_view.create buffer(%transient_buffer : !hal.buffer)[%c0, %c64] shape([%c1]) : !hal.buffer_view
    util.return %view : !hal.buffer_view
  }
}
"""


def test_commands_are_read_in_order_with_the_memory_that_they_work_on() -> None:
    found = commands_of(TEXT, "main")
    assert found.steps == (
        Fill(Place(TRANSIENT, 0, 16, 4), -1, 4),
        Dispatch(
            "main_dispatch_0",
            (4, 1, 1),
            (7,),
            (Place(INPUT, 0, 0, 64), Place(CONSTANT, 0, 0, 128), Place(TRANSIENT, 0, 0, 64)),
        ),
        Copy(Place(TRANSIENT, 0, 16, 4), Place(INPUT, 0, 0, 4)),
    )
    assert (found.transients, found.outputs, found.constants) == ((64,), (Place(TRANSIENT, 0, 0, 64),), (128,))


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("hal.command_buffer.copy_buffer<", "hal.command_buffer.update_buffer<"),
        ("hal.device.queue.execute.indirect<", "hal.device.queue.other<"),
        ("    util.return %view", "    cf.cond_br %view\n    util.return %view"),
        ("@main(", "@other("),
        ("    %buffer_cst", "    %another = util.buffer.constant : !util.buffer = dense<0>\n    %buffer_cst"),
        ("bindings([\n      (%buffer :", "bindings([\n      (%strange :"),
    ],
)
def test_what_is_no_plain_list_is_refused(there: str, instead: str) -> None:
    assert there in TEXT
    with pytest.raises(CompileError, match="no plain list of dispatches"):
        commands_of(TEXT.replace(there, instead), "main")
