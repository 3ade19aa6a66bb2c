"""Engines that can be described and planned for, and that no backend drives: what each would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from types import MappingProxyType

from intarsia.backends.contract.backend import Availability
from intarsia.target import KINDS
from intarsia.target.detect import LOOKED_AT, devices_here


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What an engine needs beside a backend.

    Attributes:
        what: In words.
        get: The command that brings it, where one does.
        package: The Python package among it, whose version is told where it is installed.
    """

    what: str
    get: str | None = None
    package: str | None = None


_TORCH = "pip install torch"
_NEEDS: Mapping[str, Need] = MappingProxyType(
    {
        "triton": Need(
            what="Triton, which PyTorch's compiler generates code for", get="pip install triton", package="triton"
        ),
        "tensorrt": Need(what="TensorRT", get="pip install tensorrt", package="tensorrt"),
        "cutlass": Need(what="CUTLASS and CUDA's compiler", get="pip install nvidia-cutlass", package="nvidia-cutlass"),
        "cudnn": Need(what="cuDNN, which the engine torch calls on cuda", get=_TORCH, package="nvidia-cudnn-cu13"),
        "cublas": Need(what="cuBLAS, which the engine torch calls on cuda", get=_TORCH, package="nvidia-cublas"),
        "dnnl": Need(what="oneDNN with a Python interface, which no package brings; the engine torch calls it inside"),
        "arm_acl": Need(what="an Arm processor, and the Arm Compute Library built for it"),
        "bnns": Need(what="a machine of Apple's"),
        "clml": Need(what="a GPU of Qualcomm's, and its SDK for OpenCL ML"),
        "ethos-n": Need(what="an Ethos-N processor, and its driver stack"),
        "ethos-u": Need(what="Vela", get="pip install ethos-u-vela", package="ethos-u-vela"),
        "cmsis-nn": Need(
            what="CMSIS-NN's sources, and a compiler for Cortex-M", get="apt-get install gcc-arm-none-eabi"
        ),
        "vitis-ai": Need(what="a processor of AMD's, and Vitis AI"),
        "mrvl": Need(what="a processor of Marvell's, and its compiler"),
    }
)
"""By engine kind."""


def unsupported(kind: str) -> Availability:
    """Why an engine kind without a backend is not usable: what it needs, and what of that is here."""
    need = _NEEDS.get(kind, Need(what="a package that brings one"))
    version = _version(need.package)
    lacks = [f"it needs {need.what}"]
    if version is not None:
        lacks.append(f"{need.package} {version} is installed")
    device_type = KINDS[kind].device_type
    if device_type in LOOKED_AT and not devices_here(device_type):
        lacks.append(f"this machine shows no {device_type} device")
    return Availability(
        usable=False,
        version=version,
        reason=f"described only, as no backend drives it: {'; '.join(lacks)}",
        fix=None if version is not None else need.get,
    )


def _version(package: str | None) -> str | None:
    try:
        return None if package is None else metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
