"""ncnn: the sub-graph is translated to its layers in memory, weights are streamed from the arrays they lie in.

The translation is `intarsia.backends.ncnn.lowering`; this file holds the engine. ncnn 1.0.20261020 checks no shapes,
keeps no array alive, and crashes where others raise, so shapes are fixed when a network is written and nothing reaches
the engine unchecked.
"""

from __future__ import annotations

import ctypes
import json
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Places,
    Signature,
    Traits,
    as_port,
    guard,
    openmp,
    reading,
    thread_count,
)
from intarsia.backends.ncnn import vulkan
from intarsia.backends.ncnn.lowering import Border, lower, refusal
from intarsia.backends.ncnn.lowering.weight_stream import Source, chunks, describe
from intarsia.backends.package_probe import installed
from intarsia.config.settings import RunSettings
from intarsia.errors import CompileError, ExecutionError, LoadError
from intarsia.target import KINDS
from intarsia.target.device_index import index_of

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_CACHE_LINE = 64
_IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
_UNPACKED, _AS_IT_IS = 0, 1
"""How a result is extracted."""
_FP16 = ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic")
_BF16 = ("use_bf16_packed", "use_bf16_storage")
_DEFAULTS: Mapping[str, bool] = {"winograd": True, "sgemm": True, "packing": True, "fp16": False}
"""Options of the ncnn kind, for a target of a device kind, which has none of them."""


class NcnnBackend(Backend):
    """Convolution networks, with Winograd's algorithm for layers of 3 by 3."""

    name = "ncnn"
    extra = "ncnn"
    licence = "BSD-3-Clause"
    machine_code = ()
    reads = reading({"ncnn": "winograd sgemm packing fp16 device-index threads", "vulkan": "max_storage_buffer_range"})
    native_lack = "its wheel holds a Python module alone, and no library that C++ could load"
    meta_name = "NCNN"
    traits = Traits(writes_in_place=False, compiles_once=True, follows_ports=True, spins=True)
    fork_fault: ClassVar[ForkFault | None] = ForkFault.of_threads("ncnn", "OpenMP's")
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream("batch > 1", "blobs have no batch dimension: Tencent/ncnn#234"),
        Gap.upstream("Pow[any exponent]", "BinaryOp 6 gives 1e36 for (-3)**2 on x86"),
        Gap.upstream("Softplus", "log(1 + exp(x)) is infinite from x = 89"),
        Gap.not_implemented("LSTM", "the layer exists"),
        Gap.not_implemented("GRU", "the layer exists"),
        Gap.not_implemented("Conv[3-D]", "the layer exists"),
        *vulkan.GAPS,
    )

    def probe(self) -> Availability:
        """Looks for the package without loading it: its OpenMP reads its policy when it is loaded."""
        return installed("ncnn", self.extra, devices=KINDS[self.name].runs_on)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """The reason that the node's own lowering gives; on Vulkan, also that there is no kernel."""
        reason = refusal(node, graph)
        if reason is None and vulkan.runs_on_vulkan(target):
            return vulkan.refusal(node, graph, target)
        return reason

    def variants(self, target: Target) -> tuple[Target, ...]:
        """Without Winograd too: on small images it loses."""
        if target.kind.name != self.name or "winograd" in target.options:
            return (target,)
        return (target, target.with_options({"winograd": False}))

    def follows_blocks(self, target: Target) -> bool:
        """Its packed channels are as wide as the vectors are; on x86, ONNX Runtime's blocks are the same."""
        packs = target["packing"] if target.kind.name == self.name else _DEFAULTS["packing"]
        return bool(packs) and _IS_X86 and not vulkan.runs_on_vulkan(target)

    def openmp_files(self) -> tuple[Path, Path] | None:
        """The wheel's one module, and the libgomp that it carries. Its regions have no barriers."""
        spec = util.find_spec("ncnn")
        for folder in map(Path, spec.submodule_search_locations or ()) if spec else ():
            files = zip(folder.glob("ncnn*.so"), folder.parent.glob("ncnn.libs/libgomp*"), strict=False)
            return next(files, None)
        return None

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """How long the threads of GNU's OpenMP spin, and how many a Vulkan device in software has."""
        return {**openmp.ENVIRONMENT[settings.spin], **vulkan.environment(settings)}

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Write the network; ncnn itself prepares the weights when it loads them."""
        with guard(CompileError, self.name):
            network = lower(model)
            recipes, derived = describe(network)
        return EngineArtifact(
            files={"model.param": network.param.encode(), "derived.bin": derived},
            weights=tuple(dict.fromkeys(recipe["weight"] for recipe in recipes if "weight" in recipe)),
            meta={
                "blocks": recipes,
                "inputs": [_row(border) for border in network.inputs],
                "outputs": [_row(border) for border in network.outputs],
            },
        )

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Load the network and stream its weights; ncnn keeps its own reordered copy of them."""
        missing = [name for name in artifact.weights if name not in weights]
        if missing:
            raise LoadError(self.name, f"no array for the weights {', '.join(missing[:5])}")
        with guard(LoadError, self.name):
            import ncnn

            param = artifact.files["model.param"].decode()
            if vulkan.runs_on_vulkan(target):
                vulkan.require_device(ncnn, index_of(target))
                vulkan.require_kernels(param)
            engine = _Engine(ncnn, _options(target, settings), device=index_of(target))
            source = Source(chunks(artifact.meta["blocks"], weights, artifact.files["derived.bin"]))
            engine.load(param, source)
        return NcnnExecutable(engine, *(list(map(_border, artifact.meta[side])) for side in ("inputs", "outputs")))

    def at_defaults(self, target: Target, isa: Collection[str]) -> Target:
        """In f16 on Arm processors that compute in it."""
        if target.kind.name != self.name or "fp16" in target.options or "asimdhp" not in isa:
            return target
        return target.with_options({"fp16": True})

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.param`` and ``model.bin`` as any ncnn reads them, and ``options.json``: options and blob names."""
        artifact = self.compile(model, target, settings)
        weights = {name: model.weights[name].array() for name in artifact.weights}
        folder.mkdir(parents=True, exist_ok=True)
        paths = (folder / "model.param", folder / "model.bin", folder / "options.json")
        paths[0].write_bytes(artifact.files["model.param"])
        with paths[1].open("wb") as file:
            for chunk in chunks(artifact.meta["blocks"], weights, artifact.files["derived.bin"]):
                file.write(chunk.data)
        options = {"opt": _options(target, settings), "inputs": artifact.meta["inputs"]}
        options |= {"outputs": artifact.meta["outputs"], "environment": self.environment(settings)}
        paths[2].write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
        return paths


class NcnnExecutable(Executable):
    """A loaded network. Calls are made one at a time."""

    def __init__(self, engine: _Engine, inputs: Sequence[Border], outputs: Sequence[Border]) -> None:
        self.inputs = tuple(Signature(name=b.name, dtype="float32", shape=b.shape) for b in inputs)
        self.outputs = tuple(Signature(name=b.name, dtype="float32", shape=b.shape) for b in outputs)
        self._engine = engine
        self._entries = tuple(inputs)
        self._exits = tuple(outputs)

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Inputs are read where they lie if their readers allow it; outputs are copied out of ncnn's padded rows."""
        engine = self._engine
        ports = [(border, as_port(inputs[border.name])) for border in self._entries]
        feeds = [(_Feed(engine.ncnn, border, port.block), port) for border, port in ports]
        results = [(border, as_port(outputs[border.name])) for border in self._exits]

        def call() -> None:
            with guard(ExecutionError, "ncnn"):
                extractor = engine.extractor()
                for feed, port in feeds:
                    _check(extractor.input(feed.blob, feed.mat(port.array)), f"input {feed.blob}")
                for border, port in results:
                    code, mat = extractor.extract(border.blob, _AS_IT_IS if port.block else _UNPACKED)
                    _check(code, f"output {border.blob}")
                    computed = engine.blocks(mat, port.block) if port.block else np.asarray(mat)
                    if computed.shape != _layout(border, port.block):
                        raise ExecutionError("ncnn", f"{border.blob} is {computed.shape}, not {border.blob_shape}")
                    np.copyto(port.array.reshape(computed.shape), computed)

        return call

    def close(self) -> None:
        """Free the network; a call bound before raises from now on."""
        self._engine.close()


