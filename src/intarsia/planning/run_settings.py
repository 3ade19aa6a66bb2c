"""How plans are run, by what the user said: threads, spinning, and what of that is left to measuring."""

from __future__ import annotations

from dataclasses import replace

from intarsia.config import RunSettings, Spin
from intarsia.config.emulated import Emulated
from intarsia.errors import ConfigError, PlanError
from intarsia.numbers import MOST_THREADS
from intarsia.partitioning import PlanFile
from intarsia.runtime import thread_budget


def run_settings(
    plan: PlanFile | None, threads: int | None, max_error: float | None, emulated: Emulated | None
) -> RunSettings:
    """Threads and spinning as they are stated, else as many threads as this process, or the described machine, has.

    Raises:
        ConfigError: The number of threads, or the error that is allowed, is none.
        PlanError: The pipeline of the plan file does not fit its plan.
    """
    stated = threads if threads is not None or plan is None else plan.threads
    cores = None if emulated is None else emulated.cores
    count = (cores or thread_budget()) if stated is None else stated
    if not 1 <= count <= MOST_THREADS:
        raise ConfigError(f"{count} threads: give a number from 1 on; this process may use {thread_budget()}")
    error = _max_error(max_error, plan)
    if plan is None:
        return RunSettings(threads=count, emulated=emulated)
    fault = plan.pipeline and plan.pipeline.fault(len(plan.partitions), count)
    if fault:
        raise PlanError(f"the pipeline does not fit the plan: {fault}")
    return RunSettings(
        threads=count,
        spin=plan.spin or Spin.CALL,
        embed=bool(plan.embed),
        parallel=bool(plan.parallel),
        pipeline=plan.pipeline,
        instances=plan.instances or 1,
        emulated=emulated,
        max_error=error if any(partition.precisions for partition in plan.partitions) else None,
    )


def _max_error(stated: float | None, plan: PlanFile | None) -> float | None:
    """What was said on the command line, else what the plan file says."""
    if stated is None:
        return plan.max_error if plan else None
    if not 0.0 < stated < 1.0:
        raise ConfigError(f"a largest error of {stated:g}: give a share between 0 and 1, such as 0.01")
    return stated


def ways(run: RunSettings, plan: PlanFile | None) -> tuple[RunSettings, ...]:
    """Each setting that the plan file leaves open. Inside one session there is one pool of threads, which may spin."""
    embeds = (False, True) if plan is None or plan.embed is None else (plan.embed,)
    parallels = (False, True) if plan is None or plan.parallel is None else (plan.parallel,)
    spins = (run.spin,) if plan is not None and plan.spin is not None else (run.spin, Spin.FREE)
    return tuple(
        replace(run, embed=embed, parallel=parallel, spin=spin, pipeline=None)
        for embed in embeds
        for parallel in parallels
        for spin in spins
        if (embed or spin is run.spin) and not (embed and parallel)
    )
