"""IREE: its own ONNX importer and compiler, ahead of time, to native code. Weights stay outside, as parameters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Traits,
    border_rows,
    guard,
    reading,
    signatures,
    thread_count,
)
from intarsia.backends.contract.source import WritesDeviceCode, WritesPrograms
from intarsia.backends.iree import device_code, rules
from intarsia.backends.iree import executable as running
from intarsia.backends.package_probe import installed
from intarsia.errors import CompileError, LoadError
from intarsia.files import scratch

if TYPE_CHECKING:
    from intarsia.codegen.module import SourceModule
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NAME = "iree"
_MAX_OPSET, _MAX_IR = 21, 10
_SMALL_BYTES = 1024
_MODULE = "model.vmfb"
_CPU = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
_FLAGS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "mcpu": lambda name: f"--iree-llvmcpu-target-cpu={name}",
        "mattr": lambda features: f"--iree-llvmcpu-target-cpu-features={','.join(features)}",
        "mtriple": lambda triple: f"--iree-llvmcpu-target-triple={triple}",
        "mabi": lambda name: f"--iree-llvmcpu-target-abi={name}",
        "mfloat-abi": lambda name: f"--iree-llvmcpu-target-float-abi={'hard' if name == 'hard' else 'soft'}",
        "vector-width": lambda bits: f"--iree-llvmcpu-target-vector-width-in-bytes={max(1, bits // 8)}",
        "opt-level": lambda level: f"--iree-llvmcpu-mlir-opt-level=O{min(level, 3)}",
        "fast-math-reassoc": lambda is_on: f"--iree-llvmcpu-reassociate-fp-reductions={_word(is_on)}",
        "fast-math-nnan": lambda is_on: f"--iree-llvmcpu-use-fast-min-max-ops={_word(is_on)}",
    }
)
"""What its compiler calls the options of a processor."""
_LIBERTIES = ("fast-math-reassoc", "fast-math-nnan")
"""Of the liberties that ``fast-math`` takes, those that it can be given."""
_FUSING = ("--iree-opt-level=O2", "--iree-opt-level=O3")
_SIMPLER = "--iree-opt-level=O1"
_UNTIL_WE_END = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
"""Becomes a command that the kernel kills when its parent ends: a compiler that hangs does not outlive its worker."""


class IreeBackend(Backend, WritesPrograms, WritesDeviceCode):
    """The compiler runs in a process of its own, so that a model that crashes it costs no more than that model."""

    name = _NAME
    extra = _NAME
    licence = "Apache-2.0 WITH LLVM-exception"
    machine_code = (_MODULE,)
    reads = reading({_NAME: "opt-level threads", "llvm": f"{' '.join(_FLAGS)} fast-math cl-opt"})
    device_options: ClassVar[Mapping[str, tuple[str, ...]]] = device_code.CHIPS
    meta_name = "BORDERS"
    traits = Traits(
        writes_in_place=False,
        compiles_slowly=True,
        follows_ports=True,
        dtypes=rules.TYPES,
        max_opset=_MAX_OPSET,
        max_ir=_MAX_IR,
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault.of_threads("IREE", "IREE's")
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream(
            "DepthToSpace[mode=CRD, blocksize > 2]",
            "https://github.com/iree-org/iree/issues/24179: comes out in another order",
        ),
        Gap.upstream(
            "GridSample",
            "ONNX node test gridsample_zeros_padding gives 3e35 instead of 0: it reads outside of the image",
        ),
        Gap.upstream(
            "LpNormalization, Det, SoftmaxCrossEntropyLoss[mean, weights]",
            "ONNX node tests l2normalization_axis_0 and det_2d give nan, sce_mean_weight gives inf",
        ),
        Gap.upstream(
            "GRU, RNN[reverse, bidirectional], LSTM[reverse]; ConvTranspose[groups]; Softsign; DFT; RoiAlign",
            "failed to legalize operation 'torch.operator'; ConvTranspose: 'tensor.collapse_shape' op "
            "expected reassociation map #0 to have size equal to the expanded rank (5), but it is 4",
        ),
        Gap.upstream(
            "LSTM[peepholes], QLinearMatMul[3 dimensions], AveragePool[ceil_mode, count_include_pad]",
            "ONNX node tests lstm_with_peepholes, qlinearmatmul_3D_* and "
            "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True come out wrong",
        ),
        Gap.not_implemented(
            "operators in their form after opset 21",
            "its importer takes any version for the newest it knows; Attention, RMSNormalization: failed to "
            "legalize operation 'torch.operator'",
        ),
        Gap.not_implemented(
            "values whose shape only running tells", "code is compiled for fixed shapes; onnxruntime takes these nodes"
        ),
        Gap.upstream(
            "Vulkan",
            "on Mesa's lavapipe a depthwise Conv, Greater, and Add of int8, int16, float16 come out wrong; "
            "float64: failed to convert SPIR-V type",
        ),
        Gap.not_implemented(
            "results computed where they are wanted",
            "unhandled torch type: '!hal.buffer' where an output is given as iree.abi.output; they are copied",
        ),
    )

    def probe(self) -> Availability:
        """Version and presence of the compiler and the runtime; neither is loaded."""
        found = installed("iree-base-runtime", self.extra, module="iree.runtime")
        if not found.usable:
            return found
        return installed("iree-base-compiler", self.extra, module="iree.compiler")

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By operator, and by the cases known to fail or to come out wrong."""
        return rules.refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Import, and compile for this machine."""
        for value in (*model.inputs, *model.outputs):
            if value.shape is None:
                raise CompileError(_NAME, f"the shape of {value.name} is only known after it was computed")
        module, _ = _compiled(_imported(model, _SMALL_BYTES), flags(target, _has_doubles(model)))
        return EngineArtifact(
            files={_MODULE: module},
            weights=tuple(weight.name for weight in model.weights.values() if weight.nbytes > _SMALL_BYTES),
            meta=border_rows(model),
        )

    def program(self, model: SubModel, target: Target, host: Target) -> SourceModule:
        """Its dispatches as assembly for the target's base, else for the host."""
        from intarsia.backends.iree import program
        from intarsia.backends.iree.dispatches import commands_of

        processor = target.base or host
        with scratch() as place:
            folder = Path(place)
            kept = (each for each in flags(target, _has_doubles(model)) if not each.startswith(program.PROCESSOR))
            module, _ = _compiled(_imported(model, None), (*kept, *program.program_flags(processor, folder)))
            with guard(CompileError, _NAME):
                commands = commands_of(program.text_of(folder), running.ENTRY)
                constants = program.constants_of(module, commands)
                return program.module_of(model, commands, program.assembly_of(folder), constants)

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Hand the weights to the compiled code, and start it where they are packed."""
        with guard(LoadError, _NAME):
            given = {_symbol(name): weights[name] for name in artifact.weights}
            inputs, outputs = signatures(artifact.meta["inputs"]), signatures(artifact.meta["outputs"])
            device = running.device(thread_count(target, settings))
            return running.Loaded(artifact.files[_MODULE], given, inputs, outputs, device)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.mlir`` and ``model.vmfb``, the weights inside, and the options of the compiler."""
        folder.mkdir(parents=True, exist_ok=True)
        text = _imported(model, None)
        module, options = _compiled(text, flags(target, _has_doubles(model)))
        paths = (folder / "model.mlir", folder / _MODULE, folder / "options.txt")
        paths[0].write_text(text, encoding="utf-8")
        paths[1].write_bytes(module)
        paths[2].write_text("\n".join(options) + "\n", encoding="utf-8")
        return paths

    def write_device_code(self, model: SubModel, target: Target, device: Target, folder: Path) -> tuple[Path, ...]:
        """``model.vmfb``, the weights inside, ``kernels/`` in the device's language, and the compiler's options."""
        text, plain = _imported(model, None), _plain_flags(target, _has_doubles(model))
        return device_code.device_files(lambda options: _compiled(text, (*plain, *options)), device, folder)


