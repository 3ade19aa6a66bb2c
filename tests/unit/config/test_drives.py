"""Executors and runtimes as values: what they have, what they refuse, and which is a worker elsewhere."""

from __future__ import annotations

import pytest

from intarsia.config.drives import EXECUTORS, REMOTE, RUNTIMES, Executor, Runtime, is_elsewhere
from intarsia.errors import SpecError


def test_an_option_is_stated_once() -> None:
    with pytest.raises(SpecError, match="address: stated by"):
        Runtime("rpc -address=a:1", {"address": "b:1"})
    assert Runtime("rpc", {"address": "b:1", "timeout": 3}) == Runtime("rpc -address=b:1 -timeout=3.0")


@pytest.mark.parametrize("kind", [*map(Executor, EXECUTORS), *map(Runtime, RUNTIMES)], ids=str)
def test_each_is_the_text_that_it_prints(kind: Executor | Runtime) -> None:
    assert type(kind)(str(kind)) == kind


@pytest.mark.parametrize("option", ["token-file=t", "tls-ca=c", "timeout=1"])
def test_what_says_more_of_a_worker_needs_its_address(option: str) -> None:
    with pytest.raises(SpecError, match="state its address too"):
        Runtime(f"{REMOTE} -{option}")
    assert is_elsewhere(Runtime(f"{REMOTE} -address=a:1 -{option}"))


@pytest.mark.parametrize("seconds", [0, -1, 90000, "1e9"])
def test_a_worker_is_waited_for_a_time_that_somebody_waits(seconds: float | str) -> None:
    with pytest.raises(SpecError, match="give seconds above 0"):
        Runtime(f"{REMOTE} -address=a:1 -timeout={seconds}")
