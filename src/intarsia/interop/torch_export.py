"""From a graph that PyTorch traced to an ONNX file: its parameters as weights, its other tensors as inputs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import guard
from intarsia.errors import BackendUnavailableError, CompileError, UnsupportedError

if TYPE_CHECKING:
    import torch

EXTRA = "torch-compile"
_EXPORTER = "torch.onnx"
_NOISE = "torch.onnx._internal.exporter._registration"
"""The logger that tells of each library of operators that is not installed."""

_DROPOUT = ("dropout_p", "dropout", "train", "training")
"""Arguments of which each, where it is 0 or false, says that an operator draws no random numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A graph as an ONNX file, whose weights lie beside it."""

    path: Path
    inputs: tuple[str, ...]
    """Names, in the order of the graph's tensors that are no weights."""
    outputs: tuple[str, ...]
    """Names, in the order of the graph's results that are tensors."""
    results: tuple[Any, ...]
    """What the graph returns: ``...`` for a tensor, or the value itself."""


def require_exporter() -> None:
    """Raise a `BackendUnavailableError` if the package that PyTorch writes ONNX with is not installed."""
    if find_spec("onnxscript") is None:
        raise BackendUnavailableError(
            f"PyTorch writes ONNX with the package onnxscript, which is not installed: pip install 'intarsia[{EXTRA}]'"
        )


def is_weight(value: Any) -> bool:
    """Whether an argument of a traced graph is a parameter or a buffer of a module."""
    import torch

    if not isinstance(value, torch.Tensor):
        return False
    return isinstance(value, torch.nn.Parameter) or torch._dynamo.utils.get_static_address_type(value) is not None


def export(graph: torch.fx.GraphModule, args: Sequence[Any], path: Path) -> Exported:
    """Write the graph, for arguments of these shapes and with these weights.

    Raises:
        UnsupportedError: It does what an ONNX model does not: it changes an argument, draws random numbers, or takes or
            returns no tensors.
        CompileError: PyTorch cannot write it.
    """
    import torch

    inputs = [each for each in args if isinstance(each, torch.Tensor) and not is_weight(each)]
    _check_inputs(inputs)
    with _quiet(), torch.inference_mode(mode=False), torch.no_grad(), guard(CompileError, _EXPORTER):
        results: list[Any] = []
        closed = _closed(graph, args, results)
        # What was made under inference mode cannot be traced; copies of it can.
        copies = tuple(torch.empty_like(each).copy_(each) for each in inputs)
        program = torch.export.export(closed, copies, strict=False).run_decompositions({})
        _check(program, results)
        written = torch.onnx.export(program, dynamo=True, verbose=False)
        for node in written.model.graph.all_nodes():
            node.metadata_props.clear()  # stack traces with numbers that differ from process to process
        written.save(path, external_data=True)
    return Exported(
        path=path,
        inputs=tuple(value.name for value in written.model.graph.inputs),
        outputs=tuple(value.name for value in written.model.graph.outputs),
        results=tuple(results),
    )


def _closed(graph: torch.fx.GraphModule, args: Sequence[Any], returned: list[Any]) -> Any:
    """The graph as a module of its tensors alone: weights are its own, and numbers are what they are in ``args``.

    When it is traced, what the graph returns is put into ``returned``. What is traced is given its attributes back.
    """
    import torch

    class Closed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.graph = graph
            for place, value in enumerate(args):
                if is_weight(value):
                    self.register_buffer(f"weight_{place}", value.detach())

        def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            rest = iter(inputs)
            every = [self._argument(place, value, rest) for place, value in enumerate(args)]
            results = self.graph(*every)
            returned[:] = [... if isinstance(each, torch.Tensor) else each for each in results]
            return tuple(each for each in results if isinstance(each, torch.Tensor))

        def _argument(self, place: int, value: Any, rest: Iterator[torch.Tensor]) -> Any:
            if is_weight(value):
                return getattr(self, f"weight_{place}")
            return next(rest) if isinstance(value, torch.Tensor) else value

    return Closed()


def _check_inputs(inputs: Sequence[torch.Tensor]) -> None:
    if not inputs:
        raise UnsupportedError("the graph takes no tensors")
    elsewhere = next((each.device for each in inputs if each.device.type != "cpu"), None)
    if elsewhere is not None:
        raise UnsupportedError(f"its inputs are on {elsewhere}, and engines take them from the host's memory")


def _check(program: torch.export.ExportedProgram, results: Sequence[Any]) -> None:
    import torch

    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise UnsupportedError("the graph changes one of its arguments in place, or a buffer of the module")
    for node in program.graph.nodes:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) and _draws(node):
            raise UnsupportedError(f"the graph draws random numbers ({node.target}); is the model in eval() mode?")
    if ... not in results:
        raise UnsupportedError("the graph returns no tensors")


def _draws(node: torch.fx.Node) -> bool:
    """Whether an operator that may draw random numbers does: attention and recurrent layers only draw for dropout."""
    schema = node.target._schema.arguments
    arguments = {argument.name: argument.default_value for argument in schema}
    arguments |= dict(zip((argument.name for argument in schema), node.args, strict=False)) | node.kwargs
    return all(arguments.get(name, True) for name in _DROPOUT)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns of what in itself is deprecated, and logs what else could be installed."""
    logger = logging.getLogger(_NOISE)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
