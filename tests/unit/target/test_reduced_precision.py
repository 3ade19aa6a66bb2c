"""Which options make an engine compute in less than fp32, and where that is offered."""

from __future__ import annotations

import pytest

from intarsia.target import Target
from intarsia.target.reduced_precision import REDUCED_OPTIONS, reduced_targets, reduced_type


@pytest.mark.parametrize("option", REDUCED_OPTIONS, ids=lambda option: f"{option.kind}-{option.type}")
def test_every_option_is_one_of_its_kind_and_no_default(option: object) -> None:
    assert reduced_type(Target(option.kind)) is None  # type: ignore[attr-defined]
    changed = Target(option.kind).with_options({option.option: option.value})  # type: ignore[attr-defined]
    assert reduced_type(changed) == option.type  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "isa", "found"),
    [
        ("openvino -threads=1", ("avx512f", "avx512_bf16"), ["openvino -threads=1 -inference-precision=bf16"]),
        (
            "openvino",
            ("amx_bf16", "avx512_fp16"),
            ["openvino -inference-precision=f16", "openvino -inference-precision=bf16"],
        ),
        ("openvino", ("avx512_vnni",), []),
        ("onnxruntime", ("avx512_bf16",), []),
        ("ncnn", ("asimdhp",), ["ncnn -fp16"]),
        ("winograd", ("avx512f",), []),
        ("winograd", ("avx512_vnni",), ["winograd -inference-precision=i16"]),
    ],
)
def test_a_type_is_offered_where_the_processor_is_fast_at_it(
    target: str, isa: tuple[str, ...], found: list[str]
) -> None:
    assert reduced_targets(Target(target), isa) == tuple(map(Target, found))


def test_a_type_that_errs_little_may_be_asked_for() -> None:
    isa = ("avx512_vnni", "avx512_bf16")
    assert reduced_targets(Target("winograd"), isa, fine=True) == (Target("winograd -inference-precision=i16"),)
    assert reduced_targets(Target("openvino"), isa, fine=True) == ()
