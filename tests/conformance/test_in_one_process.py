"""The engines of an extra install without conflict, and run in one process in whatever order they are loaded."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from intarsia.backends import registry

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def engines(extra: str) -> tuple[str, ...]:
    """Names of the engines that an extra brings."""
    brought = (entry.removeprefix("intarsia[").removesuffix("]") for entry in EXTRAS[extra] if "intarsia[" in entry)
    return tuple(name for several in brought for name in several.split(",") if name in registry.names())


CPU = engines("cpu")
ALL = (*CPU, *engines("all"))
"""What ``all`` brings beside ``cpu``, which it names too."""


def is_here(extra: str) -> bool:
    return all(registry.probe(name).usable for name in engines(extra))


def test_the_extra_brings_engines_of_ours() -> None:
    assert len(CPU) >= 5
    assert set(CPU) <= set(registry.names())


def orders(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """As they stand, backwards, and each that is neither first nor last then at the front."""
    return (names, names[::-1], *((*names[start:], *names[:start]) for start in range(1, len(names) - 1)))


@pytest.mark.engine
@pytest.mark.parametrize("order", [*orders(CPU), *orders(ALL)[:2]], ids=lambda order: " ".join(order))
def test_they_run_in_one_process_in_this_order(order: tuple[str, ...]) -> None:
    if absent := [name for name in order if not registry.probe(name).usable]:
        pytest.skip(f"{', '.join(absent)} not installed")
    line = [sys.executable, "-m", "tests.conformance.in_one_process", *order]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    errors = json.loads(done.stdout.splitlines()[-1])
    assert list(errors) == list(order)
    assert all(error < 1e-3 for error in errors.values()), errors


def test_nothing_that_the_engines_need_is_missing_or_contradicts_another() -> None:
    extra = next((extra for extra in ("all", "cpu") if is_here(extra)), "")
    assert list(complaints([f"intarsia[{extra}]"])) == []


def complaints(wanted: list[str]) -> Iterator[str]:
    """What is unmet of these requirements and of all that they require in turn."""
    pending, seen = [Requirement(text) for text in wanted], set()
    while pending:
        requirement = pending.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        try:
            found = metadata.distribution(requirement.name)
        except metadata.PackageNotFoundError:
            yield f"{requirement} is not installed"
            continue
        if not requirement.specifier.contains(found.version, prereleases=True):
            yield f"{requirement} is required, and {found.version} is installed"
        for inner in map(Requirement, found.requires or ()):
            extras = ("", *requirement.extras)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                pending.append(inner)


def test_a_contradiction_is_seen() -> None:
    assert list(complaints(["numpy<1", "no-such-package"])) == [
        "no-such-package is not installed",
        f"numpy<1 is required, and {metadata.version('numpy')} is installed",
    ]
