"""Device kinds that are GPUs, or are programmed like one. Figures are per device; a tag brings those of a product."""

from __future__ import annotations

from intarsia.spec import Bool, Enum, Int, Option, Str
from intarsia.target.kinds.declare import device_kind
from intarsia.target.kinds.devices import MATTR, MCPU
from intarsia.target.kinds.kind import TargetKind
from intarsia.target.kinds.rules import faults_of_cuda, faults_of_nvptx, faults_of_rocm, without_triple


def _threads_in_total(default: int | None = None) -> Option:
    return _count("max_num_threads", "threads", "threads of one block, as schedules assume them", default)


def _count(name: str, unit: str, meaning: str, default: int | None = None) -> Option:
    return Option(name=name, type=Int(minimum=0), default=default, unit=unit, meaning=meaning)


def _threads_per_block(default: int | None = None) -> Option:
    return _count("max_threads_per_block", "threads", "most threads that one block may have", default)


def _shared_memory(default: int | None = None) -> Option:
    return _count("max_shared_memory_per_block", "bytes", "memory that the threads of one block share", default)


def _warp(default: int | None = None) -> Option:
    return _count("thread_warp_size", "threads", "threads that run in lockstep", default)


def _triple(only: str) -> Option:
    return Option(name="mtriple", type=Enum((only,)), default=only, meaning="target triple; there is only one")


def _arguments(default: int) -> Option:
    return _count("max_function_args", "", "most arguments of one kernel", default)


_CUDA = (
    MCPU,
    Option(name="arch", type=Str(), meaning="compute capability, as sm_80"),
    _shared_memory(),
    _threads_per_block(),
    _warp(32),
    _count("registers_per_block", "registers", "registers that the threads of one block share"),
    _count("l2_cache_size_bytes", "bytes", "second-level cache"),
    _threads_in_total(1024),
)
_NVPTX = (MCPU, _triple("nvptx64-nvidia-cuda"), _threads_in_total(1024), _warp(32))
_ROCM = (
    MCPU,
    _triple("amdgcn-amd-amdhsa-hcc"),
    MATTR,
    _threads_in_total(256),
    _threads_per_block(256),
    _shared_memory(65536),
    _warp(64),
)
_OPENCL = (
    _threads_per_block(256),
    _shared_memory(16384),
    _threads_in_total(256),
    _warp(1),
    _count("texture_spatial_limit", "texels", "longest side of a texture", 16384),
    _arguments(128),
)
_METAL = (_threads_in_total(256), _threads_per_block(256), _shared_memory(32768), _warp(16), _arguments(31))
_VULKAN_SUPPORTS = (
    ("float16", None),
    ("float32", True),
    ("float64", None),
    ("int8", None),
    ("int16", None),
    ("int32", True),
    ("int64", None),
    ("8bit_buffer", None),
    ("16bit_buffer", None),
    ("storage_buffer_storage_class", None),
    ("push_descriptor", None),
    ("dedicated_allocation", None),
    ("integer_dot_product", None),
    ("cooperative_matrix", None),
)
_VULKAN = (
    MATTR,
    *(
        Option(
            name=f"supports_{what}",
            type=Bool(),
            default=default,
            meaning=f"whether the driver offers {what.replace('_', ' ')}",
        )
        for what, default in _VULKAN_SUPPORTS
    ),
    _count("supported_subgroup_operations", "", "bits of VkSubgroupFeatureFlags"),
    _threads_in_total(256),
    _threads_per_block(256),
    _warp(1),
    *(_count(f"max_block_size_{axis}", "threads", f"most threads of a block along {axis}") for axis in "xyz"),
    _count("max_push_constants_size", "bytes", "constants that a command may carry"),
    _count("max_uniform_buffer_range", "bytes", "largest uniform buffer"),
    _count("max_storage_buffer_range", "bytes", "largest storage buffer"),
    _count("max_per_stage_descriptor_storage_buffer", "buffers", "most storage buffers of one kernel"),
    _shared_memory(),
    Option(name="device_type", type=Str(), meaning="integrated, discrete, virtual or cpu, as the driver says"),
    Option(name="device_name", type=Str(), meaning="name of the device, as the driver says"),
    Option(name="driver_name", type=Str(), meaning="name of the driver"),
    _count("driver_version", "", "version of the driver, as it encodes it"),
    _count("vulkan_api_version", "", "version of Vulkan, as the driver encodes it"),
    _count("max_spirv_version", "", "newest SPIR-V that the driver takes, as SPIR-V encodes it"),
)

GPUS: tuple[TargetKind, ...] = (
    device_kind("cuda", "an NVIDIA GPU", _CUDA, device_type="cuda", keys=("cuda", "gpu"), check=faults_of_cuda),
    device_kind(
        "nvptx",
        "an NVIDIA GPU, by way of LLVM",
        _NVPTX,
        device_type="cuda",
        keys=("cuda", "gpu"),
        fill=without_triple,
        check=faults_of_nvptx,
    ),
    device_kind(
        "rocm", "an AMD GPU", _ROCM, device_type="rocm", keys=("rocm", "gpu"), fill=without_triple, check=faults_of_rocm
    ),
    device_kind("opencl", "a device with OpenCL", _OPENCL, device_type="opencl", keys=("opencl", "gpu")),
    device_kind("vulkan", "a GPU with Vulkan", _VULKAN, device_type="vulkan", keys=("vulkan", "gpu")),
    device_kind("metal", "a GPU of Apple's", _METAL, device_type="metal", keys=("metal", "gpu")),
    device_kind(
        "webgpu", "a GPU by way of a browser", (_threads_in_total(256),), device_type="webgpu", keys=("webgpu", "gpu")
    ),
    device_kind("sdaccel", "a Xilinx FPGA, by way of SDAccel", device_type="opencl", keys=("sdaccel", "hls")),
    device_kind("aocl", "an Intel FPGA, by way of its OpenCL SDK", device_type="aocl", keys=("aocl", "hls")),
    device_kind("aocl_sw_emu", "the emulator of an Intel FPGA", device_type="aocl", keys=("aocl", "hls")),
)
"""Device kinds of GPUs, the usual ones first."""
