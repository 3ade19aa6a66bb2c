from __future__ import annotations

import doctest

import pytest

from intarsia.errors import SpecError
from intarsia.target import Dispatch, Target, dispatch


def _adds(number: int) -> Dispatch[[int], int]:
    function = Dispatch(lambda x: x + number)
    function.register("cuda", "gpu")(lambda x: x + 2)
    function.register("rocm")(lambda x: x + 3)
    function.register("cpu")(lambda x: x + 10)
    return function


@pytest.mark.parametrize(
    ("target", "result"),
    [(Target("cuda"), 3), (Target("rocm"), 4), (Target("arm_cpu"), 11), (Target("metal"), 3), (Target("ext_dev"), 2)],
)
def test_the_first_key_decides(target: Target, result: int) -> None:
    function = _adds(1)
    with target:
        assert function(1) == result
    assert function(1) == 2


def test_without_a_target_the_default_is_called() -> None:
    assert _adds(1)(1) == 2


def test_stated_keys_decide_in_their_order() -> None:
    function = _adds(1)
    assert function.implementation(Target("llvm -keys=rocm,cpu"))(1) == 4
    assert function.implementation(Target("llvm -keys=cpu,rocm"))(1) == 11


def test_an_override_ends() -> None:
    function = _adds(1)
    with Target("cuda"):
        before = function(1)
        with function.overridden({"cuda": lambda x: x + 3, "new": lambda x: x}):
            during = function(1)
        assert (before, during, function(1)) == (3, 4, 3)
    assert function.implementation(Target("llvm -keys=new"))(1) == 2


def test_a_key_is_implemented_once() -> None:
    function = _adds(1)
    with pytest.raises(SpecError, match="implementation for key 'cuda' has been previously defined"):
        function.register("new", "cuda")(lambda x: x)
    assert function.implementation(Target("llvm -keys=new"))(1) == 2
    function.register("cuda", override=True)(lambda x: x)
    assert function.implementation(Target("cuda"))(1) == 1


def test_examples() -> None:
    assert doctest.testmod(dispatch).failed == 0
