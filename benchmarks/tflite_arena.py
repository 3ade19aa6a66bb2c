"""The arena that TensorFlow Lite for Microcontrollers asks for on a network, as the package tflite-micro reports it.

The network is the one that `c` computes, written as an int8 ``.tflite`` with int8 input and output, by this file again
in the Python that has the package. What it computes is held against the reference, so that the arena is that of the
same network.

The head of the arena holds activations and buffers that kernels share: it may be compared with a workspace. The tail
holds structures of the interpreter, which are larger on this machine, of 64 bits, than on a microcontroller; nothing of
ours corresponds to them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from intarsia.backends.lowering.program import Instruction, Program
    from intarsia.graph import Graph

MOST_STEPS = 255 // 20
"""How far an answer may be from the reference's: kernels round twice, and what that makes adds up over the layers."""
_ANY_SCALE = 0.02
"""Of a value of which nothing says the scale; that of the weights makes up for it."""
_HEAD = re.compile(r"Arena allocation head (\d+) bytes")
_TOTAL = re.compile(r"Arena allocation total (\d+) bytes")
_TIMEOUT_S = 600
Json = dict[str, Any]


class _NotWrittenError(Exception):
    """What a .tflite has no form for."""


def measure(graph: Graph, folder: Path, python: str | None, feeds: Mapping[str, np.ndarray]) -> Json:
    """Bytes of the arena's head and of all of it, or why there are none.

    Args:
        graph: A quantised network of one input and one output.
        folder: For files.
        python: The path of a Python that has the package.
        feeds: The network's inputs.
    """
    from intarsia.backends.c.network import prepared_of
    from intarsia.graph import extract
    from intarsia.graph.reference.reference import evaluate

    if python is None:
        return {"absent": "no Python with the package tflite-micro was named"}
    program, known = prepared_of(extract(graph, (node.id for node in graph.nodes)))
    try:
        writer = _Writer(program, known)
        network = writer.network()
    except _NotWrittenError as error:
        return {"absent": f"a .tflite has no form for {error}"}
    asked = folder / "network.json"
    np.savez(folder / "weights.npz", allow_pickle=False, **writer.arrays)
    np.save(folder / "input.npy", writer.quantised(next(iter(feeds.values()))))
    asked.write_text(json.dumps(network), encoding="utf-8")
    done = subprocess.run(
        [python, __file__, str(folder)], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    text = done.stdout + done.stderr
    head, total = _HEAD.search(text), _TOTAL.search(text)
    if done.returncode or head is None or total is None:
        lines = text.strip().splitlines()
        return {"absent": f"tflite-micro failed: {lines[-1] if lines else done.returncode}"}
    found = (np.load(folder / "output.npy").astype(np.float64) - writer.zero) * writer.scale
    right = next(iter(evaluate(graph, feeds).values()))
    steps = float(np.abs(found.reshape(-1) - right.reshape(-1)).max() / writer.scale)
    if steps > MOST_STEPS:
        return {"absent": f"the .tflite computes something else: it is {steps:.1f} steps from the reference"}
    return {"head_bytes": int(head[1]), "total_bytes": int(total[1]), "version": _version(text)}


def _version(text: str) -> str:
    found = re.search(r"tflite-micro version (\S+)", text)
    return found[1] if found else ""


class _Writer:
    """A prepared program as tensors and operators of a .tflite, as JSON, and arrays of its constants."""

    def __init__(self, program: Program, known: Mapping[int, np.ndarray]) -> None:
        self._program = program
        self._known = known
        self.arrays: dict[str, np.ndarray] = {}
        self._tensors: list[Json] = []
        self._operators: list[Json] = []
        self._of: dict[int, int] = {}
        self._input: Instruction | None = None
        self._scales = _scales(program)

    def network(self) -> Json:
        """All of it.

        Raises:
            _NotWrittenError: There is no operator for an instruction.
        """
        for place, each in enumerate(self._program.instructions):
            if each.name in ("input", "weight", "constant"):
                continue
            reads = [self._of.get(number, -1) for number in each.reads]
            make = getattr(self, f"_{each.name}", None)
            if make is None:
                raise _NotWrittenError(each.name)
            made = make(place, each, reads)
            if made is not None:
                self._of[place] = made
        return {"tensors": self._tensors, "operators": self._operators, "input": 0, "output": self._last}

    def quantised(self, array: np.ndarray) -> np.ndarray:
        """The network's input in its steps, as it lies in memory."""
        assert self._input is not None
        told = self._input.attributes
        codes: np.ndarray = np.clip(np.rint(array / np.float32(told["scale"])) + told["zero"], -128, 127).astype(
            np.int8
        )
        return codes.transpose(told["order"]) if "order" in told else codes

    def _quantize(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        if self._input is not None:
            raise _NotWrittenError("a second quantiser")
        self._input = each
        return self._value(place, each.attributes["zero"])

    def _dequantize(self, place: int, each: Instruction, reads: Sequence[int]) -> None:
        self._last, self.scale, self.zero = reads[0], each.attributes["scale"], each.attributes["zero"]

    def _reshape(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        made = self._value(place, self._tensors[reads[0]]["zero"], self._tensors[reads[0]]["scale"])
        shape = self._constant(np.array(each.shape, np.int32))
        return self._operator("RESHAPE", [reads[0], shape], made, "ReshapeOptions", newShape=list(each.shape))

    def _q_conv_last(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        told, w = each.attributes, self._known[each.reads[1]]
        x = self._tensors[reads[0]]
        if len(each.shape) != 4 or any(step != 1 for step in told["dilations"]):
            raise _NotWrittenError("a convolution that is not over two axes, or with dilations")
        is_deep = told["groups"] > 1
        if is_deep and told["groups"] != x["shape"][3]:
            raise _NotWrittenError("a convolution in groups")
        kernel = w.shape[1:3]
        if is_deep:
            w = w.reshape(w.shape[0], *kernel).transpose(1, 2, 0)[None]
        made = self._value(place, told["y_zero"])
        own = [reads[0], *self._layer(each, w, self._known[each.reads[2]], 3 if is_deep else 0, reads[0], made)]
        options: Json = {"padding": _padding(x["shape"][1:3], kernel, told), "strideH": told["strides"][0]}
        options |= {"strideW": told["strides"][1], "fusedActivationFunction": 0}
        if is_deep:
            options["depthMultiplier"] = w.shape[3] // x["shape"][3]
            return self._operator("DEPTHWISE_CONV_2D", own, made, "DepthwiseConv2DOptions", **options)
        return self._operator("CONV_2D", own, made, "Conv2DOptions", **options)

    def _q_dense(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        made = self._value(place, each.attributes["y_zero"])
        w, bias = self._known[each.reads[1]], self._known[each.reads[2]]
        return self._operator(
            "FULLY_CONNECTED", [reads[0], *self._layer(each, w, bias, 0, reads[0], made)], made, "FullyConnectedOptions"
        )

    def _layer(
        self, each: Instruction, w: np.ndarray, bias: np.ndarray, axis: int, x: int, made: int
    ) -> tuple[int, int]:
        """Weights and bias, with the scales that the multipliers say."""
        told = each.attributes
        factors = np.array(told["multipliers"], np.float64) / 2.0 ** np.array(told["shifts"])
        scales = factors * self._tensors[made]["scale"] / self._tensors[x]["scale"]
        if scales.size == 1:
            scales = np.repeat(scales, bias.size)
        return (
            self._constant(w, scale=scales.tolist(), axis=axis),
            self._constant(bias, scale=(scales * self._tensors[x]["scale"]).tolist(), axis=0),
        )

    def _q_add(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        return self._operator("ADD", reads, self._value(place, each.attributes["y_zero"]), "AddOptions")

    def _q_pool_avg_last(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        told = each.attributes
        if told["x_scale"] != told["y_scale"] or any((*told["before"], *told["after"])):
            raise _NotWrittenError("an average in another scale, or with padding")
        options = {"padding": 1, "strideH": told["strides"][0], "strideW": told["strides"][1]}
        options |= {"filterHeight": told["kernel"][0], "filterWidth": told["kernel"][1]}
        return self._operator("AVERAGE_POOL_2D", reads, self._value(place, told["y_zero"]), "Pool2DOptions", **options)

    def _q_softmax(self, place: int, each: Instruction, reads: Sequence[int]) -> int:
        # The one scale that its kernel takes; a share of 1 / 255 is a step off at most.
        made = self._value(place, each.attributes["y_zero"], 1.0 / 256.0)
        return self._operator("SOFTMAX", reads, made, "SoftmaxOptions", beta=1.0)

    def _value(self, place: int, zero: int, scale: float | None = None) -> int:
        shape = list(self._program.instructions[place].shape)
        own = self._scales.get(place, _ANY_SCALE) if scale is None else scale
        return self._tensor({"shape": shape, "dtype": "INT8", "scale": own, "zero": zero})

    def _constant(self, array: np.ndarray, **facts: Any) -> int:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.ascontiguousarray(array)
        return self._tensor(
            {"shape": list(array.shape), "dtype": array.dtype.name.upper(), "array": name, "zero": 0, **facts}
        )

    def _tensor(self, facts: Json) -> int:
        self._tensors.append(facts)
        return len(self._tensors) - 1

    def _operator(self, name: str, reads: Sequence[int], made: int, table: str, **options: Any) -> int:
        self._operators.append(
            {"name": name, "inputs": list(reads), "outputs": [made], "table": table, "options": options}
        )
        return made


def _scales(program: Program) -> dict[int, float]:
    """Of each value of which something says it."""
    found: dict[int, float] = {}
    for place, each in enumerate(program.instructions):
        told = each.attributes
        for slot, name in enumerate(("a_scale", "b_scale") if "a_scale" in told else ("x_scale",)):
            if name in told:
                found[each.reads[slot]] = told[name]
        if "y_scale" in told:
            found[place] = told["y_scale"]
        if each.name in ("quantize", "dequantize"):
            found[place if each.name == "quantize" else each.reads[0]] = told["scale"]
    for place, each in enumerate(program.instructions):
        if each.name == "reshape" and place in found:
            found[each.reads[0]] = found[place]
    return found


def _padding(sizes: Sequence[int], kernel: Sequence[int], told: Mapping[str, Any]) -> int:
    """0 for what TensorFlow calls SAME, 1 for VALID."""
    given = list(zip(told["before"], told["after"], strict=True))
    if not any(map(any, given)):
        return 1
    for size, k, step, pads in zip(sizes, kernel, told["strides"], given, strict=True):
        total = max((-(-size // step) - 1) * step + k - size, 0)
        if pads != (total // 2, total - total // 2):
            raise _NotWrittenError(f"padding of {pads}")
    return 0


def _written(network: Json, arrays: Mapping[str, np.ndarray]) -> bytes:
    """The file; runs in the Python that has the package."""
    import flatbuffers
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema  # type: ignore[import-not-found]

    buffers, tensors = [schema.BufferT()], []
    for each in network["tensors"]:
        place = 0
        if "array" in each:
            place = len(buffers)
            buffers.append(schema.BufferT())
            buffers[-1].data = np.frombuffer(arrays[each["array"]].tobytes(), np.uint8)
        tensor = schema.TensorT()
        tensor.shape, tensor.buffer = each["shape"], place
        tensor.type = getattr(schema.TensorType, each["dtype"])
        if "scale" in each:
            scales = each["scale"] if isinstance(each["scale"], list) else [each["scale"]]
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = scales
            tensor.quantization.zeroPoint = [each["zero"]] * len(scales)
            tensor.quantization.quantizedDimension = each.get("axis", 0)
        tensors.append(tensor)
    names = list(dict.fromkeys(each["name"] for each in network["operators"]))
    operators = []
    for each in network["operators"]:
        operator = schema.OperatorT()
        operator.opcodeIndex = names.index(each["name"])
        operator.inputs, operator.outputs = each["inputs"], each["outputs"]
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, each["table"])
        operator.builtinOptions = getattr(schema, f"{each['table']}T")()
        for name, value in each["options"].items():
            setattr(operator.builtinOptions, name, value)
        operators.append(operator)
    graph = schema.SubGraphT()
    graph.tensors, graph.operators = tensors, operators
    graph.inputs, graph.outputs = [network["input"]], [network["output"]]
    model = schema.ModelT()
    model.version, model.subgraphs, model.buffers = 3, [graph], buffers
    model.operatorCodes = []
    for name in names:
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 3
        model.operatorCodes.append(code)
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _run(folder: Path) -> None:
    """Write the file, run it, and print what its interpreter allocated; in the Python that has the package."""
    from importlib.metadata import version

    from tflite_micro.python.tflite_micro import runtime  # type: ignore[import-not-found]

    with np.load(folder / "weights.npz") as arrays:
        content = _written(json.loads((folder / "network.json").read_text(encoding="utf-8")), dict(arrays))
    (folder / "network.tflite").write_bytes(content)
    interpreter = runtime.Interpreter.from_bytes(
        content, intrepreter_config=runtime.InterpreterConfig.kAllocationRecording
    )
    interpreter.set_input(np.load(folder / "input.npy"), 0)
    interpreter.invoke()
    np.save(folder / "output.npy", interpreter.get_output(0))
    interpreter.print_allocations()
    print(f"tflite-micro version {version('tflite-micro')}")


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
