"""What is installed only where models are served: the extra ``serve``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from intarsia.errors import BackendUnavailableError

EXTRA = "serve"
PACKAGES = frozenset({"google", "grpc", "httptools", "prometheus_client", "starlette", "uvicorn"})
"""What the extra installs, as it is imported."""


@contextmanager
def served_with(what: str) -> Iterator[None]:
    """Where a package of the extra is missing inside, say what needs it, and how it is installed.

    Raises:
        BackendUnavailableError: One of them is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in PACKAGES:
            raise
        raise BackendUnavailableError(
            f"{what} needs a web server, which is not installed (there is no {missing}): "
            f"pip install 'intarsia[{EXTRA}]'"
        ) from None
