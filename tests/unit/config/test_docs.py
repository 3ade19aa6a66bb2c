"""The page on configurations says of every option what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.config import EXECUTORS, RUNTIMES, Executor, Runtime
from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.deployment import LEVEL as DEPLOYMENT_LEVEL
from intarsia.config.deployment import LINK_LEVEL
from intarsia.spec import Kind

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
KINDS = [
    *EXECUTORS.values(),
    *RUNTIMES.values(),
    *(kind for level in (CONFIG_LEVEL, DEPLOYMENT_LEVEL, LINK_LEVEL) for kind in level.kinds.values()),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_option_has_its_row(kind: Kind) -> None:
    for option in kind.options.values():
        label = option.type.label.replace("|", "\\|")
        default = "" if option.default is None else str(option.default).lower()
        unit = f" ({option.unit})" if option.unit else ""
        assert f"| `{option.name}` | {label} | {default} | {option.meaning}{unit} |" in PAGE


@pytest.mark.parametrize("value", [*map(Executor, EXECUTORS), *map(Runtime, RUNTIMES)], ids=str)
def test_every_executor_and_runtime_has_its_row(value: Executor | Runtime) -> None:
    assert f"| `{value.kind.name}` | | | | {value.kind.meaning} |" in PAGE
