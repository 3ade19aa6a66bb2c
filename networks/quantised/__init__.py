"""Quantised and half-precision models of our own making, as users' own are, small enough to compile in seconds.

Each is a network of `plain` in a smaller type, and is named after both. A batch is given as it is built.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from networks.quantised import plain
from networks.quantised.halves import in_half
from networks.quantised.integers import dynamic, static, weights_in_4_bits, weights_in_8_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    Scheme = Callable[[onnx.ModelProto], onnx.ModelProto]

_SUMS = ("Add", "AveragePool", "Conv", "Gemm", "GlobalAveragePool", "MatMul", "Relu")
_INTEGERS = ("Conv", "MatMul")


def _mixed(model: onnx.ModelProto) -> onnx.ModelProto:
    """Products in 8 bits, and fp16 between them."""
    return in_half(static(model, per_channel=True, only=_INTEGERS, QuantizeBias=False), "float16", fp32_borders=True)


_FP16 = partial(in_half, dtype="float16", kept=("GRU",))
_BF16 = partial(in_half, dtype="bfloat16", kept=("GRU",))
_MADE: Mapping[str, tuple[str, Scheme]] = MappingProxyType(
    {
        "residual-qdq-tensor": ("residual", partial(static, per_channel=False)),
        "residual-qdq-channel": ("residual", partial(static, per_channel=True, activations="int8", symmetric=True)),
        "residual-qoperator": ("residual", partial(static, form="QOperator", per_channel=True, only=_INTEGERS)),
        "residual-qoperator-all": ("residual", partial(static, form="QOperator", per_channel=False)),
        "residual-dynamic": ("residual", dynamic),
        "residual-fp16": ("residual", partial(_FP16, fp32_borders=False)),
        "residual-bf16-borders": ("residual", partial(_BF16, fp32_borders=True)),
        "residual-mixed": ("residual", _mixed),
        "mobile-qdq-channel": ("mobile", partial(static, per_channel=True)),
        "mobile-qdq-tensor-int8": ("mobile", partial(static, per_channel=False, activations="int8")),
        "mobile-fp16-borders": ("mobile", partial(_FP16, fp32_borders=True)),
        "superres-qdq-channel": ("superres", partial(static, per_channel=True)),
        "superres-qdq-int8": ("superres", partial(static, per_channel=True, activations="int8")),
        "superres-fp16-borders": ("superres", partial(_FP16, fp32_borders=True)),
        "vit-qdq-tensor": ("vit", partial(static, per_channel=False)),
        "vit-qdq-channel": ("vit", partial(static, per_channel=True, activations="int8", symmetric=True)),
        "vit-dynamic": ("vit", dynamic),
        "vit-int8-weights": ("vit", weights_in_8_bits),
        "vit-fp16-borders": ("vit", partial(_FP16, fp32_borders=True)),
        "vit-bf16": ("vit", partial(_BF16, fp32_borders=False)),
        "vit-mixed": ("vit", _mixed),
        "encoder-dynamic": ("encoder", partial(dynamic, per_channel=True)),
        "encoder-fp16": ("encoder", partial(_FP16, fp32_borders=False)),
        "decoder-int4-blocks": ("decoder", partial(weights_in_4_bits, form="QDQ")),
        "decoder-int4-zero-points": ("decoder", partial(weights_in_4_bits, form="QDQ", symmetric=False)),
        "decoder-int4-operator": ("decoder", partial(weights_in_4_bits, form="QOperator")),
        "gru-qdq-tensor": ("gru", partial(static, per_channel=False)),
        "gru-dynamic": ("gru", dynamic),
        "gru-fp16-borders": ("gru", partial(_FP16, fp32_borders=True)),
        "gru-bf16": ("gru", partial(_BF16, fp32_borders=False)),
    }
)
NAMES = tuple(_MADE)


def build(name: str, batch: int | str = 1) -> onnx.ModelProto:
    """The named model; a batch that is a text is a dimension of that name, which stays open.

    Scales and zero points are those of batch 1, whatever the batch.

    Raises:
        ValueError: no such model.
    """
    if name not in _MADE:
        raise ValueError(f"no model {name!r}; there are {', '.join(NAMES)}")
    network, scheme = _MADE[name]
    return scheme(plain.build(network, batch))
