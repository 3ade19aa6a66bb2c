"""The device target that each engine of a configuration generates code for, where it does not say so itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from intarsia.config.elements import Member
from intarsia.errors import SpecError
from intarsia.target import Target, resolve_base


def base_of(engine: Target, members: Sequence[Member], host: Target) -> Target:
    """The base of an engine's target: as stated, else the one device target that it can be, else the host.

    Raises:
        SpecError: None can be, or several can; they are listed.
    """
    targets = [spec for spec in members if isinstance(spec, Target)]
    has_device = any(engine.refines(target) for target in targets)
    return resolve_base(engine, targets if has_device else [*targets, host])


def faults_of_bases(members: Sequence[Member], host: Target) -> Iterator[tuple[str, str]]:
    """For each engine without a base to be found: the option to change, and what to write.

    Accelerators alone are described without one: they are no whole machine, and a compile says what to write.
    """
    if all(map(is_partial, members)):
        return
    for engine in members:
        if isinstance(engine, Target) and engine.kind.is_external:
            try:
                base_of(engine, members, host)
            except SpecError as error:
                yield "targets", str(error)


def is_partial(member: Member) -> bool:
    """Whether it takes only part of a graph, whatever the graph: an accelerator, or a configuration of nothing else."""
    return member.kind.partial if isinstance(member, Target) else all(map(is_partial, member.targets))
