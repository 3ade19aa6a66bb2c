"""What the protocol tells about the server itself."""

from __future__ import annotations

from typing import Any

from intarsia.version import __version__


def server_metadata() -> dict[str, Any]:
    """Name, version and extensions, as the protocol's JSON has them."""
    return {"name": "intarsia", "version": __version__, "extensions": ["binary_tensor_data"]}
