"""A script as people write them for ONNX Runtime; ``test_onnxruntime_script.py`` runs it with both imports.

``python ort_script.py FOLDER`` reads the models in the folder and leaves what it saw in ``seen`` and ``arrays``.
"""

import ctypes
import sys
import threading
from pathlib import Path

import numpy as np
import onnxruntime as ort

folder = Path(sys.argv[1])
rng = np.random.default_rng(0)
x = rng.standard_normal((4, 32)).astype(np.float32)
seen: dict[str, object] = {}
arrays: dict[str, object] = {}

# A session with options and providers.
ort.set_default_logger_severity(3)
options = ort.SessionOptions()
options.intra_op_num_threads = 2
options.inter_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
options.enable_mem_pattern = False
options.log_severity_level = 3
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
seen["entry"] = options.get_session_config_entry("session.intra_op.allow_spinning")
session = ort.InferenceSession(str(folder / "fixed.onnx"), options, providers=["CPUExecutionProvider"])

# What it tells of itself.
seen["inputs"] = [(each.name, each.type, each.shape) for each in session.get_inputs()]
seen["outputs"] = [(each.name, each.type, each.shape) for each in session.get_outputs()]
seen["overridable"] = [each.name for each in session.get_overridable_initializers()]
seen["providers"] = session.get_providers()
seen["provider options"] = session.get_provider_options()
seen["available"] = "CPUExecutionProvider" in ort.get_available_providers()
seen["device"] = ort.get_device()
seen["threads"] = session.get_session_options().intra_op_num_threads
meta = session.get_modelmeta()
seen["meta"] = (
    meta.producer_name, meta.graph_name, meta.domain, meta.description, meta.version, meta.custom_metadata_map,
)  # fmt: skip

# Runs: all outputs, one of them, in another order, with options, with lists.
name = session.get_inputs()[0].name
arrays["all"] = session.run(None, {name: x})
arrays["none named"] = session.run([], {name: x})
arrays["one"] = session.run(["y"], {name: x})
arrays["order"] = session.run(["size", "y"], {name: x})
run_options = ort.RunOptions()
run_options.log_severity_level = 4
run_options.only_execute_path_to_fetches = True
run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
arrays["options"] = session.run(None, {name: x}, run_options)

# Mistakes.
for what, outputs, feeds in (
    ("missing", None, {}),
    ("unknown", None, {name: x, "z": x}),
    ("dtype", None, {name: x.astype(np.float64)}),
    ("shape", None, {name: x[:, :5]}),
    ("output", ["z"], {name: x}),
):
    try:
        session.run(outputs, feeds)
        seen[what] = "passed"
    except Exception:
        seen[what] = "refused"

# Values.
value = ort.OrtValue.ortvalue_from_numpy(x)
seen["value"] = (
    list(value.shape()), value.data_type(), value.element_type(), value.device_name(), value.is_tensor(),
    value.has_value(), value.tensor_size_in_bytes(), value.data_ptr() == x.ctypes.data,
)  # fmt: skip
arrays["values"] = [each.numpy() for each in session.run_with_ort_values(["y"], {name: value})]
empty = ort.OrtValue.ortvalue_from_shape_and_type([4, 32], np.float32)
empty.update_inplace(x)
arrays["value"] = [np.asarray(empty), np.from_dlpack(empty)]

# Binding: arrays, values, addresses.
binding = session.io_binding()
binding.bind_cpu_input(name, x)
binding.bind_output("y")
binding.bind_output("size", "cpu")
session.run_with_iobinding(binding)
arrays["bound"] = binding.copy_outputs_to_cpu()
seen["bound"] = [(each.data_type(), list(each.shape())) for each in binding.get_outputs()]
binding.clear_binding_inputs()
binding.clear_binding_outputs()
room = np.zeros((4, 32), np.float32)
binding.bind_input(name, "cpu", 0, np.float32, x.shape, x.ctypes.data)
binding.bind_output("y", "cpu", 0, np.float32, room.shape, room.ctypes.data)
binding.synchronize_inputs()
session.run_with_iobinding(binding, run_options)
binding.synchronize_outputs()
arrays["at an address"] = [room.copy()]
kept = ort.OrtValue.ortvalue_from_shape_and_type([4, 32], np.float32, "cpu", 0)
other = session.io_binding()
other.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(2 * x))
other.bind_ortvalue_output("y", kept)
session.run_with_iobinding(other)
arrays["kept"] = [kept.numpy(), np.array((ctypes.c_float * 4).from_address(kept.data_ptr()))]

# Asynchronously, and from several threads.
done = threading.Event()


def landed(results: list[np.ndarray], user_data: str, error: str) -> None:
    arrays["async"] = results
    seen["async"] = (user_data, error)
    done.set()


session.run_async(["y"], {name: x}, landed, "told")
done.wait(30)
threads = [threading.Thread(target=lambda: session.run(None, {name: x})) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# A model from bytes, with open dimensions, several inputs and types.
content = (folder / "open.onnx").read_bytes()
session = ort.InferenceSession(content, providers=[("CPUExecutionProvider", {})])
seen["open inputs"] = [(each.name, each.type, each.shape) for each in session.get_inputs()]
for length in (3, 3, 5, 4):
    ids = np.arange(length, dtype=np.int64)[None]
    arrays[f"length {length}"] = session.run(None, {"ids": ids, "mask": ids > 1})

# A dimension that is bound by an option, and a profile.
options = ort.SessionOptions()
options.add_free_dimension_override_by_name("length", 3)
options.enable_profiling = True
options.profile_file_prefix = str(folder / "profile")
session = ort.InferenceSession(content, sess_options=options, providers=["CPUExecutionProvider"], provider_options=[{}])
ids = np.arange(3, dtype=np.int64)[None]
arrays["overridden"] = session.run(None, {"ids": ids, "mask": ids > 1})
profile = Path(session.end_profiling())
seen["profile"] = (profile.name.startswith("profile"), "ph" in profile.read_text(encoding="utf-8"))
