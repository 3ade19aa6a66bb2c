"""What libraries call the instruction sets that they may be held to. OpenVINO and PyTorch both have oneDNN inside."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from intarsia.config.emulated import InstructionSet

_ONEDNN: Mapping[InstructionSet, str] = MappingProxyType(
    {
        InstructionSet.SSE41: "SSE41",
        InstructionSet.AVX: "AVX",
        InstructionSet.AVX2: "AVX2",
        InstructionSet.AVX512: "AVX512_CORE",
        InstructionSet.AVX512_VNNI: "AVX512_CORE_VNNI",
        InstructionSet.AVX512_BF16: "AVX512_CORE_BF16",
        InstructionSet.AVX512_FP16: "AVX512_CORE_FP16",
        InstructionSet.AMX: "AVX512_CORE_AMX",
    }
)


def onednn(most: InstructionSet) -> Mapping[str, str]:
    """What oneDNN reads: its Developer Guide, "CPU Dispatcher Control"."""
    return {"ONEDNN_MAX_CPU_ISA": _ONEDNN[most]}


def torch(most: InstructionSet) -> Mapping[str, str]:
    """What PyTorch's own kernels and its code generator read (``ATEN_CPU_CAPABILITY``), and oneDNN inside it."""
    below_avx2 = most in (InstructionSet.SSE41, InstructionSet.AVX)
    capability = "default" if below_avx2 else "avx2" if most is InstructionSet.AVX2 else "avx512"
    return {"ATEN_CPU_CAPABILITY": capability, **onednn(most)}
