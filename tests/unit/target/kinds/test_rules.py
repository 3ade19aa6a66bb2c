from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.target import Target


@pytest.mark.parametrize(
    "form",
    ["cuda -arch=sm_80", "cuda -arch=sm_100a", "nvptx -mcpu=sm_70", "rocm -mcpu=gfx900", "rocm -mcpu=gfx90a:xnack-"],
)
def test_processors_that_exist(form: str) -> None:
    assert str(Target(form)) == form


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("cuda -arch=80", "arch: invalid CUDA arch '80'; write it as sm_80"),
        ("cuda -arch=sm_", "arch: invalid CUDA arch"),
        ("cuda -arch=compute_80", "arch: invalid CUDA arch"),
        ("nvptx -mcpu=gfx900", "mcpu: invalid NVPTX CPU 'gfx900'; write it as sm_80"),
        ("nvptx -mtriple=foo -mcpu=sm_70", "mtriple: 'foo' (str) is not one of nvptx64-nvidia-cuda"),
        ("rocm -mtriple=foo", "mtriple: 'foo' (str) is not one of amdgcn-amd-amdhsa-hcc"),
        ("rocm -mcpu=sm_70", "mcpu: invalid AMD GPU 'sm_70'; write it as gfx90a"),
    ],
)
def test_processors_that_do_not(form: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Target(form)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("form", ["nvptx -mtriple=nvptx64-nvidia-cuda", "nvptx"])
def test_the_only_triple_is_not_stated(form: str) -> None:
    assert (str(Target(form)), Target(form)["mtriple"]) == ("nvptx", "nvptx64-nvidia-cuda")


@pytest.mark.parametrize(
    "entry", ["-a", "--a", "-a=true", "-a:bool=0", "-a:int=-3", "-a:uint=3", "-a:string=x y", "-a:string="]
)
def test_llvm_options_that_are_well_formed(entry: str) -> None:
    assert Target({"kind": "llvm", "cl-opt": [entry]})["cl-opt"] == (entry,)


@pytest.mark.parametrize(
    "entry",
    ["", "a", "---a", "-", "-a:", "-a:=", "-a:bool", "-a=", "-a:x=1", "-a=2", "-a=fred", "-a:uint=-1", "-a:int=x"],
)
def test_llvm_options_that_are_malformed(entry: str) -> None:
    with pytest.raises(SpecError, match="cl-opt: malformed LLVM option"):
        Target({"kind": "llvm", "cl-opt": [entry]})
