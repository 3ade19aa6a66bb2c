"""Engine kinds that can be described, and that Intarsia cannot run: no backend of ours drives them.

Names, defaults and legal values are those of Apache TVM v0.18 (``src/relay/backend/contrib``), unless said otherwise.
"""

from __future__ import annotations

from functools import partial

from intarsia.spec import Bool, Enum, Int, ListOf, Option, Str
from intarsia.target.features import arm_keys
from intarsia.target.kinds.declare import engine_kind
from intarsia.target.kinds.devices import MATTR, MCPU
from intarsia.target.kinds.kind import TargetKind

_CPUS = ("llvm", "c")
_accelerator = partial(engine_kind, partial=True, runs_on=())
_on_cuda = partial(_accelerator, device_type="cuda", keys=("cuda", "gpu"))
_processor = partial(_accelerator, brings_device=True)


def _flag(name: str, meaning: str, *, default: bool = False) -> Option:
    return Option(name=name, type=Bool(), default=default, meaning=meaning)


def _number(name: str, meaning: str, default: int | None = None, *, minimum: int | None = 0, unit: str = "") -> Option:
    return Option(name=name, type=Int(minimum=minimum), default=default, meaning=meaning, unit=unit)


def _choice(name: str, meaning: str, *choices: str, default: str | None = None) -> Option:
    return Option(name=name, type=Enum(choices), default=default, meaning=meaning)


def _text(name: str, meaning: str, default: str | None = None) -> Option:
    return Option(name=name, type=Str(), default=default, meaning=meaning)


_TENSORRT = (
    Option(name="tensorrt_version", type=ListOf(Int(minimum=0)), meaning="version to compile for: major, minor, patch"),
    _flag("use_implicit_batch", "leave the batch out of shapes", default=True),
    _flag("remove_no_mac_subgraphs", "leave regions without a multiplication to others"),
    _number("max_workspace_size", "memory that a kernel may borrow", 1 << 30, unit="bytes"),
    _flag("use_fp16", "compute in float16 where it is faster"),
    _flag("use_uint8", "compute in 8 bits where it is faster"),
)
_CUTLASS = (
    _number("sm", "compute capability of the kernels", 80),
    _flag("use_3xtf32", "three TF32 products for one of float32", default=True),
    Option(
        name="split_k_slices", type=ListOf(Int(minimum=1)), default=(1,), meaning="slices of the summed axis to try"
    ),
    _flag("profile_all_alignments", "try kernels of lesser alignment too"),
    _flag("find_first_valid", "take the first kernel that works"),
    _flag("use_multiprocessing", "compile kernels in several processes"),
    _number("profiling-threads", "threads that compile kernels; -1 for all", -1, minimum=-1, unit="threads"),
    _flag("use_fast_math", "fast approximations of functions"),
    _text("tmp_dir", "folder of generated sources", "./tmp"),
)
_ETHOS_N = (
    _choice("variant", "which processor of the family", "n37", "n57", "n77", "n78", default="n78"),
    _number("sram_size", "on-chip memory; 0 for the variant's own", 0, unit="bytes"),
    _number("tops", "multiplications of an n78, in 10¹² per second", 1, minimum=1),
    _number("ple_ratio", "programmable engines beside each multiplier of an n78", 2, minimum=1),
    _flag("enable_intermediate_compression", "compress what lies between layers", default=True),
    _flag("disable_winograd", "convolve without Winograd's method"),
    _flag("inline_non_compute_intensive_partitions", "leave regions without much arithmetic to the host", default=True),
)
_ETHOS_U = (
    _choice(
        "accelerator_config",
        "which processor of the family, with its multipliers",
        *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
        *(f"ethos-u65-{macs}" for macs in (256, 512)),
        *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
        default="ethos-u55-256",
    ),
    _flag("enable_cascader", "let layers run interleaved, in stripes"),
    _flag("enable_striping", "stripes in both directions"),
    _flag("disable_copying_constants", "leave constants where they lie"),
    _text("dev_force_block_config", "for debugging: one block size, as HEIGHTxWIDTHxDEPTH"),
    _number("dev_max_open_plans", "for debugging: open plans kept of each part", 8),
    _number("dev_max_closed_plans", "for debugging: closed plans kept of each part", 32),
    _number("dev_select_proposal_idx", "for debugging: which proposal; -1 for the best", -1, minimum=-1),
    _flag("dev_disable_pareto_plans", "for debugging: keep dominated plans"),
    _flag("dev_disable_pareto_proposals", "for debugging: keep dominated proposals"),
    _flag("dev_disable_block_culling", "for debugging: keep poor block sizes"),
    _flag("dev_cascader_logging", "for debugging: write what the cascader does"),
)
_VITIS_AI = (
    _text("dpu", "identifier of the processor, as DPUCZDX8G-zcu104"),
    _text("build_dir", "folder of what is built, for debugging"),
    _text("work_dir", "folder of what is written on the way, for debugging"),
)
_MRVL = (
    _choice("mcpu", "class of the processor", "cn10ka", "cnf10kb", default="cn10ka"),
    _number("num_tiles", "most tiles used: 1, 2, 4 or 8", 8, minimum=1),
    _text("mattr", "attributes, as wb_pin_ocm=1,quantize=fp16"),
)
_COREML = (
    _choice(
        "compute-units",
        "which processors it may use; as MLComputeUnits of coremltools",
        "all",
        "cpu-only",
        "cpu-and-gpu",
        "cpu-and-ne",
        default="all",
    ),
    _choice("compute-precision", "element type it computes in", "float32", "float16", default="float16"),
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
        (_number("clml_version", "version of the extension", minimum=1),),
        device_type="opencl",
        keys=("adreno", "opencl", "gpu"),
        serves=("opencl",),
    ),
    _processor("ethos-n", "Arm's Ethos-N processors", _ETHOS_N, keys=("ethos-n",), serves=_CPUS),
    _processor("ethos-u", "Arm's Ethos-U processors", _ETHOS_U, keys=("ethos-u",), serves=("c", "llvm")),
    _accelerator(
        "cmsis-nn",
        "Arm's kernels for Cortex-M",
        (MCPU, MATTR, _flag("debug_last_error", "keep the last error, for debugging")),
        keys=("cpu",),
        sure_keys=arm_keys,
        serves=("c", "llvm"),
    ),
    _processor("vitis-ai", "AMD's Vitis AI", _VITIS_AI, keys=("vitis-ai",), serves=("llvm",)),
    _processor("mrvl", "Marvell's inference processor", _MRVL, keys=("mrvl",), serves=("llvm",)),
)
"""Engine kinds that take part of a graph, by the devices they run on."""
