"""Ethos-U, Arm's accelerator beside a Cortex-M, in programs that are compiled ahead of time.

A region is written as an int8 ``.tflite`` file, which Arm's compiler Vela makes commands and weights of; the program
hands them to Arm's driver. Nothing here can run them: what they take is Vela's estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.c.part import PartBackend
from intarsia.backends.contract import Availability, Gap, Traits, reading
from intarsia.backends.contract.node_facts import words
from intarsia.backends.ethos_u import check, tflite, translate, vela
from intarsia.backends.ethos_u.call import kernel
from intarsia.backends.package_probe import installed
from intarsia.errors import BackendUnavailableError, CompileError
from intarsia.target import KINDS

if TYPE_CHECKING:
    from intarsia.backends.c.site import Site
    from intarsia.backends.lowering.passes.regions import Region
    from intarsia.codegen.module import Kernel
    from intarsia.target import Target

_NAME = "ethos-u"
_ACCELERATOR = "accelerator_config"
_OF_TVM = ("enable_cascader", "enable_striping", "disable_copying_constants")
_FOR_DEBUGGING = tuple(name for name in KINDS[_NAME].options if name.startswith("dev_"))
"""Options of TVM's compiler for it; Vela has none of them."""


class EthosUBackend(PartBackend):
    """Whole regions, as Vela compiles them: estimated, not run."""

    name = _NAME
    extra = "ethos-u"
    licence = "Apache-2.0"
    machine_code = ()
    reads = reading({_NAME: " ".join((_ACCELERATOR, *_OF_TVM, *_FOR_DEBUGGING))})  # all but the first are refused
    traits = Traits(writes_in_place=False, dtypes=words("int8 uint8 int32 float32"))
    takes_regions = True
    runs_nowhere = "estimated, not run: there is no Ethos-U here, and no emulator of one"
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.not_implemented("LUTs, resizing, concatenation, padding alone, slices", "no operator is written for them"),
        Gap.upstream("convolutions in groups, steps above 3", translate.LIMITS),
    )

    def probe_loading(self) -> Availability:
        """What was compiled needs nothing of Vela."""
        return Availability(usable=True, version=vela.installed() or "")

    def fault(self, site: Site) -> str | None:
        """Why it does not compute an instruction, or ``None``."""
        return translate.fault(site)

    def kernels(self, site: Site, target: Target) -> Sequence[Kernel]:
        """None: it takes regions."""
        return ()

    def takes_whole(self, site: Site, target: Target) -> bool:
        """What it has an operator for."""
        return self.fault(site) is None

    def region_kernel(self, region: Region, target: Target) -> Kernel:
        """The call of the driver with what Vela makes of a region.

        Raises:
            BackendUnavailableError: Vela is not installed.
            CompileError: It refuses the region.
        """
        return kernel(self.compiled(region, target))

    def compiled(self, region: Region, target: Target) -> vela.Compiled:
        """What Vela makes of a region.

        Raises:
            BackendUnavailableError: Vela is not installed.
            CompileError: It refuses the region.
        """
        lack = self.source_lack(target)
        if lack is not None:
            raise BackendUnavailableError(lack)
        model = tflite.written(translate.network_of(region))
        wrong = check.fault(region, model)
        if wrong is not None:
            raise CompileError(_NAME, f"{', '.join(region.nodes)}: {wrong}")
        found = vela.compiled(model, str(target[_ACCELERATOR]))
        wanted = len(region.program.inputs), len(region.program.outputs)
        if (len(found.inputs), len(found.outputs)) != wanted:
            raise CompileError(_NAME, f"Vela left a part of {', '.join(region.nodes)} to the processor")
        return found

    def source_lack(self, target: Target) -> str | None:
        """Whether Vela is here."""
        for name in target.options:
            if name in (*_OF_TVM, *_FOR_DEBUGGING):
                return f"{_NAME}: {name} is an option of another compiler, and Vela has no such; leave it out"
        found = installed(vela.PACKAGE, self.extra, module=vela.MODULE.partition(".")[0])
        return None if found.usable else f"{_NAME} takes part, and {found.reason}; {found.fix}"
