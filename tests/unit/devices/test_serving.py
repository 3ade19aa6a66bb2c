"""Which engines may take what is planned where."""

from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig, NestedEngine
from intarsia.devices import Constraint, plan_devices, refusals, serves
from intarsia.target import Target, VirtualDevice
from tests.fakes import fake_dag


@pytest.mark.parametrize(
    ("engine", "device", "answer"),
    [
        ("openvino", "llvm", True),
        ("openvino", "cpu", True),
        ("openvino", "openvino", True),
        ("openvino -threads=2", "llvm -threads=1", True),
        ("openvino -base='llvm -mcpu=a'", "openvino", True),
        ("openvino -base='llvm -mcpu=a'", "llvm -mcpu=a", True),
        ("openvino -base='llvm -mcpu=a'", "llvm -mcpu=b", False),
        ("openvino", "mnn", False),
        ("openvino", "cuda", False),
        ("tensorrt", "cuda -arch=sm_80", True),
        ("tensorrt -base='cuda -arch=sm_70'", "cuda -arch=sm_80", False),
        ("llvm", "llvm", True),
    ],
)
def test_an_engine_serves_what_it_refines(engine: str, device: str, answer: bool) -> None:
    assert serves(Target(engine), VirtualDevice.of(device)) is answer


def test_a_nested_configuration_serves_what_its_engines_do() -> None:
    nested = NestedEngine(config=CompilationConfig.of("openvino, llvm"), engines=(Target("openvino"), Target("mnn")))
    assert serves(nested, VirtualDevice.of("mnn"))
    assert not serves(nested, VirtualDevice.of("ncnn"))


def test_each_refusal_names_the_device() -> None:
    graph = fake_dag([[], [0]])
    plan = plan_devices(graph, CompilationConfig.of("cuda -arch=sm_80, llvm"), [Constraint.node("n0", "cuda")])
    assert refusals(plan, Target("openvino")) == {
        "n0": "the device plan puts it on \"cuda:0 -target='cuda -arch=sm_80'\", which this target does not serve"
    }
    assert set(refusals(plan, Target("cuda -arch=sm_80"))) == {"n1"}
