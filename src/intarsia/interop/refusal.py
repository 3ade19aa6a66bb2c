"""What ONNX Runtime offers and Intarsia does not, with what to do instead. Nothing is ignored in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intarsia.errors import UnsupportedError
from intarsia.spec.problems import nearest

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "merge the adapter into the model before you compile it": ("AdapterFormat", "LoraAdapter", "add_active_adapter"),
    "compile by intarsia.compile, and keep what CompiledModel.save writes": (
        *("ModelCompiler", "OrtCompileApiFlags", "OrtEpContextData", "OrtEpContextDataBuffer"),
        *("set_ep_context_data_read_func", "clear_ep_context_data_read_func"),
    ),
    "buffers are planned with the model: leave it out": (
        *("OrtAllocatorType", "OrtArenaCfg", "OrtDeviceMemoryType", "OrtMemType", "OrtMemoryInfo"),
        *("OrtMemoryInfoDeviceType", "create_and_register_allocator", "create_and_register_allocator_v2"),
    ),
    "inputs and outputs are in the host's memory: leave it out": (
        *("OrtDeviceVendorId", "OrtSyncStream", "device_mem_type", "device_vendor_id"),
        *("get_input_epdevices", "get_input_memory_infos", "get_output_memory_infos"),
    ),
    "hand over a dense array": (
        *("OrtSparseFormat", "SparseTensor", "as_sparse_tensor", "ort_value_from_sparse_tensor"),
    ),
    "intarsia.Target.detect() tells what this machine has, and target= states what to use": (
        *("OrtEpDevice", "OrtHardwareDevice", "OrtHardwareDeviceType", "get_ep_devices", "add_provider_for_devices"),
    ),
    "what runs where is measured: leave it out, or state it by target=": (
        *("OrtExecutionProviderDevicePolicy", "set_provider_selection_policy"),
        *("set_provider_selection_policy_delegate", "set_ep_dynamic_options"),
    ),
    "session.model.plan tells which engine runs which nodes": (
        *("OrtEpAssignedNode", "OrtEpAssignedSubgraph", "get_provider_graph_assignment_info"),
    ),
    "an engine of your own is a plug-in: docs/adding-an-engine.md": (
        *("register_execution_provider_library", "unregister_execution_provider_library"),
    ),
    "put the weights into the model, or name the model by its path": (
        *("OrtExternalInitializerInfo", "add_initializer", "add_external_initializers"),
        "add_external_initializers_from_files_in_memory",
    ),
    "measured times are in the record store: name it as store=": ("get_tuning_results", "set_tuning_results"),
    "state threads by intra_op_num_threads; all sessions have them together": ("set_global_thread_pool_sizes",),
    "name the dimension: add_free_dimension_override_by_name": ("add_free_dimension_override_by_denotation",),
    "limit the compile by budget=": ("set_load_cancellation_flag",),
    "nothing is captured: leave it out": ("release_captured_graph",),
    "OrtValue.ortvalue_from_shape_and_type makes one for every session": ("create_ortvalue_from_shape_and_type",),
    "use run_with_ort_values": ("run_with_ortvaluevector",),
    "use get_outputs": ("get_outputs_as_ortvaluevector",),
    "copy by a.update_inplace(b)": ("copy_tensors",),
    "run `intarsia doctor`": ("print_debug_info",),
    "import it from onnxruntime: what it writes is a model like any other": (
        *("backend", "datasets", "tools", "transformers"),  # names of the module once something has imported them
    ),
}
"""What to do instead of each name that ONNX Runtime 1.31 has."""
_CURES = {name: cure for cure, names in _INSTEAD.items() for name in names}


def refuse_absent(owner: str, name: str, known: Iterable[str]) -> UnsupportedError:
    """The error for an attribute that is not there: an AttributeError too, so that ``hasattr`` says no."""
    cure = _CURES.get(name)
    if cure is None:
        return UnsupportedError(
            f"{owner} has no {name!r} here{nearest(name, known, 'docs/python.md tells what there is')}", name=name
        )
    return UnsupportedError(f"{owner} has no {name!r} here; {cure}", name=name)
