"""Machines that are described, planned for on one that is not them: what is said, held back, refused.

The machine that plans is a fake: what it has is found where hardware is looked at. ``pytest tests/golden --regenerate``
writes the transcripts anew; read the diff.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.errors import ConfigError
from intarsia.planning.request import Compilation, Request, plan_compilation
from intarsia.target import Target
from tests.unit.graph.models import two_layers

TRANSCRIPTS = Path(__file__).parent / "machines"
HERE = "llvm -mcpu=cascadelake -mtriple=x86_64-unknown-linux-gnu -num-cores=8"
MEMORY = 32 * 10**9
GPU = "cuda -arch=sm_80 -max_shared_memory_per_block=49152 -model='NVIDIA A100' -registers_per_block=65536"
ENGINES = ("onnxruntime", "openvino", "torch", "winograd")
DESCRIPTIONS: Mapping[str, object] = MappingProxyType(
    {
        "nothing": "llvm",
        "itself": HERE,
        "sapphirerapids": "llvm -mcpu=sapphirerapids",
        "sixty-four-cores": "llvm -num-cores=64",
        "aws-c5": "aws/c5.4xlarge",
        "haswell": "llvm -mcpu=haswell -num-cores=4",
        "level": "llvm -mcpu=x86-64-v3",
        "nehalem": "llvm -mcpu=nehalem -num-cores=2",
        "without-vnni": "llvm -mattr=-avx512vnni",
        "unknown": "llvm -mcpu=znver99",
        "much-memory": f"llvm -memory-size={64 * 10**9}",
        "little-memory": f"llvm -memory-size={4 * 10**9}",
        "raspberry-pi": "raspberry-pi/4b-aarch64",
        "arm-host": {"targets": ["llvm"], "host": "arm"},
        "arm-host-of-an-engine": {"targets": ["onnxruntime"], "host": "arm"},
        "windows": "llvm -mtriple=x86_64-pc-windows-msvc",
        "newer-gpu": "cuda -arch=sm_90 -registers_per_block=65536, llvm",
        "older-gpu": "cuda -arch=sm_70 -model=V100, llvm",
        "engine-and-base": {"targets": ["openvino -base='llvm -mcpu=sandybridge'"]},
    }
)


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    here, gpu = Target(HERE), Target(GPU)
    monkeypatch.setattr("intarsia.target.detect.cpu_here", lambda: here)
    monkeypatch.setattr("intarsia.target.detect.devices_here", lambda type_: (gpu,) if type_ == "cuda" else ())
    monkeypatch.setattr("intarsia.target.detect.memory_bytes", lambda: MEMORY)
    monkeypatch.setattr("intarsia.planning.run_settings.thread_budget", lambda: 8)
    monkeypatch.setattr(registry, "usable", lambda: ENGINES)
    usable = Availability(usable=True, devices=("cpu", "cuda"))
    monkeypatch.setattr(registry, "require", lambda name, *, loading=False: usable)


def planned(form: object, *, strict_machine: bool = False) -> Compilation:
    return plan_compilation(Request(model=two_layers(), target=form, strict_machine=strict_machine))


def transcript(form: object) -> str:
    job = planned(form)
    lines = [f">>> {form}"]
    if job.missing:
        lines += ["planned, but this cannot be compiled here:", *(f"  {each}" for each in job.missing)]
    else:
        lines += [f"{job.run.threads} threads, engines {', '.join(dict.fromkeys(map(_engine, job.problem.targets)))}"]
        lines += [f"absent {target}: {reason}" for target, reason in job.absent.items()]
        lines += job.remarks
    try:
        planned(form, strict_machine=True)
    except ConfigError as error:
        lines += [f"strict: {error}"]
    else:
        lines += ["strict: no error"]
    return "\n".join([*lines, ""])


def _engine(target: Target) -> str:
    return target.kind.name


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_transcript(name: str, pytestconfig: pytest.Config) -> None:
    found = transcript(DESCRIPTIONS[name])
    path = TRANSCRIPTS / f"{name}.txt"
    if pytestconfig.getoption("regenerate"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found


def test_no_transcript_is_left_over() -> None:
    assert {path.stem for path in TRANSCRIPTS.iterdir()} == set(DESCRIPTIONS)


def test_what_is_described_and_here_needs_no_word() -> None:
    for name in ("nothing", "itself"):
        job = planned(DESCRIPTIONS[name])
        assert (job.difference, job.remarks, job.run.emulated) == (None, (), None)
