"""Says why a plan cannot be compiled here: a sentence for each executor, runtime or engine that is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intarsia.backends import registry
from intarsia.config import CompilationConfig
from intarsia.config.drives import CLUSTER, REMOTE, Runtime, is_elsewhere
from intarsia.devices import DevicePlan, serves
from intarsia.partitioning import Partitioning, PlanFile
from intarsia.planning.absent_engines import absent_engines
from intarsia.planning.engine_set import (
    Absence,
    Engine,
    absence,
    architecture_here,
    device_writers,
    is_in_process,
    leaves,
)
from intarsia.target import Target, VirtualDevice
from intarsia.target.detect import lack_of
from intarsia.target.device_index import DEVICE_INDEX
from intarsia.target.fit import misfit
from intarsia.target.processors import processors_here

CPU = "cpu"
PIPELINE = "pipeline"
"""The executor of streams, whose stages may be bound to parts of the cores."""
EXECUTORS = ("graph", PIPELINE, "vm")
"""Those that drive a model in this package; the others but `AHEAD` can only be described."""
AHEAD = "aot"
"""The executor of networks that are written as C."""
RECORDED = "cuda-graph"
"""The executor of what a GPU replays by itself."""
NATIVE = "cpp"
"""The runtime without Python, which drives models of fixed sizes, one request after another."""
RUNTIMES = ("python", NATIVE)
"""Those that are built for here, beside `BARE`."""
BARE = "crt"
"""The runtime of what that executor writes."""
RUNNING = (*EXECUTORS, AHEAD, *RUNTIMES, BARE, REMOTE, CLUSTER)
"""Every executor and runtime that there is a stage for."""
_LINKED = "link-params"
"""The option of executors that only code obeys."""
_LAID_OUT = ("board", "ram", "flash", "stack")
"""Options of targets that only a program whose memory is planned as a whole obeys."""


def missing_stages(config: CompilationConfig) -> Iterator[str]:
    """What a configuration, or one nested in it, asks for and cannot get here: an executor, a runtime, an option."""
    runtime = config.runtime
    if is_ahead_of_time(config):
        if runtime.kind.name != BARE:
            yield f"what the executor {AHEAD} writes is for the runtime {BARE}, and not for {str(runtime)!r}; state it"
    else:
        yield from _missing_in_process(config)
    for member in config.targets:
        if not isinstance(member, CompilationConfig):
            continue
        if is_native(config):
            yield f"the runtime {NATIVE} drives no plan inside another one; list the targets of {member.text()!r}"
        elif is_native(member):
            yield f"no stage drives a part of a model by the runtime {str(member.runtime)!r}; state it for the whole"
        elif is_in_process(member):
            yield from missing_stages(CompilationConfig.of({**member.export(), "runtime": RUNTIMES[0]}))
        elif is_ahead_of_time(config) or is_ahead_of_time(member):
            yield f"a network is written as C as a whole, so that {AHEAD} takes no nested configuration, and is none"
        else:
            yield from missing_stages(member)
        yield from _far_host(member, config)


def _far_host(member: CompilationConfig, config: CompilationConfig) -> Iterator[str]:
    """Why a co-processor is out of reach: it is of another architecture than this machine."""
    stated, here = member.host.features.architecture, architecture_here()
    if member.host != config.host and stated and here and stated != here:
        yield f"{str(member.host)!r} drives a part of the model, and no {stated} processor can be reached from here"


def misfit_hosts(config: CompilationConfig) -> Iterator[str]:
    """Hosts that are stated, by the configuration or one nested in it, and are no processor like this machine's."""
    for several in (config, *(member for member in config.targets if isinstance(member, CompilationConfig))):
        other = misfit(several.host) if "host" in several.options else None
        if other is not None:
            yield (
                f"the host {str(several.host)!r} drives the rest, and is for {other[1]}; this is {other[0]}: "
                "compile there, or leave the host out"
            )


def obeys(kind: str, option: str) -> bool:
    """Whether a stage does what an option of an executor or a runtime says, where there is a stage for that at all."""
    return option != _LINKED or kind == AHEAD


def is_ahead_of_time(config: CompilationConfig) -> bool:
    """Whether the model is to be written as C."""
    return config.executor.kind.name == AHEAD


def is_native(config: CompilationConfig) -> bool:
    """Whether the model is to run without Python."""
    return config.runtime.kind.name == NATIVE


def _missing_in_process(config: CompilationConfig) -> Iterator[str]:
    executor, runtime = config.executor, config.runtime
    if executor.kind.name == RECORDED:
        yield f"the executor {RECORDED} needs an NVIDIA GPU, and no stage here drives one"
    elif executor.kind.name not in EXECUTORS:
        yield f"no stage drives a model by the executor {str(executor)!r} yet; {', '.join((*EXECUTORS, AHEAD))} run"
    elif not obeys(executor.kind.name, _LINKED) and executor.options.get(_LINKED):
        yield f"no stage generates code that weights could be linked into, as the executor {str(executor)!r} asks"
    if is_native(config) and executor.kind.name == PIPELINE:
        yield (
            f"the runtime {NATIVE} runs one request after another, and {str(executor)!r} is asked for; "
            f"{EXECUTORS[0]} and vm run"
        )
    yield from _missing_runtime(runtime)
    for target in config.targets:
        stated = [f"-{name}" for name in _LAID_OUT if isinstance(target, Target) and name in target.options]
        if stated:
            yield (
                f"{target}: {', '.join(stated)} is of programs that are written as C; state --executor {AHEAD} and "
                f"--runtime {BARE}, or leave it out"
            )


