"""Every shipped tag, read; and the figures of some that other tools and papers state too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from intarsia.config import CompilationConfig, Deployment
from intarsia.errors import SpecError
from intarsia.spec import tag_sources
from intarsia.spec.tag_files import Row, read_tag_file
from intarsia.spec.tag_sources import VendorFolder
from intarsia.target import TAGS, Target, list_tags
from intarsia.target.tags import SHIPPED, user_folder

FOLDER = Path(tag_sources.__file__).parents[1] / "target" / "tags"
FILES = sorted(FOLDER.glob("*.json"))


def test_there_are_many() -> None:
    shipped = SHIPPED.tags()
    assert len(shipped) >= 300
    assert {path.stem for path in FILES} == {name.partition("/")[0] for name in shipped}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_tag_of_a_vendor_is_sourced_and_reads_back(path: Path) -> None:
    for name, tag in SHIPPED.part(path.stem).items():
        assert tag.source, name
        if tag.level == "deployment":
            several = Deployment(name)
            assert several.tags == (name,)
            assert Deployment(str(several)) == several == Deployment(several.json()), name
            continue
        assert tag.level == "target", name
        target = Target(name)
        assert target.tag == name
        assert Target(str(target)) == target == Target(target.json()), name
        for variant in tag.variants:
            chosen = tag.chosen(variant)
            assert chosen is not None
            assert chosen.level == "config", name
            config = CompilationConfig.of(f"{name}:{variant}")
            assert f"{name}:{variant}" in config.tags, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_source_of_a_vendors_file_is_said_in_full_and_cited(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = data["tags"]
    assert all(name.startswith(f"{path.stem}/") for name in rows)
    cited = [row["source"] if isinstance(row["source"], list) else [row["source"]] for row in rows.values()]
    assert {word for words in cited for word in words} == set(data["sources"])
    assert all(len(source.split()) >= 4 for source in data["sources"].values())


def test_what_a_gpu_can_hold_follows_from_its_compute_capability() -> None:
    half = {"sm_20", "sm_21", "sm_53", "sm_62"}
    for name in SHIPPED.part("nvidia"):
        options = Target(name).options
        assert options["registers_per_block"] == (32768 if options["arch"] in half else 65536), name
        assert (options["thread_warp_size"], options["max_threads_per_block"]) == (32, 1024), name


STATED: dict[str, dict[str, Any]] = {
    "nvidia/geforce-rtx-2080-ti": {
        "arch": "sm_75",
        "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "registers_per_block": 65536,
    },
    "nvidia/geforce-rtx-4090": {"arch": "sm_89", "l2_cache_size_bytes": 75497472},
    "nvidia/geforce-rtx-3070": {"arch": "sm_86"},
    "nvidia/geforce-gt-730-ddr3,128bit": {"arch": "sm_21", "registers_per_block": 32768},
    "nvidia/geforce-gtx-860m-sm-30": {"arch": "sm_30"},
    "nvidia/gtx1080ti": {"arch": "sm_61"},
    "nvidia/nvidia-a100": {"arch": "sm_80", "l2_cache_size_bytes": 41943040},
    "nvidia/nvidia-h100": {"arch": "sm_90a"},
    "nvidia/tesla-p40": {"arch": "sm_61"},
    "nvidia/v100": {"arch": "sm_70"},
    "raspberry-pi/4b-aarch64": {
        "mtriple": "aarch64-linux-gnu",
        "mcpu": "cortex-a72",
        "mattr": ("+neon",),
        "num-cores": 4,
    },
    "apple/m1-gpu": {"max_threads_per_block": 1024, "max_shared_memory_per_block": 32768, "thread_warp_size": 32},
    "apple/m1-gpu-restricted": {"max_threads_per_block": 256},
    "aws/cpu/c5.4xlarge": {"mcpu": "skylake-avx512", "num-cores": 8, "keys": ("x86", "cpu")},
    "aws/cpu/c5.24xlarge": {"mcpu": "cascadelake", "num-cores": 48},
    "aws/c5": {"mcpu": "skylake-avx512"},
    "aws/c4.4xlarge": {"mcpu": "haswell", "num-cores": 8},
    "aws/p3": {"arch": "sm_70"},
    "arm/rasp4b": {"mtriple": "armv8l-linux-gnueabihf", "mcpu": "cortex-a72", "model": "bcm2711"},
    "riscv/sifive-u74": {"mcpu": "sifive-u74", "mabi": "lp64d"},
    "qcom/hexagon-v65": {"mcpu": "hexagonv65", "num-cores": 4, "vtcm-capacity": 262144},
    "qcom/adreno-opencl-clml": {"device": "adreno", "keys": ("adreno", "opencl", "gpu", "clml")},
}


@pytest.mark.parametrize("name", STATED)
def test_figures(name: str) -> None:
    target = Target(name)
    assert {option: target[option] for option in STATED[name]} == STATED[name]


@pytest.mark.parametrize(
    ("name", "mcpu", "cores"),
    [
        ("nvidia/jetson-nano", "cortex-a57", 4),
        ("nvidia/jetson-agx-orin-64gb", "cortex-a78", 12),
        ("raspberry-pi/4b-aarch64", "cortex-a72", 4),
        ("aws/gpu/p3.8xlarge", "broadwell", 16),
        ("apple/m1-gpu", "apple-latest", None),
    ],
)
def test_hosts(name: str, mcpu: str, cores: int | None) -> None:
    host = Target(name).host
    assert host is not None
    assert (host["mcpu"], host["num-cores"]) == (mcpu, cores)


def test_a_tag_is_overridden_field_by_field_and_by_another_host() -> None:
    a100 = Target({"tag": "nvidia/nvidia-a100", "l2_cache_size_bytes": 12345})
    assert (a100.tag, a100["arch"], a100["l2_cache_size_bytes"]) == ("nvidia/nvidia-a100", "sm_80", 12345)
    nano = Target("nvidia/jetson-nano", host="nvidia/geforce-rtx-2080-ti")
    assert nano.host == Target("nvidia/geforce-rtx-2080-ti")


def test_several_tags_of_one_value() -> None:
    assert Target({"kind": "cuda", "tag": ["aws/p3", "nvidia/v100"]}).tags == ("aws/p3", "nvidia/v100")


def test_a_variant_is_a_whole_machine() -> None:
    nano = CompilationConfig.of("nvidia/jetson-nano:cuda")
    assert [str(target) for target in nano.targets] == [str(Target("nvidia/jetson-nano").with_host(None))]
    assert nano.host == Target("nvidia/jetson-nano").host
    bare = CompilationConfig.of("arm/soc:aot")
    assert bare.executor["unpacked-api"]
    assert bare.runtime.kind.name == "crt"
    assert len(CompilationConfig.of("aws/p3.16xlarge:all").devices) == 8


def test_a_variant_that_is_a_machine_is_no_target() -> None:
    with pytest.raises(SpecError, match="names a config; write a target here"):
        Target("nvidia/jetson-nano:cuda")
    with pytest.raises(SpecError, match="has no variant 'cude'; did you mean 'cuda'"):
        Target("nvidia/jetson-nano:cude")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "nvidia/geforce-rtx-307",
            "tag 'nvidia/geforce-rtx-307' is not defined; did you mean 'nvidia/geforce-rtx-3070'?",
        ),
        ("nvida/geforce-rtx-3070", "did you mean 'nvidia/geforce-rtx-3070'?"),
        ("geforce-rtx-3070", "did you mean 'nvidia/geforce-rtx-3070'?"),
        ("nobody/nothing", "tag 'nobody/nothing' is not defined"),
    ],
)
def test_unknown_tags(text: str, what: str) -> None:
    with pytest.raises(SpecError) as caught:
        Target(text)
    assert what in str(caught.value)


def test_a_list_may_hold_the_tag_with_a_comma() -> None:
    config = CompilationConfig.of("nvidia/geforce-gt-730-ddr3,128bit:1,llvm")
    assert [target.tag for target in config.targets if isinstance(target, Target)] == [
        "nvidia/geforce-gt-730-ddr3,128bit",
        "",
    ]


def test_only_the_file_of_the_vendor_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def note(path: Path) -> Mapping[str, Row]:
        read.append(path.stem)
        return read_tag_file(path)

    monkeypatch.setattr("intarsia.spec.tag_files.read_tag_file", note)
    source = VendorFolder(FOLDER)
    assert source.find("llvm") is None
    assert source.with_comma("llvm -mcpu=a, cuda -arch=sm_80") == ()
    assert read == []
    assert source.find("apple/m1-gpu") is not None
    assert source.find("apple/m2-gpu") is not None
    assert read == ["apple"]


def test_importing_reads_no_tags() -> None:
    script = """if True:
        import sys
        opened = []
        sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
        import intarsia.config
        print([path for path in opened if path.endswith(".json")])
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_users_own_files_are_found() -> None:
    folder = user_folder()
    assert folder.name == "tags"
    assert "intarsia" in folder.parts


def test_the_listing_is_the_table() -> None:
    assert list_tags() == dict(sorted(TAGS.items()))
