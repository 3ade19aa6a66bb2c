"""What ONNX Runtime calls a provider, as the target that it names here. One table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
"""By ONNX Runtime's order of preference. A device's name stands for every engine that serves the device."""
