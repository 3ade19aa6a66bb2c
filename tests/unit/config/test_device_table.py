from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig
from intarsia.errors import SpecError
from intarsia.target import Target, VirtualDevice

GPUS = ["cuda -arch=sm_80", "cuda -arch=sm_86", "llvm"]


def test_a_placed_target_is_a_labelled_device() -> None:
    config = CompilationConfig.of("cuda, opencl:1, llvm")
    assert config.devices == {"opencl:1": VirtualDevice(target=Target("opencl"), index=1)}
    assert [str(target) for target in config.targets] == ["cuda", "opencl", "llvm"]
    assert config.canonical_device("opencl").index == 1
    assert CompilationConfig.of("opencl:2, opencl:1").default_device.index == 1


def test_a_label_that_the_list_would_give_goes_into_the_list() -> None:
    stated = {"targets": ["cuda", "llvm"], "devices": {"cuda:1": "cuda:1", "cuda:0": "cuda:0"}}
    assert CompilationConfig.of(stated) == CompilationConfig.of("cuda:0, cuda:1, llvm")
    assert str(CompilationConfig.of(stated)) == "cuda:0, cuda:1, llvm"


def test_a_label_names_one_place() -> None:
    config = CompilationConfig.of(
        {"targets": ["cuda", "llvm"], "devices": {"gpu": "cuda", "fast": {"memory-scope": "x"}}}
    )
    assert config.devices["gpu"] == VirtualDevice(target=Target("cuda"), index=0)
    assert config.devices["fast"] == VirtualDevice(memory_scope="x")


def test_the_target_of_a_device_is_found_by_what_it_states() -> None:
    devices = {"a": "cuda:1 -arch=sm_86", "b": {"kind": "cuda", "arch": "sm_80"}, "c": "cuda:2"}
    config = CompilationConfig.of({"targets": GPUS, "devices": devices})
    assert config.devices["a"] == VirtualDevice(target=Target(GPUS[1]), index=1)
    assert config.devices["b"] == VirtualDevice(target=Target(GPUS[0]), index=0)
    assert config.devices["c"] == VirtualDevice(target=Target(GPUS[0]), index=2)


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ({"g": "metal"}, "'g': no target is specified for device type metal; the targets run on cuda, cpu"),
        ({"g": "cuda -arch=sm_90"}, "no target of the list matches 'cuda -arch=sm_90'"),
        ({"g": "cuda -keys=a"}, "no target of the list matches"),
        (
            {"g": {"target": "cuda"}},
            "several targets of the list match 'cuda'; there are cuda -arch=sm_80, cuda -arch=sm_86",
        ),
        ({"": "cuda"}, "a label is empty"),
        ({"cpu": "cuda"}, "'cpu' is the name of a device, but labels another one"),
        ({"cuda:1": "cuda:0"}, "'cuda:1' is the name of a device, but labels another one"),
        ({"llvm:3": "cuda"}, "but the list of targets makes it 'cpu:3 -target=llvm'"),
        ({"g": 3}, "devices.g: a device is a string"),
        ({"g": "cuda:x"}, "devices.g"),
        (["cuda"], "devices: must be a map"),
    ],
)
def test_errors(devices: object, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        CompilationConfig.of({"targets": [*GPUS[:2], "llvm:3"], "devices": devices})
    assert words in str(caught.value)


def test_two_targets_for_one_device_need_labels() -> None:
    with pytest.raises(SpecError, match=r"\[0\] and \[1\] are two targets for one device, cuda:1"):
        CompilationConfig.of("cuda:1 -libs=a, cuda:1 -libs=b, llvm")
    form = {"targets": ["cuda -libs=a", "cuda -libs=b", "llvm"]}
    devices = {"one": "cuda:1 -libs=a", "other": "cuda:1 -libs=b"}
    assert len(CompilationConfig.of(form | {"devices": devices}).devices) == 2


def test_a_misspelt_label_is_corrected() -> None:
    config = CompilationConfig.of({"targets": ["cuda", "llvm"], "devices": {"gpu1": "cuda:1"}})
    with pytest.raises(SpecError, match="no device is labelled 'gpu2'; did you mean 'gpu1'"):
        config.canonical_device("gpu2")
