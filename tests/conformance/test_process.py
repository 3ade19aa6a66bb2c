"""The harness itself: what dies is reported, and the next case gets a new process."""

from __future__ import annotations

from tests.conformance.process import EngineProcess


def test_a_process_that_dies_is_an_answer_and_the_next_request_starts_another() -> None:
    with EngineProcess("no-such-engine") as process:
        for _ in range(2):
            assert process.ask({"do": "run"}) == {"error": "died with exit status 1"}
