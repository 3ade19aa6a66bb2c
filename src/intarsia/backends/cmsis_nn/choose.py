"""Which instructions CMSIS-NN computes, and why it does not take the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.backends.c.site import Maker, NoKernelError, Site
from intarsia.backends.cmsis_nn import elementwise, layers

if TYPE_CHECKING:
    from intarsia.codegen.module import Kernel

MAKERS: Mapping[str, Maker] = MappingProxyType({**layers.MAKERS, **elementwise.MAKERS})
"""Who makes the kernels of an instruction."""


def kernels_for(site: Site) -> Sequence[Kernel]:
    """Every way to compute an instruction, best guess first; at least one.

    Raises:
        NoKernelError: There is none; the message says what of it no function computes.
    """
    make = MAKERS.get(site.each.name)
    if make is None:
        raise NoKernelError(f"function for {site.each.name} of {site.each.dtype}")
    return make(site)


def fault(site: Site) -> str | None:
    """What of an instruction no function computes; ``None`` if one does."""
    try:
        kernels_for(site)
    except NoKernelError as error:
        return str(error)
    return None
