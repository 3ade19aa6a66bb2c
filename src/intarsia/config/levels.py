"""The kinds of the levels beside that of targets: executors, runtimes, configurations, deployments and their links."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from intarsia.config.compilation import LEVEL as CONFIG
from intarsia.config.deployment import LEVEL as DEPLOYMENT
from intarsia.config.deployment import LINK_LEVEL as LINK
from intarsia.config.drives import EXECUTORS, RUNTIMES
from intarsia.spec import Kind

LEVELS: Mapping[str, Mapping[str, Kind]] = MappingProxyType(
    {
        "executor": EXECUTORS,
        "runtime": RUNTIMES,
        "config": CONFIG.kinds,
        "deployment": DEPLOYMENT.kinds,
        "link": LINK.kinds,
    }
)
"""For each level its kinds by name."""
