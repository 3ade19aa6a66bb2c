"""What a target says about its device, under the names that code which reads targets asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from intarsia.spec.types import Value
from intarsia.target.kinds.kind import TargetKind
from intarsia.target.kinds.memories import sizes

_FIRST_WITH_DOT_PRODUCT = 61
"""Compute capability, times ten, of the first NVIDIA GPUs with ``dp4a``: CUDA C++ Programming Guide, 16.1."""


class DeviceFacts:
    """Accessors of `Target`. Each reads the target's own option, else its base's, else the kind's default."""

    __slots__ = ()

    kind: TargetKind
    options: Mapping[str, Value]

    def _fact(self, name: str, otherwise: Value) -> Value:
        base = self.options.get("base")
        for target in (self, base):
            if isinstance(target, DeviceFacts) and name in target.kind.options:
                value = target.options.get(name, target.kind.options[name].default)
                if value is not None:
                    return value
        return otherwise

    @property
    def arch(self) -> str:
        """Compute capability (``sm_80``), empty if not stated."""
        return str(self._fact("arch", ""))

    @property
    def mcpu(self) -> str:
        """Name of the processor, empty if not stated."""
        return str(self._fact("mcpu", ""))

    @property
    def mattr(self) -> tuple[str, ...]:
        """Processor features as stated, ``+x`` or ``-x``."""
        mattr = self._fact("mattr", ())
        return (mattr,) if isinstance(mattr, str) else tuple(mattr)

    @property
    def libs(self) -> tuple[str, ...]:
        """Libraries that generated code may call, sorted."""
        return tuple(self._fact("libs", ()))

    @property
    def model(self) -> str:
        """Product name, ``unknown`` if not stated."""
        return str(self._fact("model", "unknown"))

    @property
    def device_name(self) -> str:
        """Device family (``mali``), empty if not stated."""
        return str(self._fact("device", ""))

    @property
    def max_num_threads(self) -> int | None:
        """Threads of one block, as schedules assume them."""
        return self._number("max_num_threads")

    @property
    def thread_warp_size(self) -> int | None:
        """Threads that run in lockstep."""
        return self._number("thread_warp_size")

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes that the threads of one block share."""
        return self._number("max_shared_memory_per_block")

    @property
    def max_block_size_x(self) -> int | None:
        """Most threads of a block along x; those of the whole block where the kind does not tell them apart."""
        return self._number("max_block_size_x", "max_threads_per_block")

    @property
    def max_block_size_y(self) -> int | None:
        """Most threads of a block along y; those of the whole block where the kind does not tell them apart."""
        return self._number("max_block_size_y", "max_threads_per_block")

    @property
    def max_function_args(self) -> int:
        """Most arguments of one kernel; 0 for no limit that is known."""
        return self._number("max_function_args") or 0

    @property
    def vtcm_capacity(self) -> int:
        """Bytes of tightly coupled vector memory."""
        return self._number("vtcm-capacity") or 0

    @property
    def ram(self) -> Mapping[str, int]:
        """Bytes of each memory that holds values, fastest first; none if not stated."""
        return sizes(tuple(self._fact("ram", ())))

    @property
    def flash(self) -> int | None:
        """Bytes of the memory that holds code and weights."""
        return self._number("flash")

    @property
    def stack(self) -> int | None:
        """Bytes of stack that a call of the model may use."""
        return self._number("stack")

    @property
    def board(self) -> str:
        """Name of the emulated board on which programs run, empty if not stated."""
        return str(self._fact("board", ""))

    @property
    def l2_cache_size_bytes(self) -> int:
        """Bytes of the second-level cache; 0 if not stated."""
        return self._number("l2_cache_size_bytes") or 0

    @property
    def supports_integer_dot_product(self) -> bool:
        """Whether it has dot products of integers: as stated, else what the compute capability says."""
        stated = self._fact("supports_integer_dot_product", None)
        found = re.match(r"sm_([0-9]+)", self.arch)
        return bool(stated) if stated is not None else found is not None and int(found[1]) >= _FIRST_WITH_DOT_PRODUCT

    @property
    def supports_cooperative_matrix(self) -> bool:
        """Whether it has matrix products across the threads of a group."""
        return bool(self._fact("supports_cooperative_matrix", False))

    def _number(self, *names: str) -> int | None:
        found = (self._fact(name, None) for name in names)
        return next((int(value) for value in found if value is not None), None)
