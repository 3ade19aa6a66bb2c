from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from intarsia.errors import SpecError
from intarsia.target import Target, target_or_current


def test_blocks_nest_and_end() -> None:
    outer, inner = Target("cuda"), Target("llvm")
    assert Target.current() is None
    with outer as entered:
        assert entered is outer
        with inner, inner:
            assert Target.current() is inner
        assert Target.current() is outer
    assert Target.current() is None


def test_an_error_ends_the_block_too() -> None:
    with pytest.raises(RuntimeError), Target("cuda"):
        raise RuntimeError
    assert Target.current() is None


def test_no_target_in_scope() -> None:
    with pytest.raises(SpecError, match="no target is in scope"):
        Target.current(allow_none=False)


def test_another_thread_has_its_own_stack() -> None:
    with Target("cuda"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(Target.current).result() is None


@pytest.mark.parametrize("entered", [(), ("cuda",)])
def test_blocks_are_left_in_order(entered: tuple[str, ...]) -> None:
    for form in entered:
        Target(form).__enter__()
    with pytest.raises(SpecError, match="cannot leave the scope of 'llvm': the innermost scope is"):
        Target("llvm").__exit__()
    if entered:
        innermost = Target.current()
        assert innermost is not None
        innermost.__exit__()


def test_a_scope_fills_a_missing_argument_only() -> None:
    with Target("cuda"):
        assert target_or_current(None) == Target("cuda")
        assert target_or_current("llvm") == Target("llvm")
    with pytest.raises(SpecError, match="target is not set: pass it as an argument, or call inside"):
        target_or_current(None)
    with pytest.raises(SpecError, match="not defined"):
        target_or_current("nosuchkind")
