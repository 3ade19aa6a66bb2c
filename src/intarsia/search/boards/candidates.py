"""What may compute each instruction of a program: the kernels of every engine that has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intarsia.backends.c.assemble import assemble
from intarsia.backends.c.site import NoKernelError, Site

if TYPE_CHECKING:
    import numpy as np

    from intarsia.backends.c.processor import Processor
    from intarsia.backends.lowering.program import Instruction, Program
    from intarsia.codegen.module import Kernel, SourceModule

Offer = Callable[[Site], "Sequence[Kernel]"]
"""The kernels of an engine for an instruction, best guess first; none, or a `NoKernelError`, where it has no kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A kernel that may compute an instruction.

    Attributes:
        engine: Whose it is.
        variant: Its number among those of the engine, 0 for the engine's own guess.
        kernel: How it is computed.
    """

    engine: str
    variant: int
    kernel: Kernel

    @property
    def way(self) -> str:
        """What the kernel does, in words of C: ``convolution``, ``depthwise``."""
        return self.kernel.functions[0].name.rpartition("_")[0] or self.kernel.functions[0].name

    @property
    def scratch(self) -> int:
        """Bytes of memory of its own."""
        from intarsia.codegen.module import Scratch

        return sum(each.size for each in self.kernel.arguments if isinstance(each, Scratch))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """All that may compute the instructions of a program.

    Attributes:
        program: As it is rewritten for C.
        known: Arrays of its leaves that are constants.
        sites: Each instruction that a kernel computes, by its place in the program.
        of: The candidates of each of them, those of the first engine first; at least one.
    """

    program: Program
    known: Mapping[int, np.ndarray]
    sites: Mapping[int, Site]
    of: Mapping[int, tuple[Candidate, ...]]

    def module(self, numbers: Mapping[int, int]) -> SourceModule:
        """The module with the candidates of these numbers, by place; all other instructions have their first."""

        def chosen(place: int, each: Instruction, reads: Sequence[Instruction]) -> tuple[str, Kernel]:
            candidate = self.of[place][numbers.get(place, 0)]
            return candidate.engine, candidate.kernel

        return assemble(self.program, self.known, chosen)


def candidates_of(
    program: Program,
    known: Mapping[int, np.ndarray],
    processor: Processor,
    offers: Mapping[str, Offer],
    rest: Mapping[str, Offer] | None = None,
) -> Candidates:
    """The candidates for a prepared program.

    Args:
        program: As `intarsia.backends.c.network.prepared` left it.
        known: Arrays of its leaves that are constants, by place.
        processor: What the text is written for.
        offers: What each engine has, the most preferred first. An engine may have no kernel for an instruction because
            it does not take the instruction's nodes.
        rest: What computes instructions for which none of them has a kernel, as copies that only the lowering knows of.

    Raises:
        NoKernelError: No engine has a kernel for an instruction.
    """
    sites: dict[int, Site] = {}
    found: dict[int, tuple[Candidate, ...]] = {}

    def first(place: int, each: Instruction, reads: Sequence[Instruction]) -> tuple[str, Kernel]:
        operands = {slot: known[number] for slot, number in enumerate(each.reads) if number in known}
        site = Site(each=each, reads=tuple(reads), known=operands, processor=processor)
        sites[place] = site
        found[place] = _all(site, offers) or _all(site, rest or {})
        if not found[place]:
            raise NoKernelError(f"no engine has a kernel for {each.name} of {each.dtype}: {_reasons(site, offers)}")
        return found[place][0].engine, found[place][0].kernel

    assemble(program, known, first)
    return Candidates(program=program, known=known, sites=sites, of=found)


def _all(site: Site, offers: Mapping[str, Offer]) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    for engine, offer in offers.items():
        with suppress(NoKernelError):
            kernels = offer(site)
            found += [Candidate(engine=engine, variant=number, kernel=kernel) for number, kernel in enumerate(kernels)]
    return tuple(found)


def _reasons(site: Site, offers: Mapping[str, Offer]) -> str:
    reasons = []
    for engine, offer in offers.items():
        try:
            offer(site)
        except NoKernelError as error:
            reasons.append(str(error))
        else:
            reasons.append(f"{engine} does not take its nodes")
    return "; ".join(reasons)
