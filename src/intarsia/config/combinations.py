"""Which executor, runtime and targets cannot go together, each with the reason. What is only unsupported is allowed.

Among that, the device target that each engine generates code for, where it does not say so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from intarsia.config.drives import Executor, Runtime
from intarsia.config.elements import Member
from intarsia.errors import SpecError
from intarsia.spec.schema import Options
from intarsia.target import Target, resolve_base

_HOSTS_OF_C = ("c", "llvm")
_WITHOUT_DRIVER = frozenset({"cpu", "ext_dev"})
"""Device types that need no driver of an operating system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """What has to go together: targets, most preferred first, and what drives them."""

    targets: Sequence[Member]
    host: Target
    executor: Executor
    runtime: Runtime


@cache
def default_executor() -> Executor:
    """The executor of a configuration that states none."""
    return Executor("graph")


def default_runtime(executor: Executor) -> Runtime:
    """The runtime of a configuration that states none: C where the executor passes arguments as C does."""
    return _runtime("crt" if _passes_c_arguments(executor) else "python")


@cache
def _runtime(name: str) -> Runtime:
    return Runtime(name)


Rule = Callable[[Combination], Iterator[tuple[str, str]]]


def faults_of_combination(options: Options, targets: Sequence[Member], host: Target) -> Iterator[tuple[str, str]]:
    """For each rule that is broken: the option to change, and why the combination is impossible."""
    executor = options.get("executor") or default_executor()
    runtime = options.get("runtime") or default_runtime(executor)
    combination = Combination(targets=targets, host=host, executor=executor, runtime=runtime)
    for rule in _RULES:
        yield from rule(combination)


def _crt_is_bare_metal(it: Combination) -> Iterator[tuple[str, str]]:
    if it.runtime.kind.name != "crt":
        return
    if it.executor.kind.name == "pipeline":
        yield (
            "executor",
            "runtime crt has no threads, but a pipeline runs its stages in parallel; choose executor graph or aot",
        )
    if it.host.kind.name not in _HOSTS_OF_C:
        yield "runtime", f"crt is C code, and no C code can be made for the host {str(it.host)!r}; choose c or llvm"
    for target in it.targets:
        if isinstance(target, Target) and target.device_type not in _WITHOUT_DRIVER:
            what = f"crt has no operating system, and {str(target)!r} needs the driver of a {target.device_type} device"
            yield "runtime", f"{what}; choose runtime cpp"


def _aot_is_compiled_for_the_host(it: Combination) -> Iterator[tuple[str, str]]:
    if it.executor.kind.name == "aot" and it.host.kind.name not in _HOSTS_OF_C:
        yield "executor", f"aot compiles code for the host, and none can be made for {str(it.host)!r}; choose c or llvm"


def _interfaces_of_aot(it: Combination) -> Iterator[tuple[str, str]]:
    if not _passes_c_arguments(it.executor):
        return
    is_unpacked, is_c = bool(it.executor["unpacked-api"]), it.executor["interface-api"] == "c"
    if it.runtime.kind.name != "crt":
        what = "-interface-api=c" if is_c else "-unpacked-api"
        yield "executor", f"runtime {it.runtime.kind.name} calls with packed arguments; {what} needs runtime crt"
    elif not is_unpacked:
        yield "executor", "-interface-api=c passes each argument by itself, so it needs -unpacked-api"


def _cuda_graph_needs_cuda(it: Combination) -> Iterator[tuple[str, str]]:
    if it.executor.kind.name != "cuda-graph":
        return
    if not any(spec.device_type == "cuda" for spec in it.targets):
        yield "executor", "cuda-graph records the work of a CUDA device, and no target runs on one; add cuda"


_RULES: tuple[Rule, ...] = (
    _crt_is_bare_metal,
    _aot_is_compiled_for_the_host,
    _interfaces_of_aot,
    _cuda_graph_needs_cuda,
)


def _passes_c_arguments(executor: Executor) -> bool:
    return executor.kind.name == "aot" and bool(executor["unpacked-api"] or executor["interface-api"] == "c")


def base_of(engine: Target, members: Sequence[Member], host: Target) -> Target:
    """The base of an engine's target: as stated, else the one device target that it can be, else the host.

    Raises:
        SpecError: None can be, or several can; they are listed.
    """
    targets = [spec for spec in members if isinstance(spec, Target)]
    has_device = any(engine.refines(target) for target in targets)
    around = targets if has_device else [*targets, host]
    # A host whose code comes from its own engine is a processor to others: `onnxruntime, c` is one machine.
    if host.kind.has_own_engine and not any(map(engine.refines, around)):
        around += filter(engine.refines, [Target({"kind": "llvm"} | _processor(host))])
    return resolve_base(engine, around)


def _processor(host: Target) -> dict[str, Any]:
    """What a target says of its processor, in options that every kind of processor has."""
    return {name: host.options[name] for name in ("mcpu", "mattr", "mtriple") if name in host.options}


def faults_of_bases(members: Sequence[Member], host: Target) -> Iterator[tuple[str, str]]:
    """For each engine without a base to be found: the option to change, and what to write.

    Accelerators alone are described without one: they are no whole machine, and a compile says what to write.
    """
    if all(map(is_partial, members)):
        return
    for engine in members:
        if isinstance(engine, Target) and engine.kind.is_external:
            try:
                base_of(engine, members, host)
            except SpecError as error:
                yield "targets", str(error)


def is_partial(member: Member) -> bool:
    """Whether it takes only part of a graph, whatever the graph: an accelerator, or a configuration of nothing else."""
    return member.kind.partial if isinstance(member, Target) else all(map(is_partial, member.targets))
