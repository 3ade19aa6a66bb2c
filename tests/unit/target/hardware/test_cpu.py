"""What a machine's operating system says becomes a target that has exactly the features it shows."""

from __future__ import annotations

import platform
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.target import Target
from intarsia.target.cores import thread_budget
from intarsia.target.features import Architecture, architecture
from intarsia.target.hardware.cpu import options_of_cpu

NAMES: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[4] / "src" / "intarsia" / "target" / "hardware" / "names.toml").read_text(encoding="utf-8")
)
MACHINES = {"x86": "x86_64", "aarch64": "aarch64"}

CASCADELAKE = """
fpu de tsc cx8 cmov mmx fxsr sse sse2 ht lm pni pclmulqdq ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c
rdrand hypervisor lahf_lm abm 3dnowprefetch fsgsbase bmi1 avx2 bmi2 erms invpcid avx512f avx512dq rdseed adx clflushopt
clwb avx512cd avx512bw avx512vl xsaveopt xsavec xsaves pku avx512_vnni
"""


def describe_cpu(machine: str, system: str, cpuinfo: str, cores: int) -> Target:
    return Target(options_of_cpu(machine, system, cpuinfo, cores))


def x86_cpuinfo(vendor: str, family: int, model: int, flags: str) -> str:
    block = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nflags\t\t: {' '.join(flags.split())}\n"
    return f"processor\t: 0\n{block}\nprocessor\t: 1\n{block}\n"


def arm_cpuinfo(*cores: tuple[str, str, str]) -> str:
    blocks = (
        f"processor\t: {index}\nFeatures\t: {flags}\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n"
        for index, (implementer, part, flags) in enumerate(cores)
    )
    return "\n".join([*blocks, "Hardware\t: a board\nRevision\t: c03115\n"])


def test_a_machine_like_its_name() -> None:
    cpuinfo = x86_cpuinfo("GenuineIntel", 6, 0x55, CASCADELAKE)
    target = describe_cpu("x86_64", "Linux", cpuinfo, 8)
    assert str(target) == "llvm -mcpu=cascadelake -mtriple=x86_64-unknown-linux-gnu -num-cores=8"


@pytest.mark.parametrize(
    ("lacks", "shows", "mcpu", "mattr"),
    [
        ("avx512_vnni", "", "skylake-avx512", ()),
        ("", "avx512_bf16", "cooperlake", ()),
        ("avx512_vnni pku", "", "skylake-avx512", ("-pku",)),
        ("avx512_vnni avx512vl avx512bw avx512dq avx512cd avx512f", "", "skylake-avx512", ("-avx512f",)),
        ("", "sha_ni amx_tile amx_int8", "cascadelake", ("+amx-int8", "+sha")),
        ("clwb", "gfni", "skylake-avx512", ("-clwb", "+avx512vnni", "+gfni")),
    ],
)
def test_a_machine_that_differs(lacks: str, shows: str, mcpu: str, mattr: tuple[str, ...]) -> None:
    flags = " ".join(sorted((set(CASCADELAKE.split()) - set(lacks.split())) | set(shows.split())))
    target = describe_cpu("x86_64", "Linux", x86_cpuinfo("GenuineIntel", 6, 0x55, flags), 2)
    assert (target["mcpu"], target["mattr"] or ()) == (mcpu, mattr)


@pytest.mark.parametrize(
    ("vendor", "family", "model", "mcpu"),
    [
        ("GenuineIntel", 6, 0x8F, "sapphirerapids"),
        ("AuthenticAMD", 0x19, 0x11, "znver4"),
        ("AuthenticAMD", 0x19, 0x21, "znver3"),
        ("AuthenticAMD", 0x17, 0x71, "znver2"),
        ("AuthenticAMD", 0x17, 0x01, "znver1"),
        ("AuthenticAMD", 0x1A, 0x44, "znver5"),
        ("GenuineIntel", 6, 0xFE, "x86-64-v4"),
        ("CentaurHauls", 7, 0x3B, "x86-64-v4"),
    ],
)
def test_numbers_name_the_processor(vendor: str, family: int, model: int, mcpu: str) -> None:
    assert describe_cpu("x86_64", "Linux", x86_cpuinfo(vendor, family, model, CASCADELAKE), 1)["mcpu"] == mcpu


def test_a_processor_of_arm() -> None:
    flags = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
    target = describe_cpu("aarch64", "Linux", arm_cpuinfo(("0x41", "0xd0c", flags), ("0x41", "0xd0c", flags)), 2)
    assert str(target) == "llvm -mcpu=neoverse-n1 -mtriple=aarch64-unknown-linux-gnu -num-cores=2"
    assert target.keys == ("arm_cpu", "cpu")


