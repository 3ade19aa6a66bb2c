"""Engine kinds that can be described, and that Intarsia cannot run: no backend of ours drives them.

Names, defaults and legal values are those of Apache TVM v0.18 (``src/relay/backend/contrib``), unless said otherwise.
"""

from __future__ import annotations

from functools import partial

from intarsia.spec import ExecutedPath, Int, ListOf, Option
from intarsia.spec.schema import choice, flag, text, whole
from intarsia.target.features import arm_keys
from intarsia.target.kinds.declare import engine_kind
from intarsia.target.kinds.devices import MATTR, MCPU
from intarsia.target.kinds.kind import TargetKind

_accelerator = partial(engine_kind, partial=True, runs_on=())
_on_cuda = partial(_accelerator, device_type="cuda", keys=("cuda", "gpu"))
_processor = partial(_accelerator, brings_device=True)
_off = partial(flag, default=False)

_TENSORRT = (
    Option(name="tensorrt_version", type=ListOf(Int(minimum=0)), meaning="version to compile for: major, minor, patch"),
    flag("use_implicit_batch", "leave the batch out of shapes", default=True),
    _off("remove_no_mac_subgraphs", "leave regions without a multiplication to others"),
    whole("max_workspace_size", "memory that a kernel may borrow", 1 << 30, unit="bytes"),
    _off("use_fp16", "compute in float16 where it is faster"),
    _off("use_uint8", "compute in 8 bits where it is faster"),
)
_CUTLASS = (
    whole("sm", "compute capability of the kernels", 80),
    flag("use_3xtf32", "three TF32 products for one of float32", default=True),
    Option(
        name="split_k_slices", type=ListOf(Int(minimum=1)), default=(1,), meaning="slices of the summed axis to try"
    ),
    _off("profile_all_alignments", "try kernels of lesser alignment too"),
    _off("find_first_valid", "take the first kernel that works"),
    _off("use_multiprocessing", "compile kernels in several processes"),
    whole("profiling-threads", "threads that compile kernels; -1 for all", -1, minimum=-1, unit="threads"),
    _off("use_fast_math", "fast approximations of functions"),
    text("tmp_dir", "folder of generated sources", "./tmp"),
)
_ETHOS_N = (
    choice("variant", "which processor of the family", "n37", "n57", "n77", "n78", default="n78"),
    whole("sram_size", "on-chip memory; 0 for the variant's own", 0, unit="bytes"),
    whole("tops", "multiplications of an n78, in 10¹² per second", 1, minimum=1),
    whole("ple_ratio", "programmable engines beside each multiplier of an n78", 2, minimum=1),
    flag("enable_intermediate_compression", "compress what lies between layers", default=True),
    _off("disable_winograd", "convolve without Winograd's method"),
    flag("inline_non_compute_intensive_partitions", "leave regions without much arithmetic to the host", default=True),
)
_ETHOS_U = (
    choice(
        "accelerator_config",
        "which processor of the family, with its multipliers",
        *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
        *(f"ethos-u65-{macs}" for macs in (256, 512)),
        *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
        default="ethos-u55-256",
    ),
    _off("enable_cascader", "let layers run interleaved, in stripes"),
    _off("enable_striping", "stripes in both directions"),
    _off("disable_copying_constants", "leave constants where they lie"),
    text("dev_force_block_config", "for debugging: one block size, as HEIGHTxWIDTHxDEPTH"),
    whole("dev_max_open_plans", "for debugging: open plans kept of each part", 8),
    whole("dev_max_closed_plans", "for debugging: closed plans kept of each part", 32),
    whole("dev_select_proposal_idx", "for debugging: which proposal; -1 for the best", -1, minimum=-1),
    _off("dev_disable_pareto_plans", "for debugging: keep dominated plans"),
    _off("dev_disable_pareto_proposals", "for debugging: keep dominated proposals"),
    _off("dev_disable_block_culling", "for debugging: keep poor block sizes"),
    _off("dev_cascader_logging", "for debugging: write what the cascader does"),
)
_VITIS_AI = (
    text("dpu", "identifier of the processor, as DPUCZDX8G-zcu104"),
    text("build_dir", "folder of what is built, for debugging"),
    text("work_dir", "folder of what is written on the way, for debugging"),
)
_MRVL = (
    choice("mcpu", "class of the processor", "cn10ka", "cnf10kb", default="cn10ka"),
    whole("num_tiles", "most tiles used: 1, 2, 4 or 8", 8, minimum=1),
    text("mattr", "attributes, as wb_pin_ocm=1,quantize=fp16"),
)
_COREML = (
    choice(
        "compute-units",
        "which processors it may use; as MLComputeUnits of coremltools",
        "all",
        "cpu-only",
        "cpu-and-gpu",
        "cpu-and-ne",
        default="all",
    ),
    choice("compute-precision", "element type it computes in", "float32", "float16", default="float16"),
)

ACCELERATORS: tuple[TargetKind, ...] = (
    _on_cuda("tensorrt", "NVIDIA's TensorRT", _TENSORRT, serves=("cuda",)),
    _on_cuda("cutlass", "matrix products and convolutions from NVIDIA's templates", _CUTLASS, serves=("cuda",)),
    _on_cuda("cudnn", "NVIDIA's cuDNN", serves=("cuda", "nvptx")),
    _on_cuda("cublas", "NVIDIA's cuBLAS", serves=("cuda", "nvptx")),
    _accelerator("dnnl", "oneDNN", keys=("cpu",), serves=("llvm",)),
    _accelerator("arm_acl", "Arm Compute Library, on CPU or GPU", keys=("arm_cpu", "cpu"), serves=("llvm", "opencl")),
    _accelerator("bnns", "Apple's BNNS", keys=("cpu",), serves=("llvm",)),
    _processor("coreml", "Apple's Core ML", _COREML, keys=("cpu",), serves=("llvm", "metal")),
    _accelerator(
        "clml",
        "OpenCL ML of Qualcomm's GPUs",
        (whole("clml_version", "version of the extension", minimum=1),),
        device_type="opencl",
        keys=("adreno", "opencl", "gpu"),
        serves=("opencl",),
    ),
    _processor("ethos-n", "Arm's Ethos-N processors", _ETHOS_N, keys=("ethos-n",), serves=("llvm", "c")),
    _processor(
        "ethos-u",
        "Arm's Ethos-U processors",
        _ETHOS_U,
        keys=("ethos-u",),
        serves=("c", "llvm"),
        as_c="estimated, not run",
    ),
    _accelerator(
        "cmsis-nn",
        "Arm's kernels for Cortex-M",
        (
            MCPU,
            MATTR,
            Option(name="sources", type=ExecutedPath(), meaning="folder of CMSIS-NN's sources, which are compiled"),
            _off("debug_last_error", "keep the last error, for debugging"),
        ),
        keys=("cpu",),
        sure_keys=arm_keys,
        serves=("c", "llvm"),
        as_c="yes",
    ),
    _processor("vitis-ai", "AMD's Vitis AI", _VITIS_AI, keys=("vitis-ai",), serves=("llvm",)),
    _processor("mrvl", "Marvell's inference processor", _MRVL, keys=("mrvl",), serves=("llvm",)),
)
"""Engine kinds that take part of a graph, by the devices they run on."""
