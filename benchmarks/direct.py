"""One engine, called directly as its own documentation says, in a process of its own: what a plan has to beat.

``python -m benchmarks.direct KIND MODEL FEEDS THREADS [OPTIONS]`` loads the model and answers on standard output: first
``ready``, then, for each line ``WARM RUNS`` on standard input, a JSON list with the milliseconds of ``RUNS`` runs.
Nothing of Intarsia runs here but for the kind ``intarsia``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Feeds = dict[str, np.ndarray]
Call = Callable[[], Any]


def onnxruntime_default(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Call:
    """``InferenceSession(path)`` with the thread count set: ONNX Runtime as people run it."""
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    session = ort.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def onnxruntime_tuned(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Call:
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
    return lambda: session.run_with_iobinding(binding)


def openvino(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Call:
    """Latency hint, fp32, tensors set once."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment] # it would write to the home folder
    import openvino as ov

    core = ov.Core()
    config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(str(model), "CPU", config).create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))
    return lambda: request.infer()


def mnn(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Call:
    """A session over exported native files; inputs copied in, outputs left where they are."""
    import MNN

    interpreter = MNN.Interpreter(str(model / "model.mnn"))
    if (model / "model.mnn.weight").exists():
        interpreter.setExternalFile(str(model / "model.mnn.weight"))
    session = interpreter.createSession({**json.loads((model / "options.json").read_text()), "numThread": threads})
    views = {name: interpreter.getSessionInput(session, name).getNumpyData() for name in feeds}

    def call() -> None:
        for name, array in feeds.items():
            np.copyto(views[name], array)
        interpreter.runSession(session)

    return call


def ncnn(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Call:
    """A net over exported native files."""
    import ncnn as library

    net = library.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    net.load_param(str(model / "model.param"))
    net.load_model(str(model / "model.bin"))
    arrays = [np.ascontiguousarray(array.reshape(array.shape[1:])) for array in feeds.values()]
    names, outputs = net.input_names(), net.output_names()

    def call() -> None:
        with net.create_extractor() as extractor:
            for name, array in zip(names, arrays, strict=True):
                extractor.input(name, library.Mat(array).clone())
            for name in outputs:
                extractor.extract(name)

    return call


def intarsia(model: Path, feeds: Feeds, threads: int, options: dict[str, Any]) -> Call:
    """An artifact, called as a user calls it: arrays in, fresh arrays out."""
    import intarsia as product

    compiled = product.load(model)
    return lambda: compiled(feeds)


KINDS = {
    "onnxruntime-default": onnxruntime_default,
    "onnxruntime": onnxruntime_tuned,
    "openvino": openvino,
    "mnn": mnn,
    "ncnn": ncnn,
    "intarsia": intarsia,
}


def main() -> None:
    """Serve rounds until standard input ends."""
    kind, model, feeds, threads, *options = sys.argv[1:]
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print must not reach the pipe
    with np.load(feeds) as archive:
        arrays = {name: np.ascontiguousarray(archive[name]) for name in archive.files}
    call = KINDS[kind](Path(model), arrays, int(threads), json.loads(options[0]) if options else {})
    call()
    print("ready", file=pipe, flush=True)
    for line in sys.stdin:
        warm, runs = map(int, line.split())
        for _ in range(warm):
            call()
        spent = []
        for _ in range(runs):
            start = time.perf_counter_ns()
            call()
            spent.append((time.perf_counter_ns() - start) / 1e6)
        print(json.dumps(spent), file=pipe, flush=True)


if __name__ == "__main__":
    main()
