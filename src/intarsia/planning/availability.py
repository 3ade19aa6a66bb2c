"""Says why a plan cannot be compiled here: a sentence for each executor, runtime or engine that is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intarsia.config import CompilationConfig
from intarsia.devices import DevicePlan, serves
from intarsia.partitioning import PlanFile
from intarsia.planning.engine_set import Engine, absence, leaves

EXECUTORS = ("graph", "pipeline", "vm")
"""Those that drive a model here; the others can only be described."""
RUNTIMES = ("python",)
"""Those that are built for here."""
NOT_DONE = "link-params"
"""The option of executors that no stage obeys."""


def missing_stages(config: CompilationConfig) -> Iterator[str]:
    """What a configuration, or one nested in it, asks for and cannot get here: an executor, a runtime, an option."""
    executor, runtime = config.executor, config.runtime
    if executor.kind.name not in EXECUTORS:
        yield f"no stage drives a model by the executor {str(executor)!r} yet; {' and '.join(EXECUTORS)} run"
    elif executor.options.get(NOT_DONE):
        yield f"no stage generates code that weights could be linked into, as the executor {str(executor)!r} asks"
    if runtime.kind.name not in RUNTIMES:
        yield f"no stage builds for the runtime {str(runtime)!r} yet; {', '.join(RUNTIMES)} runs"
    for member in config.targets:
        if isinstance(member, CompilationConfig):
            yield from missing_stages(member)


def missing_engines(described: Iterable[Engine], plan: PlanFile | None, devices: DevicePlan | None) -> Iterator[str]:
    """Why the machine's engines that can be used here do not do: none is, or none on a device that is planned on."""
    named = leaves(described)
    if plan is not None:
        wanted = dict.fromkeys(partition.target for partition in plan.partitions)
        yield from filter(None, map(absence, wanted))
        return
    here = [target for target in named if absence(target) is None]
    if not here:
        yield from filter(None, map(absence, named))
    for device in devices.devices if devices else ():
        if device.index and device.device not in (None, "cpu"):
            yield f"engines run on the first device of a type so far, and {str(device)!r} is another one"
        serving = [target for target in named if serves(target, device)]
        if not any(target in here for target in serving):
            yield from filter(None, map(absence, serving))
            if not serving:
                yield f"no engine of the configuration serves {str(device)!r}"
