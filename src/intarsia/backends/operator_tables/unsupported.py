"""Engines that can be described and planned for, and that no backend drives: why they cannot be used."""

from __future__ import annotations

from collections.abc import Mapping

from intarsia.backends.contract import Availability

_NEEDS: Mapping[str, str] = {
    "triton": "Triton, which PyTorch's compiler generates code for",
    "tensorrt": "TensorRT and an NVIDIA GPU",
    "cutlass": "CUTLASS, CUDA's compiler and an NVIDIA GPU",
    "cudnn": "cuDNN, which the engine torch calls on cuda",
    "cublas": "cuBLAS, which the engine torch calls on cuda",
    "dnnl": "oneDNN's library; torch and openvino hold one inside, and call it",
    "arm_acl": "an Arm processor, and the Arm Compute Library built for it",
    "bnns": "a machine of Apple's",
    "clml": "a GPU of Qualcomm's, and its SDK for OpenCL ML",
    "ethos-n": "an Ethos-N processor, and its driver stack",
    "vitis-ai": "a processor of AMD's, and Vitis AI",
    "mrvl": "a processor of Marvell's, and its compiler",
}
"""What a backend would need, by engine kind."""


def need_of(kind: str) -> str:
    """What a backend of an engine kind would need, in words."""
    return _NEEDS.get(kind, "a package that brings one")


def unsupported(kind: str) -> Availability:
    """Why an engine kind without a backend cannot be used, and what a backend would need. No command cures that."""
    need = need_of(kind)
    useless = "described only: Intarsia has no backend for it, so installing it changes nothing"
    return Availability(usable=False, reason=f"{useless} (a backend would need {need})")
