"""What MNN is given, and what it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from intarsia.backends.mnn.legalise import legalised
from intarsia.backends.mnn.rules import SUPPORT, refusal

FLOATS = "float32"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One node on its own: dtypes and shapes of its inputs (positions in ``weights`` are constants) and outputs."""

    op: str
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ((FLOATS, (1, 6, 8, 8)),)
    outputs: tuple[tuple[str, tuple[int, ...]], ...] = ((FLOATS, (1, 6, 8, 8)),)
    weights: Mapping[int, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""
    nbytes: int = 4

    def refusal(self) -> str | None:
        """What the table says."""
        return refusal(*self.parts())  # type: ignore[arg-type]

    def is_legalised(self) -> bool:
        """Whether MNN is given other operators for it."""
        node, graph = self.parts()
        return bool(legalised([node], graph))  # type: ignore[list-item, arg-type]

    def parts(self) -> tuple[SimpleNamespace, SimpleNamespace]:
        """The node and its graph, as far as the table looks at them."""
        reads = tuple(f"i{position}" for position in range(len(self.inputs)))
        writes = tuple(f"o{position}" for position in range(len(self.outputs)))
        values = {
            name: SimpleNamespace(dtype=dtype, shape=shape, is_weight=name in {f"i{p}" for p in self.weights})
            for name, (dtype, shape) in zip((*reads, *writes), (*self.inputs, *self.outputs), strict=True)
        }
        weights = {
            f"i{p}": SimpleNamespace(array=lambda value=value: np.array(value), nbytes=self.nbytes)
            for p, value in self.weights.items()
        }
        node = SimpleNamespace(
            id="n",
            op_type=self.op,
            domain=self.domain,
            inputs=reads,
            outputs=writes,
            reads=reads,
            attributes=self.attributes,
        )
        return node, SimpleNamespace(values=values, weights=weights)


IMAGE = (FLOATS, (1, 6, 8, 8))
CHANNELS = (FLOATS, (6,))
INDICES = ("int64", IMAGE[1])
MASK = ("bool", IMAGE[1])
POOL = {"kernel_shape": (3, 3), "strides": (2, 2)}
NORM = (IMAGE, CHANNELS, CHANNELS, CHANNELS, CHANNELS)


@pytest.mark.parametrize(
    "case",
    [
        Case(op="Relu"),
        Case(op="Conv", inputs=(IMAGE, (FLOATS, (6, 6, 3, 3))), weights={1: 0}),
        Case(op="Gemm", inputs=((FLOATS, (2, 8)), (FLOATS, (8, 4))), weights={1: 0}),
        Case(op="MaxPool", outputs=((FLOATS, (1, 6, 3, 3)),), attributes=POOL),
        Case(op="BatchNormalization", inputs=NORM, weights=dict.fromkeys(range(1, 5), 0), attributes={"epsilon": 1e-5}),
        Case(op="PRelu", inputs=(IMAGE, (FLOATS, (6, 1, 1))), weights={1: 0}),
        Case(op="Slice", inputs=(IMAGE, *(("int64", (1,)),) * 4), weights={1: [0], 2: [3], 3: [1], 4: [2]}),
        Case(op="Clip", inputs=(IMAGE, (FLOATS, ()), (FLOATS, ())), weights={1: 1.0, 2: 2.0}),
        Case(op="Clip", inputs=(IMAGE, (FLOATS, ())), weights={1: 1.0}),
        Case(op="Gather", inputs=(IMAGE, ("int64", (2,)))),
        Case(op="Sub", inputs=(("int64", (3,)),) * 2, outputs=(("int64", (3,)),)),
        Case(op="Where", inputs=(("bool", IMAGE[1]), IMAGE, IMAGE)),
        Case(op="Where", inputs=(("bool", IMAGE[1]), IMAGE, (FLOATS, ()))),
        Case(op="Equal", inputs=(("int64", (3,)),) * 2, outputs=(("bool", (3,)),)),
        Case(op="Less", inputs=(IMAGE, IMAGE), outputs=(("bool", IMAGE[1]),)),
        Case(op="PRelu", inputs=(IMAGE, (FLOATS, (8,)))),
        Case(op="Conv", inputs=(IMAGE, (FLOATS, (6, 6, 3, 3))), attributes={"auto_pad": "SAME_UPPER"}),
        Case(op="MaxPool", inputs=((FLOATS, (1, 6, 8)),), attributes={"kernel_shape": (3,)}),
        Case(op="LpPool", attributes={"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}),
        Case(
            op="NegativeLogLikelihoodLoss",
            inputs=(IMAGE, ("int64", (1, 8, 8)), CHANNELS),
            attributes={"ignore_index": 3},
        ),
        Case(op="Split", outputs=((FLOATS, (1, 3, 8, 8)),) * 2, attributes={"axis": 1, "num_outputs": 2}),
        Case(
            op="Resize",
            inputs=(IMAGE, (FLOATS, ()), (FLOATS, (4,))),
            outputs=((FLOATS, (1, 6, 16, 16)),),
            weights={1: 0, 2: 0},
            attributes={"mode": "linear"},
        ),
    ],
    ids=lambda case: case.op,
)
def test_what_was_found_right_is_taken(case: Case) -> None:
    assert case.refusal() is None


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case(op="LSTM"), "LSTM is missing, or wrong"),
        (Case(op="Relu", domain="com.microsoft"), "Relu is missing, or wrong"),
        (Case(op="Relu", inputs=(("int8", (4,)),), outputs=(("int8", (4,)),)), "takes no int8"),
        (Case(op="Mul", inputs=(("int64", (4,)),) * 2, outputs=(("int64", (4,)),)), "takes no int64"),
        (Case(op="Relu", inputs=((FLOATS, (2, 0)),)), "no empty tensor"),
        (Case(op="Transpose", inputs=((FLOATS, (1,) * 7),)), "more than 6 dimensions"),
        (Case(op="Relu", weights={0: 0}), "without an input that is computed"),
        (Case(op="Reshape", inputs=(IMAGE, ("int64", (2,)))), "input 1 of Reshape must be a constant"),
        (Case(op="MaxPool", attributes={"kernel_shape": (3, 3)}), "divides by zero where strides are left out"),
        (Case(op="MaxPool", attributes={**POOL, "dilations": (2, 2)}), "ignores dilations"),
        (Case(op="MaxPool", inputs=((FLOATS, (1, 6, 8, 8, 8)),), attributes=POOL), "two-dimensional"),
        (Case(op="MaxPool", inputs=((FLOATS, (1, 6, 8)),), attributes={**POOL, "ceil_mode": 1}), "two-dimensional"),
        (Case(op="MaxPool", attributes=POOL, outputs=(IMAGE, ("int64", IMAGE[1]))), "second output"),
        (Case(op="MaxPool", attributes={**POOL, "ceil_mode": 1}), "last window that lies in the padding"),
        (
            Case(op="AveragePool", attributes={**POOL, "count_include_pad": 1, "pads": (0, 0, 1, 1)}),
            "counts uneven padding wrongly",
        ),
        (Case(op="MaxPool", attributes={**POOL, "auto_pad": "SAME_LOWER"}), "auto_pad=SAME_LOWER"),
        (
            Case(op="AveragePool", attributes={**POOL, "count_include_pad": 1, "auto_pad": "SAME_UPPER"}),
            "counts uneven padding wrongly",
        ),
        (Case(op="LpPool", attributes={**POOL, "dilations": (2, 2)}), "ignores dilations"),
        (Case(op="LpPool", attributes={**POOL, "pads": (0, 0, 1, 1)}), "the same pads on both sides"),
        (Case(op="BatchNormalization", inputs=NORM, weights=dict.fromkeys(range(1, 5), 0)), "default of epsilon"),
        (Case(op="LogSoftmax"), "default of axis"),
        (Case(op="Sum"), "crashes on a single input"),
        (Case(op="ReduceSum", inputs=(IMAGE, ("int64", (0,))), weights={1: 0}), "empty list of axes"),
        (Case(op="PRelu", inputs=(IMAGE, (FLOATS, (8,))), weights={1: 0}), "one constant slope, or one per channel"),
        (Case(op="Split", attributes={"axis": 1, "num_outputs": 4}), "must be even"),
        (
            Case(op="Slice", inputs=(IMAGE, *(("int64", (1,)),) * 4), weights={1: [9], 2: [0], 3: [1], 4: [-1]}),
            "crashes on negative steps",
        ),
        (Case(op="Pad", inputs=(IMAGE, ("int64", (8,))), weights={1: [0, 0, -1, 0, 0, 0, 0, 0]}), "does not crop"),
        (Case(op="Cast", outputs=(("int64", IMAGE[1]),), attributes={"to": 7}), "int64 has 32 bits"),
        (Case(op="CastLike", inputs=(IMAGE, ("int64", (1,))), outputs=(("int64", IMAGE[1]),)), "int64 has 32 bits"),
        (Case(op="CastLike", inputs=(IMAGE, ("bool", (1,))), outputs=(("bool", IMAGE[1]),)), "no Cast to bool"),
        (Case(op="GatherND", inputs=(IMAGE, ("int64", (1, 2))), attributes={"batch_dims": 1}), "batch_dims=1"),
        (Case(op="Max", inputs=(INDICES, INDICES), outputs=(INDICES,)), "takes no int64"),
        (Case(op="GridSample", inputs=(IMAGE, (FLOATS, (1, 4, 4, 2))), attributes={"mode": "nearest"}), "mode=nearest"),
        (Case(op="ConvTranspose", inputs=(IMAGE, (FLOATS, (6, 3, 2, 2))), attributes={"group": 2}), "mixes the groups"),
        (Case(op="Gather", inputs=(IMAGE, ("int64", (2,))), weights={0: 0.0}, nbytes=1 << 31), "more than 2 GB"),
        (
            Case(op="NegativeLogLikelihoodLoss", inputs=(IMAGE, ("int64", (1, 8, 8))), attributes={"ignore_index": 3}),
            "counts what it should ignore",
        ),
        (Case(op="Cast", outputs=(("bool", IMAGE[1]),), attributes={"to": 9}), "to=9"),
        (Case(op="Conv", inputs=((FLOATS, (1, 6, 8, 8, 8)), (FLOATS, (6, 6, 3, 3, 3))), weights={1: 0}), "one or two"),
        (
            Case(op="Conv", inputs=(IMAGE, (FLOATS, (6, 3, 3, 3))), attributes={"group": 2, "dilations": (2, 1)}),
            "takes no weight that is computed",
        ),
        (Case(op="Conv", inputs=(IMAGE, (FLOATS, (6, 6, 3, 3)), CHANNELS), weights={1: 0}), "no computed bias"),
        (
            Case(
                op="Resize",
                inputs=(IMAGE, (FLOATS, ()), (FLOATS, (4,))),
                weights={1: 0, 2: 0},
                attributes={"mode": "cubic"},
            ),
            "wrong for cubic",
        ),
    ],
)
def test_what_was_found_wrong_is_refused(case: Case, reason: str) -> None:
    found = case.refusal()
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (Case(op="Relu"), False),
        (Case(op="Clip", inputs=(IMAGE, (FLOATS, ()), (FLOATS, ())), weights={1: 1.0, 2: 2.0}), False),
        (Case(op="Clip", inputs=(IMAGE, (FLOATS, ()), (FLOATS, ())), weights={1: 2.0, 2: 1.0}), True),
        (Case(op="Clip", inputs=(IMAGE, (FLOATS, ()))), True),
        (Case(op="Where", inputs=(MASK, IMAGE, IMAGE)), False),
        (Case(op="Where", inputs=(MASK, IMAGE, (FLOATS, ()))), False),
        (Case(op="Where", inputs=(("bool", (8,)), IMAGE, IMAGE)), True),
        (Case(op="Where", inputs=(MASK, IMAGE, (FLOATS, (1, 8)))), True),
        (Case(op="Less", inputs=(INDICES, INDICES), outputs=(MASK,)), False),
        (Case(op="Less", inputs=(IMAGE, IMAGE), outputs=(MASK,)), True),
        (Case(op="GatherElements", inputs=(IMAGE, INDICES)), True),
        (Case(op="GatherElements", inputs=(IMAGE, INDICES), weights={1: [0, 1]}), False),
        (Case(op="GatherElements", inputs=(IMAGE, INDICES), weights={1: [0, -1]}), True),
        (Case(op="ArgMax", outputs=(INDICES,)), False),
        (Case(op="ArgMax", outputs=(INDICES,), attributes={"select_last_index": 1}), True),
        (Case(op="LayerNormalization", attributes={"axis": 1}), False),
        (Case(op="LayerNormalization", attributes={"axis": -4}), True),
        (Case(op="LayerNormalization", outputs=(IMAGE,) * 3, attributes={"axis": -4}), False),
        (Case(op="CastLike", inputs=(IMAGE, IMAGE)), True),
        (Case(op="LpNormalization"), True),
        (Case(op="Gelu"), True),
        (Case(op="Gelu", attributes={"approximate": "tanh"}), False),
        (Case(op="MatMul", inputs=((FLOATS, (2, 8)), (FLOATS, (8, 4)))), False),
        (Case(op="MatMul", inputs=((FLOATS, (2, 8)), (FLOATS, (8,)))), True),
        (Case(op="Gemm", inputs=((FLOATS, (8, 2)), (FLOATS, (8, 4)))), False),
        (Case(op="Gemm", inputs=((FLOATS, (8, 2)), (FLOATS, (8, 4))), attributes={"transA": 1}), True),
        (Case(op="Conv", inputs=(IMAGE, (FLOATS, (6, 6, 3, 3)))), False),
        (Case(op="Conv", inputs=(IMAGE, (FLOATS, (6, 6, 3, 3))), attributes={"auto_pad": "SAME_LOWER"}), True),
        (Case(op="Conv", inputs=((FLOATS, (1, 6, 8)), (FLOATS, (6, 6, 3)))), True),
    ],
)
def test_what_is_right_only_in_other_words_is_legalised(case: Case, expected: bool) -> None:
    assert case.is_legalised() is expected


def test_no_operator_of_a_declared_gap_is_in_the_table() -> None:
    assert not SUPPORT.keys() & {"RNN", "GRU", "LSTM", "If", "Loop", "Scan", "QuantizeLinear", "DequantizeLinear"}
