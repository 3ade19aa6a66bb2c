"""What can be measured under load: a plan that a server loads several times in one process."""

from __future__ import annotations

from typing import Final

from intarsia.config import CompilationConfig
from intarsia.config.search_settings import SearchSettings
from intarsia.errors import ConfigError
from intarsia.partitioning import PlanFile
from intarsia.planning.availability import EXECUTORS, RUNTIMES
from intarsia.target import Target

_OPEN_SIZES: Final = "vm"


def check_objective(config: CompilationConfig, search: SearchSettings, plan: PlanFile | None) -> None:
    """Raise a `ConfigError` where throughput is the objective and what is described cannot be loaded several times."""
    if not search.is_for_throughput:
        return
    for what, stated, served in (
        ("executor", config.executor, (EXECUTORS[0], _OPEN_SIZES)),
        ("runtime", config.runtime, RUNTIMES[:1]),
    ):
        if stated.kind.name not in served:
            raise ConfigError(
                f"objective throughput: instances are served by the {what} {' or '.join(served)}, and the {what} "
                f"{str(stated)!r} is asked for: state {served[0]}, or leave the objective out"
            )
    nested = next((member for member in config.targets if not isinstance(member, Target)), None)
    if nested is not None:
        raise ConfigError(
            f"objective throughput: the nested configuration {nested.text()!r} divides its threads itself; list its "
            "targets, or leave the objective out"
        )
    if plan is not None and plan.pipeline is not None:
        raise ConfigError(
            "objective throughput: the plan file has a pipeline, which drives a stream in one instance; take it out, "
            "or leave the objective out"
        )
