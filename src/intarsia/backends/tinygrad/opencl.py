"""tinygrad on OpenCL: which of the devices it opens, what it cannot compute there, and what else differs from the CPU.

What was tried is tinygrad 0.14.0 on PoCL 3.1, whose device is the CPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from intarsia.backends.contract import ForkFault, Gap
from intarsia.errors import LoadError
from intarsia.target.hardware.opencl import device_handles, load_loader, opencl_environment

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.target import Target

OPENCL = "opencl"
_OPTIONAL = ("float16", "float64")
"""Types that a device need not have: only where the target says that it does, as `Target.from_device` makes it say."""
FORK_FAULT = ForkFault.of_threads("OpenCL", "the driver's")
GAPS = (
    Gap.not_implemented(
        "values that stay on the OpenCL device", "each call copies its inputs there and its results back"
    ),
    Gap.upstream(
        "quotients that are right to the last bit, on drivers other than PoCL",
        "OpenCL lets a division of float32 be off by 2.5 units in the last place; tinygrad asks for no better",
    ),
    Gap.not_implemented(
        "what other drivers than PoCL write",
        "hardware/opencl.py names PoCL's cache alone: no other driver was at hand",
    ),
    Gap.upstream(
        "a cap on the threads of a device in software",
        "PoCL reads POCL_MAX_PTHREAD_COUNT once in a process, whatever a target's -threads or a branch's share says",
    ),
)


def runs_on_opencl(target: Target) -> bool:
    """Whether a target's networks run on an OpenCL device."""
    return target.device_type == OPENCL


def types_of(target: Target, all_types: frozenset[str]) -> frozenset[str]:
    """Those of the element types that the target's device has as far as the target says."""
    if not runs_on_opencl(target):
        return all_types
    stated = (target.base or target).options
    return all_types - {type_ for type_ in _OPTIONAL if not stated.get(f"supports_{type_}")}


def environment(settings: RunSettings) -> Mapping[str, str | None]:
    """For PoCL: a cache of ours, as many threads as the plan has, and no handlers of the process's signals."""
    return {
        **opencl_environment(),
        "POCL_MAX_PTHREAD_COUNT": str(settings.threads),
        "POCL_SIGFPE_HANDLER": "0",
        "POCL_SIGUSR2_HANDLER": "0",
    }


def device_name(index: int) -> str:
    """What tinygrad calls the device of this index.

    Raises:
        LoadError: There is none.
    """
    count = _announced()
    if not index < count:
        there = f"it has {count}, numbered from 0" if count else "'intarsia doctor' says what fixes that"
        raise LoadError("tinygrad", f"this machine has no device opencl:{index}; {there}")
    _divide_as_the_driver_does()
    return f"CL:{index}" if index else "CL"


@cache
def _divide_as_the_driver_does() -> None:
    """Have quotients written as such: for OpenCL alone tinygrad multiplies by a reciprocal, and so rounds twice.

    One quotient in four is then off by its last bit, which a rounding to whole numbers turns into one step.
    """
    renderer = import_module("tinygrad.renderer.cstyle").OpenCLRenderer
    quotient = import_module("tinygrad.uop").Ops.FDIV
    renderer.code_for_op = {**renderer.code_for_op, quotient: lambda a, b, dtype: f"({a}/{b})"}


@cache
def _announced() -> int:
    """Have tinygrad number the devices as `intarsia devices` does: by itself it sees one driver's alone. How many."""
    loader = load_loader()
    handles = () if loader is None else device_handles(loader)
    if handles:
        module = import_module("tinygrad.runtime.ops_cl")
        type_ = module.cl.cl_device_id
        module.CLDevice.device_ids = (type_ * len(handles))(*(ctypes.cast(handle, type_) for handle in handles))
    return len(handles)
