"""The page on configurations says of every option what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.config import EXECUTORS, RUNTIMES, Executor, Runtime
from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.deployment import LEVEL as DEPLOYMENT_LEVEL
from intarsia.config.deployment import LINK_LEVEL
from intarsia.planning import availability
from intarsia.spec import Kind, Option

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
KINDS = [
    *EXECUTORS.values(),
    *RUNTIMES.values(),
    *(kind for level in (CONFIG_LEVEL, DEPLOYMENT_LEVEL, LINK_LEVEL) for kind in level.kinds.values()),
]


def row_of(option: Option) -> str:
    label = option.type.label.replace("|", "\\|")
    default = "" if option.default is None else str(option.default).lower()
    unit = f" ({option.unit})" if option.unit else ""
    return f"| `{option.name}` | {label} | {default} | {option.meaning}{unit} |"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_option_has_its_row(kind: Kind) -> None:
    for option in kind.options.values():
        assert row_of(option) in PAGE


@pytest.mark.parametrize("value", [*map(Executor, EXECUTORS), *map(Runtime, RUNTIMES)], ids=str)
def test_every_executor_and_runtime_has_its_rows_and_says_whether_it_runs_here(value: Executor | Runtime) -> None:
    kind, runs = value.kind, value.kind.name in availability.RUNNING
    rows = [f"| `{kind.name}` | | | | {kind.meaning} | {'yes' if runs else 'no'} |"]
    for option in kind.options.values():
        is_done = runs and availability.obeys(kind.name, option.name)
        rows.append(f"| {row_of(option)} {'yes' if is_done else 'no'} |")
    assert "\n".join(rows) in PAGE
