"""The devices that OpenCL's drivers show, as options of ``opencl`` targets; PoCL's is the CPU.

Numbers are those of ``cl.h``, version 1.2, which every later one keeps.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator, Mapping
from ctypes import byref, c_char_p, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from intarsia.files import cache_folder
from intarsia.target.hardware.driver_process import Options, asked, load_library

_LOADERS = ("libOpenCL.so.1", "OpenCL.dll", "/System/Library/Frameworks/OpenCL.framework/OpenCL")
_ALL = 0xFFFFFFFF
_TYPES = {4: "gpu", 8: "accelerator", 2: "cpu", 16: "custom"}
"""Bits of ``CL_DEVICE_TYPE``, in the order in which devices of these types are numbered here."""
_TYPE, _NAME, _DRIVER_VERSION, _VERSION, _EXTENSIONS = 0x1000, 0x102B, 0x102D, 0x102F, 0x1030
_THREADS_PER_BLOCK, _LOCAL_MEMORY, _LARGEST_BUFFER = 0x1004, 0x1023, 0x1010
_EXTENSION_OF = {"float16": "cl_khr_fp16", "float64": "cl_khr_fp64"}


def opencl_options() -> tuple[Options, ...]:
    """The options of each device, GPUs first, then by driver; none without a driver."""
    return asked(__name__, opencl_environment()) if load_loader() is not None else ()


def opencl_environment() -> Mapping[str, str]:
    """Where drivers keep compiled kernels: PoCL, unless it is told, in the user's home folder."""
    return {"POCL_CACHE_DIR": str(cache_folder() / "pocl")}


def device_handles(loader: Any) -> tuple[int, ...]:
    """The ``cl_device_id`` of each device, in the order in which this module numbers them."""
    found = [device for platform in _platforms(loader) for device in _devices(loader, platform)]
    order = list(_TYPES.values())
    return tuple(sorted(found, key=lambda device: order.index(_type(loader, device))))


def ask_loader(loader: Any) -> Iterator[dict[str, Any]]:
    """The options of each device's target, as this library answers."""
    for device in device_handles(loader):
        extensions = _text(loader, device, _EXTENSIONS).split()
        yield {
            "kind": "opencl",
            "device_name": _text(loader, device, _NAME),
            "device_type": _type(loader, device),
            "driver_version": _text(loader, device, _DRIVER_VERSION),
            "opencl_version": _text(loader, device, _VERSION).removeprefix("OpenCL "),
            "max_threads_per_block": _number(loader, device, _THREADS_PER_BLOCK, c_size_t),
            "max_shared_memory_per_block": _number(loader, device, _LOCAL_MEMORY),
            "max_buffer_size": _number(loader, device, _LARGEST_BUFFER),
            **{f"supports_{type_}": name in extensions for type_, name in _EXTENSION_OF.items()},
        }


def answer() -> None:
    """Write what the drivers say to standard output, as JSON: the work of the process that is started for it."""
    loader = load_loader()
    sys.stdout.write(json.dumps([] if loader is None else list(ask_loader(loader))))


def load_loader() -> Any:
    """The library that finds the drivers; it loads none of them before it is asked for platforms."""
    return load_library(_LOADERS)


def _platforms(loader: Any) -> list[int]:
    count = c_uint()
    if loader.clGetPlatformIDs(0, None, byref(count)) != 0:
        return []
    found = (c_void_p * count.value)()
    loader.clGetPlatformIDs(count, found, None)
    return [each for each in found if each]


def _devices(loader: Any, platform: int) -> list[int]:
    count, all_types = c_uint(), c_uint64(_ALL)
    if loader.clGetDeviceIDs(c_void_p(platform), all_types, 0, None, byref(count)) != 0:
        return []
    found = (c_void_p * count.value)()
    loader.clGetDeviceIDs(c_void_p(platform), all_types, count, found, None)
    return [each for each in found if each]


def _type(loader: Any, device: int) -> str:
    bits = _number(loader, device, _TYPE)
    return next((name for bit, name in _TYPES.items() if bits & bit), _TYPES[16])


def _number(loader: Any, device: int, what: int, form: Any = c_uint64) -> int:
    found = form()
    loader.clGetDeviceInfo(c_void_p(device), what, ctypes.sizeof(form), byref(found), None)
    return int(found.value)


def _text(loader: Any, device: int, what: int) -> str:
    size = c_size_t()
    loader.clGetDeviceInfo(c_void_p(device), what, 0, None, byref(size))
    text = ctypes.create_string_buffer(size.value + 1)
    loader.clGetDeviceInfo(c_void_p(device), what, size.value, ctypes.cast(text, c_char_p), None)
    return text.value.decode(errors="replace").strip()
