"""``intarsia run``: feeds from files or at random, outputs to files or as a summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import click

from intarsia.cli.console import print_answer, print_table
from intarsia.cli.deployment import deployment_option, loaded
from intarsia.cli.feeds import read_feeds
from intarsia.cli.options import ARRAY, FILE, json_option, verbose_option, with_options
from intarsia.cli.trust import trust_options
from intarsia.cli.worker_options import worker_options
from intarsia.files import make_folder, save_array
from intarsia.report.reasons import ms
from intarsia.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from intarsia.deploy.model import DeployedModel
    from intarsia.remote.place import WorkerPlace
    from intarsia.runtime import CompiledModel
    from intarsia.runtime.artifact.trust import Trust

RANDOM_SEED = 0


@click.command(short_help="Run an artifact once.")
@click.argument("artifact", type=FILE)
@click.option("--input", "inputs", type=ARRAY, multiple=True, help="An input from a .npy file.")
@click.option("--random", is_flag=True, help="Seeded random values for the inputs not given.")
@click.option("--profile", is_flag=True, help="Also time each partition.")
@click.option("--output", metavar="DIR", type=FILE, help="Write each output as DIR/NAME.npy.")
@deployment_option
@with_options(*worker_options)
@trust_options
@json_option
@verbose_option
def run(
    artifact: Path,
    inputs: tuple[tuple[str, Path], ...],
    random: bool,
    profile: bool,
    output: Path | None,
    as_json: bool,
    trust: Trust,
    deployment: str | None,
    place: WorkerPlace | None,
) -> None:
    """Run ARTIFACT once and show its outputs."""
    if deployment is not None:
        if place is not None:
            raise click.UsageError("--on is of one machine; leave out that or --deployment")
        if profile:
            raise click.UsageError("--profile times the partitions of one machine; leave out that or --deployment")
    with _opened(artifact, trust, deployment, place) as model:
        feeds = _feeds(model, dict(inputs), random)
        results = model(feeds)
        files = {} if output is None else _write(results, output)
        outputs = [_describe(name, array) | files.get(name, {}) for name, array in results.items()]
        report: dict[str, Any] = {"artifact": str(artifact), "outputs": outputs}
        if profile:
            model = cast("CompiledModel", model)  # with --deployment it is refused
            report["profile"] = [
                {"target": str(part.target), "nodes": len(part.nodes), "ms": taken}
                for part, taken in zip(model.plan.partitions, model.profile(feeds), strict=True)
            ]
    print_answer(report, _print, as_json=as_json)


def _opened(
    artifact: Path, trust: Trust, deployment: str | None, place: WorkerPlace | None
) -> CompiledModel | DeployedModel:
    """The artifact, loaded here, by a worker, or on several machines. A worker runs it as its own user."""
    if deployment is not None:
        return loaded(artifact, deployment, trust)
    from intarsia.runtime import Artifact, CompiledModel

    opened = Artifact(artifact, trust)
    if place is None:
        model = CompiledModel(opened)
        model.load()
        return model
    from intarsia.remote.verbs import load_on

    return load_on(place, artifact)


def _feeds(model: CompiledModel | DeployedModel, files: Mapping[str, Path], random: bool) -> dict[str, np.ndarray]:
    from intarsia.runtime import random_feeds

    feeds = read_feeds(files)
    if random:
        missing = [value for value in model.sample_inputs if value.name not in feeds]
        feeds |= random_feeds(missing, RANDOM_SEED)
    return feeds


def _write(results: Mapping[str, np.ndarray], folder: Path) -> dict[str, dict[str, str]]:
    """One file per output. ONNX allows any character in a name, so those that a path cannot hold are quoted."""
    make_folder(folder)
    files = {}
    for name, array in results.items():
        path = folder / f"{quote(name, safe='')}.npy"
        save_array(path, array)
        files[name] = {"file": str(path)}
    return files


def _describe(name: str, array: np.ndarray) -> dict[str, Any]:
    import numpy as np

    facts: dict[str, Any] = {"name": name, "dtype": str(array.dtype), "shape": list(array.shape)}
    if array.size and array.dtype.kind in "biuf":
        numbers = array.astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        if finite.size:
            facts |= {"min": float(finite.min()), "max": float(finite.max()), "mean": float(finite.mean())}
        if finite.size < array.size:
            facts["not_finite"] = int(array.size - finite.size)
    return facts


def _print(report: Mapping[str, Any]) -> None:
    rows = [
        (
            each["name"],
            f"{each['dtype']}[{','.join(map(str, each['shape']))}]",
            *(f"{each[figure]:.4g}" if figure in each else "" for figure in ("min", "mean", "max")),
            f"{counted(each['not_finite'], 'value is', 'values are')} not finite"
            if "not_finite" in each
            else each.get("file", ""),
        )
        for each in report["outputs"]
    ]
    print_table(("output", "type", "min", "mean", "max", ""), rows, numbers=("min", "mean", "max"))
    if "profile" in report:
        click.echo()
        steps = report["profile"]
        rows_ms = [
            (str(i), step["target"], str(step["nodes"]), ms(step["ms"])) for i, step in enumerate(steps, start=1)
        ]
        total = ms(sum(step["ms"] for step in steps))
        print_table(("partition", "target", "nodes", "ms"), [*rows_ms, ("", "sum", "", total)], numbers=("nodes", "ms"))
