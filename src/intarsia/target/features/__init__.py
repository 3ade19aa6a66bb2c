"""What a processor can do, derived from a target's options by tables. Nothing here looks at the machine it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
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

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.target.features.architectures": (
            "ARCHITECTURES",
            "Architecture",
            "architecture",
        ),
        "intarsia.target.features.features": (
            "PROCESSOR_KINDS",
            "Features",
            "arm_keys",
            "features_of",
            "has_features",
        ),
    },
)
