"""What a processor can do, derived from a target's options by tables. Nothing here looks at the machine it runs on."""

from __future__ import annotations

from intarsia.target.features.architectures import ARCHITECTURES, Architecture, architecture
from intarsia.target.features.features import PROCESSOR_KINDS, Features, arm_keys, features_of, has_features

__all__ = [
    "ARCHITECTURES",
    "PROCESSOR_KINDS",
    "Architecture",
    "Features",
    "architecture",
    "arm_keys",
    "features_of",
    "has_features",
]
