"""Facts that vendors' manuals state, asked of targets; and the rules by which options choose among the tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.target import Target
from intarsia.target.features import ARCHITECTURES, PROCESSOR_KINDS, architecture, arm_keys, features_of, has_features

X86, AARCH64, ARMV7 = (
    "llvm -mtriple=x86_64--",
    "llvm -mtriple=aarch64-linux-gnu",
    "llvm -mtriple=armv7a-linux-gnueabihf",
)


@pytest.mark.parametrize(
    ("text", "on", "off"),
    [
        (X86, "sse2 64bit", "sse3 avx"),
        (f"{X86} -mcpu=x86-64-v2", "sse4.2 popcnt cx16", "avx"),
        (f"{X86} -mcpu=x86-64-v3", "avx2 fma f16c bmi2 movbe", "avx512f"),
        (f"{X86} -mcpu=x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl", "avx512vnni"),
        (f"{X86} -mcpu=nehalem", "sse4.2", "avx aes"),
        (f"{X86} -mcpu=sandybridge", "avx", "avx2 f16c"),
        (f"{X86} -mcpu=haswell", "avx2 fma", "avx512f"),
        (f"{X86} -mcpu=skylake", "avx2 xsavec", "avx512f"),
        (f"{X86} -mcpu=skylake-avx512", "avx512bw avx512vl", "avx512vnni"),
        (f"{X86} -mcpu=cascadelake", "avx512vnni", "avx512bf16"),
        (f"{X86} -mcpu=cooperlake", "avx512bf16", "avx512vbmi"),
        (f"{X86} -mcpu=icelake-server", "avx512vbmi2 avx512vnni gfni", "avx512bf16 amx-tile"),
        (f"{X86} -mcpu=sapphirerapids", "amx-int8 amx-bf16 avx512fp16 avxvnni", "amx-fp16"),
        (f"{X86} -mcpu=graniterapids", "amx-fp16 avx512fp16", "amx-complex"),
        (f"{X86} -mcpu=alderlake", "avxvnni avx2", "avx512f avxifma"),
        (f"{X86} -mcpu=sierraforest", "avxvnniint8 avxifma", "avx512f"),
        (f"{X86} -mcpu=silvermont", "sse4.2", "avx"),
        (f"{X86} -mcpu=knl", "avx512f avx512er avx512pf avx512cd", "avx512bw avx512vl"),
        (f"{X86} -mcpu=znver1", "avx2 sha sse4a", "clwb avx512f"),
        (f"{X86} -mcpu=znver3", "vaes vpclmulqdq", "avx512f"),
        (f"{X86} -mcpu=znver4", "avx512vnni avx512bf16", "avxvnni avx512fp16"),
        (f"{X86} -mcpu=znver5", "avxvnni avx512vp2intersect", "amx-tile"),
        (f"{X86} -mcpu=cascadelake -mattr=-avx512f", "avx2 fma", "avx512f avx512bw avx512vnni"),
        (f"{X86} -mcpu=haswell -mattr=+avx512bw", "avx512f avx512bw avx2", "avx512vl"),
        (f"{X86} -mcpu=haswell -mattr=+avx512bw,-avx512f", "avx2", "avx512f avx512bw"),
        (f"{X86} -mcpu=haswell -mattr=-avx2,+avx512bw", "avx2 avx512bw", "avx512vl"),
        (f"{X86} -mcpu=haswell -mattr=-sse", "bmi2", "sse2 avx2 fma"),
        (f"{X86} -mcpu=no-such-cpu", "sse2", "avx"),
        (AARCH64, "neon fp-armv8", "dotprod sve"),
        (f"{AARCH64} -mattr=+v8.2a", "lse crc", "dotprod i8mm fullfp16"),
        (f"{AARCH64} -mattr=+v8.4a", "dotprod", "i8mm bf16"),
        (f"{AARCH64} -mattr=+v8.6a", "dotprod i8mm bf16", "sve"),
        (f"{AARCH64} -mattr=+v8.6a,-i8mm", "bf16 dotprod", "i8mm"),
        (f"{AARCH64} -mattr=+v8.2a,+dotprod", "dotprod", "i8mm"),
        (f"{AARCH64} -mattr=+v8.4b", "neon", "dotprod"),
        (f"{AARCH64} -mattr=+v9a", "sve sve2 fullfp16 dotprod", "sme i8mm"),
        (f"{AARCH64} -mattr=+v9.2a", "sve2 i8mm bf16", "sme"),
        (f"{AARCH64} -mattr=+v9a,-sve", "dotprod", "sve sve2"),
        (f"{AARCH64} -mattr=+sve2", "sve fullfp16 neon", "sme"),
        (f"{AARCH64} -mattr=-neon", "fp-armv8", "neon asimd"),
        (f"{AARCH64} -mcpu=cortex-a53", "neon crc", "lse dotprod"),
        (f"{AARCH64} -mcpu=cortex-a55", "dotprod fullfp16", "dsp sve i8mm"),
        (f"{AARCH64} -mcpu=cortex-a55+i8mm+nodotprod", "i8mm fp16", "dotprod"),
        (f"{AARCH64} -mcpu=cortex-a76", "dotprod", "i8mm sve"),
        (f"{AARCH64} -mcpu=cortex-a510", "sve2 i8mm bf16 mte", "sme"),
        (f"{AARCH64} -mcpu=neoverse-n1", "dotprod", "sve bf16"),
        (f"{AARCH64} -mcpu=neoverse-v1", "sve bf16 i8mm", "sve2"),
        (f"{AARCH64} -mcpu=neoverse-v2", "sve2 bf16 i8mm", "sme"),
        (f"{AARCH64} -mcpu=apple-m1", "dotprod sha3", "i8mm bf16 sve"),
        (f"{AARCH64} -mcpu=apple-m2", "dotprod i8mm bf16", "sve sme"),
        (f"{AARCH64} -mcpu=apple-m4", "sme sme2 i8mm", "sve"),
        (f"{AARCH64} -mcpu=a64fx", "sve", "sve2 dotprod"),
        (ARMV7, "neon dsp", "dotprod crc"),
        ("llvm -mtriple=armv8.2a-linux-gnueabihf -mattr=+dotprod", "neon crc dotprod", "i8mm"),
        (f"{ARMV7} -mcpu=cortex-a7", "neon vfp4 virtualization", "crc"),
        ("llvm -mtriple=arm-- -mcpu=cortex-a53", "neon crc", "dotprod"),
        ("llvm -mtriple=thumbv7em-none-eabi", "dsp mclass", "mve neon"),
        ("llvm -mtriple=riscv64--", "64bit i", "m v"),
        ("llvm -mtriple=riscv64-- -mcpu=sifive-x280", "v zfh zve64d", "zvbb"),
        ("llvm -mtriple=riscv64-- -mattr=+v", "d f zve32x zvl128b", "zfh"),
    ],
)
def test_facts(text: str, on: str, off: str) -> None:
    target = Target(text)
    for feature in on.split():
        assert has_features(target, feature), feature
    for feature in off.split():
        assert not has_features(target, feature), feature
    assert has_features(target, on.split())
    assert not has_features(target, [*on.split(), off.split()[0]])


@pytest.mark.parametrize("kind", ["c", "llvm"])
@pytest.mark.parametrize(
    ("processor", "has_dsp", "has_mve"),
    [
        ("cortex-m0", False, False),
        ("cortex-m0plus", False, False),
        ("cortex-m3", False, False),
        ("cortex-m23", False, False),
        ("cortex-m4", True, False),
        ("cortex-m7", True, False),
        ("cortex-m33", True, False),
        ("cortex-m35p", True, False),
        ("cortex-m52", True, True),
        ("cortex-m55", True, True),
        ("cortex-m85", True, True),
        ("cortex-m55+nomve", True, False),
        ("cortex-m55+nodsp", False, False),
        ("cortex-m33+nodsp+woofles", False, False),
        ("cortex-m85+woofles+nomve", True, False),
    ],
)
def test_microcontrollers(kind: str, processor: str, has_dsp: bool, has_mve: bool) -> None:
    features = Target({"kind": kind, "mcpu": processor}).features
    assert (features.has_dsp, features.has_mve) == (has_dsp, has_mve)
    assert (features.is_arm, features.is_aarch64, features.is_m_profile, features.is_a_profile) == (
        True,
        False,
        True,
        False,
    )


def test_no_before_a_name_in_mattr() -> None:
    features = Target("llvm -mcpu=cortex-m55 -mattr=+nomve,+woof").features
    assert (features.has_dsp, features.has_mve) == (True, False)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, ""),
        ({"mcpu": "skylake"}, "x86"),
        ({"mcpu": "cortex-a53"}, "aarch64"),
        ({"mcpu": "cortex-a9"}, "arm"),
        ({"mcpu": "sifive-u74"}, "riscv"),
        ({"mcpu": "generic"}, ""),
        ({"mcpu": "cake"}, ""),
        ({"mcpu": "cake", "mattr": ("+avx2",)}, "x86"),
        ({"mattr": ("+neon",)}, ""),
        ({"mattr": ("+sve",)}, "aarch64"),
        ({"march": "armv8.2-a+dotprod"}, "aarch64"),
        ({"march": "armv7e-m"}, "arm"),
        ({"mtriple": "armv8a-arm-none-eabi", "mcpu": "cortex-a53"}, "arm"),
        ({"mtriple": "thumbebv7m-none-eabi"}, "arm"),
        ({"mtriple": "arm64-apple-darwin"}, "aarch64"),
        ({"mtriple": "i686-linux-gnu"}, "x86"),
        ({"mtriple": "powerpc64le-linux-gnu", "mcpu": "pwr9"}, ""),
        ({"mtriple": "x86_64--", "mcpu": "cortex-a53"}, "x86"),
    ],
)
def test_which_architecture(options: dict[str, object], name: str) -> None:
    assert features_of("llvm", options).architecture == name
    assert arm_keys(options) == (("arm_cpu", "cpu") if name in ("arm", "aarch64") else ())


def test_without_an_architecture_what_is_stated_is_on() -> None:
    features = Target("llvm -mattr=+neon,-woof").features
    assert features.has_neon
    assert features.has_woof is None
    assert features.is_aarch64 is None


@pytest.mark.parametrize("kind", ["cuda", "nvptx", "rocm", "vulkan"])
def test_processors_of_other_kinds_are_theirs_to_explain(kind: str) -> None:
    assert kind not in PROCESSOR_KINDS
    assert list(features_of(kind, {"mcpu": "skylake"})) == []


NAMES = st.sampled_from(ARCHITECTURES)
TRIPLES = {"x86": "x86_64--", "aarch64": "aarch64--", "arm": "armv7a--", "riscv": "riscv64--"}


@given(NAMES.flatmap(lambda n: st.tuples(st.just(n), *[st.sampled_from(sorted(architecture(n).implies))] * 2)))
def test_the_last_switch_wins(case: tuple[str, str, str]) -> None:
    name, one, other = case
    found, triple = architecture(name), TRIPLES[name]
    on = features_of("llvm", {"mtriple": triple, "mattr": (f"-{other}", f"+{one}")})
    off = features_of("llvm", {"mtriple": triple, "mattr": (f"+{other}", f"-{one}")})
    assert on.has(one)
    assert not off.has(one)
    assert off.has(other) == (one not in found.closed((other,)))
    for features in (on, off):
        assert found.closed(features) == set(features)


@given(NAMES.flatmap(lambda n: st.tuples(st.just(n), st.sampled_from(sorted(architecture(n).processors)))))
def test_a_processor_is_as_its_table_says(case: tuple[str, str]) -> None:
    name, processor = case
    on = set(features_of("llvm", {"mtriple": TRIPLES[name], "mcpu": processor}))
    by_triple = architecture(name).triples[TRIPLES[name].partition("-")[0]]
    assert on == (by_triple if processor == "generic" else architecture(name).processors[processor])


@given(st.text(max_size=20), st.text(max_size=20), st.lists(st.text(max_size=10), max_size=4))
def test_any_text_has_features(triple: str, processor: str, mattr: list[str]) -> None:
    options = {"mtriple": triple, "mcpu": processor, "mattr": tuple(mattr)}
    features = features_of("llvm", options)
    assert features == features_of("llvm", options)
    assert hash(features) == hash(features_of("llvm", options))
