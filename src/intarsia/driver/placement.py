"""The measured plan of a network that is written as C, where its target is an emulated board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.c.site import NoKernelError
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import ModelError
from intarsia.runtime.aot.writing import STACK_AND_REST, Written, offered, prepared_graph
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.plan import BoardPlan, measured_plan

if TYPE_CHECKING:
    from intarsia.cost.records.store import Store
    from intarsia.planning.request import Compilation
    from intarsia.target import Target

_FREE = "collage"
"""The strategy that gives each instruction the best kernel of all engines. Others say whose nodes are whose."""


def plan_by_counting(
    job: Compilation,
    written: Written,
    feeds: Mapping[str, np.ndarray],
    answers: Answers,
    store: Store,
    progress: Watcher,
) -> BoardPlan | None:
    """The plan that executes the fewest instructions; ``None`` where nothing counts them.

    Args:
        job: What is compiled, with the plan by priority or of a file.
        written: What is written, by that plan.
        feeds: Inputs by name.
        answers: What the reference answers to them.
        store: Where counts are kept and looked up.
        progress: Told what is done.

    Raises:
        ModelError: There is no C for a part of the model.
        BackendUnavailableError: A compiler or the emulator is not installed.
        BackendError: No engine's kernels make a program that runs.
        ConfigError: They do not fit into the board.
        MismatchError: Nothing that they make answers rightly.
    """
    place = written.place
    if place.board is None:
        return None
    progress(Progress(stage="measure", note=f"counting instructions on {place.name}"))
    program, known = prepared_graph(written.graph)
    is_free = job.problem.settings.partition == _FREE
    values = [memory.size for memory in place.memories if memory.is_written]
    try:
        found = measured_plan(
            job.graph,
            program,
            known,
            written.config.host,
            _free(job) if is_free else _given(job),
            offered,
            place.board,
            feeds,
            answers,
            limit_bytes=sum(values) - STACK_AND_REST if values else None,
            library=place.library,
            store=store,
            provenance=job.origin.provenance,
        )
    except NoKernelError as error:
        raise ModelError(f"there is no C for a part of the model: {error}") from error
    return found if is_free else replace(found, partitioning=job.given)


def _free(job: Compilation) -> dict[Target, frozenset[str]]:
    """What each engine takes."""
    capabilities = job.problem.capabilities
    return {
        target: frozenset(node.id for node in job.graph.nodes if capabilities[target].takes(node.id))
        for target in job.problem.targets
    }


def _given(job: Compilation) -> dict[Target, frozenset[str]]:
    """What each engine has by the given plan."""
    found: dict[Target, frozenset[str]] = {}
    for part in job.given.partitions:
        found[part.target] = found.get(part.target, frozenset()) | frozenset(part.nodes)
    return found
