"""Plans that run: buffers, threads, executors, the artifact file, verification."""

from intarsia.runtime.artifact.artifact import Artifact
from intarsia.runtime.artifact.export import export
from intarsia.runtime.artifact.machine import this_machine
from intarsia.runtime.artifact.writing import attach_report, write_artifact, write_buckets
from intarsia.runtime.buckets import Bucket
from intarsia.runtime.build import Build, build, can_embed, load_build, main_places, weights_of
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.feeds import check_feeds, random_feeds
from intarsia.runtime.model import CompiledModel, load
from intarsia.runtime.plan import Plan, Step, plan_of
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
