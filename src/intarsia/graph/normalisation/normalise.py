"""Brings a model into the one form that every later stage works on. `_BEFORE` and `_BEHIND` list the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from math import prod

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import RemoveInitializersFromInputsPass

from intarsia.errors import IntarsiaError, ModelError
from intarsia.garbage import collected_later
from intarsia.graph.bind import Shapes, bind_dimensions, ranges_of, stated_shapes
from intarsia.graph.build import build
from intarsia.graph.dtypes import STRING, dtype_name, elem_type_of, element_bytes, is_packed, numpy_dtype
from intarsia.graph.graph import SIZES_KEY, Graph
from intarsia.graph.inference import INFERENCE_ERRORS, root_of
from intarsia.graph.limits import LIMITS
from intarsia.graph.normalisation.constants import content, lift_constants
from intarsia.graph.normalisation.fold import fold_and_infer
from intarsia.graph.normalisation.naming import inline_functions, own_outputs, state_names
from intarsia.graph.normalisation.open_dimension import as_in_file, open_dimensions, opened
from intarsia.graph.normalisation.opset_upgrade import raise_opset
from intarsia.graph.normalisation.simplify import drop_dead, drop_idle, state_defaults
from intarsia.graph.parts import ArrayTensor, MappedTensor, Tensor, Weight, map_file
from intarsia.graph.reading.read import ModelSource, read_model
from intarsia.graph.validation import check_types
from intarsia.graph.validation.tensors import check_dims

Types = Mapping[str, tuple[str, tuple[int | str, ...] | None]]
"""Element type of values by name, and their dimensions where their number is always the same; open ones by a name."""


@collected_later()
def load_model(source: ModelSource, shapes: Shapes | None = None, types: Types | None = None) -> Graph:
    """Read and normalise a model.

    Args:
        source: A path, the bytes of a file, or a model in memory, which is left as it is.
        shapes: Sizes for inputs (``{"input": (1, 3, 224, 224)}``) or named dimensions (``{"N": 1}``). A dimension
            with a range (``{"N": "1..8"}``) stays open, and the graph's ``sizes`` say the middle of the range. A shape
            with a name, as ``("N", 3, 224, 224)``, opens a first dimension that the file fixes.
        types: Of values that shape inference cannot tell, as those behind operators that ONNX does not define.

    Raises:
        ModelError: It cannot be read, or an input's shape is not known in full.
        ConfigError: A text is no range.
    """
    model, stated = read_model(source), stated_shapes(shapes or {})
    with _as_model_errors():
        RemoveInitializersFromInputsPass()(model)
        several = opened(model, stated)
        bind_dimensions(model, as_in_file(stated, several))
        _check_inputs(model)
        _state_types(model, types or {})
        known = {name: ir.Shape(dims) for name, (_, dims) in (types or {}).items() if dims is not None}
        infer = partial(fold_and_infer, shapes=known)
        if several:
            typed: _Steps = (partial(open_dimensions, several=several, shapes=stated, infer=infer), _check_inputs)
        else:
            typed = (infer,)
        for step in (*_BEFORE, *typed, *_BEHIND):
            step(model)
        graph = _frozen(model)
    sizes = {name: range_.middle for name, range_ in ranges_of(shapes or {}).items()}
    return graph.with_sizes(sizes) if sizes else graph


@contextmanager
def _as_model_errors() -> Iterator[None]:
    """A context that turns errors of the graph libraries into `ModelError`: the model caused them."""
    try:
        yield
    except IntarsiaError:
        raise
    except MemoryError as error:
        raise ModelError("the model takes more memory than this process may have; export a smaller one") from error
    except (ValueError, RuntimeError) as error:  # a graph with a cycle, and the like
        raise ModelError(f"the model is not sound: {root_of(error)}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, *INFERENCE_ERRORS) as error:
        raise ModelError(
            f"the model cannot be brought into its normal form ({type(error).__name__}: {root_of(error)}); if "
            "onnx.checker.check_model(path, full_check=True) finds nothing wrong with it, please report this"
        ) from error


def _check_inputs(model: ir.Model) -> None:
    """Refuse inputs too large for any machine, before anything of their size is allocated."""
    for value in model.graph.inputs:
        dims = [dim for dim in value.shape or () if isinstance(dim, int)]
        check_dims(dims, f"input {value.name!r}")
        dtype = dtype_name(int(value.dtype)) if value.dtype is not None else None
        nbytes = prod(dims) * element_bytes(dtype) if dtype is not None else 0
        if nbytes > LIMITS.value_bytes:
            raise ModelError(
                f"input {value.name!r} has the shape {dims}, {nbytes:.1e} bytes; state a smaller one by --shape"
            )


def _state_types(model: ir.Model, types: Types) -> None:
    for value in (output for node in model.graph for output in node.outputs):
        if value.name and value.name in types:
            dtype, shape = types[value.name]
            value.dtype = ir.DataType(elem_type_of(dtype))
            value.shape = None if shape is None else ir.Shape(shape)


def _state_domains(model: ir.Model) -> None:
    """``ai.onnx`` is another spelling of the empty domain."""
    opsets = model.opset_imports
    if "ai.onnx" in opsets:
        opsets.setdefault("", opsets["ai.onnx"])
        del opsets["ai.onnx"]
    for node in model.graph.all_nodes():
        if node.domain == "ai.onnx":
            node.domain = ""


def _sort(model: ir.Model) -> None:
    model.graph.sort()


_Steps = tuple[Callable[[ir.Model], None], ...]
_BEFORE: _Steps = (
    inline_functions,
    _state_domains,
    _sort,
    lift_constants,
    check_types,
    raise_opset,
    lift_constants,
)
_BEHIND: _Steps = (
    drop_idle,
    own_outputs,
    drop_dead,
    state_defaults,
    state_names,
)


def _frozen(model: ir.Model) -> Graph:
    mapped = cache(map_file)  # each external file once
    weights = {name: _weight(value, mapped) for name, value in model.graph.initializers.items()}
    model.graph.initializers.clear()
    model.metadata_props.pop(SIZES_KEY, None)  # of a graph that was saved with open dimensions
    used = {node.domain for node in model.graph.all_nodes()}
    for domain in [domain for domain in model.opset_imports if domain and domain not in used]:
        del model.opset_imports[domain]
    return build(ir.to_proto(model), weights)


def _weight(value: ir.Value, mapped: Callable[[str], np.ndarray]) -> Weight:
    tensor = value.const_value
    assert tensor is not None
    dtype = dtype_name(int(tensor.dtype))
    if dtype is None:
        raise ModelError(f"weight {value.name!r} has the unknown element type {tensor.dtype}")
    shape = tuple(tensor.shape.numpy())
    return Weight(
        name=value.name or "",
        dtype=dtype,
        shape=shape,
        nbytes=prod(shape) * element_bytes(dtype),
        source=_source(tensor, dtype, shape, mapped),
    )


def _source(
    tensor: ir.TensorProtocol, dtype: str, shape: tuple[int, ...], mapped: Callable[[str], np.ndarray]
) -> Tensor:
    """Move weights out of the message, so that it can be freed. External data stays in its file."""
    is_mappable = dtype != STRING and not is_packed(dtype)
    if is_mappable and isinstance(tensor, ir.ExternalTensor) and not (tensor.offset or 0) % element_bytes(dtype):
        return MappedTensor(file=mapped(tensor.path), offset=tensor.offset or 0, dtype=numpy_dtype(dtype), shape=shape)
    array = content(tensor)
    return ArrayTensor(content=array if array.flags.writeable else array.copy())