def flags(target: Target, has_doubles: bool) -> tuple[str, ...]:
    """How the compiler is called for a target."""
    return (
        *_CPU,
        *_processor_flags(target.base),
        "--iree-llvmcpu-stack-allocation-limit=262144",
        *_plain_flags(target, has_doubles),
    )


def _plain_flags(target: Target, has_doubles: bool) -> tuple[str, ...]:
    """What depends on no processor."""
    return (
        "--iree-input-type=onnx",
        "--iree-torch-emit-async-entry-points=false",
        # Where the model has no such values, those that there are are the importer's, and some compile only as float32.
        f"--iree-input-demote-f64-to-f32={'false' if has_doubles else 'true'}",
        f"--iree-opt-level={target['opt-level']}",
    )


def _processor_flags(base: Target | None) -> Iterator[str]:
    """How it is told the processor; this machine is told as such where the target says nothing of it."""
    options = {} if base is None else dict(base.options)
    if options.get("fast-math"):
        options = dict.fromkeys(_LIBERTIES, True) | options
    if not options.keys() & {"mcpu", "mattr"}:
        yield "--iree-llvmcpu-target-cpu=host"
    yield from (_FLAGS[name](value) for name, value in options.items() if name in _FLAGS)
    yield from (_llvm_option(entry) for entry in options.get("cl-opt", ()))


