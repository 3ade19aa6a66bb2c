"""Device kinds that are GPUs, or are programmed like one. Figures are per device; a tag brings those of a product."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from intarsia.spec import Option
from intarsia.spec.schema import choice, flag, text, whole
from intarsia.target.kinds.declare import KindRules, device_kind
from intarsia.target.kinds.devices import (
    FIGURES,
    MATTR,
    MCPU,
    faults_of_cuda,
    faults_of_nvptx,
    faults_of_rocm,
    without_triple,
)
from intarsia.target.kinds.kind import TargetKind

_LIMITS = {
    "max_num_threads": ("threads", "threads of one block, as schedules assume them"),
    "max_threads_per_block": ("threads", "most threads that one block may have"),
    "max_shared_memory_per_block": ("bytes", "memory that the threads of one block share"),
    "thread_warp_size": ("threads", "threads that run in lockstep"),
    "max_function_args": ("", "most arguments of one kernel"),
}
"""Limits that several kinds have: unit and meaning."""


def _limits(**defaults: int | None) -> tuple[Option, ...]:
    """Some of `_LIMITS` as options, each with its default."""
    return tuple(whole(name, _LIMITS[name][1], default, unit=_LIMITS[name][0]) for name, default in defaults.items())


def _triple(only: str) -> Option:
    return choice("mtriple", "target triple; there is only one", only, default=only)


def _gpu(
    name: str, meaning: str, options: Iterable[Option], *, device_type: str = "", **rules: Unpack[KindRules]
) -> TargetKind:
    type_ = device_type or name
    return device_kind(name, meaning, options, device_type=type_, keys=(type_, "gpu"), **rules)


_CUDA = (
    MCPU,
    text("arch", "compute capability, as sm_80"),
    *_limits(max_shared_memory_per_block=None, max_threads_per_block=None, thread_warp_size=32),
    whole("registers_per_block", "registers that the threads of one block share", unit="registers"),
    whole("l2_cache_size_bytes", "second-level cache", unit="bytes"),
    *_limits(max_num_threads=1024),
    *FIGURES,
)
_NVPTX = (MCPU, _triple("nvptx64-nvidia-cuda"), *_limits(max_num_threads=1024, thread_warp_size=32), *FIGURES)
_ROCM = (
    MCPU,
    _triple("amdgcn-amd-amdhsa-hcc"),
    MATTR,
    *_limits(max_num_threads=256, max_threads_per_block=256, max_shared_memory_per_block=65536, thread_warp_size=64),
    *FIGURES,
)
_OPENCL = (
    *_limits(max_threads_per_block=256, max_shared_memory_per_block=16384, max_num_threads=256, thread_warp_size=1),
    whole("texture_spatial_limit", "longest side of a texture", 16384, unit="texels"),
    *_limits(max_function_args=128),
    *FIGURES,
    whole("max_buffer_size", "largest buffer", unit="bytes"),
    *(flag(f"supports_{what}", f"whether the driver offers {what}") for what in ("float16", "float64")),
    text("device_type", "gpu, accelerator, cpu or custom, as the driver says"),
    text("device_name", "name of the device, as the driver says"),
    text("driver_version", "version of the driver, as it says"),
    text("opencl_version", "version of OpenCL, as the driver says"),
)
_METAL = (
    *_limits(max_num_threads=256, max_threads_per_block=256, max_shared_memory_per_block=32768, thread_warp_size=16),
    *_limits(max_function_args=31),
    *FIGURES,
)
_VULKAN_SUPPORTS = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "8bit_buffer", "16bit_buffer"),
    *("storage_buffer_storage_class", "push_descriptor", "dedicated_allocation", "integer_dot_product"),
    "cooperative_matrix",
)
_ALWAYS = ("float32", "int32")
"""What every driver of Vulkan offers."""
_VULKAN = (
    MATTR,
    *(
        flag(
            f"supports_{what}",
            f"whether the driver offers {what.replace('_', ' ')}",
            default=True if what in _ALWAYS else None,
        )
        for what in _VULKAN_SUPPORTS
    ),
    whole("supported_subgroup_operations", "bits of VkSubgroupFeatureFlags"),
    *_limits(max_num_threads=256, max_threads_per_block=256, thread_warp_size=1),
    *(whole(f"max_block_size_{axis}", f"most threads of a block along {axis}", unit="threads") for axis in "xyz"),
    whole("max_push_constants_size", "constants that a command may carry", unit="bytes"),
    whole("max_uniform_buffer_range", "largest uniform buffer", unit="bytes"),
    whole("max_storage_buffer_range", "largest storage buffer", unit="bytes"),
    whole("max_per_stage_descriptor_storage_buffer", "most storage buffers of one kernel", unit="buffers"),
    *_limits(max_shared_memory_per_block=None),
    text("device_type", "integrated, discrete, virtual or cpu, as the driver says"),
    text("device_name", "name of the device, as the driver says"),
    text("driver_name", "name of the driver"),
    whole("driver_version", "version of the driver, as it encodes it"),
    whole("vulkan_api_version", "version of Vulkan, as the driver encodes it"),
    whole("max_spirv_version", "newest SPIR-V that the driver takes, as SPIR-V encodes it"),
    *FIGURES,
)

GPUS: tuple[TargetKind, ...] = (
    _gpu("cuda", "an NVIDIA GPU", _CUDA, check=faults_of_cuda),
    _gpu(
        "nvptx", "an NVIDIA GPU, by way of LLVM", _NVPTX, device_type="cuda", fill=without_triple, check=faults_of_nvptx
    ),
    _gpu("rocm", "an AMD GPU", _ROCM, fill=without_triple, check=faults_of_rocm),
    _gpu("opencl", "a device with OpenCL", _OPENCL),
    _gpu("vulkan", "a GPU with Vulkan", _VULKAN),
    _gpu("metal", "a GPU of Apple's", _METAL),
    _gpu("webgpu", "a GPU by way of a browser", _limits(max_num_threads=256)),
    device_kind("sdaccel", "a Xilinx FPGA, by way of SDAccel", device_type="opencl", keys=("sdaccel", "hls")),
    device_kind("aocl", "an Intel FPGA, by way of its OpenCL SDK", device_type="aocl", keys=("aocl", "hls")),
    device_kind("aocl_sw_emu", "the emulator of an Intel FPGA", device_type="aocl", keys=("aocl", "hls")),
)
"""Device kinds of GPUs, the usual ones first."""
