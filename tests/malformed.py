"""Models that are not sound, each for one reason: what `load_model` must refuse, and ONNX Runtime refuses too.

Most are a small sound model with one thing changed. `tests/unit/graph/validation` holds them against our own words,
`tests/conformance/test_malformed.py` against what ONNX Runtime does with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx.helper import make_node

Change = Callable[[onnx.ModelProto], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """A model that is not sound.

    Attributes:
        name: What is wrong with it.
        model: The file.
        words: What our message says, the place and the fault.
        taken: Why ONNX Runtime takes it nevertheless, and we do not; empty where it refuses it too.
        harmful: Whether ONNX Runtime must not be asked, as it would take all memory or hours.
    """

    name: str
    model: bytes
    words: tuple[str, ...]
    taken: str = ""
    harmful: bool = False


def info(
    name: str, shape: tuple[int | str | None, ...] | None = (2, 3), dtype: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    """A value's type and shape."""
    return helper.make_tensor_value_info(name, dtype, shape)


def array(name: str, content: object, dtype: type = np.float32) -> onnx.TensorProto:
    """A tensor with its content in raw bytes."""
    return numpy_helper.from_array(np.array(content, dtype), name)


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto] | None = None,
    outputs: list[onnx.ValueInfoProto] | None = None,
    weights: list[onnx.TensorProto] | None = None,
    *,
    opset: int = 21,
    functions: list[onnx.FunctionProto] | None = None,
    domains: tuple[str, ...] = (),
) -> onnx.ModelProto:
    """A model from its parts."""
    graph = helper.make_graph(
        nodes,
        "main",
        [info("x")] if inputs is None else inputs,
        [info("y", None)] if outputs is None else outputs,
        weights,
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=functions or [])


def sound() -> onnx.ModelProto:
    """x @ w + b, and what is negative of it made zero."""
    nodes = [
        make_node("MatMul", ["x", "w"], ["h"], name="product"),
        make_node("Add", ["h", "b"], ["s"], name="sum"),
        make_node("Relu", ["s"], ["y"], name="relu"),
    ]
    weights = [array("w", np.ones((3, 4))), array("b", np.zeros(4))]
    return model(nodes, outputs=[info("y", (2, 4))], weights=weights)


def with_sparse() -> onnx.ModelProto:
    """x and a weight that is stored sparse, added."""
    found = model([make_node("Add", ["x", "s"], ["y"], name="sum")])
    sparse = helper.make_sparse_tensor(array("s", [5, 7]), array("places", [1, 5], np.int64), [2, 3])
    found.graph.sparse_initializer.append(sparse)
    return found


def with_branches() -> onnx.ModelProto:
    """An `If` whose branches read what is around them."""
    then = helper.make_graph([make_node("Add", ["x", "w"], ["t"], name="inner")], "then", [], [info("t")])
    otherwise = helper.make_graph([make_node("Sub", ["x", "w"], ["e"])], "else", [], [info("e")])
    nodes = [make_node("If", ["c"], ["y"], name="branch", then_branch=then, else_branch=otherwise)]
    return model(nodes, inputs=[info("x"), info("c", (), TensorProto.BOOL)], weights=[array("w", np.ones((2, 3)))])


def with_loop() -> onnx.ModelProto:
    """A `Loop` that doubles x three times."""
    body = helper.make_graph(
        [make_node("Add", ["state", "state"], ["next"]), make_node("Identity", ["going"], ["still"])],
        "body",
        [info("i", (), TensorProto.INT64), info("going", (), TensorProto.BOOL), info("state")],
        [info("still", (), TensorProto.BOOL), info("next")],
    )
    nodes = [make_node("Loop", ["three", "", "x"], ["y"], name="loop", body=body)]
    return model(nodes, weights=[array("three", 3, np.int64)])


