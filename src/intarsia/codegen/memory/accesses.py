"""Which bytes a call reads and fills, and what it may do in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intarsia.codegen.module import Call, Read, SourceModule, Write


@dataclass(frozen=True, slots=True)
class Access:
    """A run of bytes of a buffer that a call touches.

    Attributes:
        name: As the call names it: the buffer, or a view of it.
        root: The buffer.
        start: The first byte, from the start of the buffer.
        stop: The byte behind the last.
        is_write: Whether the call fills it.
    """

    name: str
    root: str
    start: int
    stop: int
    is_write: bool

    def holds(self, start: int, stop: int) -> bool:
        """Whether all of these bytes are among them."""
        return self.start <= start and stop <= self.stop

    def meets(self, other: Access) -> bool:
        """Whether both touch some byte."""
        return self.root == other.root and self.start < other.stop and other.start < self.stop


def accesses_of(module: SourceModule, call: Call) -> Iterator[Access]:
    """All of a call but constants, in the order of its arguments; inputs and outputs of the module too."""
    sizes = {each.name: each.size for side in (module.inputs, module.outputs) for each in side.values()}
    for argument in call.arguments:
        if not isinstance(argument, Read | Write) or argument.name in module.constants:
            continue
        name = argument.name
        root, start = module.root(name)
        if name in module.views:
            size = module.views[name].buffer.size
        else:
            size = module.buffers[name].size if name in module.buffers else sizes[name]
        yield Access(name, root, start, start + size, isinstance(argument, Write))


def ahead_of(call: Call, write: Access, read: Access) -> int | None:
    """What a call demands where what it writes lies over what it reads (see `Overlap`); ``None`` if that may not be.

    An argument that is read twice needs a permission for each, since a kernel may read one of them later.
    """
    if not write.is_write or read.is_write:
        return None
    found = [each.ahead for each in call.overlaps if (each.write, each.read) == (write.name, read.name)]
    return max(found) if found and len(found) >= call.reads.count(read.name) else None


def most_shared(written: int, read: int, ahead: int) -> int:
    """Bytes that two runs of these sizes can share at most, where the second lies ``ahead`` of the first or more."""
    distance = max(ahead, min(0, written - read))
    return max(0, min(written, distance + read) - max(0, distance))
