"""Plans that run: buffers, threads, executors, the artifact file, verification. Each name loads what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.runtime.artifact.artifact import Artifact
    from intarsia.runtime.artifact.export import export
    from intarsia.runtime.artifact.machine import this_machine
    from intarsia.runtime.artifact.writing import attach_report, write_artifact, write_buckets
    from intarsia.runtime.borders import plan_of
    from intarsia.runtime.buckets import Bucket
    from intarsia.runtime.building import build, can_embed, load_build, main_places, weights_of
    from intarsia.runtime.executors.drawn_feeds import random_feeds
    from intarsia.runtime.executors.executor import Executor
    from intarsia.runtime.executors.feeds import check_feeds
    from intarsia.runtime.model import CompiledModel, load
    from intarsia.runtime.plan import Build, Plan, Step
    from intarsia.target.cores import thread_budget

__all__ = [
    "Artifact",
    "Bucket",
    "Build",
    "CompiledModel",
    "Executor",
    "Plan",
    "Step",
    "attach_report",
    "build",
    "can_embed",
    "check_feeds",
    "export",
    "load",
    "load_build",
    "main_places",
    "plan_of",
    "random_feeds",
    "this_machine",
    "thread_budget",
    "weights_of",
    "write_artifact",
    "write_buckets",
]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.runtime.artifact.artifact": ("Artifact",),
        "intarsia.runtime.artifact.export": ("export",),
        "intarsia.runtime.artifact.machine": ("this_machine",),
        "intarsia.runtime.artifact.writing": (
            "attach_report",
            "write_artifact",
            "write_buckets",
        ),
        "intarsia.runtime.buckets": ("Bucket",),
        "intarsia.runtime.building": (
            "build",
            "can_embed",
            "load_build",
            "main_places",
            "weights_of",
        ),
        "intarsia.runtime.borders": ("plan_of",),
        "intarsia.runtime.executors.executor": ("Executor",),
        "intarsia.runtime.executors.feeds": ("check_feeds",),
        "intarsia.runtime.executors.drawn_feeds": ("random_feeds",),
        "intarsia.runtime.model": (
            "CompiledModel",
            "load",
        ),
        "intarsia.runtime.plan": (
            "Build",
            "Plan",
            "Step",
        ),
        "intarsia.target.cores": ("thread_budget",),
    },
)
