"""What an engine compiled a sub-graph to, and the values at its borders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from mmap import mmap
from typing import TYPE_CHECKING, Any

from intarsia.light_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np

    from intarsia.graph import SubModel, Value

ALIGNED = 64
"""Bytes: what engines read as arrays begins at a multiple of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArtifact:
    """What an engine compiled a sub-graph to.

    Attributes:
        files: Named contents, in the engine's own format.
        weights: Names of the graph's weights that are handed over again at ``load`` instead of being copied into
            ``files``, so that an artifact stores each weight once.
        meta: JSON-able facts that ``load`` needs.
    """

    files: Mapping[str, bytes]
    weights: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def array(self, file: str, dtype: str, shape: Sequence[int], offset: int = 0) -> np.ndarray:
        """What lies at an offset of a file, as a read-only array: over the file itself where that is mapped.

        It begins at a multiple of 64 bytes, as engines want it.
        """
        import numpy as np

        content = self.files.view(file) if isinstance(self.files, MappedFiles) else self.files[file]
        found = np.frombuffer(content, dtype, prod(shape), offset).reshape(shape)
        return found if isinstance(content, bytes) or found.ctypes.data % ALIGNED == 0 else _aligned(found)


class MappedFiles(Mapping[str, bytes]):
    """Files inside a larger one that is mapped: each is copied when it is asked for, and not before."""

    def __init__(self, whole: mmap, places: Mapping[str, tuple[int, int]]) -> None:
        """Name them.

        Args:
            whole: The larger file.
            places: Offset and size of each, by name.
        """
        self._whole = whole
        self._places = places

    def __getitem__(self, name: str) -> bytes:
        start, size = self._places[name]
        return self._whole[start : start + size]

    def some(self, names: Mapping[str, str]) -> MappedFiles:
        """Some of them under other names, each with the name that it has here."""
        return MappedFiles(self._whole, {name: self._places[own] for name, own in names.items()})

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def view(self, name: str) -> memoryview:
        """One of them where it lies."""
        start, size = self._places[name]
        return memoryview(self._whole)[start : start + size]


def _aligned(array: np.ndarray) -> np.ndarray:
    """A copy at such an address: of what was written before entries of the container were aligned."""
    import numpy as np

    room = np.empty(array.nbytes + ALIGNED, np.uint8)
    start = -room.ctypes.data % ALIGNED
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Name, dtype (numpy name) and shape of one border value; a shape known only after a run is ``None``."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


def border_rows(model: SubModel) -> dict[str, list[list[Any]]]:
    """The inputs and outputs of a sub-graph as JSON-able rows, for ``EngineArtifact.meta``."""
    return {"inputs": signature_rows(model.inputs), "outputs": signature_rows(model.outputs)}


def signature_rows(values: Iterable[Value | Signature]) -> list[list[Any]]:
    """Border values as JSON-able rows; `signatures` reads them back."""
    return [[value.name, value.dtype, None if value.shape is None else list(value.shape)] for value in values]


def signatures(rows: Iterable[Sequence[Any]]) -> tuple[Signature, ...]:
    """What `signature_rows` wrote."""
    return tuple(
        Signature(name=name, dtype=dtype, shape=None if shape is None else tuple(shape)) for name, dtype, shape in rows
    )
