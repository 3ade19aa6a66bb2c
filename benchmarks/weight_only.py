"""Weights in few bits: a decoder compiled with an allowed error, against the best engine in fp32 and against ONNX
Runtime's own quantiser of weights at no larger an error.

``python -m benchmarks.weight_only [NETWORK …] [--missing]`` adds figures to ``benchmarks/results/weight_only.json``.
ONNX Runtime's quantiser (`onnxruntime.quantization.matmul_nbits_quantizer`) puts all products into 8 or 4 bits, in
blocks of 32; what it makes takes part where its error on 32 inputs is no larger than the one allowed. It knows MatMul
alone, so it is given each Gemm as MatMul and Add. OpenVINO's (NNCF) takes part where it is installed, and the figures
say where not. Wants a quiet machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import intarsia
import networks
from benchmarks import competitors, results_file
from benchmarks.paired_benchmark import Contender, Effort, race
from intarsia.runtime import thread_budget
from intarsia.runtime.verify import distance

RESULTS = Path(__file__).parent / "results" / "weight_only.json"
NETWORKS = ("gpt2_decode", "wide_decode")
ALLOWED = (0.05, 0.01)
INPUTS = 32
FIRST_SEED = 500
BUDGET_S = 120.0
EFFORT = Effort(sets=3, rounds=10, seconds=8.0, more_sets=4, half_width=0.03)
WAYS = ((8, 4), (4, 4), (4, 0))
"""Bits and accuracy level of ONNX Runtime's quantiser: in 8 bits, levels below 4 are slower than fp32."""
BLOCK = 32
Answers = Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]
Json = dict[str, Any]


def measure(model: Path, budget_s: float, folder: Path, inputs: int = INPUTS, effort: Effort = EFFORT) -> Json:
    """Compile a model with each allowed error, and race what ships.

    Raises:
        IntarsiaError: It cannot be compiled.
        RuntimeError: A contender of the race died.
    """
    feeds = competitors.save_feeds(model, folder)
    exact = competitors.look(list(competitors.onnx_readers(model)), feeds, folder).racing()
    cases = [networks.feeds(model, FIRST_SEED + number) for number in range(inputs)]
    expected = [_session(model)(case) for case in cases]
    quantised = {}
    for contender in quantisers(model, folder):
        quantised[contender.name] = (contender, _worst(_session(contender.model), cases, expected))
    names = [value.name for value in onnx.load(model, load_external_data=False).graph.output]
    found = {}
    for allowed in ALLOWED:
        with intarsia.compile(model, max_error=allowed, budget=budget_s, store=folder / "store.sqlite") as compiled:
            report = compiled.report
            artifact = compiled.save(folder / "few.intarsia")
            error = _worst(partial(_answers, compiled, names), cases, expected)
        others = [*exact, *(contender for contender, own in quantised.values() if own <= allowed)]
        product = Contender(name=competitors.PRODUCT, kind="intarsia", model=artifact)
        leaving = [contender.name for contender in others]
        result = race([product, *others], feeds, thread_budget(), effort=effort, may_leave=leaving)
        found[str(allowed)] = {
            **competitors.figures(result),
            "times_as_fast_as": {
                name: competitors.interval(result.ratio(name, competitors.PRODUCT)) for name in leaving
            },
            "worst_error": error,
            "chosen": report["chosen"],
            "reason": report["reason"],
            "layers": [_layers(part["precision"]) for part in report["partitions"]],
            "artifact_bytes": artifact.stat().st_size,
            "planning_s": report["search"]["seconds"],
        }
    return {
        "allowed": found,
        "quantiser_errors": {name: error for name, (_, error) in quantised.items()},
        "model_bytes": sum(path.stat().st_size for path in model.parent.glob(f"{model.name}*")),
        "inputs": inputs,
        "nncf": "not measured" if util.find_spec("nncf") else "not installed",
        "void": any(each["void"] for each in found.values()),
    }