def _missing_runtime(runtime: Runtime) -> Iterator[str]:
    if runtime.kind.name == BARE:
        yield f"only the executor {AHEAD} builds for the runtime {str(runtime)!r}; state it"
    elif runtime.kind.name in (REMOTE, CLUSTER):
        yield from _missing_far(runtime)
    elif runtime.kind.name not in RUNTIMES:
        yield f"no stage builds for the runtime {str(runtime)!r} yet; {', '.join((*RUNTIMES, BARE))} run"


def _missing_far(runtime: Runtime) -> Iterator[str]:
    """Why a machine elsewhere does not do: it gets whole models, before anything is planned here."""
    if is_elsewhere(runtime):
        yield (
            f"the runtime {str(runtime)!r} is a machine elsewhere, which compiles a model as a whole: state it in the "
            "target of intarsia.compile or intarsia compile, and nowhere else"
        )
    else:
        yield (
            f"the runtime {str(runtime)!r} has no address: state -address=HOST:PORT of a worker (intarsia worker); "
            "without one, it is for a nested configuration"
        )


def is_cpu(device: VirtualDevice) -> bool:
    """Whether a device is one of the processors of the host."""
    return device.device == CPU


def missing_devices(config: CompilationConfig, devices: DevicePlan | None) -> Iterator[str]:
    """Why a device cannot be had that a configuration names by its index, or a device plan, in one sentence each.

    Raises:
        ConfigError: This process may use fewer cores than processors are named.
    """
    for target in config.targets:
        indices = {device.index or 0 for device in config.devices.values() if device.target == target}
        if not isinstance(target, Target) or target.device_type == CPU:
            continue
        lacking = [lack_of(target.device_type, index) for index in sorted(indices) if index]
        yield from filter(None, lacking)
        if lacking and not any(lacking) and 0 not in indices and not set(_able()) & {*target.kind.runs_here}:
            yield _no_other_device(VirtualDevice(target=target, index=min(indices)))
    highest = _highest_processor(config, devices)
    if highest and config.executor.kind.name == PIPELINE:
        processors_here(highest + 1)


def unbound_processors(config: CompilationConfig, devices: DevicePlan | None) -> Iterator[str]:
    """That processors are named, and that the executor binds no threads to them."""
    highest = _highest_processor(config, devices)
    if highest and config.executor.kind.name != PIPELINE:
        yield (
            f"'cpu:{highest}' is a part of the machine's cores, and the executor {PIPELINE} alone binds threads to it, "
            f"not {str(config.executor)!r}: what is placed there runs on all cores"
        )


def _highest_processor(config: CompilationConfig, devices: DevicePlan | None) -> int:
    named = (*config.devices.values(), *(devices.devices if devices else ()))
    return max((device.index or 0 for device in named if is_cpu(device)), default=0)


def missing_engines(
    described: Iterable[Engine], plan: PlanFile | None, devices: DevicePlan | None, lacks: Absence = absence
) -> Iterator[str]:
    """Why the machine's engines that can be used here do not do: none is, or none on a device that is planned on.

    Args:
        described: Those of the configuration.
        plan: The plan file, if there is one.
        devices: Where each node runs, where anybody asked.
        lacks: Why one cannot be used.
    """
    named = leaves(described)
    if plan is not None:
        wanted = dict.fromkeys(target for partition in plan.partitions for target in partition.targets)
        yield from filter(None, (lacks(target) for target in wanted if target.kind.name != registry.NESTED))
        return
    here = [target for target in named if lacks(target) is None]
    if not here:
        yield from absent_engines(named, lacks)
        yield from _written_code(named)
    for device in devices.devices if devices else ():
        serving = [target for target in named if serves(target, device)]
        is_told = any(DEVICE_INDEX in target.kind.options for target in serving)
        if device.index and device.device not in (None, CPU) and not is_told:
            yield lack_of(str(device.device), device.index) or _no_other_device(device)
            continue
        if not any(target in here for target in serving):
            yield from absent_engines(serving, lacks)
            if not serving:
                yield f"no engine of the configuration serves {str(device)!r}"


def _written_code(named: Iterable[Target]) -> Iterator[str]:
    """For devices that code can be written for although they are not here: how."""
    written = {kind for writer in device_writers().values() for kind in writer.device_options}
    for kind in dict.fromkeys((target.base or target).kind.name for target in named):
        if kind in written:
            yield f"to write its code, which nothing here runs: intarsia export MODEL --target {kind}"


def unsupported_accelerators(described: Iterable[Engine]) -> tuple[Target, ...]:
    """The accelerators that are named and that no backend drives.

    An engine that is only not installed is passed over where others do: the machine is still the one that is described.
    """
    known = registry.names()
    return tuple(target for target in leaves(described) if target.kind.partial and target.kind.name not in known)


def missing_accelerators(named: Iterable[Target], given: Partitioning, lacks: Absence) -> Iterator[str]:
    """Why accelerators are missing that run a part of the model by priority, and what to do."""
    wanted = {leaf.target for partition in given.partitions for leaf in partition.leaves}
    lacking = [target for target in named if target in wanted]
    yield from absent_engines(lacking, lacks)
    if lacking:
        names = " and ".join(dict.fromkeys(target.kind.name for target in lacking))
        yield f"by priority, a part of this model is for {names}; to compile for the rest, leave that out"


def _no_other_device(device: VirtualDevice) -> str:
    """Why nothing runs on a device that is here, of another index than 0."""
    return (
        f"no engine of the configuration runs on {str(device)!r}: name the device in the list of targets, as "
        f"{device.device}:{device.index}; of the engines, {' and '.join(_able())} can be told an index"
    )


def _able() -> tuple[str, ...]:
    """The engines that can be told which device of a type they run on."""
    return tuple(name for name in registry.names() if DEVICE_INDEX in Target(name).kind.options)
