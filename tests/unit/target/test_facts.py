from __future__ import annotations

import pytest

from intarsia.target import Target


@pytest.mark.parametrize(
    ("form", "name", "value"),
    [
        ("cuda -arch=sm_80", "arch", "sm_80"),
        ("llvm", "arch", ""),
        ("tensorrt -base='cuda -arch=sm_80'", "arch", "sm_80"),
        ("llvm -mcpu=haswell", "mcpu", "haswell"),
        ("onnxruntime -base='llvm -mattr=+avx2,-fma'", "mattr", ("+avx2", "-fma")),
        ("mrvl -mattr=quantize=fp16", "mattr", ("quantize=fp16",)),
        ("llvm -libs=b,a", "libs", ("a", "b")),
        ("llvm", "libs", ()),
        ("llvm", "model", "unknown"),
        ("llvm -model=i7", "model", "i7"),
        ("opencl -device=mali", "device_name", "mali"),
        ("cuda", "max_num_threads", 1024),
        ("tensorrt -base=cuda", "max_num_threads", 1024),
        ("llvm", "max_num_threads", None),
        ("opencl -thread_warp_size=16", "thread_warp_size", 16),
        ("metal", "max_shared_memory_per_block", 32768),
        ("cuda", "max_shared_memory_per_block", None),
        ("vulkan -max_block_size_x=512", "max_block_size_x", 512),
        ("opencl", "max_block_size_y", 256),
        ("metal", "max_function_args", 31),
        ("cuda", "max_function_args", 0),
        ("hexagon -vtcm-capacity=4096", "vtcm_capacity", 4096),
        ("cuda -l2_cache_size_bytes=6", "l2_cache_size_bytes", 6),
        ("llvm", "l2_cache_size_bytes", 0),
        ("cuda -arch=sm_60", "supports_integer_dot_product", False),
        ("cuda -arch=sm_61", "supports_integer_dot_product", True),
        ("cuda -arch=sm_90a", "supports_integer_dot_product", True),
        ("cuda", "supports_integer_dot_product", False),
        ("vulkan -supports_integer_dot_product", "supports_integer_dot_product", True),
        ("vulkan -supports_cooperative_matrix=false", "supports_cooperative_matrix", False),
        ("vulkan -supports_cooperative_matrix", "supports_cooperative_matrix", True),
    ],
)
def test_accessors(form: str, name: str, value: object) -> None:
    assert getattr(Target(form), name) == value