class _Pools:
    """Where networks have their results and their working memory.

    Without pools of ours, ncnn copies each output once more and faults in fresh pages at every call.
    """

    def __init__(self, ncnn: Any) -> None:
        self.blobs, self.workspace = ncnn.PoolAllocator(), ncnn.PoolAllocator()


class _Engine:
    """The network and the memory pools it must not outlive."""

    _living: ClassVar[WeakValueDictionary[int, _Pools]] = WeakValueDictionary()
    """The pools of this process while a network is open. Shared: of several networks in one plan each finds memory in
    the cache that the one before has just given back, where with pools of their own it has gone cold."""

    def __init__(self, ncnn: Any, options: Mapping[str, bool | int], *, device: int = 0) -> None:
        self.ncnn = ncnn
        self._pools: _Pools | None = self._living.get(0) or self._living.setdefault(0, _Pools(ncnn))
        self._net: Any = ncnn.Net()
        for name, value in options.items():
            setattr(self._net.opt, name, value)
        if device:
            self._net.set_vulkan_device(device)
        self._net.opt.blob_allocator, self._net.opt.workspace_allocator = self._pools.blobs, self._pools.workspace

    def load(self, param: str, source: Source) -> None:
        """Read the network and its weights."""
        _check(self._net.load_param_mem(param), "the layers")
        reader = _reader(self.ncnn, source)
        code = self._net.load_model(reader)
        if reader.failure is not None:
            raise reader.failure
        _check(code, "the weights")
        if source.left_over:
            raise LoadError("ncnn", "the network read fewer weights than it has")

    def extractor(self) -> Any:
        """What runs the network once."""
        if self._net is None:
            raise ExecutionError("ncnn", "the network was closed")
        return self._net.create_extractor()

    def blocks(self, mat: Any, block: int) -> np.ndarray:
        """A result in blocks of so many channels, as an array of (c / block, h, w * block)."""
        if mat.elempack != block:
            packed = self.ncnn.Mat()
            self.ncnn.convert_packing(mat, packed, block, self._net.opt)
            mat = packed
        # numpy's view of a packed matrix crashes; the same memory as one of plain rows does not.
        _set_packing(mat, mat.w * block, 1, mat.cstep * block)
        return np.asarray(mat)

    def close(self) -> None:
        """Free the network before its pools."""
        self._net = None
        self._pools = None

    def __del__(self) -> None:
        self.close()


