"""What is installed only where models are compiled, or served: the extras ``compile`` and ``serve``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from intarsia.errors import BackendUnavailableError

COMPILING = frozenset(
    {"click", "filelock", "google", "jinja2", "onnx", "onnx_ir", "psutil", "pydantic", "rich", "yaml"}
)
"""What the extra ``compile`` installs, as it is imported."""
SERVING = frozenset({"google", "grpc", "httptools", "orjson", "prometheus_client", "uvicorn", "uvloop"})
"""What the extra ``serve`` installs, as it is imported."""


def compiling(what: str) -> AbstractContextManager[None]:
    """Where a package of the extra ``compile`` is missing inside, say what needs it, and how it is installed.

    Raises:
        BackendUnavailableError: One of them is missing.
    """
    return _needing(f"{what} needs what Intarsia compiles with", COMPILING, "compile")


def serving(what: str) -> AbstractContextManager[None]:
    """The same of the extra ``serve``."""
    return _needing(f"{what} needs a web server", SERVING, "serve")


@contextmanager
def _needing(what: str, packages: frozenset[str], extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in packages:
            raise
        raise BackendUnavailableError(
            f"{what}, which is not installed (there is no {missing}): pip install 'intarsia[{extra}]'"
        ) from None
