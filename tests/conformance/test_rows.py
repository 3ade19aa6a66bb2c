"""Every row of a case file: carried out where its form is ours, else rejected with the point that decides it.

``pytest tests/conformance --cases FILE`` takes another file; the rows of ``data/cases.json`` come from Apache TVM's
tests and source, and from the discussions that led to them.
"""

from __future__ import annotations

import re

import pytest

from tests.conformance.rows import (
    collages,
    command_line,
    configs,
    costs,
    executors,
    flags,
    lists,
    plans,
    queries,
    scopes,
    targets,
    virtual_devices,
)
from tests.conformance.rows.rejections import OUTSIDE, REJECTIONS
from tests.conformance.rows.row import Form, Rejection, Row, verdict

FORMS: tuple[Form, ...] = (
    *targets.FORMS,
    *queries.FORMS,
    *scopes.FORMS,
    *configs.FORMS,
    *executors.FORMS,
    *virtual_devices.FORMS,
    *plans.FORMS,
    *lists.FORMS,
    *command_line.FORMS,
    *flags.FORMS,
    *collages.FORMS,
    *costs.FORMS,
)
LEAST_ADOPTED = 0.75


def test_row(row: Row) -> None:
    treated = verdict(row, FORMS, REJECTIONS)
    assert treated is not None, f"no form fits input {sorted(row.input)} in area {row.area!r}"
    if isinstance(treated, Rejection):
        assert treated.decided_by == OUTSIDE or re.fullmatch(r"[A-Z]\d+", treated.decided_by)
        assert treated.reason
    else:
        treated.run(row)


def test_most_of_the_tested_and_asked_rows_are_adopted(rows: tuple[Row, ...]) -> None:
    counted = [row for row in rows if row.counts]
    adopted = [row for row in counted if isinstance(verdict(row, FORMS, REJECTIONS), Form)]
    assert len(adopted) >= LEAST_ADOPTED * len(counted)


def test_a_row_of_a_form_that_another_file_has(variation: Row) -> None:
    test_row(variation)


@pytest.mark.parametrize("rejection", REJECTIONS, ids=lambda rejection: rejection.reason)
def test_each_rejection_is_met(rejection: Rejection, own_rows: tuple[Row, ...]) -> None:
    assert any(verdict(row, FORMS, REJECTIONS) is rejection for row in own_rows)