def with_function() -> onnx.ModelProto:
    """A function that scales, called once."""
    scaled = AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="alpha")
    leaky = make_node("LeakyRelu", ["a"], ["l"], name="leaky")
    leaky.attribute.append(scaled)
    body = [leaky, make_node("Add", ["l", "b"], ["r"], name="inner")]
    function = helper.make_function("own", "Scaled", ["a", "b"], ["r"], body, [helper.make_opsetid("", 21)], ["alpha"])
    nodes = [make_node("Scaled", ["x", "w"], ["y"], name="call", domain="own", alpha=0.5)]
    return model(nodes, weights=[array("w", np.ones((2, 3)))], functions=[function], domains=("own",))


def bomb(levels: int, width: int = 10, op_type: str = "Relu") -> onnx.ModelProto:
    """Functions that each call the next one several times."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = []
    for level in range(levels):
        callee, domain = (f"f{level + 1}", "own") if level + 1 < levels else (op_type, "")
        names = ["a", *(f"v{number}" for number in range(width))]
        body = [make_node(callee, [a], [b], domain=domain) for a, b in pairwise(names)]
        functions.append(helper.make_function("own", f"f{level}", ["a"], [names[-1]], body, opsets))
    nodes = [make_node("f0", ["x"], ["y"], domain="own")]
    return model(nodes, functions=functions, domains=("own",))


def nested(depth: int) -> onnx.ModelProto:
    """An `If` in an `If` in an `If`, always in the first branch."""
    nodes = [make_node("Neg", ["x"], ["v0"])]
    for level in range(depth):
        deep = helper.make_graph(nodes, f"deep{level}", [], [info(f"v{level}")])
        flat = helper.make_graph([make_node("Abs", ["x"], [f"e{level}"])], f"flat{level}", [], [info(f"e{level}")])
        name = f"v{level + 1}" if level + 1 < depth else "y"
        nodes = [make_node("If", ["c"], [name], then_branch=deep, else_branch=flat)]
    return model(nodes, inputs=[info("x"), info("c", (), TensorProto.BOOL)])


def filled(shape: list[int]) -> onnx.ModelProto:
    """A constant of a shape that a small file can ask for."""
    return model([make_node("ConstantOfShape", ["s"], ["y"], name="fill")], weights=[array("s", shape, np.int64)])


def _changed(source: Callable[[], onnx.ModelProto], change: Change) -> bytes:
    made = source()
    change(made)
    return bytes(made.SerializeToString())


def _case(
    name: str,
    words: str | tuple[str, ...],
    change: Change,
    source: Callable[[], onnx.ModelProto] = sound,
    *,
    taken: str = "",
) -> Malformed:
    words = (words,) if isinstance(words, str) else words
    return Malformed(name=name, model=_changed(source, change), words=words, taken=taken)


def _made(
    name: str, words: str | tuple[str, ...], made: onnx.ModelProto, *, taken: str = "", harmful: bool = False
) -> Malformed:
    words = (words,) if isinstance(words, str) else words
    return Malformed(name=name, model=made.SerializeToString(), words=words, taken=taken, harmful=harmful)


def _weight(made: onnx.ModelProto, **fields: object) -> onnx.TensorProto:
    """The weight `w`, with nothing but these fields beside its name."""
    tensor: onnx.TensorProto = made.graph.initializer[0]
    name = tensor.name
    tensor.Clear()
    tensor.name = name
    stated: dict[str, object] = {"dims": [3, 4], "data_type": TensorProto.FLOAT, **fields}
    for field, value in stated.items():
        if isinstance(value, list):
            getattr(tensor, field).extend(value)
        else:
            setattr(tensor, field, value)
    return tensor


def _node(
    made: onnx.ModelProto, name: str, op_type: str, inputs: list[str], outputs: list[str], **attributes: Any
) -> None:
    """Another node in place of the one of this name."""
    place = next(number for number, node in enumerate(made.graph.node) if node.name == name)
    made.graph.node[place].CopyFrom(make_node(op_type, inputs, outputs, name=name, **attributes))


def versions() -> Iterator[Malformed]:
    """What the file says of the versions that it is written in."""
    yield _case("file format of the future", "file format 999", lambda m: setattr(m, "ir_version", 999))
    yield _case(
        "negative file format",
        "file format -1",
        lambda m: setattr(m, "ir_version", -1),
        taken="it reads any below its own",
    )
    yield _case("no operator-set version", "no operator-set version", lambda m: m.ClearField("opset_import"))
    yield _case("opset 9999", "version 9999 of the operators", lambda m: setattr(m.opset_import[0], "version", 9999))
    yield _case("opset 0", "version 0 of the operators", lambda m: setattr(m.opset_import[0], "version", 0))
    yield _case("opset below 0", "version -1 of the operators", lambda m: setattr(m.opset_import[0], "version", -1))
    yield _case("opset 2^40", "of the operators", lambda m: setattr(m.opset_import[0], "version", 1 << 40))
    yield _case(
        "two opsets",
        "two versions of the operators",
        lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 13)),
        taken="it takes the last one",
    )
    yield _case(
        "domain without a version",
        ("node 'relu'", "'com.example'", "opset_import"),
        lambda m: setattr(m.graph.node[2], "domain", "com.example"),
    )
    yield _case("no graph", "holds no graph", lambda m: m.ClearField("graph"))


def weights() -> Iterator[Malformed]:
    """Weights whose content is not what their type and shape ask for."""
    floats: dict[str, object] = {"float_data": [1.0] * 12}
    yield _case("weight without data", ("weight 'w'", "no content"), lambda m: _weight(m))
    yield _case("short float_data", ("weight 'w'", "fewer numbers"), lambda m: _weight(m, float_data=[1.0] * 11))
    yield _case("long float_data", ("weight 'w'", "more numbers"), lambda m: _weight(m, float_data=[1.0] * 13))
    yield _case("short raw_data", ("weight 'w'", "fewer bytes"), lambda m: _weight(m, raw_data=bytes(44)))
    yield _case("long raw_data", ("weight 'w'", "more bytes"), lambda m: _weight(m, raw_data=bytes(52)))
    yield _case("unknown element type", ("weight 'w'", "999"), lambda m: _weight(m, data_type=999, **floats))
    yield _case("no element type", ("weight 'w'", "element type 0"), lambda m: _weight(m, data_type=0, **floats))
    yield _case("negative dimension", ("weight 'w'", "negative"), lambda m: _weight(m, dims=[-3, 4], **floats))
    yield _case("two negative dimensions", ("weight 'w'", "negative"), lambda m: _weight(m, dims=[-3, -4], **floats))
    yield _case("dimension of 2^62", ("weight 'w'", "elements"), lambda m: _weight(m, dims=[1 << 62, 4], **floats))
    yield _case(
        "content twice",
        ("weight 'w'", "twice"),
        lambda m: _weight(m, raw_data=bytes(48), **floats),
        taken="it takes the raw bytes",
    )
    yield _case("content in the wrong field", ("weight 'w'", "float_data"), lambda m: _weight(m, int64_data=[1] * 12))
    yield _case(
        "texts in raw_data",
        ("weight 'w'", "texts"),
        lambda m: _weight(m, data_type=TensorProto.STRING, raw_data=bytes(12)),
    )
    yield _case(
        "content of no elements",
        ("weight 'w'", "more"),
        lambda m: _weight(m, dims=[0, 4], **floats),
    )
    yield _case(
        "external data without a file",
        ("weight 'w'", "none is named"),
        lambda m: _weight(m, data_location=TensorProto.EXTERNAL),
    )
    yield _case(
        "segments",
        ("weight 'w'", "segments"),
        lambda m: _weight(m, **floats).segment.CopyFrom(TensorProto.Segment(begin=0, end=1)),
        taken="it reads no segments, and does not mind them",
    )
    yield _case(
        "weight without a name", "weight number 1 has no name", lambda m: setattr(m.graph.initializer[0], "name", "")
    )
    yield _case(
        "weight twice",
        ("weight 'w'", "twice"),
        lambda m: m.graph.initializer.append(array("w", np.ones((3, 4)))),
        taken="it takes the last one, and warns",
    )
    yield _case(
        "weight of the name of a result",
        ("'product'", "'h'"),
        lambda m: m.graph.initializer.append(array("h", np.ones((2, 4)))),
    )
    yield _case(
        "input of another type than its weight",
        ("'w'", "INT64"),
        lambda m: m.graph.input.append(info("w", (3, 4), TensorProto.INT64)),
    )
    yield _made(
        "constant without data",
        ("node 'held'", "no content"),
        model(
            [
                make_node("Constant", [], ["c"], name="held", value=TensorProto(data_type=1, dims=[2, 3])),
                make_node("Add", ["x", "c"], ["y"]),
            ]
        ),
    )


def sparse_weights() -> Iterator[Malformed]:
    """Sparse weights with values where there is no place for them."""

    def places(content: object) -> Change:
        return lambda m: m.graph.sparse_initializer[0].indices.CopyFrom(array("places", content, np.int64))

    def case(name: str, words: str, change: Change, taken: str = "") -> Malformed:
        return _case(name, ("sparse weight 's'", words), change, with_sparse, taken=taken)

    yield case("negative index", "outside", places([-1, 5]))
    yield case("index behind the end", "outside", places([1, 6]))
    yield case("pair behind the end", "outside", places([[0, 1], [2, 0]]))
    yield case("negative pair", "outside", places([[0, -1], [1, 0]]))
    yield case("descending indices", "ascend", places([5, 1]), "it writes them in any order")
    yield case("an index twice", "ascend", places([1, 1]), "the last one wins there")
    yield case("fewer indices than values", "2 values", places([1]))
    yield case("indices of three numbers", "2 values", places([[0, 0, 1], [0, 1, 1]]))
    yield case(
        "indices that are no integers",
        "INT64",
        lambda m: m.graph.sparse_initializer[0].indices.CopyFrom(array("places", [1, 5])),
    )
    yield case(
        "values in two dimensions",
        "dimensions",
        lambda m: m.graph.sparse_initializer[0].values.CopyFrom(array("s", [[5, 7]])),
    )
    yield case("sparse shape below 0", "negative", lambda m: m.graph.sparse_initializer[0].dims.__setitem__(0, -2))

    def huge(made: onnx.ModelProto) -> None:
        made.graph.sparse_initializer[0].dims[:] = [1 << 20, 1 << 18]
        made.graph.input[0].CopyFrom(info("x", (1, 1 << 18)))

    yield _case("sparse weight of a terabyte", "sparse weights of", huge, with_sparse)
    yield case(
        "sparse weight of 2^62", "more elements", lambda m: m.graph.sparse_initializer[0].dims.__setitem__(0, 1 << 62)
    )


def names() -> Iterator[Malformed]:
    """Values without a name, made twice, or by nobody."""
    yield _case("input twice", "input 'x' is there twice", lambda m: m.graph.input.append(info("x")))
    yield _case("result twice", ("'sum'", "'h'"), lambda m: _node(m, "sum", "Add", ["h", "b"], ["h"]))
    yield _case("result of the name of an input", ("'sum'", "'x'"), lambda m: _node(m, "sum", "Add", ["h", "b"], ["x"]))
    yield _case("dangling input", ("'relu'", "'z'"), lambda m: _node(m, "relu", "Relu", ["z"], ["y"]))
    yield _case("output that nothing makes", "output 'z'", lambda m: m.graph.output.append(info("z", (2, 4))))
    yield _case(
        "input without a name",
        "input number 2 has no name",
        lambda m: m.graph.input.append(info("")),
        taken="it leaves the input out",
    )
    yield _case(
        "output without a name", "output number 2 has no name", lambda m: m.graph.output.append(info("", (2, 4)))
    )
    yield _case("node without an operator", ("'relu'", "operator"), lambda m: setattr(m.graph.node[2], "op_type", ""))
    yield _case("cycle", "not sound", lambda m: _node(m, "product", "MatMul", ["s", "w"], ["h"]))
    yield _case("node that reads itself", "not sound", lambda m: _node(m, "sum", "Add", ["s", "b"], ["s"]))
    yield _case(
        "node without ends",
        "zero input and zero output",
        lambda m: m.graph.node.append(make_node("Relu", [], [], name="n")),
        taken="it leaves the node out",
    )
    raw = sound().SerializeToString()
    yield Malformed(
        name="name that is no text",
        model=raw.replace(b"relu", b"\xff\xfe\xfdu"),
        words=("no text",),
        taken="to it names are bytes",
    )


def operators() -> Iterator[Malformed]:
    """Nodes that are not what their operator allows."""
    yield _case("too few inputs", ("'sum'", "input size 1"), lambda m: _node(m, "sum", "Add", ["h"], ["s"]))
    yield _case("too many inputs", ("'sum'", "input size 3"), lambda m: _node(m, "sum", "Add", ["h", "b", "b"], ["s"]))
    yield _case("too many outputs", ("'relu'", "output size 2"), lambda m: _node(m, "relu", "Relu", ["s"], ["y", "z"]))
    yield _case(
        "required input left out", ("'sum'", "empty string"), lambda m: _node(m, "sum", "Add", ["", "b"], ["s"])
    )
    yield _case("unknown attribute", ("'relu'", "slope"), lambda m: _node(m, "relu", "Relu", ["s"], ["y"], slope=0.1))
    yield _case(
        "attribute of another type",
        ("'relu'", "alpha"),
        lambda m: _node(m, "relu", "LeakyRelu", ["s"], ["y"], alpha="high"),
    )
    yield _case("attribute that is lacking", ("'relu'", "to"), lambda m: _node(m, "relu", "Cast", ["s"], ["y"]))

    def twice(made: onnx.ModelProto) -> None:
        _node(made, "relu", "LeakyRelu", ["s"], ["y"], alpha=0.1)
        made.graph.node[2].attribute.append(helper.make_attribute("alpha", 0.2))

    def mixed(made: onnx.ModelProto) -> None:
        _node(made, "relu", "LeakyRelu", ["s"], ["y"], alpha=0.1)
        made.graph.node[2].attribute[0].ints.extend([1, 2])

    def refers(made: onnx.ModelProto) -> None:
        _node(made, "relu", "LeakyRelu", ["s"], ["y"])
        reference = AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope")
        made.graph.node[2].attribute.append(reference)

    def unnamed(made: onnx.ModelProto) -> None:
        made.graph.node[2].attribute.append(AttributeProto(type=AttributeProto.FLOAT, f=1.0))

    yield _case("attribute twice", ("'relu'", "alpha"), twice)
    yield _case("attribute of two types", ("'relu'", "alpha"), mixed)
    yield _case(
        "reference to an attribute of no function",
        ("'relu'", "'slope'"),
        refers,
        taken="it computes with the operator's default",
    )
    yield _case("attribute without a name", ("'relu'", "name"), unnamed)
    yield _made(
        "deprecated operator",
        ("'old'", "deprecated"),
        model([make_node("Upsample", ["x", "s"], ["y"], name="old")], weights=[array("s", [1, 2])]),
    )


def types() -> Iterator[Malformed]:
    """Element types and shapes that contradict each other."""
    yield _case(
        "output of another type",
        ("'relu'", "INT64"),
        lambda m: m.graph.output[0].CopyFrom(info("y", (2, 4), TensorProto.INT64)),
    )
    yield _case(
        "value of another type",
        ("'product'", "DOUBLE"),
        lambda m: m.graph.value_info.append(info("h", (2, 4), TensorProto.DOUBLE)),
    )
    yield _case(
        "sum of two types",
        ("'sum'", "type"),
        lambda m: m.graph.initializer[1].CopyFrom(array("b", np.zeros(4), np.int64)),
    )
    yield _case("operator that lacks the type", ("'relu'", "type"), lambda m: _node(m, "relu", "Not", ["s"], ["y"]))
    yield _case(
        "cast to a type that is none",
        ("'relu'", "valid type"),
        lambda m: _node(m, "relu", "Cast", ["s"], ["y"], to=999),
    )
    yield _case(
        "factors that do not fit",
        ("'product'", "ncompatible"),
        lambda m: m.graph.initializer[0].CopyFrom(array("w", np.ones((5, 4)))),
    )
    yield _case("input without a type", "input 'x' has no element type", lambda m: m.graph.input[0].ClearField("type"))
    yield _case(
        "input of an unknown type",
        ("'x'", "999"),
        lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 999),
    )
    half = [info("x", (1, 3, 8, 8), TensorProto.BFLOAT16)]
    kernel = helper.make_tensor("w", TensorProto.BFLOAT16, [2, 3, 3, 3], [0.5] * 54)
    yield _made(
        "convolution of bfloat16 in opset 21",
        ("'conv'", "bfloat16"),
        model(
            [make_node("Conv", ["x", "w"], ["y"], name="conv")], half, [info("y", None, TensorProto.BFLOAT16)], [kernel]
        ),
    )
    yield _made(
        "convolution of integers",
        ("'conv'", "type"),
        model(
            [make_node("Conv", ["x", "x"], ["y"], name="conv")],
            [info("x", (1, 1, 4, 4), TensorProto.INT32)],
            [info("y", None, TensorProto.INT32)],
            opset=11,
        ),
    )


def nested_graphs() -> Iterator[Malformed]:
    """Faults inside of branches and loops."""

    def branch(made: onnx.ModelProto) -> onnx.GraphProto:
        found: onnx.GraphProto = next(each.g for each in made.graph.node[0].attribute if each.name == "then_branch")
        return found

    def body(made: onnx.ModelProto) -> onnx.GraphProto:
        found: onnx.GraphProto = made.graph.node[0].attribute[0].g
        return found

    def inside(made: onnx.ModelProto, op_type: str, inputs: list[str]) -> None:
        branch(made).node[0].CopyFrom(make_node(op_type, inputs, ["t"], name="inner"))

    def hollow(made: onnx.ModelProto) -> None:
        branch(made).initializer.append(TensorProto(name="k", data_type=1, dims=[2, 3]))

    yield _case("dangling input in a branch", ("'inner'", "'z'"), lambda m: inside(m, "Add", ["x", "z"]), with_branches)
    yield _case("wrong arity in a branch", ("'inner'", "input size"), lambda m: inside(m, "Add", ["x"]), with_branches)
    yield _case("weight without data in a branch", ("'k'", "no content"), hollow, with_branches)
    yield _case(
        "branch that returns a value from around it",
        ("'x'", "Identity"),
        lambda m: branch(m).output[0].CopyFrom(info("x")),
        with_branches,
    )
    yield _case(
        "branch whose output nothing makes", "'z'", lambda m: branch(m).output[0].CopyFrom(info("z")), with_branches
    )
    yield _case("branches of different counts", "'branch'", lambda m: branch(m).output.append(info("t")), with_branches)
    yield _case("if without else", ("'branch'", "is missing"), lambda m: m.graph.node[0].attribute.pop(), with_branches)
    yield _case("body with an input too few", "'loop'", lambda m: body(m).input.pop(0), with_loop)
    yield _case("body with an output too few", "'loop'", lambda m: body(m).output.pop(), with_loop)
    yield _case(
        "result twice in a body",
        "'next'",
        lambda m: body(m).node.append(make_node("Neg", ["state"], ["next"])),
        with_loop,
    )
    yield _case(
        "cycle in a body",
        "not sound",
        lambda m: body(m).node[0].CopyFrom(make_node("Add", ["state", "next"], ["next"])),
        with_loop,
    )


def functions() -> Iterator[Malformed]:
    """Functions that are not sound, and calls of them."""

    def calls(made: onnx.ModelProto, callee: str) -> None:
        function = made.functions[0]
        function.opset_import.append(helper.make_opsetid("own", 1))
        function.node[1].CopyFrom(make_node(callee, ["l", "b"], ["r"], domain="own", alpha=1.0))

    def both(made: onnx.ModelProto) -> None:
        calls(made, "Other")
        other = made.functions.add()
        other.CopyFrom(made.functions[0])
        other.name = "Other"
        other.node[1].op_type = "Scaled"

    def case(name: str, words: str | tuple[str, ...], change: Change, taken: str = "") -> Malformed:
        return _case(name, words, change, with_function, taken=taken)

    yield case("function that calls itself", ("'own.Scaled'", "call themselves"), lambda m: calls(m, "Scaled"))
    yield case("functions that call each other", ("'own.Other'", "call themselves"), both)
    yield case("call with too many inputs", ("'call'", "2 inputs"), lambda m: m.graph.node[0].input.append("x"))
    yield case("call with too many outputs", ("'call'", "1 outputs"), lambda m: m.graph.node[0].output.append("z"))
    yield case("function twice", "twice", lambda m: m.functions.add().CopyFrom(m.functions[0]))
    yield case("function without a name", "without a name", lambda m: setattr(m.functions[0], "name", ""))
    yield case(
        "dangling input in a function",
        ("'own.Scaled'", "'inner'", "'z'"),
        lambda m: m.functions[0].node[1].input.__setitem__(1, "z"),
    )
    yield case(
        "function whose output nothing makes",
        ("'own.Scaled'", "'z'"),
        lambda m: m.functions[0].output.__setitem__(0, "z"),
    )
    yield case(
        "wrong arity in a function",
        ("'own.Scaled'", "'inner'", "input size"),
        lambda m: m.functions[0].node[1].input.pop(),
    )
    yield case(
        "reference to an attribute that the function lacks",
        ("'leaky'", "'alpha'"),
        lambda m: m.functions[0].ClearField("attribute"),
        taken="it computes with the operator's default",
    )
    yield _made(
        "functions that become 10^9 nodes",
        "once they are written out",
        bomb(9),
        harmful=True,
    )
    yield _made("101 functions in a row", "in a row", bomb(101, width=1), taken="its own bound is another")


def sizes() -> Iterator[Malformed]:
    """Shapes that no machine holds."""
    asks = "nothing of that size is made before it runs"
    for name, shape in {"10^12": (10**12, 3), "2^62": (1 << 62,), "2^62 by 2^62": (1 << 62, 1 << 62)}.items():
        made = model([make_node("Relu", ["x"], ["y"])], inputs=[info("x", shape)])
        yield _made(f"input of {name}", "input 'x' has the shape", made, taken=asks)
    yield _made(
        "input of 65 dimensions",
        "65 dimensions",
        model([make_node("Relu", ["x"], ["y"])], [info("x", (1,) * 65)]),
        taken=asks,
    )
    yield _made("constant of 10^13", "'fill'", filled([10**13]), taken=asks)
    yield _made("constant of 2^62 by 2^62", "'fill'", filled([1 << 62, 1 << 62]), taken=asks)
    yield _made("constant of a negative size", "'fill'", filled([-5, 2]))
    grown = model(
        [make_node("Expand", ["x", "s"], ["e"], name="grow"), make_node("Relu", ["e"], ["y"])],
        weights=[array("s", [1 << 40, 2, 3], np.int64)],
    )
    yield _made("expansion to 2^40", "'grow'", grown, taken=asks)
    yield _made("graphs 31 deep", "deep", nested(31), taken="its own bound is that of protobuf")


MALFORMED = (
    *versions(),
    *weights(),
    *sparse_weights(),
    *names(),
    *operators(),
    *types(),
    *nested_graphs(),
    *functions(),
    *sizes(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excepted:
    """A model that ONNX Runtime refuses, and that is taken here.

    Attributes:
        name: What ONNX Runtime minds.
        model: The file.
        reason: Why it is taken.
    """

    name: str
    model: bytes
    reason: str


def _excepted() -> Iterator[Excepted]:
    alike = sound()
    for node in alike.graph.node:
        node.name = "same"
    yield Excepted(
        name="nodes of one name",
        model=alike.SerializeToString(),
        reason="names of nodes only label them: each gets an id of its own before any engine sees it",
    )
    unknown = model([make_node("Mystery", ["x"], ["y"], domain="com.example")], domains=("com.example",))
    yield Excepted(
        name="operator of an unknown domain",
        model=unknown.SerializeToString(),
        reason="a library of custom operators may bring it; without one, no engine takes the node",
    )


EXCEPTED = tuple(_excepted())
