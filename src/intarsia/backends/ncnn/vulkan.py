"""ncnn on a Vulkan device: which nodes have kernels there, and what else differs from the CPU.

Values are brought to the device and back inside each call. What was tried is ncnn 1.0.20261020 on Mesa's lavapipe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Gap
from intarsia.backends.contract.node_facts import words
from intarsia.backends.ncnn.lowering.builder import Builder
from intarsia.backends.ncnn.lowering.operators import LOWERINGS
from intarsia.errors import LoadError

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_KERNELS = words(
    "BatchNorm BinaryOp CELU Clip Concat Convolution Convolution1D ConvolutionDepthWise Crop Deconvolution "
    "DeconvolutionDepthWise ELU Erf GELU Gemm GroupNorm HardSigmoid HardSwish InnerProduct InstanceNorm Interp LRN "
    "LayerNorm MemoryData Mish PReLU Padding Permute PixelShuffle Pooling ReLU Reduction Reorg Reshape SELU Scale "
    "Shrink Sigmoid Slice Softmax Softplus Split Swish TanH UnaryOp"
)
"""The layers that say ``support_vulkan`` of themselves. ncnn would run others on the CPU, between two copies."""
_INPUT = "Input"
_FAST_GELU = 0
_FLOAT_BYTES = 4
_SURE_BYTES = 2**27
"""What Vulkan promises of every device; a target may state more, as `Target.from_device` does."""
GAPS = (
    Gap.upstream("Gelu[vulkan]", "2e-4 off in the node test gelu_default_2"),
    Gap.upstream("MatMul[vulkan]", "the layer's support_vulkan is false"),
    Gap.upstream("MaxPool[1-D, vulkan]", "the layer's support_vulkan is false"),
    Gap.upstream("values that stay on the device", "the package's Extractor takes and gives Mat alone, no VkMat"),
    Gap.upstream(
        "a cap on the threads of a device in software",
        "Mesa reads LP_NUM_THREADS once in a process, whatever a target's -threads or a branch's share says",
    ),
    Gap.upstream("silence", "create_gpu_instance lists the devices on standard error, and nothing turns that off"),
)


def runs_on_vulkan(target: Target) -> bool:
    """Whether a target's networks run on a Vulkan device."""
    return target.device_type == "vulkan"


def refusal(node: Node, graph: Graph, target: Target) -> str | None:
    """Why a node that ncnn takes is not taken on Vulkan: the target's order says who else may have it."""
    most = (target.base or target).options.get("max_storage_buffer_range", _SURE_BYTES)
    for name in filter(None, (*node.reads, *node.outputs)):
        if _FLOAT_BYTES * math.prod(graph.values[name].shape or ()) > most:
            return f"{name} is larger than a buffer of the device, which has {most} bytes as far as the target says"
    build = Builder(graph)
    LOWERINGS[node.op_type](build, node)
    for layer in build.layers:
        if layer.type not in _KERNELS:
            return f"ncnn's {layer.type} has no Vulkan kernel: it would run on the CPU"
        if layer.type == "GELU" and not layer.params[_FAST_GELU]:
            return "ncnn's GELU on Vulkan is its approximation by tanh, and 2e-4 off"
    return None


def require_device(ncnn: Any, index: int) -> None:
    """Start ncnn's Vulkan instance; without a device, ncnn would run the network on the CPU and not say so.

    Raises:
        LoadError: There is no device of that index.
    """
    count = ncnn.get_gpu_count()
    if not count:
        raise LoadError("ncnn", "it finds no Vulkan device here; 'intarsia doctor' says what fixes that")
    if not index < count:
        raise LoadError("ncnn", f"this machine has no device vulkan:{index}; it has {count}, numbered from 0")


def require_kernels(param: str) -> None:
    """Refuse layers without a Vulkan kernel: ncnn would run those on the CPU, and not say so either.

    Args:
        param: The network as ncnn's text: two lines of counts, then one line a layer that starts with its type.

    Raises:
        LoadError: There is such a layer.
    """
    layers = {line.split(maxsplit=1)[0] for line in param.splitlines()[2:]}
    if missing := sorted(layers - _KERNELS - {_INPUT}):
        raise LoadError("ncnn", f"{', '.join(missing)}: no Vulkan kernel, so it would run on the CPU")


def environment(settings: RunSettings) -> Mapping[str, str | None]:
    """For Mesa's device in software: as many threads as the plan has, and no cache in the home folder."""
    return {"LP_NUM_THREADS": str(settings.threads), "MESA_SHADER_CACHE_DISABLE": "true"}
