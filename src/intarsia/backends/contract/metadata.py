"""The types of what engines keep in an artifact's ``meta``; it is checked against them before anything is loaded.

They stand here because the engines' files are imported whenever engines are listed, and pydantic imports slowly.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0, le=2**46)]
Row = tuple[Text, Text, tuple[Count, ...] | None]
"""A border, as `intarsia.backends.contract.signature_rows` writes it."""


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class OwnWeights(_Kept):
    """What `intarsia.runtime.executors.private_weights` adds."""

    rows: tuple[tuple[Text, Text, tuple[Count, ...]], ...]
    wanted: tuple[Text, ...]


class Borders(_Kept):
    """The inputs and outputs, which is all that most engines keep."""

    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]
    own_weights: OwnWeights | None = None


class Library(_Kept):
    """What a native library that lies in an artifact serves."""

    sha256: Text
    system: Text
    architecture: Text
    instruction_sets: tuple[Text, ...]
    sources: Text


class Saved(Borders):
    """Of `intarsia.backends.onnxruntime.offline_optimisation`."""

    block: Count
    weights: tuple[tuple[Text, Text, tuple[Count, ...], Count], ...]
    library: Library


class Embedding(Saved):
    """Of a session that holds partitions of other engines."""

    partitions: tuple[tuple[Count, Count], ...]
    borders: dict[str, tuple[tuple[Count, ...], tuple[Count, ...]]]


class CompiledFor(_Kept):
    """What a library that a compiler made for one processor serves."""

    system: Text
    architecture: Text
    instruction_sets: tuple[Text, ...]


class CompiledC(Borders):
    """Of the engine `c`: bytes of memory of a call, where each constant starts, and what the library serves."""

    workspace: Count
    constants: tuple[Count, ...]
    library: CompiledFor


class ProgramMeta(Borders):
    """Of a program that was compiled ahead of time: the target whose processor it is for."""

    host: Text


class Mnn(Borders):
    """Of MNN."""

    layout: tuple[tuple[Text | None, Count], ...]


class NcnnBorder(_Kept):
    """A border of a network of ncnn."""

    name: Text
    shape: tuple[Count, ...]
    blob: Text
    blob_shape: tuple[Count, ...]
    shared: Flag

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if prod(self.shape) != prod(self.blob_shape):
            raise ValueError(f"{list(self.shape)} and {list(self.blob_shape)} do not have as many elements")
        return self


class NcnnBlock(_Kept):
    """What ncnn reads for one of its weights."""

    tagged: Flag
    derived: tuple[Count, Count] | None = None
    weight: Text | None = None
    view: tuple[Count, ...] | None = None
    order: tuple[Count, ...] | None = None
    factor: tuple[Count, Count] | None = None


class Ncnn(_Kept):
    """Of ncnn."""

    blocks: tuple[NcnnBlock, ...]
    inputs: tuple[NcnnBorder, ...]
    outputs: tuple[NcnnBorder, ...]
    own_weights: OwnWeights | None = None


class OpenVino(Borders):
    """Of OpenVINO."""

    deciding: tuple[Text, ...]
    left: tuple[Text, ...]
    late: Flag
    open: Flag = False


class LiteRt(Borders):
    """Of LiteRT."""

    given: tuple[Count, ...]
    wanted: tuple[Count, ...]
    prepared: tuple[Count, ...]
    weights: dict[str, tuple[tuple[Text | Count, Count], ...]]
