"""Engines that write code for elsewhere: C for a whole network, assembly for a processor, kernels for a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.backends.c.site import Site
    from intarsia.backends.lowering.passes.regions import Region
    from intarsia.codegen.module import Kernel, SourceModule
    from intarsia.graph import SubModel
    from intarsia.target import Target


@runtime_checkable
class WritesSource(Protocol):
    """An engine that can take part in a program that is compiled ahead of time. Such engines derive from it."""

    takes_regions: ClassVar[bool] = False
    """Whether it computes whole regions: see `takes_whole`."""
    runs_nowhere: ClassVar[str] = ""
    """Why nothing here can run what it computes; empty if something can."""

    def kernels(self, site: Site, target: Target) -> Sequence[Kernel]:
        """Every way to compute an instruction, best guess first; none, or `NoKernelError`, if there is none."""

    def takes_whole(self, site: Site, target: Target) -> bool:
        """Whether an instruction is computed as a part of a region, by one call for all of it: see `region_kernel`."""
        return False

    def region_kernel(self, region: Region, target: Target) -> Kernel:
        """How a region is computed, of an engine that takes whole ones.

        Raises:
            CompileError: It is not.
        """
        raise AssertionError("an engine that computes instruction by instruction is handed no region")

    def source_lack(self, target: Target) -> str | None:
        """Why its part of a program cannot be written or built here, and what to do; ``None`` if it can."""
        return None

    def library(self, target: Target) -> Path | None:
        """The folder that ``sources`` and ``include_folders`` of its kernels lie in; ``None`` if they have none.

        Raises:
            BackendUnavailableError: It is not here.
        """
        return None


@runtime_checkable
class WritesPrograms(Protocol):
    """An engine whose own compiler makes functions for another processor, which a program calls without the engine."""

    def program(self, model: SubModel, target: Target, host: Target) -> SourceModule:
        """A sub-graph as calls of functions in assembly.

        Args:
            model: The sub-graph.
            target: The engine's.
            host: The processor, where the target has no base.

        Raises:
            CompileError: The engine's compiler refuses it.
        """


@runtime_checkable
class WritesDeviceCode(Protocol):
    """An engine whose compiler makes code for devices that need not be here."""

    device_options: ClassVar[Mapping[str, tuple[str, ...]]]
    """The kinds of devices, and the options of each that name the chip: no others have an effect."""

    def write_device_code(self, model: SubModel, target: Target, device: Target, folder: Path) -> tuple[Path, ...]:
        """Write a model as code for a device into a folder, and return the paths.

        Args:
            model: The model.
            target: The engine's.
            device: What the code is for, of one of the kinds in `device_options`.
            folder: Where; it is made if it is not there.

        Raises:
            CompileError: The engine's compiler refuses it.
        """
