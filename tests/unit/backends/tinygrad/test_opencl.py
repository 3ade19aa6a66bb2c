"""What tinygrad refuses and needs on OpenCL, without it; and where it and a device are, that it answers rightly."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.backends.tinygrad import backend as engine
from intarsia.backends.tinygrad import opencl
from intarsia.backends.tinygrad.backend import TinygradBackend
from intarsia.config import RunSettings
from intarsia.errors import LoadError
from intarsia.graph import load_model
from intarsia.target import Target
from intarsia.target.detect import lack
from tests.conformance.cases import Feed, one

PLAIN = Target("tinygrad -base=opencl")
STATED = Target({"kind": "tinygrad", "base": {"kind": "opencl", "supports_float64": True, "supports_float16": False}})

TWO_DEVICES = """
import numpy as np
from intarsia.backends.tinygrad.opencl import device_name
from tinygrad import Device, Tensor
x = np.arange(9, dtype=np.float32).reshape(3, 3)
names = [device_name(0), device_name(1)]
rights = [bool((Tensor(x, device=name).matmul(Tensor(x, device=name)).numpy() == x @ x).all()) for name in names]
print([Device[name].device_name.split("-")[0] for name in names], rights)
"""

QUOTIENTS = """
import numpy as np
from intarsia.backends.tinygrad.opencl import device_name
from tinygrad import Tensor
a, b = np.random.default_rng(0).standard_normal((2, 10_000)).astype(np.float32)
name = device_name(0)
print(int(((Tensor(a, device=name) / Tensor(b, device=name)).numpy() != a / b).sum()))
"""


def refusals(dtype: str, target: Target) -> set[str]:
    graph = load_model(
        one("Add", "a", {"a": Feed(shape=(4,), dtype=dtype), "b": Feed(shape=(4,), dtype=dtype)}).model()
    )
    return set(TinygradBackend().capability(graph, target).refusals.values())


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_it_takes_what_every_device_has(dtype: str) -> None:
    assert refusals(dtype, PLAIN) == set()


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_it_takes_other_types_only_where_the_target_says_that_the_device_has_them(dtype: str) -> None:
    told = {f"the target does not say that its device computes in {dtype} (-supports_{dtype})"}
    assert refusals(dtype, PLAIN) == told
    assert refusals(dtype, STATED) == (told if dtype == "float16" else set())
    assert refusals(dtype, Target("tinygrad")) == set()


def test_its_threads_stay_behind_in_a_fork_on_opencl_alone() -> None:
    fault = TinygradBackend().fork_fault_on(PLAIN)
    assert fault is not None
    assert "the driver's threads" in fault.evidence
    assert TinygradBackend().fork_fault_on(Target("tinygrad")) is None


def test_what_the_driver_compiles_is_kept_in_our_cache_and_signals_are_left_alone() -> None:
    wanted = TinygradBackend().environment(RunSettings(threads=3))
    assert "intarsia" in (wanted["POCL_CACHE_DIR"] or "")
    assert wanted["POCL_MAX_PTHREAD_COUNT"] == "3"
    assert wanted["POCL_SIGFPE_HANDLER"] == wanted["POCL_SIGUSR2_HANDLER"] == "0"


@pytest.mark.parametrize(("loader", "devices"), [(object(), ("opencl",)), (None, ())])
def test_a_driver_of_opencl_does_without_clang(
    monkeypatch: pytest.MonkeyPatch, loader: object, devices: tuple[str, ...]
) -> None:
    monkeypatch.setattr(
        engine, "installed", lambda *_, devices: Availability(usable=True, version="0.14.0", devices=devices)
    )
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(engine, "load_loader", lambda: loader)
    found = TinygradBackend().probe()
    assert (found.usable, found.devices) == (loader is not None, devices)


@pytest.mark.parametrize(
    ("handles", "index", "told"),
    [
        ((), 0, "this machine has no device opencl:0; 'intarsia doctor' says what fixes that"),
        ((7,), 1, "this machine has no device opencl:1; it has 1, numbered from 0"),
    ],
)
def test_a_device_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, handles: tuple[int, ...], index: int, told: str
) -> None:
    monkeypatch.setattr(opencl, "_announced", lambda: len(handles))
    with pytest.raises(LoadError, match=told):
        opencl.device_name(index)


def test_quotients_are_rounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done = _on_pocl(QUOTIENTS, "pthread", monkeypatch)
    assert done.stdout.strip() == "0", done.stderr


def test_devices_are_numbered_as_the_command_numbers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL shows two devices if it is asked to; by itself tinygrad opens the one that the driver calls its default."""
    done = _on_pocl(TWO_DEVICES, "basic pthread", monkeypatch)
    assert done.stdout.strip() == "['basic', 'pthread'] [True, True]", done.stderr


def _on_pocl(script: str, devices: str, monkeypatch: pytest.MonkeyPatch) -> subprocess.CompletedProcess[str]:
    if not registry.probe("tinygrad").usable:
        pytest.skip("tinygrad is not here")
    if lack("opencl") is not None or "pthread" not in str(Target.from_device("opencl")):
        pytest.skip("there is no PoCL")
    for name, value in TinygradBackend().environment(RunSettings(threads=1)).items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("POCL_DEVICES", devices)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