@pytest.mark.parametrize(
    ("part", "flags", "mcpu", "mattr"),
    [
        ("0xd08", "fp asimd evtstrm crc32 cpuid", "cortex-a72", ("-aes", "-sha2")),  # a Raspberry Pi 4
        (  # AWS's Graviton 3
            "0xd40",
            "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop "
            "sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs paca pacg dcpodp svei8mm svebf16 "
            "i8mm bf16 dgh rng",
            "neoverse-v1",
            None,
        ),
    ],
)
def test_machines_of_arm_as_linux_shows_them(part: str, flags: str, mcpu: str, mattr: tuple[str, ...] | None) -> None:
    target = describe_cpu("aarch64", "Linux", arm_cpuinfo(("0x41", part, flags)), 4)
    assert (target["mcpu"], target["mattr"]) == (mcpu, mattr)


def test_cores_that_differ_share_the_features_of_all() -> None:
    little = "fp asimd aes sha2 crc32 atomics asimdrdm dcpop asimdhp asimddp lrcpc"
    cpuinfo = arm_cpuinfo(("0x41", "0xd05", little), ("0x41", "0xd0b", f"{little} ssbs i8mm"))
    target = describe_cpu("aarch64", "Linux", cpuinfo, 2)
    assert (target["mcpu"], target["mattr"]) == ("cortex-a55", None)


@pytest.mark.parametrize(
    ("machine", "system", "triple"),
    [
        ("arm64", "Darwin", "aarch64-apple-darwin"),
        ("AMD64", "Windows", "x86_64-pc-windows-msvc"),
        ("armv7l", "Linux", "armv7l-unknown-linux-gnueabihf"),
        ("ppc64le", "Linux", "ppc64le-unknown-linux-gnu"),
        ("riscv64", "FreeBSD", "riscv64-unknown-freebsd"),
    ],
)
def test_without_cpuinfo_the_triple_and_the_cores_remain(machine: str, system: str, triple: str) -> None:
    assert describe_cpu(machine, system, "", 3) == Target({"kind": "llvm", "mtriple": triple, "num-cores": 3})


def test_this_machine() -> None:
    target = Target.detect()
    assert target["num-cores"] == thread_budget()
    assert Target(str(target)) == target == Target.detect()
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        flags = re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        assert flags is not None
        for flag in ("avx2", "avx512f", "avx512_vnni", "fma", "sse4_2", "amx_tile"):
            assert target.features.has(flag) == (flag in flags[1].split()), flag


def _rows() -> list[tuple[str, str]]:
    families = [(vendor, rows) for vendor, rows in NAMES.items() if vendor not in ("source", "flags")]
    return [(vendor, name) for vendor, groups in families for processors in groups.values() for name in processors]


@pytest.mark.parametrize(("vendor", "name"), _rows())
def test_each_name_is_a_processor(vendor: str, name: str) -> None:
    tables = [architecture(each) for each in (("aarch64", "arm") if vendor == "arm" else ("x86",))]
    assert any(name in table.processors for table in tables)


@pytest.mark.parametrize("name", ["x86", "aarch64", "arm"])
def test_each_flag_is_a_feature(name: str) -> None:
    for flag in NAMES["flags"][name].split():
        assert architecture(name).feature(flag), flag


def _numbers(found: Architecture) -> st.SearchStrategy[tuple[str, str, str]]:
    if found.name == "x86":
        return st.sampled_from([("GenuineIntel", "6", str(model)) for model in (0x55, 0x8F, 0x97, 0xFE, 0x57)])
    return st.sampled_from([("0x41", part, "") for part in ("0xd03", "0xd49", "0xd0c", "0xfff")])


@st.composite
def shown_machines(draw: st.DrawFn) -> tuple[str, str, frozenset[str], frozenset[str]]:
    """An architecture, its cpuinfo, the features shown there, and those that could be."""
    found = architecture(draw(st.sampled_from(["x86", "aarch64"])))
    flag_of = {found.feature(flag): flag for flag in NAMES["flags"][found.name].split()}
    visible = frozenset(feature for feature in flag_of if feature)
    some = draw(st.frozensets(st.sampled_from(sorted(visible)), min_size=1, max_size=len(visible)))
    flags = " ".join(flag_of[feature] for feature in sorted(some))
    first, second, third = draw(_numbers(found))
    if found.name == "x86":
        return found.name, x86_cpuinfo(first, int(second), int(third), flags), found.closed(some) & visible, visible
    return found.name, arm_cpuinfo((first, second, flags)), found.closed(some) & visible, visible


@given(shown_machines())
def test_the_target_has_exactly_the_features_that_are_shown(
    machine: tuple[str, str, frozenset[str], frozenset[str]],
) -> None:
    name, cpuinfo, shown, visible = machine
    target = describe_cpu(MACHINES[name], "Linux", cpuinfo, 1)
    if target["mcpu"] is not None:
        assert set(target.features) & visible == shown
    assert Target(str(target)) == target
