"""Whether code for a target can run on this machine at all: architecture, width, and operating system of its triple."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.target import detect

if TYPE_CHECKING:
    from intarsia.target.target import Target

_SYSTEMS: Mapping[str, str] = MappingProxyType(
    {
        "linux": "Linux",
        "darwin": "macOS",
        "macos": "macOS",
        "ios": "iOS",
        "windows": "Windows",
        "freebsd": "FreeBSD",
    }
)
"""Operating systems, by how their part of a triple begins."""
_ANDROID = "Android"
_NARROW = ("i386", "i486", "i586", "i686")


def misfit(target: Target) -> tuple[str, str] | None:
    """What this machine is, and what the target is for instead; ``None`` if they fit as far as the target says."""
    here = detect.cpu_here()
    pairs = (
        (_architecture(here), _architecture(target)),
        (_system(_triple(here)), _system(_triple(target))),
        (_width(here), _width(target)),
    )
    return next(((mine, stated) for mine, stated in pairs if mine and stated and mine != stated), None)


def _architecture(target: Target) -> str:
    """One that there are tables of, else what the triple calls it; empty where nothing is said."""
    return target.features.architecture or _triple(target).partition("-")[0]


def _triple(target: Target) -> str:
    return str((target.base or target).options.get("mtriple", "")).lower()


def _system(triple: str) -> str:
    """The operating system that a triple names; empty where it names none."""
    parts = triple.split("-")[1:]
    if any(part.startswith("android") for part in parts):
        return _ANDROID
    return next((name for part in parts for sign, name in _SYSTEMS.items() if part.startswith(sign)), "")


def _width(target: Target) -> str:
    """The bits of an x86 processor that a triple names; empty for others."""
    first = _triple(target).partition("-")[0]
    if target.features.architecture != "x86" or not first:
        return ""
    return "32 bits" if first in _NARROW else "64 bits"
