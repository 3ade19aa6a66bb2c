"""What is compiled for, and how: the compilation configuration, and the settings of a plan's run and search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.config.compilation import CompilationConfig
    from intarsia.config.deployment import Deployment, Link
    from intarsia.config.drives import EXECUTORS, RUNTIMES, Executor, Runtime
    from intarsia.config.metadata import from_metadata, one_config, to_metadata
    from intarsia.config.search_settings import SearchSettings
    from intarsia.config.serving import NestedEngine, config_inside, engine_of_plan, engines, target_of
    from intarsia.config.settings import Pipeline, RunSettings, Spin

__all__ = [
    "EXECUTORS",
    "RUNTIMES",
    "CompilationConfig",
    "Deployment",
    "Executor",
    "Link",
    "NestedEngine",
    "Pipeline",
    "RunSettings",
    "Runtime",
    "SearchSettings",
    "Spin",
    "config_inside",
    "engine_of_plan",
    "engines",
    "from_metadata",
    "one_config",
    "target_of",
    "to_metadata",
]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.config.compilation": ("CompilationConfig",),
        "intarsia.config.deployment": (
            "Deployment",
            "Link",
        ),
        "intarsia.config.drives": (
            "EXECUTORS",
            "RUNTIMES",
            "Executor",
            "Runtime",
        ),
        "intarsia.config.metadata": (
            "from_metadata",
            "one_config",
            "to_metadata",
        ),
        "intarsia.config.serving": (
            "NestedEngine",
            "config_inside",
            "engine_of_plan",
            "engines",
            "target_of",
        ),
        "intarsia.config.search_settings": ("SearchSettings",),
        "intarsia.config.settings": (
            "Pipeline",
            "RunSettings",
            "Spin",
        ),
    },
)
