"""Other spellings of targets, what ONNX Runtime calls a provider, and the options that belong elsewhere: three tables.

A tag says where a value came from and is kept; an alias is just another spelling, and is gone once it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from intarsia.spec.tags import Alias

_LINUX = "linux-gnu"


def _same(kind: str, *names: str) -> dict[str, Alias]:
    return {name: Alias(form={"kind": kind}) for name in names}


ALIASES: Mapping[str, Alias] = MappingProxyType(
    {
        # Accelerators that a person names alone when the machine around them is meant.
        "acl": Alias(form={"kind": "arm_acl"}, whole=True),
        "arm_cl": Alias(form={"kind": "arm_acl", "base": {"kind": "opencl", "device": "mali"}}, whole=True),
        # Members of a family that a kind covers.
        **{f"ethos-{name}": Alias(form={"kind": "ethos-n", "variant": name}) for name in ("n37", "n57", "n77", "n78")},
        **{
            f"ethos-{name}": Alias(form={"kind": "ethos-u", "accelerator_config": f"ethos-{name}-{macs}"})
            for name, macs in (("u55", 256), ("u65", 256), ("u85", 256))
        },
        # Processors by their family, as hosts are named.
        "x86": Alias(form={"kind": "llvm", "mtriple": f"x86_64-{_LINUX}"}),
        "arm": Alias(form={"kind": "llvm", "mtriple": f"aarch64-{_LINUX}"}),
        "risc-v": Alias(form={"kind": "llvm", "mtriple": f"riscv64-{_LINUX}"}),
        "arm_cpu": Alias(form={"kind": "llvm", "device": "arm_cpu"}),
        "mali": Alias(form={"kind": "opencl", "device": "mali"}),
        "adreno": Alias(form={"kind": "opencl", "device": "adreno"}),
        # Spellings of other tools, and slips that everybody makes.
        **_same("arm_acl", "compute-library", "arm-acl"),
        **_same("cmsis-nn", "cmsisnn", "cmsis_nn"),
        **_same("dnnl", "mkldnn", "onednn"),
        **_same("ethos-n", "ethosn"),
        **_same("ethos-u", "ethosu"),
        **_same("onnxruntime", "ort"),
        **_same("tensorrt", "tensor-rt", "trt"),
        **_same("vitis-ai", "vitisai", "vitis_ai"),
    }
)
"""Each other spelling, with what it stands for."""

CPU_PROVIDER = "CPUExecutionProvider"
PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "TensorrtExecutionProvider": "tensorrt",
        "NvTensorRTRTXExecutionProvider": "tensorrt",
        "CUDAExecutionProvider": "cuda",
        "MIGraphXExecutionProvider": "rocm",
        "ROCMExecutionProvider": "rocm",
        "OpenVINOExecutionProvider": "openvino",
        "DnnlExecutionProvider": "dnnl",
        "TvmExecutionProvider": "tvm",
        "VitisAIExecutionProvider": "vitis-ai",
        "CoreMLExecutionProvider": "coreml",
        "ACLExecutionProvider": "arm_acl",
        "WebGpuExecutionProvider": "webgpu",
        CPU_PROVIDER: "llvm",
    }
)
"""What ONNX Runtime calls a provider, as the target that it names here, by ONNX Runtime's order of preference.

A device's name stands for every engine that serves the device.
"""

_EXECUTOR = "how a whole model is driven belongs to the executor of a compilation configuration"
_RUNTIME = "what runs the compiled model belongs to the runtime of a compilation configuration"
_SEARCH = "how a plan is searched is a setting of compile(), not part of a machine"
_GREEDY = "it is an argument of intarsia.partitioning.greedy(), and compile() has no such setting"
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "executor": _EXECUTOR,
        "link-params": _EXECUTOR,
        "unpacked-api": _EXECUTOR,
        "interface-api": _EXECUTOR,
        "workspace-byte-alignment": _EXECUTOR,
        "constant-byte-alignment": _EXECUTOR,
        "constants-byte-alignment": _EXECUTOR,
        "runtime": _RUNTIME,
        "system-lib": _RUNTIME,
        "partition": _SEARCH,
        "budget": _SEARCH,
        "seed": _SEARCH,
        "min-nodes": _GREEDY,
        "min-flops": _GREEDY,
        "spin": "what idle threads may do is a setting of the plan",
        "from_device": "probing is asked for by Target.from_device(), which writes out what it finds",
    }
)
"""Options that a target refuses, each with where it goes."""
