"""Configurations, targets, tag files and deployments of any shape: accepted, or refused as bad input, and never more.

What is accepted has a text and a JSON form, and both read back as the same value.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from intarsia.config import CompilationConfig, Deployment
from intarsia.config.cli_overrides import merge_all
from intarsia.config.files import read_config, target_text
from intarsia.spec.tag_files import read_tag_file
from tests.command_flags import read_flags
from tests.fuzz import texts
from tests.fuzz.harness import Case, faults, run_cases

SEED = 18
SHARE, ALL = 100, 5000
ROOT = Path(__file__).parents[2]


def of_rows() -> Iterator[Any]:
    """The forms of the rows that every implementation of the language is held to."""
    for name in ("cases", "variations"):
        rows = json.loads((ROOT / "tests" / "conformance" / "data" / f"{name}.json").read_text(encoding="utf-8"))
        for row in rows["cases"]:
            for field in ("target", "targets", "config", "executor", "runtime", "argument"):
                form = row["input"].get(field)
                if isinstance(form, str | dict | list):
                    yield {field: form} if field in ("executor", "runtime") else form


def of_pages() -> Iterator[Any]:
    """The forms that the pages show: JSON and quoted texts of blocks of code."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            for text in re.findall(r"""--target[ =]'([^']+)'|(?:of|Target)\("([^"]+)"\)""", block):
                yield next(filter(None, text))
            for text in re.findall(r"^\{.*?^\}", block, re.M | re.S):
                with suppress(ValueError):
                    yield json.loads(text)


WHOLE: tuple[Any, ...] = (
    {"targets": ["cuda:0", "cuda:1", "llvm -mcpu=skylake"], "default_device": "cpu", "budget": 30, "threads": 2},
    {"host": "x86", "executor": "vm", "targets": [{"targets": ["cuda"], "executor": "cuda-graph"}, "cuda", "llvm"]},
    {"targets": [{"kind": "llvm", "mattr": ["+neon", "-sve"]}], "devices": {"a": "cpu:0"}, "shape": {"N": "1..512"}},
    {"executor": {"kind": "aot", "unpacked-api": True}, "runtime": "crt", "targets": ["ethos-u", "cmsis-nn", "c"]},
    {"targets": ["mnn", "openvino"], "libraries": ["onnxruntime", "mnn"], "max-memory": "500MB", "strict": True},
    {"tag": "aws/c5", "store": "records.db", "partition": "greedy", "seed": 3, "max-error": 0.01},
    {"1": "llvm", "2": {"kind": "cuda", "arch": "sm_80"}},
)
DEPLOYMENTS: tuple[Any, ...] = (
    {
        "machines": {"machine0": {"host": "x86", "targets": ["cuda"]}, "machine1": "arm, vulkan"},
        "links": [{"between": ["machine0", "machine1"], "bandwidth": 1.25e9, "latency": 5e-5}],
    },
    {"kind": "deployment", "machines": {"a": "llvm", "b": {"targets": ["mnn"]}, "c": "aws/c5"}},
)
TAG_FILES: tuple[Any, ...] = (
    {
        "sources": {"sheet": "Data sheet, page 3"},
        "tags": {
            "v/a": {"form": {"kind": "llvm", "num-cores": 4}, "source": ["sheet", "a visit"]},
            "v/b": {"form": "v/a -mcpu=x", "variants": {"fast": "v/a", "slow": {"form": {"tag": "v/a"}}}},
            "v/c": {"form": {"targets": ["v/a"]}, "level": "config"},
        },
    },
)
FORMS = [*of_rows(), *of_pages(), *WHOLE]
FLAGS = (
    *("--executor=aot", "--runtime=crt", "--target-llvm-mcpu=x", "--set=targets[0].mcpu=y", "--target-llvm-threads=2"),
    *("--set=executor.link-params=true", "--threads=2", "--shape=N=8", "--executor-graph-link-params", "--set=host=c"),
)


@dataclass(frozen=True)
class Made:
    """A case, and what its file or text is to be read as if the command accepts it."""

    case: Case
    law: Callable[[], None]