class _Feed:
    """Arrays as ncnn's matrices: read where they lie if all their readers allow that and they lie well, else copied.

    Only x86 kernels were seen to stay inside the memory they are given, and they load whole cache lines.
    """

    def __init__(self, ncnn: Any, border: Border, block: int | None) -> None:
        self.blob = border.blob
        self._ncnn = ncnn
        self._shape = _layout(border, block)
        self._block = block
        self._in_place = border.shared and _IS_X86
        self._own: tuple[np.ndarray, Any] | None = None
        self._seen: np.ndarray | None = None
        self._view: Any = None

    def mat(self, array: np.ndarray) -> Any:
        """The matrix for this array, which this keeps alive as long as the matrix: ncnn does not."""
        if array is not self._seen:
            self._seen = array
            lies_well = self._in_place and not array.ctypes.data % _CACHE_LINE
            self._view = self._over(array.reshape(self._shape)) if lies_well else None
        if self._view is not None:
            return self._view
        if self._own is None:
            self._own = self._copy_place()
        place, mat = self._own
        np.copyto(place, array.reshape(self._shape))
        return mat

    def _copy_place(self) -> tuple[np.ndarray, Any]:
        if self._block:
            place = np.empty(self._shape, np.float32)
            return place, self._over(place)
        mat = self._ncnn.Mat(*reversed(self._shape))
        return np.asarray(mat), mat

    def _over(self, array: np.ndarray) -> Any:
        mat = self._ncnn.Mat(array)
        if self._block:
            width = self._shape[-1] // self._block
            _set_packing(mat, width, self._block, self._shape[-2] * width)
        return mat


def _layout(border: Border, block: int | None) -> tuple[int, ...]:
    """The shape of a border's array as ncnn's rows lie: in blocks, each row has those of its pixels side by side."""
    if not block:
        return border.blob_shape
    channels, height, width = border.blob_shape
    return (channels // block, height, width * block)


def _set_packing(mat: Any, width: int, block: int, step: int) -> None:
    """Call the memory of a matrix rows of so many elements, each of a block of floats, channels so many apart."""
    mat.w, mat.elempack, mat.elemsize, mat.cstep = width, block, 4 * block, step


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _reader(ncnn: Any, source: Source) -> Any:
    """What ncnn reads a weight stream through."""

    class Reader(ncnn.DataReader):  # type: ignore[misc]
        """Copies bytes to where ncnn points. An exception must not pass through ncnn, so it is kept."""

        failure: BaseException | None = None

        def read(self, capsule: object, size: int) -> int:
            try:
                address = _capsule_pointer(capsule, _capsule_name(capsule))
                return source.fill(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)))
            except BaseException as error:
                self.failure = error
                return 0

    return Reader()


def _options(target: Target, settings: RunSettings) -> dict[str, bool | int]:
    """Members of ``ncnn.Option`` and their values."""
    stated = target if target.kind.name == NcnnBackend.name else _DEFAULTS
    return {
        "num_threads": thread_count(target, settings),
        "lightmode": True,
        "use_vulkan_compute": vulkan.runs_on_vulkan(target),
        "use_winograd_convolution": bool(stated["winograd"]),
        "use_sgemm_convolution": bool(stated["sgemm"]),
        "use_packing_layout": bool(stated["packing"]),
        **dict.fromkeys(_FP16, bool(stated["fp16"])),
        **dict.fromkeys(_BF16, False),
    }


def _check(code: int, what: str) -> None:
    if code != 0:
        raise RuntimeError(f"{what}: code {code}")


def _row(border: Border) -> dict[str, Any]:
    """A border as it stands in the artifact's meta."""
    return {**asdict(border), "shape": list(border.shape), "blob_shape": list(border.blob_shape)}


def _border(row: Mapping[str, Any]) -> Border:
    """What `_row` wrote."""
    known = {each.name: row[each.name] for each in fields(Border)}
    return Border(**{**known, "shape": tuple(row["shape"]), "blob_shape": tuple(row["blob_shape"])})
