"""``torch.compile(model, backend="intarsia")``: models answer as PyTorch does, or run in PyTorch and say why.

Nothing is measured here; `test_python_page.py` has a graph that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import intarsia
from intarsia.driver import CompileSettings
from intarsia.errors import ConfigError
from intarsia.interop import compiled as module
from intarsia.interop import torch_compile
from intarsia.runtime import CompiledModel
from tests.unmeasured import unmeasured

if TYPE_CHECKING or (find_spec("torch") is not None and find_spec("onnxscript") is not None):
    import torch
    from torch import nn
else:
    pytest.skip("PyTorch or onnxscript is not installed: the extra torch-compile", allow_module_level=True)

pytestmark = pytest.mark.e2e
OPTIONS = {"target": "onnxruntime", "cache": False}
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.ahead = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norms[0](x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.ahead(self.norms[1](x))


class Recurrent(nn.Module):
    """Several outputs, nested, among them a number and an input."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(16, 32)
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        state = x.new_zeros(x.shape[0], 32)
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
        return {"logits": self.head(state), "more": (state, x, x.shape[1]), "largest": state.argmax(-1)}


def cnn() -> nn.Module:
    """A convolution network, with what `eval` makes a constant and what it takes out."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10),
    )  # fmt: skip


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "cnn": (cnn, (1, 3, 16, 16)),
    "block": (Block, (2, 7, 64)),
    "recurrent": (Recurrent, (2, 4, 16)),
}


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    torch.manual_seed(0)
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The targets of each compile, none of which measures anything."""
    calls: list[Any] = []

    def noted(source: Any, target: Any, settings: CompileSettings) -> CompiledModel:
        calls.append(target)
        return unmeasured(source, target, settings=settings)

    monkeypatch.setattr(module, "compile", noted)
    return calls


def fast(model: nn.Module, **options: Any) -> Any:
    return torch.compile(model.eval(), backend=intarsia.torch_backend, options={**OPTIONS, **options})


def test_the_backend_has_a_name() -> None:
    (point,) = [each for each in entry_points(group="torch_dynamo_backends") if each.name == "intarsia"]
    assert point.load() is intarsia.torch_backend
    assert "intarsia" in torch.compiler.list_backends()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_answers_as_in_pytorch(name: str, compiles: list[Any]) -> None:
    make, shape = MODELS[name]
    model, x = make(), torch.randn(shape)
    compiled = fast(model)
    with torch.inference_mode():
        for given in (x, x + 1):
            torch.testing.assert_close(compiled(given.clone()), model(given), **CLOSE)
        assert compiles == ["onnxruntime"]
        if name == "cnn":  # another shape is compiled once too
            for given in torch.randn(2, 3, *shape[1:]):
                torch.testing.assert_close(compiled(given), model(given), **CLOSE)
            assert len(compiles) == 2


def test_what_was_compiled_is_found_again(compiles: list[Any], tmp_path: Path) -> None:
    model, x = nn.Linear(3, 2), torch.ones(1, 3)
    with torch.no_grad():
        for _ in range(2):
            torch.compiler.reset()
            torch.testing.assert_close(fast(model, cache=tmp_path)(x), model(x), **CLOSE)
    assert len(compiles) == len(list(tmp_path.iterdir())) == 1


