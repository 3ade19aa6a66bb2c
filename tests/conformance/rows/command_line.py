"""Rows about values of ``--target``, and about whole commands that fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from intarsia.cli.main import cli
from intarsia.config import CompilationConfig
from intarsia.target import Target
from tests.conformance.rows.configs import leaves
from tests.conformance.rows.diagnostics import expect_error, missing
from tests.conformance.rows.facts import check_target
from tests.conformance.rows.row import Row, form
from tests.unit.graph.models import two_layers


def run_target(row: Row) -> None:
    """A value of ``--target``: facts about its first target, or the error of compiling for it."""
    target = row.input["target"]
    if not row.error:
        check_target(leaves(CompilationConfig.of(target))[0], row.expect)
        return
    text = target if isinstance(target, str) else json.dumps(target)
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model.onnx"
        model.write_bytes(two_layers().SerializeToString())
        _check_failure(row, ["compile", str(model), "--target", text, "--output", str(model.with_suffix(".intarsia"))])


def run_command(row: Row) -> None:
    """A whole command that fails, and what it says."""
    _check_failure(row, row.input["argv"])


def _check_failure(row: Row, argv: Sequence[str]) -> None:
    done = CliRunner().invoke(cli, list(argv))
    assert done.exit_code != 0
    lack = missing(done.stderr, row.error)
    assert not lack, f"{done.stderr}\ndoes not say {row.error!r}: {lack}"


def run_codegen(row: Row) -> None:
    """An engine by its name."""
    if row.error:
        expect_error(row, lambda: Target(row.input["codegen"]))
    else:
        check_target(Target(row.input["codegen"]), row.expect)


def _starts_with_verb(row: Row) -> bool:
    return bool(row.input["argv"]) and not row.input["argv"][0].startswith("-")


FORMS = (
    form(run_target, "target", areas="cli composite"),
    form(run_command, "argv", areas="cli", when=_starts_with_verb),
    form(run_codegen, "codegen", areas="cli"),
)
