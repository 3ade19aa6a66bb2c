"""`Constraint`: one rule about where something runs, and where that rule was written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from intarsia.target import VirtualDevice


class Subject(StrEnum):
    """What a constraint speaks of."""

    NODE = "node"
    VALUE = "value"
    """What computes the value, or, of an input of the graph, who feeds it."""
    INPUTS = "inputs"
    """Where the caller feeds the inputs of the graph."""
    OUTPUTS = "outputs"
    """Where the caller wants the outputs of the graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """Something must be on a device. Usually made by `node`, `value`, `inputs` or `outputs`.

    It reaches what computes the subject (``constrain_body``), what reads it (``constrain_result``), or both, in which
    case no copy can stand between. One that reaches neither puts nothing anywhere, but allows a copy.

    Attributes:
        subject: What kind of thing is meant.
        name: Which one; of inputs and outputs, empty for all of them.
        device: A label of the machine, text that `VirtualDevice.of` reads, or a device of which parts may be free.
        source: Where the constraint was written, for messages.
        constrain_body: Whether what computes it is on the device.
        constrain_result: Whether what reads it is on the device.
    """

    subject: Subject
    name: str
    device: str | VirtualDevice
    source: str = "Python"
    constrain_body: bool = True
    constrain_result: bool = False

    def __post_init__(self) -> None:
        if not (self.constrain_body or self.constrain_result):
            object.__setattr__(self, "device", VirtualDevice())

    @classmethod
    def node(cls, id_: str, device: str | VirtualDevice, *, source: str = "Python") -> Constraint:
        """The node runs on the device; what reads its results may be elsewhere."""
        return cls(subject=Subject.NODE, name=id_, device=device, source=source)

    @classmethod
    def value(
        cls,
        name: str,
        device: str | VirtualDevice,
        *,
        source: str = "Python",
        constrain_body: bool = True,
        constrain_result: bool = False,
    ) -> Constraint:
        """The value is on the device: where it is computed, where it is read, or both."""
        return cls(
            subject=Subject.VALUE,
            name=name,
            device=device,
            source=source,
            constrain_body=constrain_body,
            constrain_result=constrain_result,
        )

    @classmethod
    def inputs(cls, device: str | VirtualDevice, name: str = "", *, source: str = "Python") -> Constraint:
        """The caller feeds this input, or all of them, on the device."""
        return cls(subject=Subject.INPUTS, name=name, device=device, source=source)

    @classmethod
    def outputs(cls, device: str | VirtualDevice, name: str = "", *, source: str = "Python") -> Constraint:
        """The caller wants this output, or all of them, on the device."""
        return cls(subject=Subject.OUTPUTS, name=name, device=device, source=source)

    def __str__(self) -> str:
        what = f"{self.subject} {self.name!r}" if self.name else f"all {self.subject}"
        return f"{what} on {str(self.device)!r} (from {self.source})"
