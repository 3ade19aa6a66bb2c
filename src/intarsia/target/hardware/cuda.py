"""The GPUs that CUDA's driver shows, as options of ``cuda`` targets."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from intarsia.target.hardware.driver_process import Options, asked, load_library

_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"), Path("/dev/nvhost-gpu"))
"""One of these exists where there is such a GPU: a driver's, that of Windows' Linux, and a Jetson's."""

_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
_MAJOR, _MINOR = 75, 76
_ATTRIBUTES = {
    "max_threads_per_block": 1,
    "max_shared_memory_per_block": 8,
    "thread_warp_size": 10,
    "registers_per_block": 12,
    "l2_cache_size_bytes": 38,
}
"""Options of a target and the driver's numbers for them: ``CUdevice_attribute`` in cuda.h of CUDA 13."""


def cuda_options() -> tuple[Options, ...]:
    """The options of the GPUs, in the order of their indices; none where there is no driver, or it does not start."""
    if sys.platform == "linux" and not any(file.exists() for file in _DEVICE_FILES):
        return ()
    return asked(__name__)


def ask_driver(driver: Any) -> Iterator[dict[str, Any]]:
    """The options of each GPU's target, as this driver library answers."""
    if driver.cuInit(0) != 0:
        return
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    for index in range(count.value):
        device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), index)
        driver.cuDeviceGetName(name, len(name), device)
        arch = f"sm_{_attribute(driver, device, _MAJOR)}{_attribute(driver, device, _MINOR)}"
        figures = {option: _attribute(driver, device, number) for option, number in _ATTRIBUTES.items()}
        yield {"kind": "cuda", "arch": arch, "model": name.value.decode(errors="replace")} | figures


def answer() -> None:
    """Write what the driver says to standard output, as JSON: the work of the process that is started for it."""
    driver = _load_driver()
    json.dump([] if driver is None else list(ask_driver(driver)), sys.stdout)


def _attribute(driver: Any, device: ctypes.c_int, number: int) -> int:
    value = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return value.value


def _load_driver() -> Any:
    return load_library(_DRIVERS)
