"""One engine, called directly as its own documentation says, in a process of its own: what a plan has to beat.

``python -m benchmarks.direct_engine KIND MODEL FEEDS THREADS [OPTIONS]`` loads the model, runs it once and prints
``ready``. Then, for each line on standard input: ``WARM RUNS`` is answered by a JSON list with the milliseconds of
``RUNS`` runs, ``outputs FILE`` by ``saved`` once the outputs are in that file, ``footprint`` by a JSON object of what
the start took.
Nothing of Intarsia runs here but for ``intarsia``.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A loaded model: what runs it, what shows the outputs in the model's order, and what both need to stay alive.

    Attributes:
        between: For what answers several requests at one time: asked with so many calls for each client, milliseconds
            from one answer to the next. Such a contender is timed by it.
    """

    run: Callable[[], object]
    outputs: Callable[[], list[np.ndarray]]
    held: object = None
    between: Callable[[int], float] | None = None


def onnxruntime_default(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """``InferenceSession(path)`` with the thread count set: ONNX Runtime at default settings."""
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    session = ort.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    return Engine(run=lambda: session.run(None, feeds), outputs=lambda: list(session.run(None, feeds)))


def onnxruntime_tuned(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """With an optimisation level, a spin policy, and inputs and outputs bound once."""
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    level = {"all": "ORT_ENABLE_ALL", "extended": "ORT_ENABLE_EXTENDED"}[options["level"]]
    settings.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    if not options["spin"]:
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name, "cpu")
    session.run_with_iobinding(binding)
    outputs = binding.get_outputs()
    binding.clear_binding_outputs()
    for meta, value in zip(session.get_outputs(), outputs, strict=True):
        binding.bind_ortvalue_output(meta.name, value)
    return Engine(run=lambda: session.run_with_iobinding(binding), outputs=lambda: [value.numpy() for value in outputs])


def openvino(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """Latency hint, fp32 unless it runs as it comes, tensors set once, outputs left where they are."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would write to the home folder
    import openvino as ov

    core = ov.Core()
    config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    precision = {} if options.get("as_it_comes") else {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(str(model), "CPU", config | precision)
    request = compiled.create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))

    def outputs() -> list[np.ndarray]:
        found = request.infer()
        return [np.array(found[port]) for port in compiled.outputs]

    return Engine(run=lambda: request.infer(share_outputs=True), outputs=outputs)


def mnn(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """A session over exported native files; inputs copied in, outputs left where they are."""
    import MNN

    interpreter = MNN.Interpreter(str(model / "model.mnn"))
    if (model / "model.mnn.weight").exists():
        interpreter.setExternalFile(str(model / "model.mnn.weight"))
    told = json.loads((model / "options.json").read_text())
    interpreter.setSessionHint(*told["setSessionHint"])
    session = interpreter.createSession({**told["createSession"], "numThread": threads})
    # The converter leaves out an input that nothing reads.
    known = interpreter.getSessionInputAll(session)
    views = {name: known[name].getNumpyData() for name in feeds if name in known}

    def run() -> None:
        for name, view in views.items():
            np.copyto(view, feeds[name], casting="unsafe")
        interpreter.runSession(session)

    def outputs() -> list[np.ndarray]:
        run()
        found = interpreter.getSessionOutputAll(session)
        return [np.array(found[name].getNumpyData()) for name in json.loads((model / "outputs.json").read_text())]

    return Engine(run=run, outputs=outputs)


def ncnn(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """A net over exported native files, with pools for its blobs: without them each call faults in fresh pages."""
    told = json.loads((model / "options.json").read_text())
    os.environ.update({name: value for name, value in told["environment"].items() if value is not None})
    import ncnn as library

    net = library.Net()
    for name, value in told["opt"].items():
        setattr(net.opt, name, value)
    net.opt.num_threads = threads
    pools = (library.PoolAllocator(), library.PoolAllocator())
    net.opt.blob_allocator, net.opt.workspace_allocator = pools
    net.load_param(str(model / "model.param"))
    net.load_model(str(model / "model.bin"))
    arrays = [
        (entry["blob"], np.ascontiguousarray(feeds[entry["name"]].reshape(entry["blob_shape"])))
        for entry in told["inputs"]
    ]

    def run() -> list[Any]:
        with net.create_extractor() as extractor:
            for blob, array in arrays:
                extractor.input(blob, library.Mat(array).clone())  # an in-place first layer would write into a view
            return [extractor.extract(entry["blob"])[1] for entry in told["outputs"]]

    return Engine(run=run, outputs=lambda: [np.array(mat) for mat in run()], held=pools)


def intarsia(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """An artifact, called as a user calls it: arrays in, fresh arrays out."""
    import intarsia as product

    compiled = product.load(model)
    return Engine(run=lambda: compiled(feeds), outputs=lambda: list(compiled(feeds).values()))


def exported(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """What ``intarsia export`` wrote, loaded by the program beside it; its files say the threads."""
    runpy.run_path(str(model / "run.py"))["prepared"]()  # sets what the engine reads while its libraries load
    call = runpy.run_path(str(model / "loader.py"))["load"]()
    return Engine(run=lambda: call(feeds), outputs=lambda: list(call(feeds).values()))


def intarsia_served(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """An artifact loaded as often as it says, as ``intarsia serve`` does, and called by so many clients at one time."""
    import intarsia as product
    from intarsia.cost.timing.clients import Clients

    class Called:
        """An instance that is called with the feeds."""

        def __init__(self) -> None:
            self.model = product.load(model)

        def call(self) -> dict[str, np.ndarray]:
            """Answer once."""
            return self.model(feeds)

    first = Called()
    several = [first, *(Called() for _ in range(first.model.plan.settings.instances - 1))]
    clients = Clients(several)
    return Engine(
        run=lambda: clients.burst(1),
        outputs=lambda: list(first.call().values()),
        between=lambda calls: clients.burst(calls).between_ms,
        held=several,
    )


def openvino_queue(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Engine:
    """OpenVINO's hint for throughput: streams inside one model, and as many requests in its own queue as it advises."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would write to the home folder
    import openvino as ov

    config = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = ov.Core().compile_model(str(model), "CPU", config)
    queue = ov.AsyncInferQueue(compiled)
    given = {name: ov.Tensor(array, shared_memory=True) for name, array in feeds.items()}
    done: list[float] = []
    queue.set_callback(lambda request, told: done.append(time.perf_counter()))

    def between(calls: int) -> float:
        """The queue stays full until the last answer that counts."""
        done.clear()
        wanted = 1 + calls * len(queue)
        while len(done) < wanted:
            queue.start_async(given, share_inputs=True)
        queue.wait_all()
        return 1e3 * (done[wanted - 1] - done[0]) / (wanted - 1)

    def outputs() -> list[np.ndarray]:
        found = compiled(given)
        return [np.array(found[port]) for port in compiled.outputs]

    return Engine(run=lambda: between(1), outputs=outputs, between=between, held=queue)


KINDS = {
    "onnxruntime-default": onnxruntime_default,
    "onnxruntime": onnxruntime_tuned,
    "openvino": openvino,
    "mnn": mnn,
    "ncnn": ncnn,
    "intarsia": intarsia,
    "exported": exported,
    "intarsia-served": intarsia_served,
    "openvino-queue": openvino_queue,
}


def serve(engine: Engine, commands: TextIO, answers: TextIO, cold_ms: float) -> None:
    """Answer commands until there are no more.

    Args:
        engine: What runs.
        commands: Lines.
        answers: One line each.
        cold_ms: What importing the engine, loading the model and running it once took.
    """
    for line in commands:
        first, _, second = line.strip().partition(" ")
        if first == "footprint":
            print(json.dumps({"cold_ms": cold_ms, "peak_mb": _peak_mb()}), file=answers, flush=True)
            continue
        if first == "outputs":
            np.savez(second, *engine.outputs())
            print("saved", file=answers, flush=True)
            continue
        for _ in range(int(first)):
            engine.run()
        if engine.between is not None:
            print(json.dumps([engine.between(int(second))]), file=answers, flush=True)
            continue
        spent = []
        for _ in range(int(second)):
            start = time.perf_counter_ns()
            engine.run()
            spent.append((time.perf_counter_ns() - start) / 1e6)
        print(json.dumps(spent), file=answers, flush=True)


def _peak_mb() -> float:
    """Of this process since it was started; what `resource` tells begins with what its parent held."""
    told = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert told is not None, "Linux tells it"
    return int(told[1]) / 1024


def main() -> None:
    """Load, run once, and serve."""
    kind, model, feeds, threads, *options = sys.argv[1:]
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print must not reach the pipe
    with np.load(feeds) as archive:
        arrays = {name: np.ascontiguousarray(archive[name]) for name in archive.files}
    start = time.perf_counter_ns()
    engine = KINDS[kind](Path(model), arrays, int(threads), json.loads(options[0]) if options else {})
    engine.run()
    cold_ms = (time.perf_counter_ns() - start) / 1e6
    print("ready", file=pipe, flush=True)
    serve(engine, sys.stdin, pipe, cold_ms)


if __name__ == "__main__":
    main()
