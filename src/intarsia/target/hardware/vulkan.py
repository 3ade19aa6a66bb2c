"""The devices that Vulkan's drivers show, as options of ``vulkan`` targets; some drivers are software on the CPU.

Structures and numbers are those of ``vulkan_core.h``, version 1.0, which every later one keeps.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char, c_char_p, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from intarsia.target.hardware.driver_process import Options, asked, load_library

_LOADERS = ("libvulkan.so.1", "vulkan-1.dll", "libvulkan.1.dylib")
_KINDS = ("other", "integrated", "discrete", "virtual", "cpu")
"""``VkPhysicalDeviceType``."""
_COMPUTE = 0x2
_INSTANCE_CREATE_INFO = 1


def _numbers(names: str) -> list[tuple[str, Any]]:
    return [(name, c_uint32) for name in names.split()]


class _Limits(ctypes.Structure):
    """``VkPhysicalDeviceLimits``; what stands behind the limits of compute shaders is only counted."""

    _fields_ = (
        ("images", c_uint32 * 5),
        *_numbers("max_texel_buffer max_uniform_buffer_range max_storage_buffer_range max_push_constants_size"),
        ("allocations", c_uint32 * 2),
        ("granularity", c_uint64 * 2),
        *_numbers("sets samplers uniform_buffers max_per_stage_descriptor_storage_buffer"),
        ("graphics", c_uint32 * 34),
        *_numbers("max_shared_memory_per_block"),
        ("groups", c_uint32 * 3),
        *_numbers("max_threads_per_block max_block_size_x max_block_size_y max_block_size_z"),
        ("rest", c_uint64 * 64),
    )


class _Properties(ctypes.Structure):
    """``VkPhysicalDeviceProperties``."""

    _fields_ = (
        *_numbers("vulkan_api_version driver_version vendor device kind"),
        ("name", c_char * 256),
        ("cache", c_uint8 * 16),
        ("limits", _Limits),
    )


class _Queues(ctypes.Structure):
    """``VkQueueFamilyProperties``."""

    _fields_ = (*_numbers("flags count timestamp_bits"), ("granularity", c_uint32 * 3))


class _InstanceInfo(ctypes.Structure):
    """``VkInstanceCreateInfo``."""

    _fields_ = (
        ("type", c_uint32),
        ("next", c_void_p),
        ("flags", c_uint32),
        ("application", c_void_p),
        ("layer_count", c_uint32),
        ("layers", POINTER(c_char_p)),
        ("extension_count", c_uint32),
        ("extensions", POINTER(c_char_p)),
    )


_FIGURES = (
    *("max_uniform_buffer_range", "max_storage_buffer_range", "max_push_constants_size"),
    *("max_per_stage_descriptor_storage_buffer", "max_shared_memory_per_block", "max_threads_per_block"),
    *("max_block_size_x", "max_block_size_y", "max_block_size_z"),
)
"""Options of a target that are limits of the same name."""


def vulkan_options() -> tuple[Options, ...]:
    """The options of each device that can compute, in the order of the drivers; none without a driver."""
    return asked(__name__) if load_loader() is not None else ()


def ask_loader(loader: Any) -> Iterator[dict[str, Any]]:
    """The options of each device's target, as this library answers."""
    instance = c_void_p()
    info = _InstanceInfo(type=_INSTANCE_CREATE_INFO)
    if loader.vkCreateInstance(byref(info), None, byref(instance)) != 0:
        return
    count = c_uint32()
    loader.vkEnumeratePhysicalDevices(instance, byref(count), None)
    devices = (c_void_p * count.value)()
    loader.vkEnumeratePhysicalDevices(instance, byref(count), devices)
    for device in map(c_void_p, devices[: count.value]):
        if _can_compute(loader, device):
            found = _Properties()
            loader.vkGetPhysicalDeviceProperties(device, byref(found))
            yield _options(found)


def answer() -> None:
    """Write what the drivers say to standard output, as JSON: the work of the process that is started for it."""
    loader = load_loader()
    json.dump([] if loader is None else list(ask_loader(loader)), sys.stdout)


def load_loader() -> Any:
    """The library that finds the drivers; it loads none of them before it is asked for devices."""
    return load_library(_LOADERS)


def _can_compute(loader: Any, device: c_void_p) -> bool:
    count = c_uint32()
    loader.vkGetPhysicalDeviceQueueFamilyProperties(device, byref(count), None)
    families = (_Queues * count.value)()
    loader.vkGetPhysicalDeviceQueueFamilyProperties(device, byref(count), families)
    return any(family.flags & _COMPUTE for family in families)


def _options(found: _Properties) -> dict[str, Any]:
    return {
        "kind": "vulkan",
        "device_name": found.name.decode(errors="replace"),
        "device_type": _KINDS[found.kind] if found.kind < len(_KINDS) else _KINDS[0],
        "driver_version": found.driver_version,
        "vulkan_api_version": found.vulkan_api_version,
        **{figure: int(getattr(found.limits, figure)) for figure in _FIGURES},
    }
