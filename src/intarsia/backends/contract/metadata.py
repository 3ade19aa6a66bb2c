"""The types of what engines keep in an artifact's ``meta``; it is checked against them before anything is loaded.

Each is a type of `intarsia.json_types`. Fields that a type does not name are left to the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from intarsia.json_types import (
    Field,
    Fields,
    JsonType,
    anything,
    count,
    either,
    flag,
    integer,
    optional,
    record,
    row,
    several,
    table,
    text,
)

_counts = several(count)
_border = row(text, text, optional(_counts))
"""As `intarsia.backends.contract.signature_rows` writes it."""


def _kept(fields: Fields) -> JsonType:
    return record(dict, fields, is_open=True)


_OWN_WEIGHTS = _kept({"rows": several(row(text, text, _counts)), "wanted": several(text)})
"""What `intarsia.runtime.executors.private_weights` adds."""
_own: Fields = {"own_weights": Field(optional(_OWN_WEIGHTS), None)}
_borders: Fields = {"inputs": several(_border), "outputs": several(_border), **_own}
_library = _kept(
    {"sha256": text, "system": text, "architecture": text, "instruction_sets": several(text), "sources": text}
)
_saved: Fields = {
    **_borders,
    "block": count,
    "weights": several(row(text, text, _counts, count)),
    "library": _library,
    "kernels": Field(optional(several(row(text, text))), None),
}

BORDERS = _kept(_borders)
"""The inputs and outputs, which is all that most engines keep."""
SAVED = _kept(_saved)
"""Of `intarsia.backends.onnxruntime.offline_optimisation`."""
EMBEDDING = _kept({**_saved, "partitions": several(row(count, count)), "borders": table(row(_counts, _counts))})
"""Of a session that holds partitions of other engines."""
COMPILED_C = _kept(
    {
        **_borders,
        "workspace": count,
        "constants": _counts,
        "library": _kept({"system": text, "architecture": text, "instruction_sets": several(text)}),
    }
)
"""Of the engine `c`: bytes of memory of a call, where each constant starts, and what the library serves."""
PROGRAM = _kept({**_borders, "host": text})
"""Of a program that was compiled ahead of time: the target whose processor it is for."""
INSIDE = _kept({"steps": several(_kept({"files": several(text), "weights": several(text), "meta": table(anything)}))})
"""Of a nested configuration: what each step inside has, whose own ``meta`` is checked as its engine says."""
_parts = several(_kept({"files": several(text), "weights": several(text), "meta": table(anything)}))
_flow_node = _kept(
    {
        "op": text,
        "inputs": several(text),
        "outputs": several(text),
        "bodies": table(_kept({"inputs": several(text), "own": count, "outputs": several(_border)})),
        "axes": several(integer),
        "backwards": several(flag),
        "output_axes": several(integer),
        "output_backwards": several(flag),
    }
)
CONTROL_FLOW = _kept({**_borders, "nodes": several(_flow_node), "steps": _parts})
"""Of control flow that is run step by step: its nodes, and what each body has, whose own ``meta`` is checked apart."""
MNN = _kept({**_borders, "layout": several(row(optional(text), count))})
OPENVINO = _kept(
    {**_borders, "deciding": several(text), "left": several(text), "late": flag, "open": Field(flag, False)}
)
LITERT = _kept(
    {
        **_borders,
        "given": _counts,
        "wanted": _counts,
        "prepared": _counts,
        "weights": table(several(row(either(text, count), count))),
    }
)


def ncnn_border(**fields: Any) -> Mapping[str, Any]:
    """A border of a network of ncnn; a ``ValueError`` if its blob has not as many elements."""
    shape, blob = fields["shape"], fields["blob_shape"]
    if prod(shape) != prod(blob):
        raise ValueError(f"{list(shape)} and {list(blob)} do not have as many elements")
    return fields


_ncnn_borders = several(
    record(
        ncnn_border,
        {"name": text, "shape": _counts, "blob": text, "blob_shape": _counts, "shared": flag},
        is_open=True,
    )
)
_ncnn_block = _kept(
    {
        "tagged": flag,
        "derived": Field(optional(row(count, count)), None),
        "weight": Field(optional(text), None),
        "view": Field(optional(_counts), None),
        "order": Field(optional(_counts), None),
        "factor": Field(optional(row(count, count)), None),
    }
)
NCNN = _kept({"blocks": several(_ncnn_block), "inputs": _ncnn_borders, "outputs": _ncnn_borders, **_own})