def _llvm_option(entry: str) -> str:
    """An entry of ``cl-opt``, as ``-name:uint=3``, for a command line of LLVM."""
    name, sign, value = entry.lstrip("-").partition("=")
    return f"--{name.partition(':')[0]}{sign}{value}"


def _word(is_on: bool) -> str:
    return "true" if is_on else "false"


def _has_doubles(model: SubModel) -> bool:
    names = {name for node in model.nodes for name in (*node.reads, *node.outputs) if name}
    return any(model.graph.values[name].dtype == "float64" for name in names)


def _symbol(name: str) -> str:
    """What the importer makes of a weight's name."""
    return name.replace(":", "_")


def _imported(model: SubModel, small_bytes: int | None) -> str:
    """The model as MLIR; weights of more than so many bytes become parameters, all stay inside if it is ``None``."""
    message = model.to_message(
        weights="inline" if small_bytes is None else "inputs",
        small_bytes=small_bytes or 0,
        max_opset=_MAX_OPSET,
        max_ir=_MAX_IR,
    )
    message.graph.name = running.ENTRY
    border = len(model.inputs)
    outside = [value.name for value in message.graph.input[border:]]
    if len({_symbol(name) for name in outside}) < len(outside):
        raise CompileError(_NAME, "two of the weights have names that its importer does not tell apart")
    with guard(CompileError, _NAME):
        from iree.compiler.extras import onnx_importer
        from iree.compiler.ir import Context
        from iree.compiler.tools.import_onnx.importer_externalization_overrides import IREENodeImporter, ParamData

        parameters = ParamData(
            param_bit_threshold=None,
            num_elements_threshold=sys.maxsize,
            params_scope=running.PARAMETERS,
            data_dir="",
            param_path="",
            input_index_threshold=border if outside else None,
        )
        with Context() as context:
            info = onnx_importer.ModelInfo(message)
            module = info.create_module(context=context)
            IREENodeImporter.define_function(info.main_graph, module.operation, parameters).import_all()
            return str(module)


def _compiled(text: str, options: tuple[str, ...]) -> tuple[bytes, tuple[str, ...]]:
    """What the compiler makes of it, and by which options: without fusing, where that makes what it cannot compile."""
    try:
        return _compiled_once(text, options), options
    except CompileError:
        simpler = tuple(_SIMPLER if option in _FUSING else option for option in options)
        if simpler == options:
            raise
        with suppress(CompileError):
            return _compiled_once(text, simpler), simpler
        raise


def _compiled_once(text: str, options: Iterable[str]) -> bytes:
    """Run the compiler in a folder that vanishes, with all that it writes."""
    with guard(CompileError, _NAME):
        from iree.compiler.tools.binaries import find_tool

        ending_with_us = [sys.executable, "-I", "-S", "-c", _UNTIL_WE_END] if sys.platform == "linux" else []
        with scratch() as folder:
            product = folder / _MODULE
            done = subprocess.run(
                [*ending_with_us, find_tool("iree-compile"), *options, "-", "-o", str(product)],
                input=text.encode(),
                capture_output=True,
                cwd=folder,
                env=os.environ | {"TMPDIR": folder, "HOME": folder},
                check=False,
            )
            if done.returncode:
                log = done.stderr.decode("utf-8", "replace")
                raise CompileError(_NAME, f"its compiler ended with status {done.returncode}: {gist(log)}")
            return product.read_bytes()


def gist(log: str) -> str:
    """The errors among what the compiler says, each in short; else its first words."""
    errors = [line.partition("error: ")[2][:200] for line in log.splitlines() if "error: " in line]
    return "; ".join(dict.fromkeys(errors))[:1000] or log[:1000]