def quantisers(model: Path, folder: Path) -> Iterator[Contender]:
    """What ONNX Runtime's quantiser of weights makes of the model, in each way."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    for bits, level in WAYS:
        plain = with_products(onnx.load(model))
        made = MatMulNBitsQuantizer(plain, bits=bits, block_size=BLOCK, is_symmetric=True, accuracy_level=level)
        made.process()
        path = folder / f"int{bits}-level{level}.onnx"
        onnx.save(made.model.model, path, save_as_external_data=True, location=f"{path.name}.data")
        name = f"onnxruntime-int{bits}-level{level}"
        yield Contender(name=name, kind="onnxruntime", model=path, options={"level": "all", "spin": True})


def with_products(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with each plain Gemm of a constant weight as MatMul and Add."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        is_plain = given.get("alpha", 1.0) == given.get("beta", 1.0) == 1.0 and not given.get("transA", 0)
        if node.op_type != "Gemm" or not is_plain or node.input[1] not in weights:
            nodes.append(node)
            continue
        factor = node.input[1]
        if given.get("transB", 0):
            factor = f"{factor}/transposed"
            if factor not in weights:
                turned = numpy_helper.to_array(weights[node.input[1]]).T
                weights[factor] = numpy_helper.from_array(np.ascontiguousarray(turned), factor)
        (output,) = node.output
        product = f"{output}/product" if len(node.input) > 2 else output
        nodes.append(helper.make_node("MatMul", [node.input[0], factor], [product], name=f"{node.name}/product"))
        if len(node.input) > 2:
            nodes.append(helper.make_node("Add", [product, node.input[2]], [output], name=f"{node.name}/bias"))
    read = {name for node in nodes for name in node.input}
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(tensor for name, tensor in weights.items() if name in read)
    return model


def _session(model: Path) -> Answers:
    """ONNX Runtime at its default settings."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = thread_budget()
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda feeds: list(session.run(None, dict(feeds)))


def _answers(model: intarsia.CompiledModel, names: Sequence[str], feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Its outputs in this order."""
    found = model(feeds)
    return [found[name] for name in names]


def _worst(answers: Answers, cases: list[dict[str, np.ndarray]], expected: list[list[np.ndarray]]) -> float:
    """The error of the worst output on the worst input."""
    several = zip(map(answers, cases), expected, strict=True)
    return max(distance(y, r) for found, wanted in several for y, r in zip(found, wanted, strict=True))


def _layers(precision: Mapping[str, Any] | None) -> dict[str, int]:
    """How many nodes have each scheme."""
    return {name: len(nodes) for name, nodes in (precision or {}).items() if name != "ranges"}


def table(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Against the best engine in fp32, and the fastest quantiser whose error is no larger than the one allowed."""
    yield ("network", "allowed", "Intarsia, ms", "x best engine in fp32", "x ORT's quantiser", "largest error", "ships")
    for network, entry in found["networks"].items():
        for allowed, each in entry["allowed"].items():
            ratios = each["times_as_fast_as"]
            quantised = [name for name in ratios if name in entry["quantiser_errors"]]
            exact = [name for name in ratios if name not in quantised]
            yield (
                network,
                allowed,
                f"**{each['median_ms'][competitors.PRODUCT]:.1f}**",
                _fastest(ratios, exact),
                _fastest(ratios, quantised) if quantised else "none keeps to it",
                f"{each['worst_error']:.4f}",
                each["chosen"] + " (void)" * each["void"],
            )


def _fastest(ratios: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """Of these contenders, the one that is the least behind."""
    best = min((ratios[name] for name in names), key=lambda ratio: ratio["median"])
    return f"{best['median']:.2f} ({best['low']:.2f} to {best['high']:.2f})"


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    return "; ".join(
        f"{allowed}: error {each['worst_error']:.4f}, {each['chosen']}, times as fast as "
        + ", ".join(f"{name} {ratio['median']:.2f}" for name, ratio in each["times_as_fast_as"].items())
        + (" (void)" if each["void"] else "")
        for allowed, each in found["allowed"].items()
    )


def main() -> None:
    """Run what is named, or all."""
    parser = results_file.arguments("weight_only", "Compile decoders with an allowed error and race them.", RESULTS)
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS", help="of each compile")
    given = parser.parse_args()
    given.networks = given.networks or list(NETWORKS)
    names = results_file.named(parser, given)
    results_file.run(
        given.results,
        names,
        lambda name, folder: measure(competitors.save_network(name, folder), given.budget, folder),
        told,
    )


if __name__ == "__main__":
    main()
