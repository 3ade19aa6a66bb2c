"""The backend of ``torch.compile``: a graph of PyTorch's, exported to ONNX and compiled for the shapes of each call.

What cannot be compiled runs in PyTorch itself, with a warning that says why. PyTorch is imported when it calls.
"""

from __future__ import annotations

import logging
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from intarsia.driver.settings import CompileOptions, CompileSettings, settings_of
from intarsia.errors import ConfigError, IntarsiaError
from intarsia.files import scratch
from intarsia.forks import Forkable
from intarsia.interop.compiled import DEFAULTS, Cache, compiled
from intarsia.interop.torch_export import Exported, export, is_weight, require_exporter
from intarsia.runtime import CompiledModel

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

MOST_SHAPES: Final = 8
"""Shapes of inputs that one graph is compiled for; others run in PyTorch, as after its own limit of recompilations."""
_REFUSED: Final = {
    "shapes": "each call tells its own",
    **dict.fromkeys(("constraints", "plan"), "PyTorch names the nodes, and anew for each graph"),
    "custom_ops": "PyTorch exports the operators of ONNX alone",
}
Run = Callable[..., Sequence[Any]]


class BackendOptions(CompileOptions, total=False):
    """What ``torch.compile`` takes as ``options``: settings of a compile as keywords, and what they go with."""

    target: Any
    settings: CompileSettings | None
    cache: Cache


def torch_backend(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: BackendOptions | None = None,
    mode: str | None = None,
) -> Run:
    """Compile a graph for inference; ``torch.compile(model, backend="intarsia")`` calls this.

    The model's parameters become weights. Compiling happens at the first call with each shape, and takes a budget of 20
    seconds for measuring; what comes out is kept in a folder for the next process. Where a gradient is wanted, random
    numbers are drawn, an input is changed, or no engine takes an operator, PyTorch runs the graph, and a warning says
    so.

    Example::

        fast = torch.compile(model.eval(), backend="intarsia", options={"target": "openvino, onnxruntime"})
        with torch.inference_mode():
            result = fast(image)

    Args:
        graph: What PyTorch traced.
        example_inputs: Not looked at: calls tell the shapes.
        options: ``target``; ``cache``, the folder of compiled graphs; ``settings``, or each of
            `intarsia.CompileSettings` by its name, but for those that belong to one graph: ``shapes``, ``constraints``,
            ``plan`` and ``custom_ops``.
        mode: Of PyTorch's own compiler; there is none here.

    Raises:
        ConfigError: There is no such option.
        BackendUnavailableError: The package that PyTorch writes ONNX with is not installed.
    """
    if mode not in (None, "default"):
        raise ConfigError(
            f"mode={mode!r} is for PyTorch's own compiler; what fits a machine is measured here: leave it out"
        )
    require_exporter()
    stated: dict[str, Any] = dict(options or {})
    target, settings, cache = (stated.pop(name, None) for name in ("target", "settings", "cache"))
    keywords = CompileOptions(**stated)  # type: ignore[typeddict-item] # the next line checks them
    checked = settings_of(
        "the backend", settings, keywords, refused=_REFUSED, defaults=DEFAULTS, beside=("target", "settings", "cache")
    )
    return CompiledGraph(graph, lambda path: compiled(path, target, checked, cache))


class CompiledGraph(Forkable):
    """A graph of PyTorch's that runs compiled where it can. Calls from several threads take turns to compile."""

    def __init__(self, graph: torch.fx.GraphModule, compile: Callable[[Path], CompiledModel]) -> None:
        self._graph = graph
        self._compile = compile
        self._lock = threading.Lock()
        self._runs: dict[tuple[Any, ...], _Specialised | None] = {}
        self._weights: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Sequence[Any]:
        """What the graph returns for these arguments."""
        import torch

        if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in args):
            _warn("a gradient may be wanted; call the model under torch.inference_mode() or torch.no_grad()")
            return self._eager(args)
        key = tuple(map(_key, args))
        if key not in self._runs:
            with self._lock:
                if key not in self._runs:
                    self._runs[key] = self._specialised(args)
        run = self._runs[key]
        return self._eager(args) if run is None or run.is_stale() else run(args)

    def after_fork(self) -> None:
        """Whoever compiled when the process was forked goes on in the parent."""
        self._lock = threading.Lock()

    def _specialised(self, args: Sequence[Any]) -> _Specialised | None:
        """The graph compiled for arguments like these; ``None`` where PyTorch has to run it."""
        if len(self._runs) >= MOST_SHAPES:
            _warn(f"it was called with more than {MOST_SHAPES} shapes, and the others are not compiled")
            return None
        # A key names weights by their identity, which holds as long as they live.
        self._weights.append(tuple(filter(is_weight, args)))
        try:
            with scratch() as folder:
                exported = export(self._graph, args, folder / "graph.onnx")
                return _Specialised(exported, self._compile(exported.path), args)
        except IntarsiaError as error:
            _warn(_reason(error))
            return None

    def _eager(self, args: Sequence[Any]) -> Sequence[Any]:
        results: Sequence[Any] = self._graph(*args)
        return results


class _Specialised:
    """The graph for inputs of certain shapes and for certain weights, as they were."""

    def __init__(self, exported: Exported, model: CompiledModel, args: Sequence[Any]) -> None:
        import torch

        self._exported = exported
        self._model = model
        self._places = [i for i, each in enumerate(args) if isinstance(each, torch.Tensor) and not is_weight(each)]
        self._weights = [(each, _version(each)) for each in args if is_weight(each)]
        self._is_stale = False
        weakref.finalize(self, model.close)

    def is_stale(self) -> bool:
        """Whether a weight was changed since. The compiled model holds the old one."""
        if not self._is_stale and any(_version(weight) != version for weight, version in self._weights):
            self._is_stale = True
            _warn("a weight was changed after it was compiled; call torch.compiler.reset(), and it is compiled anew")
        return self._is_stale

    def __call__(self, args: Sequence[Any]) -> Sequence[Any]:
        feeds = {name: args[place].detach() for name, place in zip(self._exported.inputs, self._places, strict=True)}
        results = self._model(feeds)
        tensors = (results[name] for name in self._exported.outputs)
        return tuple(next(tensors) if each is ... else each for each in self._exported.results)


def _key(value: Any) -> Any:
    if is_weight(value):
        return id(value)
    return getattr(value, "shape", value)


def _version(weight: torch.Tensor) -> int:
    return 0 if weight.is_inference() else int(weight._version)


def _reason(error: BaseException) -> str:
    """The error, and where another library is behind it, what that says first: its reports fill pages."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    said = str(error).splitlines()[0]
    return str(error) if root is error else f"{said} ({str(root).splitlines()[0]})"


def _warn(reason: str) -> None:
    warnings.warn(f"a graph of the model runs in PyTorch, not in Intarsia: {reason}", UserWarning, stacklevel=4)
