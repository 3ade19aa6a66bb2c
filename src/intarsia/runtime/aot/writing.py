"""Writes a graph as a project of C: lowered as a whole, each instruction by the engine that its nodes belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.backends.c.network import ENGINE, network, part_module, prepared_of
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import NoKernelError, Site
from intarsia.backends.contract.source import WritesPrograms, WritesSource
from intarsia.backends.lowering.passes.regions import REGION, join
from intarsia.backends.lowering.program import LEAVES
from intarsia.codegen.emit import TYPES
from intarsia.codegen.interface import Entry, Options
from intarsia.codegen.memories import Layout, lay_out
from intarsia.codegen.module import Buffer
from intarsia.codegen.naming import named_by_layer
from intarsia.codegen.parts.joining import Part, joined
from intarsia.codegen.project import Project, fitting, project_of
from intarsia.config import CompilationConfig
from intarsia.errors import CompileError, ConfigError, ModelError
from intarsia.graph import Graph, extract
from intarsia.partitioning import Partitioning
from intarsia.partitioning.groups import computing_first
from intarsia.runtime.aot.place import Place
from intarsia.target import Target
from intarsia.version import __version__

if TYPE_CHECKING:
    import numpy as np

    from intarsia.backends.lowering.passes.regions import Region
    from intarsia.backends.lowering.program import Program
    from intarsia.codegen.module import Kernel, SourceModule

_DOUBLE = "float64"
ALIGNMENT = 16
"""Bytes that values and weights are aligned to where nothing is stated: what the widest vectors of a Cortex-M need."""

STACK_AND_REST = 8192
"""Bytes of a board's fastest memory that no value is put into where there is a slower one."""

