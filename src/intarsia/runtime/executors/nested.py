"""A nested configuration as what runs a step: a plan of its own, driven by its own executor, on the outer buffers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from intarsia.backends.contract import BoundCall, Executable, Traits
from intarsia.runtime.executors.branches import BranchExecutor
from intarsia.runtime.executors.executor import Executor, Storage
from intarsia.runtime.executors.parallel_levels import width
from intarsia.runtime.plan import Plan

if TYPE_CHECKING:
    from intarsia.backends.contract.slots import Places
    from intarsia.target import Target

_VM = "vm"


class NestedExecutable(Executable):
    """Runs the plan inside of a step.

    Attributes:
        plan: The plan inside.
        executors: What drives it, one for each time that it was bound.
    """

    def __init__(self, target: Target, plan: Plan, executables: Sequence[Executable], traits: Sequence[Traits]) -> None:
        self.plan = plan
        self.inputs, self.outputs = plan.inputs, plan.outputs
        self.executors: list[Executor] = []
        self._target = target
        self._executables = executables
        self._traits = traits

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """A call that runs all steps inside, which read and write these very places."""
        executor = self._driving({**inputs, **outputs})
        executor.put_inside()
        self.executors.append(executor)
        return executor.call

    def _driving(self, given: dict[str, Storage]) -> Executor:
        kind = BranchExecutor if width(self.plan) > 1 else Executor
        load = partial(kind, self.plan, self._executables, self._traits, given)
        if _executor_of(self._target) != _VM:
            return load()
        from intarsia.runtime.buckets import Bucket, InputSpec
        from intarsia.runtime.executors.vm import VmExecutor

        bucket = Bucket(ranges={}, sizes={}, plan=self.plan)
        return VmExecutor(InputSpec(inputs=self.plan.inputs, dims={}, buckets=(bucket,)), lambda _: load(), given)

    def close(self) -> None:
        """Free what the engines inside hold."""
        for executor in self.executors:
            executor.close()
        for executable in self._executables:
            executable.close()


def _executor_of(target: Target) -> str:
    """The executor that the configuration states."""
    from intarsia.config.serving import config_inside

    config = config_inside(target)
    assert config is not None, "only nested configurations have plans inside"
    return config.executor.kind.name
