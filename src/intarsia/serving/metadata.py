"""What the protocol tells about a model: its inputs and outputs, from the artifact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.errors import UnsupportedError
from intarsia.serving.statuses import bad
from intarsia.serving.tensors.datatypes import BY_DTYPE

if TYPE_CHECKING:
    from intarsia.backends.contract import Signature
    from intarsia.runtime import CompiledModel

OPEN = -1
"""A dimension that each request chooses."""
MOST_DIMENSIONS = 32
"""Of any tensor in a request; numpy's own limit is 64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMetadata:
    """One input or output; an open dimension is `OPEN`."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    def as_json(self) -> dict[str, object]:
        """As the protocol's JSON has it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}


@dataclass(frozen=True, kw_only=True)
class ModelMetadata:
    """One version of a model."""

    name: str
    version: str
    inputs: tuple[TensorMetadata, ...]
    outputs: tuple[TensorMetadata, ...]

    @cached_property
    def input_by_name(self) -> Mapping[str, TensorMetadata]:
        """The inputs by their names."""
        return {each.name: each for each in self.inputs}

    @cached_property
    def output_by_name(self) -> Mapping[str, TensorMetadata]:
        """The outputs by their names."""
        return {each.name: each for each in self.outputs}

    def check_input(self, name: str, datatype: str, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a request's input, once its name, datatype and number of dimensions are found right.

        Raises:
            RequestError: One of them is not.
        """
        known = self.input_by_name.get(name)
        if known is None:
            raise bad(f"model {self.name} has no input {name!r}; it has {_listed(self.inputs)}")
        if datatype != known.datatype:
            raise bad(f"input {name!r} is {known.datatype}, and the request says {datatype!r}")
        if len(shape) > MOST_DIMENSIONS or any(size < 0 for size in shape):
            raise bad(f"input {name!r}: a shape has at most {MOST_DIMENSIONS} sizes, none of them negative")
        return tuple(shape)

    def check_inputs(self, names: Sequence[str]) -> None:
        """Find each input there once.

        Raises:
            RequestError: One is missing, or there twice.
        """
        if len(set(names)) != len(names):
            raise bad(f"an input is there twice: {', '.join(sorted(names))}")
        if missing := [each for each in self.inputs if each.name not in names]:
            raise bad(f"model {self.name} also takes {_listed(missing)}, which the request does not have")

    def wanted_outputs(self, names: Sequence[str]) -> tuple[TensorMetadata, ...]:
        """The outputs of these names, or all where none is named.

        Raises:
            RequestError: There is no such output, or one is named twice.
        """
        known = self.output_by_name
        for name in names:
            if name not in known:
                raise bad(f"model {self.name} has no output {name!r}; it has {_listed(self.outputs)}")
        if len(set(names)) != len(names):
            raise bad(f"an output is named twice: {', '.join(sorted(names))}")
        return tuple(known[name] for name in names) or self.outputs


def metadata_of(name: str, version: str, model: CompiledModel) -> ModelMetadata:
    """What is told of an artifact's model.

    Raises:
        UnsupportedError: An input or output has an element type that the protocol has no datatype for.
    """
    return described(name, version, model.inputs, model.outputs, _open_dims(model))


def described(
    name: str,
    version: str,
    inputs: Iterable[Signature],
    outputs: Iterable[Signature],
    open_dims: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
) -> ModelMetadata:
    """What is told of a model with these inputs and outputs; errors are those of `metadata_of`.

    Args:
        name: Of the model.
        version: Of the model.
        inputs: What it takes.
        outputs: What it gives.
        open_dims: The shapes of those that have no fixed one, where they are known.
    """
    return ModelMetadata(
        name=name,
        version=version,
        inputs=tuple(_tensor(value, open_dims) for value in inputs),
        outputs=tuple(_tensor(value, open_dims) for value in outputs),
    )


def _tensor(value: Signature, open_dims: Mapping[str, tuple[int, ...]]) -> TensorMetadata:
    datatype = BY_DTYPE.get(value.dtype)
    if datatype is None:
        raise UnsupportedError(
            f"{value.name} is {value.dtype}, for which the Open Inference Protocol has no datatype; cast it to one of "
            f"{', '.join(BY_DTYPE)} inside the model"
        )
    shape = open_dims.get(value.name, (OPEN,)) if value.shape is None else value.shape
    return TensorMetadata(name=value.name, datatype=datatype, shape=shape)


def _open_dims(model: CompiledModel) -> Mapping[str, tuple[int, ...]]:
    """The shapes of inputs and outputs that have no fixed one, as the graph states them."""
    names = [value.name for value in (*model.inputs, *model.outputs) if value.shape is None]
    if not names:
        return {}
    values = model.artifact.graph().values
    found = {}
    for name in names:
        proto = values[name].type_proto if name in values else None
        if proto is not None and proto.tensor_type.HasField("shape"):
            dims = proto.tensor_type.shape.dim
            found[name] = tuple(dim.dim_value if dim.HasField("dim_value") else OPEN for dim in dims)
    return found


def _listed(tensors: Iterable[TensorMetadata]) -> str:
    return ", ".join(each.name for each in tensors) or "none"
