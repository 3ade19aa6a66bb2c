from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.config import CompilationConfig, Deployment, Link
from intarsia.errors import SpecError
from intarsia.target import TAGS, Target, register_tag

MACHINES = {"machine0": {"host": "x86", "targets": ["cuda"]}, "machine1": {"host": "arm", "targets": ["vulkan"]}}


@pytest.fixture(autouse=True)
def _tags_of_one_test() -> Iterator[None]:
    with TAGS.scope():
        yield


def test_two_machines() -> None:
    link = {"between": ["machine1", "machine0"], "bandwidth": 1.25e9, "latency": 5e-5}
    deployment = Deployment.of({"machines": MACHINES, "links": [link]})
    assert deployment.machines["machine0"] == CompilationConfig.of(MACHINES["machine0"])
    assert deployment.machines["machine1"].host == Target("arm")
    found = deployment.link("machine0", "machine1")
    assert found == Link("link -between=machine0,machine1 -bandwidth=1.25e9 -latency=0.00005")
    assert found is not None
    assert (found.between, found.bandwidth, found.latency) == (("machine0", "machine1"), 1.25e9, 5e-5)
    assert deployment.link("machine0", "machine2") is None
    assert Deployment.of({"machines": MACHINES}).links == ()
    assert Link("link -between=a,b").bandwidth is Link("link -between=a,b").latency is None


def test_a_machine_is_a_configuration_in_any_form() -> None:
    forms: list[object] = [
        "mnn, llvm",
        ["mnn", "llvm"],
        '{"targets": ["mnn", "llvm"]}',
        CompilationConfig.of("mnn, llvm"),
    ]
    forms += [{"kind": "composite", "devices": ["mnn", "llvm"]}, "config -targets=mnn,llvm"]
    for form in forms:
        assert Deployment.of({"machines": {"a": form}}).machines["a"] == CompilationConfig.of("mnn, llvm")
    assert Deployment.of("deployment -machines=a='mnn, llvm'") == Deployment.of({"machines": {"a": "mnn, llvm"}})


def test_a_file_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("machines: {a: llvm, b: [cuda, llvm]}\nlinks: [{between: [a, b], bandwidth: 1e9}]\n")
    found = Deployment.of(path)
    assert (list(found.machines), found.links[0].bandwidth) == (["a", "b"], 1e9)
    path.write_text("machines: {a: llvm, a: mnn}\n")
    with pytest.raises(SpecError, match=r"two\.yaml, line 1: 'a' appears more than once"):
        Deployment.of(path)


def test_tags_and_files(tmp_path: Path) -> None:
    register_tag("v/farm", {"machines": MACHINES}, level="deployment")
    assert Deployment.of("v/farm") == Deployment.of({"machines": MACHINES})
    assert Deployment.of("v/farm").tags == ("v/farm",)
    register_tag("v/box", {"targets": ["mnn", "llvm"]}, level="config")
    assert Deployment.of({"machines": {"a": "v/box"}}).machines["a"].tags == ("v/box",)
    file = tmp_path / "farm.json"
    file.write_text(Deployment.of("v/farm").json())
    assert Deployment.of(file) == Deployment.of("v/farm")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"machines": {}}, "at least one machine"),
        ({"machines": {"": "llvm"}}, "name of a machine is empty"),
        ({"machines": {"a": {"targets": ["llvm", "mn"]}}}, "machines.a.targets[1]: target kind 'mn' is not defined"),
        ({"machines": {"a": ["llvm", {"kind": "mnn", "threads": 0}]}}, "machines.a.targets[1].threads: 0"),
        ({"machines": {"a": "llvm, mn"}}, "machines.a.targets[1]: target kind 'mn'"),
        ({"machines": {"a": {"machines": {"b": "llvm"}}}}, "machines.a: this describes several machines"),
        ({"machines": {"a": "llvm"}, "links": [{"between": ["a", "b"]}]}, "no machine is called 'b'"),
        (
            {"machines": {"a": "llvm"}, "links": [{"between": ["a"]}]},
            "links[0].between: a link joins two machines",
        ),
        (
            {"machines": MACHINES, "links": [{"between": list(MACHINES)}, {"between": list(MACHINES), "latency": 1.0}]},
            "two links join machine0 and machine1",
        ),
        ({"machines": MACHINES, "links": [{"between": list(MACHINES), "latency": 0.0}]}, "must be above 0"),
        ({"machines": {"a": "llvm"}, "executor": "vm"}, "it belongs to one of the machines"),
        ({"targets": ["llvm"]}, "this describes one machine"),
        ("llvm", "deployment kind 'llvm' is not defined"),
    ],
)
def test_errors(form: object, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Deployment.of(form)
    assert words in str(caught.value)
