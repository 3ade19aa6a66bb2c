"""For every option of every kind a value that is not its default, to see what stating it changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from intarsia.spec import Kind, Option
from intarsia.target import KINDS
from intarsia.target.kinds.kind import TargetKind

_NAMED: Mapping[str, object] = MappingProxyType(
    {
        "mcpu": "haswell",
        "march": "haswell",
        "mattr": ["+avx2"],
        "mtriple": "x86_64-pc-linux-gnu",
        "mabi": "lp64d",
        "mfloat-abi": "hard",
        "cl-opt": ["-unroll-threshold:uint=100"],
        "llvm-options": ["-unroll-threshold=100"],
        "jit": "mcjit",
        "vector-width": 128,
        "threads": 1,
        "opt-level": 1,
        "python": sys.executable,
        "host": "llvm -mcpu=znver3",
        "target_device_type": 8,
        "custom-ops": ["/nowhere/library.so"],
        "sources": "/nowhere/CMSIS-NN",
        "ram": ["sram:65536"],
        "tuning-records": "records.json",
        "dpu": "DPUCZDX8G-zcu104",
        "max_storage_buffer_range": 64,
    }
)
"""By the option's name, where its type does not say what is legal."""
_OF_KIND: Mapping[tuple[str, str], object] = MappingProxyType(
    {
        ("iree", "opt-level"): "O1",
        ("cuda", "mcpu"): "sm_80",
        ("cuda", "arch"): "sm_80",
        ("nvptx", "mcpu"): "sm_80",
        ("rocm", "mcpu"): "gfx90a",
        ("vulkan", "mattr"): ["+float16"],
        ("cmsis-nn", "mcpu"): "cortex-m7",
        ("cmsis-nn", "mattr"): ["+dsp"],
        ("mrvl", "mattr"): "wb_pin_ocm=1",
    }
)
_BY_TYPE: Mapping[str, object] = MappingProxyType({"str": "word", "float": 1.5, "absolute path": "/nowhere"})


def sample(kind: Kind, option: Option) -> object:
    """A value of an option of this kind that is not its default."""
    if isinstance(kind, TargetKind) and option.name == "base":
        others = [name for name in kind.serves if name != "llvm"]
        return others[0] if others else "llvm -mtriple=riscv64-unknown-linux-gnu"
    if isinstance(kind, TargetKind) and option.name == "compiler":
        return next((name for name in ("tvm", *kind.engines, *KINDS) if KINDS[name].takes(kind)), "tvm")
    choices: tuple[str, ...] = getattr(option.type, "choices", ())
    known = _OF_KIND.get((kind.name, option.name), _NAMED.get(option.name))
    if known is not None and not (choices and known not in choices):
        return known
    if choices:
        return next(each for each in reversed(choices) if each != option.default)
    label = option.type.label
    if label == "bool":
        return not option.default
    if label.startswith("list"):
        return [3] if "int" in label else ["word"]
    value = _BY_TYPE.get(label, 64)
    return 128 if value == option.default else value