class _Changes(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return 2 * x


class _Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class _Draws(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(3)


@pytest.mark.parametrize(
    ("make", "why"),
    [(_Changes, "changes one of its arguments"), (_Counts, "or a buffer of the module"), (_Draws, "random numbers")],
)
def test_what_onnx_cannot_say_runs_in_pytorch(make: Callable[[], nn.Module], why: str, compiles: list[Any]) -> None:
    mine, its = make(), make()
    compiled, x, y = fast(mine), torch.ones(3), torch.ones(3)
    with torch.no_grad():
        with pytest.warns(UserWarning, match=f"runs in PyTorch, not in Intarsia: .*{why}"):
            first = compiled(x.clone())
        assert torch.equal(first, its(y.clone())) is (make is not _Draws)
        torch.manual_seed(1)
        second = compiled(x)
        torch.manual_seed(1)
        torch.testing.assert_close((second, x), (its(y), y))
    assert compiles == []


def test_what_has_no_onnx_operator_runs_in_pytorch(compiles: list[Any]) -> None:
    x = torch.randn(4)
    with (
        torch.no_grad(),
        pytest.warns(UserWarning, match=r"torch\.onnx failed at compile.*No ONNX function .*linalg_eig"),
    ):
        torch.testing.assert_close(fast(_Eigenvalues())(x), _Eigenvalues()(x))
    assert compiles == []


class _Eigenvalues(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eigvals(x[:, None] * x[None]).real


def test_gradients_are_pytorch_s(compiles: list[Any]) -> None:
    model, x = nn.Linear(3, 2), torch.ones(1, 3)
    with pytest.warns(UserWarning, match=r"a gradient may be wanted; call the model under torch\.inference_mode"):
        fast(model)(x).sum().backward()
    assert model.weight.grad is not None
    assert model.weight.grad.tolist() == [[1.0] * 3] * 2
    assert compiles == []


def test_changed_weights_are_seen(compiles: list[Any]) -> None:
    model, x = nn.Linear(3, 2), torch.ones(1, 3)
    compiled = fast(model)
    with torch.no_grad():
        compiled(x)
        model.weight.mul_(2)
        with pytest.warns(UserWarning, match=r"a weight was changed.*torch\.compiler\.reset"):
            torch.testing.assert_close(compiled(x), model(x))
    assert len(compiles) == 1


def test_so_many_shapes_and_no_more(compiles: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_compile, "MOST_SHAPES", 1)
    model = nn.Linear(3, 2)
    compiled = torch.compile(model.eval(), backend=intarsia.torch_backend, dynamic=True, options=OPTIONS)
    with torch.no_grad():
        compiled(torch.ones(2, 3))
        with pytest.warns(UserWarning, match="called with more than 1 shapes"):
            torch.testing.assert_close(compiled(torch.ones(4, 3)), model(torch.ones(4, 3)))
    assert len(compiles) == 1


def test_layers_of_one_class_have_their_own_weights(compiles: list[Any]) -> None:
    layers, x = [nn.Linear(3, 3).eval() for _ in range(2)], torch.ones(1, 3)

    def step(layer: nn.Module, x: torch.Tensor) -> Any:
        return layer(x)

    compiled = torch.compile(step, backend=intarsia.torch_backend, options=OPTIONS)
    with torch.no_grad():
        for layer in (*layers, *layers):
            torch.testing.assert_close(compiled(layer, x), layer(x), **CLOSE)
    assert len(compiles) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgt": 3}, "no setting 'budgt'; did you mean 'budget'"),
        ({"zzz": 3}, "there are target, settings, cache, partition"),
        ({"shapes": {"n": 1}}, "takes no shapes: each call tells its own"),
        ({"settings": CompileSettings(constraints="c.yaml")}, "takes no constraints: PyTorch names the nodes"),
        ({"max_error": 2}, "max_error=2: give a share between 0 and 1"),
    ],
)
def test_an_unknown_option_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        intarsia.torch_backend(torch.fx.GraphModule({}, torch.fx.Graph()), [], options=options)
    with pytest.raises(ConfigError, match="mode='max-autotune' is for PyTorch's own compiler"):
        intarsia.torch_backend(torch.fx.GraphModule({}, torch.fx.Graph()), [], mode="max-autotune")


def test_tensors_in_tensors_out() -> None:
    with unmeasured(*_doubled("float32"), "onnxruntime") as model:
        x = torch.randn(2, 3)
        torch.testing.assert_close(model(x=x)["y"], 2 * x)
        torch.testing.assert_close(model(x.T.contiguous().T)["y"], 2 * x)
        assert isinstance(model(x.numpy())["y"], type(x.numpy()))
        with pytest.raises(intarsia.errors.FeedError, match=r"use tensor\.detach\(\)"):
            model(x.requires_grad_())
    with unmeasured(*_doubled("bfloat16"), "reference") as model:
        x = torch.randn(2, 3).to(torch.bfloat16)
        torch.testing.assert_close(model(x)["y"], 2 * x)


def _doubled(dtype: str) -> tuple[Any]:
    from onnx import helper

    from intarsia.graph.dtypes import elem_type_of
    from tests.unit.graph.models import info, model

    number = elem_type_of(dtype)
    return (model([helper.make_node("Add", ["x", "x"], ["y"])], [info("x", dtype=number)], [info("y", dtype=number)]),)
