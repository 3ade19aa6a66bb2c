"""A file of results, one entry a network, each written as soon as it is there: a run can be stopped and continued."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networks
from benchmarks import competitors
from intarsia.errors import IntarsiaError

KNOWN = tuple(dict.fromkeys((*networks.SUITE, *networks.NAMES, *networks.EXPORTED)))
"""What can be asked for; what runs if nothing is named is the suite."""
Json = dict[str, Any]


def arguments(prog: str, description: str, results: Path) -> argparse.ArgumentParser:
    """What every script over the suite takes."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{prog}", description=description)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="all if left out")
    parser.add_argument("--missing", action="store_true", help="only those without valid figures")
    parser.add_argument("--results", type=Path, default=results, metavar="FILE", help="where the figures are")
    return parser


def named(parser: argparse.ArgumentParser, given: argparse.Namespace) -> list[str]:
    """The networks to run. Ends the program if one of them does not exist."""
    names = list(given.networks or networks.SUITE)
    if unknown := [name for name in names if name not in KNOWN]:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(KNOWN)}")
    return missing(load(given.results), names) if given.missing else names


def missing(results: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Networks without valid figures: not there, failed, or void."""
    done: Mapping[str, Any] = results["networks"]
    return [name for name in names if name not in done or "failed" in done[name] or done[name].get("void", False)]


def load(path: Path) -> Json:
    """The results so far.

    Raises:
        SystemExit: They are of another machine, or of other versions of the engines.
    """
    here = {"machine": competitors.machine(), "engines": competitors.versions()}
    if not path.exists():
        return {**here, "networks": {}}
    results: Json = json.loads(path.read_text(encoding="utf-8"))
    for key, found in here.items():
        if results[key] != found:
            raise SystemExit(
                f"{path} was measured with other {key}: {results[key]}; here: {found}. Move it away first."
            )
    return results


def store(path: Path, results: Mapping[str, Any]) -> None:
    """Write the results: whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, path)


def run(
    path: Path, names: Sequence[str], work: Callable[[str, Path], Json], told: Callable[[Mapping[str, Any]], str]
) -> None:
    """Do the work for each network, in a folder of its own, keep what comes of it, and tell of it in one line."""
    load(path)  # before any work: figures of another machine would refuse to be added to
    for number, name in enumerate(names, start=1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = work(name, Path(folder))
            except (IntarsiaError, RuntimeError, ImportError) as error:
                found = {"failed": str(error)}
        results = load(path)
        results["networks"][name] = found
        store(path, results)
        line = f"failed: {found['failed']}" if "failed" in found else told(found)
        print(f"{number}/{len(names)} {name} {line}", flush=True)
