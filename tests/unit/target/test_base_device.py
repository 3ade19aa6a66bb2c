from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import SpecError
from intarsia.target import KINDS, Target, least_specialised, register_kind, resolve_base


@pytest.fixture(autouse=True)
def _kinds_of_one_test() -> Iterator[None]:
    with KINDS.scope():
        yield


@pytest.mark.parametrize(
    ("target", "other", "expected"),
    [
        ("tensorrt", "cuda", True),
        ("tensorrt", "cuda -arch=sm_80", True),
        ("cuda", "tensorrt", False),
        ("cuda -arch=sm_80", "cuda", False),
        ("tensorrt", "tensorrt", False),
        ("tensorrt", "llvm", False),
        ("tensorrt", "nvptx", False),
        ("cudnn", "nvptx", True),
        ("cudnn -base=cuda", "nvptx", False),
        ("tensorrt -base='cuda -arch=sm_80'", "cuda", True),
        ("tensorrt -base=cuda", "cuda -arch=sm_80", True),
        ("tensorrt -base='cuda -arch=sm_80'", "cuda -arch=sm_80 -model=a100", True),
        ("tensorrt -base='cuda -arch=sm_80'", "cuda -arch=sm_86", False),
        ("tensorrt -host=llvm", "cuda -host=x86", True),
        ("cmsis-nn -mcpu=cortex-m55", "c -mcpu=cortex-m55", True),
        ("cmsis-nn -mcpu=cortex-m55", "c -mcpu=cortex-m4", False),
        ("onnxruntime", "llvm", True),
        ("onnxruntime", "cuda", False),
        ("onnxruntime -base=cuda", "cuda", True),
        ("onnxruntime -base=cuda", "llvm", False),
        ("onnxruntime", "c", False),
        ("composite -devices=llvm", "llvm", False),
    ],
)
def test_refines(target: str, other: str, expected: bool) -> None:
    assert Target(target).refines(Target(other)) is expected


def test_engines_of_an_unstated_kind_refine_any_device_of_their_type() -> None:
    for name, device_type in (("ext_0", "cuda"), ("ext_1", "metal"), ("ext_2", "cpu")):
        register_kind(name, device_type=device_type)
    assert [KINDS[name].is_external for name in ("cuda", "ext_0")] == [False, True]
    assert [Target(name).refines(Target("cuda")) for name in ("ext_0", "ext_1", "ext_2")] == [True, False, False]
    assert Target("ext_0").refines(Target("nvptx"))
    assert not Target("cuda").refines(Target("ext_0"))


@given(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=2))
def test_the_relation_is_asymmetric(names: list[str]) -> None:
    one, other = map(Target, names)
    assert not (one.refines(other) and other.refines(one))


@pytest.mark.parametrize(
    ("forms", "device_type", "expected"),
    [
        (["ethos-u", "cmsis-nn", "c"], "cpu", "c"),
        (["tensorrt", "cuda", "cutlass"], "cuda", "cuda"),
        (["cuda -model=a", "cuda -model=b"], "cuda", "cuda -model=a"),
        (["tensorrt", "llvm"], "cuda", "tensorrt"),
        (["tensorrt", "nvptx"], "cuda", "nvptx"),
        (["llvm"], "cuda", None),
        ([], "cpu", None),
    ],
)
def test_least_specialised(forms: list[str], device_type: str, expected: str | None) -> None:
    found = least_specialised(map(Target, forms), device_type)
    assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("target", "others", "base"),
    [
        ("tensorrt", ["llvm", "cuda -arch=sm_80"], "cuda -arch=sm_80"),
        ("tensorrt", ["cuda -host=llvm", "cutlass"], "cuda"),
        ("tensorrt -base='cuda -arch=sm_80'", [], "cuda -arch=sm_80"),
        ("mnn", ["llvm -mcpu=x", "cuda", "llvm -mcpu=x"], "llvm -mcpu=x"),
        ("cmsis-nn -mcpu=cortex-m55", ["c -mcpu=cortex-m55", "c -mcpu=cortex-m4"], "c -mcpu=cortex-m55"),
    ],
)
def test_resolve_base(target: str, others: list[str], base: str) -> None:
    assert str(resolve_base(Target(target), map(Target, others))) == base


@pytest.mark.parametrize(
    ("target", "others", "message"),
    [
        (
            "tensorrt",
            [],
            "'tensorrt' needs a device to generate code for, and there is none; add it, or write: tensorrt -base=cuda",
        ),
        ("tensorrt", ["llvm"], "none of 'llvm' is one; add it, or write: tensorrt -base=cuda"),
        (
            "tensorrt",
            ["cuda -arch=sm_80", "llvm", "cuda -arch=sm_86"],
            "'tensorrt' may generate code for any of 'cuda -arch=sm_80', 'cuda -arch=sm_86'; say for which, as in: "
            "tensorrt -base='cuda -arch=sm_80'",
        ),
        ("reference", [], "write: reference -base=llvm"),
    ],
)
def test_a_base_that_cannot_be_told(target: str, others: list[str], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        resolve_base(Target(target), map(Target, others))
    assert message in str(caught.value)
    Target(str(caught.value).rpartition("write: ")[2].rpartition("as in: ")[2])
