"""A torch module as an ONNX model: its weights drawn anew from a seed, then written by torch's own exporter.

The modules themselves stand in the files beside this one. All of them need the `bench` extra; nothing is downloaded.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from networks.draw import Draw
from networks.probe import floats
from networks.redraw import calibrated, redraw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx
    from torch import Tensor

TOKENS = "tokens"
_OPSET = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What to export: a module, and the names and shapes it is called with.

    The input called `tokens` is int64, each other float32.
    """

    module: nn.Module
    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]


class Answer(nn.Module):
    """A model of transformers, answering with one field of what it answers."""

    def __init__(self, model: nn.Module, field: str) -> None:
        super().__init__()
        self.model, self.field = model, field

    def forward(self, x: Tensor) -> Tensor:
        """The field, of the answer to the model's one input."""
        return getattr(self.model(x), self.field)


def export(name: str, sketch: Sketch, seed: int) -> onnx.ModelProto:
    """The sketched network at opset 20, all shapes fixed."""
    draw = Draw(network=name, seed=seed)
    examples = tuple(_example(draw, key, shape) for key, shape in sketch.inputs.items())
    module = sketch.module.eval().requires_grad_(requires_grad=False)
    redraw(module, draw)
    with torch.inference_mode(), calibrated(module):
        module(*examples)
    with torch.no_grad(), _quiet():
        program = torch.onnx.export(
            module,
            examples,
            dynamo=True,
            opset_version=_OPSET,
            input_names=list(sketch.inputs),
            output_names=list(sketch.outputs),
            verbose=False,
        )
    return _bare(program.model_proto)


def _example(draw: Draw, key: str, shape: tuple[int, ...]) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64) if key == TOKENS else torch.from_numpy(floats(draw, key, shape))


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns of its own deprecated internals, and of libraries that nothing here uses."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(level)


def _bare(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the stack traces that the exporter notes on every node: they hold paths of this machine."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del noted.metadata_props[:]
    return model
