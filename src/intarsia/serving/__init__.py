"""A server for artifacts: the Open Inference Protocol, version 2, over HTTP and gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.serving.access import Access
    from intarsia.serving.limits import Limits
    from intarsia.serving.loaded import Loader, Loading
    from intarsia.serving.server import Endpoints, Server

__all__ = ["Access", "Endpoints", "Limits", "Loader", "Loading", "Server"]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.serving.access": ("Access",),
        "intarsia.serving.limits": ("Limits",),
        "intarsia.serving.loaded": ("Loader", "Loading"),
        "intarsia.serving.server": ("Endpoints", "Server"),
    },
)