def made(number: int, folder: Path) -> Made:
    """The case of this number: the same for the same seed, whatever else runs."""
    name = f"{SEED}-{number}"
    rng = random.Random(name)
    what = rng.choice(("config", "config", "config", "target", "target", "file", "flags", "tags", "deployment"))
    place = folder / name
    place.mkdir()
    seeds = {"deployment": DEPLOYMENTS, "tags": TAG_FILES}.get(what, tuple(FORMS))
    data = rng.choice(seeds)
    data = texts.mutated(data, rng, [*FORMS, *DEPLOYMENTS]) if rng.random() < 0.7 else data
    text, suffix = texts.written(data, rng)
    text = texts.spoiled(text, rng) if rng.random() < 0.5 else text
    if rng.random() < 0.03:
        text, suffix = texts.bomb(rng) + (text if suffix == ".yaml" else "targets: *a2"), ".yaml"
    argv, law = _call(what, text, suffix, place, rng)
    return Made(Case(name=f"{name} {what}", argv=argv, folder=place), law)


def _call(
    what: str, text: str, suffix: str, place: Path, rng: random.Random
) -> tuple[tuple[str, ...], Callable[[], None]]:
    path = place / f"a{suffix}"
    if what == "target":
        text = re.sub("[\0\ud800-\udfff]", "", text)  # which no command line can hold
        verb = rng.choice((("targets", "--"), ("config", "show", "--json", "--target")))
        return (*verb, text), lambda: _holds_target(text)
    if what == "tags":
        path = place / ".home" / ".config" / "intarsia" / "tags" / f"a{suffix or '.yaml'}"
        path.parent.mkdir(parents=True)
    path.write_bytes(texts.encoded(text, rng))
    if what == "tags":
        return ("targets", rng.choice(("v/a", "v/b:slow", "v/*", "v/c"))), lambda: _holds_tags(path)
    if what == "deployment":
        return ("config", "show", "--config", str(path)), lambda: _holds_deployment(path)
    if what == "file":
        return ("config", "show", "--json", "--target", str(path)), lambda: _holds_target(str(path))
    flags = tuple(rng.sample(FLAGS, rng.randrange(1, 4))) if what == "flags" else ()
    flags = tuple(texts.spoiled(flag, rng) if rng.random() < 0.3 else flag for flag in flags)
    flags = tuple(re.sub("[\0\ud800-\udfff]", "", flag) for flag in flags)
    return ("config", "show", "--json", "--config", str(path), *flags), lambda: _holds_config(path, flags)


def _holds_config(path: Path, flags: tuple[str, ...]) -> None:
    merged = merge_all(file=read_config(path), file_name=str(path), rewrites=read_flags(flags))
    _reads_back(CompilationConfig.of(dict(merged.form)))


def _holds_target(text: str) -> None:
    merged = merge_all(rewrites=read_flags([f"--target={target_text(text)}"]))
    _reads_back(CompilationConfig.of(dict(merged.form)))


def _reads_back(config: CompilationConfig) -> None:
    assert CompilationConfig.of(str(config)) == config
    assert CompilationConfig.of(json.loads(json.dumps(config.export()))) == config


def _holds_deployment(path: Path) -> None:
    found = Deployment.of(path)
    assert Deployment.of(str(found)) == found
    assert Deployment.of(json.loads(json.dumps(found.export()))) == found


def _holds_tags(path: Path) -> None:
    rows = read_tag_file(path)
    assert dict(read_tag_file(path)) == dict(rows)
    assert all(name == row.tag.name for name, row in rows.items())


@pytest.mark.parametrize("count", [SHARE, pytest.param(ALL, marks=[pytest.mark.large, pytest.mark.timeout(3600)])])
def test_any_configuration_is_read_or_refused(count: int, tmp_path: Path) -> None:
    laws: dict[str, Callable[[], None]] = {}

    def cases() -> Iterator[Case]:
        for number in range(count):
            one = made(number, tmp_path)
            laws[one.case.name] = one.law
            yield one.case

    wrong, accepted = [], 0
    for case, outcome in run_cases(cases()):
        accepted += outcome.exit_code == 0
        told = faults(outcome)
        if outcome.exit_code is not None and not told:  # it is known to end
            told = texts.broken(laws[case.name])
        if told:
            wrong.append(f"{case.name} {case.argv}: {'; '.join(told)}\n{outcome.output[-600:]}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:20])
    assert count // 20 < accepted < count  # a fuzzer whose cases are all refused shows little
