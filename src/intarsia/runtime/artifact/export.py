"""A single-engine plan as that engine's own files, with a program that runs them: usable without Intarsia."""

from __future__ import annotations

import json
import os
import re
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.errors import ConfigError, PlanError
from intarsia.files import disk_errors, place_tree, scratch
from intarsia.graph import extract
from intarsia.runtime.aot.exporting import export_program
from intarsia.runtime.building import in_precision
from intarsia.runtime.environment import load_environment
from intarsia.runtime.model import CompiledModel
from intarsia.runtime.plan import Plan
from intarsia.wording import counted

LOADER, RUN, FACTS, README = "loader.py", "run.py", "run.json", "README.md"
_ABOUT = """\
# A model for {engine} {version}

Exported from Intarsia, which is not needed to run it: {files}.

    pip install {packages}
    python run.py --runs 20

`loader.py` loads the model as it was measured (`{target}`), in a few lines to take into a program of your own;
`run.py` calls it with arrays from files, or at random."""


def export(model: CompiledModel, folder: str | os.PathLike[str], *, has_test: bool = False) -> tuple[Path, ...]:
    """Write the engine's native files, the options it ran with, and a program that needs nothing but that engine.

    Of a network that was compiled ahead of time it is the project of C: sources, weights, builds, an example.

    Args:
        model: The model.
        folder: Where; it is made if it is not there.
        has_test: Whether a test of C with recorded inputs and outputs is written too.

    Raises:
        ConfigError: A test is asked for where there is no C.
        ArtifactError: It names code that was not allowed: the engine is asked to write its files, and may run it.
        BackendUnavailableError: The engine is not installed.
        PlanError: The plan mixes engines, so no engine alone can run it, or is another one for other sizes.
        OutputError: The folder cannot be written into.
        DiskError: The disk is full.
    """
    model.artifact.check_code()
    if model.artifact.is_source:
        return export_program(model.artifact, Path(folder), has_test=has_test)
    if has_test:
        raise ConfigError(f"{model.artifact.path}: a test is written beside C, and this plan is run by engines")
    if len({bucket.plan.fingerprint for bucket in model.buckets}) > 1:
        raise PlanError(
            f"{model.artifact.path}: its plan depends on the sizes it is given; only one plan can be exported "
            "(compile with one size, or with one bucket of sizes)"
        )
    leaves = model.plan.leaves
    if len(leaves) != 1:
        raise PlanError(
            f"{model.artifact.path}: the plan has {counted(len(leaves), 'partition')} on "
            f"{', '.join(model.plan.engines)}; only a plan of one partition can be exported "
            "(compile with --partition single to get one)"
        )
    step = leaves[0]
    registry.require(registry.engine_of(step.target))
    destination = Path(folder)
    partition = in_precision(extract(model.artifact.graph(), step.nodes), step)
    with scratch() as draft:
        with disk_errors(draft):
            native = registry.of(step.target).export(partition, step.target, model.plan.settings, draft)
            written = (*native, *_program(model.plan, draft, native))
        return place_tree(written, draft, destination)


def _program(plan: Plan, folder: Path, native: tuple[Path, ...]) -> tuple[Path, ...]:
    """Write what runs the native files: nothing for an engine without a loader, and only that for open shapes."""
    kind = plan.leaves[0].target.kind.name
    loader = resources.files("intarsia.backends") / kind / "loader.py"
    own = folder / LOADER
    if own not in native:
        if not loader.is_file():
            return ()
        own.write_text(loader.read_text(encoding="utf-8"), encoding="utf-8")
    if any(value.shape is None for value in plan.inputs):
        return (own,)
    program = resources.files("intarsia.runtime.artifact") / "exported_run.py"
    (folder / RUN).write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
    facts = _facts(plan)
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    (folder / README).write_text(_readme(facts, [path.name for path in native]), encoding="utf-8")
    return (*({own} - set(native)), folder / RUN, folder / FACTS, folder / README)


def _facts(plan: Plan) -> dict[str, Any]:
    target = plan.leaves[0].target
    engine = registry.engine_of(target)
    borders = {"inputs": plan.inputs, "outputs": plan.outputs}
    return {
        "engine": target.kind.name,
        "version": registry.probe(engine).version,
        "packages": ["numpy", *_packages(target.kind.name)],
        "target": str(target),
        "environment": load_environment([engine], plan.settings),
        **{
            side: [{"name": value.name, "dtype": value.dtype, "shape": value.shape} for value in values]
            for side, values in borders.items()
        },
    }


def _packages(engine: str) -> list[str]:
    """What the extra of an engine installs, in the versions that are here."""
    try:
        stated = metadata.requires("intarsia") or ()
    except metadata.PackageNotFoundError:
        return []
    marks = (f"extra == '{engine}'", f'extra == "{engine}"')
    names = [re.split(r"[^\w.-]", text)[0] for text in stated if text.endswith(marks)]
    return [f"{name}=={metadata.version(name)}" for name in names if name != "intarsia"]


def _readme(facts: dict[str, Any], native: list[str]) -> str:
    variables = [f"`{name}`: {'not set' if value is None else value}" for name, value in facts["environment"].items()]
    sections = {
        "Inputs": [f"`{each['name']}`: {each['dtype']} {list(each['shape'])}" for each in facts["inputs"]],
        "Outputs": [f"`{each['name']}`: {each['dtype']} {list(each['shape'] or ())}" for each in facts["outputs"]],
        "Environment, to be set before the engine is imported": variables,
    }
    lists = ["\n".join((f"{title}:\n", *(f"- {row}" for row in rows))) for title, rows in sections.items() if rows]
    values = facts | {"packages": " ".join(facts["packages"]), "files": ", ".join(f"`{name}`" for name in native)}
    return "\n\n".join((_ABOUT.format(**values), *lists)) + "\n"