Chooser = Callable[["Program", "Mapping[int, np.ndarray]", "Written"], "SourceModule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a graph is written by.

    Attributes:
        graph: All of it.
        partitioning: Whose nodes are whose.
        config: The executor and the runtime that say how it is called, and the host.
        place: Where it runs.
        name: Of the model.
    """

    graph: Graph
    partitioning: Partitioning
    config: CompilationConfig
    place: Place
    name: str


def options_of(config: CompilationConfig) -> Options:
    """What the executor and the runtime of a configuration say about the code."""
    executor, runtime = config.executor, config.runtime
    is_c, is_unpacked = executor["interface-api"] == "c", bool(executor["unpacked-api"])
    entry: Entry = "structs" if is_c else "arguments" if is_unpacked else "array"
    return Options(
        entry=entry,
        workspace_alignment=executor["workspace-byte-alignment"] or ALIGNMENT,
        constant_alignment=executor["constant-byte-alignment"] or ALIGNMENT,
        link_weights=bool(executor["link-params"]),
        static_workspace=bool(executor["static-workspace"]),
        registered=bool(runtime["system-lib"]),
    )


def write_project(written: Written, choose: Chooser | None = None) -> tuple[Project, Layout]:
    """The project of a graph, and where its values lie.

    Args:
        written: What is written.
        choose: Makes the module of a prepared program; each engine's first kernel if left out.

    Raises:
        ModelError: Something of the model has no C.
        ConfigError: It does not fit into the target's memories; the message names the layer.
        CompileError: The compiler of an engine refuses a part.
    """
    try:
        if is_of_programs(written.partitioning):
            module = _joined(written)
        else:
            program, known = prepared_graph(written.graph)
            module = (choose or first_kernels)(program, known, written)
    except NoKernelError as error:
        raise ModelError(f"there is no C for a part of the model: {error}") from error
    options = fitting(options_of(written.config), module)
    module = _named(module, written.graph)
    layout = lay_out(
        module,
        written.place.memories,
        options.workspace_alignment,
        linked=options.link_weights,
        reserved=STACK_AND_REST,
    )
    about = f"{written.name}, written by Intarsia {__version__}"
    return project_of(layout, written.name, options, about), layout


def is_of_programs(partitioning: Partitioning) -> bool:
    """Whether an engine takes part whose own compiler makes functions, part by part."""
    return any(isinstance(registry.of(part.target), WritesPrograms) for part in partitioning.partitions)


def _joined(written: Written) -> SourceModule:
    """Each partition by the compiler of its engine; those of `c` are written as C.

    Raises:
        ConfigError: It is for a board, or an engine takes part that has neither.
        ModelError: A value is of a type that C does not have.
    """
    graph, host = written.graph, written.config.host
    if written.place.board is not None:
        raise ConfigError(
            f"the program is for {written.place.name}, which has no operating system; leave out all engines but c, "
            "cmsis-nn and ethos-u"
        )
    _check_types(graph)
    parts = []
    for part in written.partitioning.partitions:
        backend, model = registry.of(part.target), extract(graph, part.nodes)
        for value in (*model.inputs, *model.outputs):
            if value.dtype not in TYPES:
                raise ModelError(f"{value.name!r} is {value.dtype}, and C has no such type")
        if isinstance(backend, WritesPrograms):
            module = backend.program(model, part.target, host)
        elif part.target.kind.name == ENGINE:
            module = part_module(model, host)
        else:
            raise ConfigError(f"{part.target.kind.name} takes no part beside engines with compilers of their own")
        parts.append(Part(module=module, engine=part.target.kind.name, nodes=part.nodes))
    made = {name for part in parts for name in part.module.outputs}
    constant = next((name for name in graph.outputs if name not in made and name not in graph.inputs), None)
    if constant is not None:
        raise ModelError(f"the output {constant!r} is a constant, which no part computes; remove it from the model")
    sides = ({name: _buffer(graph, name) for name in names} for names in (graph.inputs, graph.outputs))
    return joined(parts, *sides)


def _buffer(graph: Graph, name: str) -> Buffer:
    value = graph.values[name]
    return Buffer(name=name, dtype=str(value.dtype), shape=tuple(int(size) for size in value.shape or ()))


def prepared_graph(graph: Graph) -> tuple[Program, dict[int, np.ndarray]]:
    """The prepared program of a whole graph, and the arrays of its constants.

    Raises:
        ModelError: Something of it has no C.
    """
    _check_types(graph)
    return prepared_of(extract(graph, (node.id for node in graph.nodes)))


def _named(module: SourceModule, graph: Graph) -> SourceModule:
    """The module with calls and weights named by what they compute: nodes that only convert come last."""
    calls = (replace(call, nodes=computing_first(graph, call.nodes)) for call in module.calls)
    return named_by_layer(replace(module, calls=tuple(calls)))


def first_kernels(program: Program, known: Mapping[int, np.ndarray], written: Written) -> SourceModule:
    """Each instruction by the first kernel of the engine that its nodes belong to; regions by one call."""
    regions: list[Region] = []
    target = whole_target(written.partitioning)
    processor = Processor.of(written.config.host)
    if target is not None:
        program, known, regions = join(program, known, _whole(program, known, written, target, processor))
    choose = kernel_chooser(written)

    def chosen(site: Site) -> tuple[str, Kernel] | None:
        if target is None or site.each.name != REGION:
            return choose(site)
        backend = registry.of(target)
        assert isinstance(backend, WritesSource)
        return target.kind.name, backend.region_kernel(regions[site.attrs["number"]], target)

    return network(program, known, processor, chosen)


def whole_target(partitioning: Partitioning) -> Target | None:
    """The target of an engine that takes whole regions; ``None`` if none takes part."""
    targets = dict.fromkeys(part.target for part in partitioning.partitions)
    return next((each for each in targets if getattr(registry.of(each), "takes_regions", False)), None)


def _whole(
    program: Program, known: Mapping[int, np.ndarray], written: Written, target: Target, processor: Processor
) -> set[int]:
    """Places of the instructions that such an engine computes as a part of a region: their last node is its own."""
    backend = registry.of(target)
    assert isinstance(backend, WritesSource)
    parts = (part for part in written.partitioning.partitions if part.target == target)
    nodes = frozenset(node for part in parts for node in part.nodes)
    found = set()
    for place, each in enumerate(program.instructions):
        if each.name in LEAVES or not each.origin or each.origin[-1] not in nodes:
            continue
        operands = {slot: known[number] for slot, number in enumerate(each.reads) if number in known}
        reads = tuple(program.instructions[number] for number in each.reads)
        if backend.takes_whole(Site(each=each, reads=reads, known=operands, processor=processor), target):
            found.add(place)
    return found


def kernel_chooser(written: Written) -> Callable[[Site], tuple[str, Kernel] | None]:
    """For an instruction the engine of its nodes with its best kernel; ``None`` where that is the C of the host.

    The last of its nodes says what it computes; those before may be borders that another engine has. What an engine
    has no kernel for, as a copy that only the lowering knows of, is computed by the C of the host.
    """
    targets = {node: part.target for part in written.partitioning.partitions for node in part.nodes}

    def choose(site: Site) -> tuple[str, Kernel] | None:
        for target in dict.fromkeys(targets[node] for node in reversed(site.each.origin) if node in targets):
            kernels = offered(target, site)
            if kernels:
                return target.kind.name, kernels[0]
        return None

    return choose


def offered(target: Target, site: Site) -> Sequence[Kernel]:
    """The kernels that a target's engine has for an instruction; none if it has none.

    Raises:
        CompileError: The engine writes no source.
    """
    backend = registry.of(target)
    if not isinstance(backend, WritesSource):
        raise CompileError(target.kind.name, "it writes no source")
    try:
        return backend.kernels(site, target)
    except NoKernelError:
        return ()


def _check_types(graph: Graph) -> None:
    """No part of a network for bare metal is in double precision, which its processors compute in software.

    Raises:
        ModelError: One is.
    """
    for node in graph.nodes:
        for name in (*node.inputs, *node.outputs):
            value = graph.values.get(name) if name else None
            if value is not None and value.dtype == _DOUBLE:
                raise ModelError(
                    f"node {node.id!r}: {name!r} is {_DOUBLE}, and no code is generated for double precision, which "
                    "small processors compute in software; convert the model to float32"
                )
