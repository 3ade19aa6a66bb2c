"""CMSIS-NN, Arm's kernels for Cortex-M, in programs that are compiled ahead of time.

What it takes is computed by calls of its functions, and compiled with sources that the user names; nothing of them is
in Intarsia, in an artifact, or in a project that is exported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.c.part import PartBackend
from intarsia.backends.c.processor import Processor
from intarsia.backends.cmsis_nn import choose, library
from intarsia.backends.contract import Availability, Gap, Traits, reading
from intarsia.backends.contract.node_facts import words
from intarsia.errors import ConfigError

if TYPE_CHECKING:
    from intarsia.backends.c.site import Site
    from intarsia.codegen.module import Kernel
    from intarsia.target import Target

_NAME = "cmsis-nn"
_UNDONE = "debug_last_error"


class CmsisNnBackend(PartBackend):
    """Calls of ``arm_*_s8``; what no call computes exactly, in the model's steps, is refused."""

    name = _NAME
    extra = ""
    licence = "Apache-2.0"
    machine_code = ()
    reads = reading({_NAME: f"mcpu mattr sources {_UNDONE}"})
    traits = Traits(writes_in_place=False, dtypes=words("int8 uint8 int32 float32"))
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream(
            "averages of an even number of elements, or in another scale", "arm_avgpool_s8 rounds from 0 away"
        ),
        Gap.upstream("sums and products of shapes that differ", "arm_elementwise_*_s8 take one number of elements"),
        Gap.upstream("softmax in other steps than 1/256", "arm_softmax_s8 has no scale of its result"),
        Gap.not_implemented("int16 activations, int4 weights, LSTM", "the lowering makes int8 of what is quantised"),
    )

    def probe_loading(self) -> Availability:
        """Whether it can take part in a program; what is missing for that, the target may name: see ``source_lack``."""
        return Availability(usable=True, version="")

    def fault(self, site: Site) -> str | None:
        """Why it does not compute an instruction, or ``None``."""
        return choose.fault(site)

    def kernels(self, site: Site, target: Target) -> Sequence[Kernel]:
        """Calls of the library, with the files of it that they need.

        Raises:
            NoKernelError: There is none.
            ConfigError: The target states another processor than the one that the code is written for.
            BackendUnavailableError: The sources are not here.
            CompileError: They lack a function.
        """
        _check_processor(site.processor, target)
        found = choose.kernels_for(site)
        path = library.folder(target)
        return [replace(each, sources=library.files_of(_text(each), path)) for each in found]

    def source_lack(self, target: Target) -> str | None:
        """Whether the sources are here."""
        if target.options.get(_UNDONE):
            return f"{_NAME} keeps no last error: leave -{_UNDONE} out"
        reason = library.lack(library.stated(target))
        return None if reason is None else f"{_NAME} takes part, and {reason}; {library.GIVE}"

    def library(self, target: Target) -> Path:
        """The folder of its sources.

        Raises:
            BackendUnavailableError: It is not here.
        """
        return library.folder(target)


def _check_processor(processor: Processor, target: Target) -> None:
    if not target.options.keys() & {"mcpu", "mattr"}:
        return
    own = Processor.of(target)
    if (own.has_dsp, own.has_mve) != (processor.has_dsp, processor.has_mve):
        raise ConfigError(
            f"{str(target)!r} is for another processor than the code around it; state -mcpu on the last target alone"
        )


def _text(kernel: Kernel) -> str:
    return "\n".join(each.text for each in kernel.functions)
