"""A fixed sample of the node cases: engines do with them what the page says, and the page says what is on file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from zlib import crc32

import pytest

from intarsia.backends import registry
from intarsia.planning.engine_set import absence
from tests.conformance.node_cases import NodeCase, node_cases
from tests.conformance.page import PAGE, page
from tests.conformance.process import EngineProcess
from tests.conformance.suite import FOLDER, Outcome, Record, outcome_of, records, target_of

ONE_IN = 60
"""Of so many cases one is in the sample; which ones, their names say."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "record" in metafunc.fixturenames:
        folder = Path(metafunc.config.getoption("records") or FOLDER)
        metafunc.parametrize("record", records(folder), ids=lambda record: record.engine)


@cache
def sample() -> tuple[NodeCase, ...]:
    return tuple(case for case in node_cases() if crc32(case.name.encode()) % ONE_IN == 0)


@pytest.mark.engine
def test_the_sample_comes_out_as_the_page_says(record: Record, tmp_path: Path) -> None:
    target = target_of(record.engine)
    reason = absence(target)
    if reason is not None:
        pytest.skip(reason)
    if record.version != registry.probe(target.kind.name).version:
        pytest.skip(f"the page is of {record.engine} {record.version}")
    with EngineProcess(str(target)) as process:
        found = {case.name: outcome_of(process, case, tmp_path) for case in sample()}
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        case.name: record.outcomes[case.name] for case in sample()
    }


def test_nothing_fails_after_it_was_accepted(record: Record) -> None:
    assert record.why == {}
    assert Outcome.FAILED not in record.outcomes.values()


def test_every_case_is_on_file(record: Record) -> None:
    assert sorted(record.outcomes) == [case.name for case in node_cases()]


def test_the_page_says_what_is_on_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(records(), node_cases())
