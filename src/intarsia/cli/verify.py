"""``intarsia verify``: is an artifact whole, and does it answer rightly here?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_json, print_table, progress_line
from intarsia.cli.feeds import read_feeds
from intarsia.cli.options import ARRAY, FILE, json_option, store_option, verbose_option
from intarsia.errors import MismatchError

if TYPE_CHECKING:
    from intarsia.runtime import Artifact
    from intarsia.search.verification import Check

UNSEEN_SEED = 1
"""A compile checks with the seed 0."""


@click.command(short_help="Check an artifact against the reference.")
@click.argument("artifact", type=FILE)
@click.option("--input", "inputs", type=ARRAY, multiple=True, help="An input from a .npy file; others are at random.")
@click.option(
    "--seed", "seeds", metavar="N", type=int, multiple=True, help=f"Of inputs at random. [default: {UNSEEN_SEED}]"
)
@store_option
@json_option
@verbose_option
def verify(
    artifact: Path, inputs: tuple[tuple[str, Path], ...], seeds: tuple[int, ...], store: Path | None, as_json: bool
) -> None:
    """Check that ARTIFACT is whole, and that what it computes here is what ONNX's own evaluator computes.

    Exits with 5 if an output is further off than its dtype allows. --input and --seed may be given more than once.
    """
    from intarsia.cost.store import Store, default_store
    from intarsia.runtime import Artifact
    from intarsia.search.verification import verify_artifact

    opened = Artifact(artifact)
    feeds = read_feeds(dict(inputs))
    with progress_line() as progress:
        checks = verify_artifact(opened, Store(store or default_store()), seeds or (UNSEEN_SEED,), feeds, progress)
    report = _report(opened, checks)
    if as_json:
        print_json(report)
    else:
        _print(report)
    if not report["is_right"]:
        click.get_current_context().exit(MismatchError.exit_code)


def _report(opened: Artifact, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "artifact": str(opened.path),
        "bytes": opened.path.stat().st_size,
        "engines": {name: engine.version for name, engine in opened.manifest.engines.items()},
        "changed_engines": opened.changed_engines(),
        "remarks": opened.check_machine(),
        "is_right": all(check.is_right for check in checks),
        "checks": [
            {
                "inputs": check.inputs,
                "is_right": check.is_right,
                "outputs": [
                    {
                        "name": found.name,
                        "error": found.error if isfinite(found.error) else None,
                        "allowed": found.allowed,
                        "is_right": found.is_acceptable,
                    }
                    for found in check.outputs
                ],
                "unchecked": list(check.unchecked),
                "guilty": check.guilty,
            }
            for check in checks
        ],
    }


def _print(report: Mapping[str, Any]) -> None:
    engines = ", ".join(f"{name} {version}" for name, version in report["engines"].items())
    click.echo(f"{report['artifact']}: {report['bytes'] / 1e6:.1f} MB, its checksum holds; {engines}")
    for change in report["changed_engines"]:
        click.echo(f"rebuilt in memory, since {change}")
    for remark in report["remarks"]:
        click.echo(remark)
    rows = []
    for check in report["checks"]:
        for found in check["outputs"]:
            error = "not comparable" if found["error"] is None else f"{found['error']:.2g}"
            told = "right" if found["is_right"] else "wrong"
            rows.append((check["inputs"], found["name"], error, f"{found['allowed']:.0e}", told))
        rows += [(check["inputs"], name, "", "", "unchecked") for name in check["unchecked"]]
    click.echo()
    print_table(("inputs", "output", "error", "allowed", ""), rows, numbers=("error", "allowed"))
    for guilty in filter(None, (check["guilty"] for check in report["checks"])):
        click.echo(f"\n{guilty}")
