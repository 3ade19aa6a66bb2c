"""Where the rows of tables are from."""

from __future__ import annotations

_TVM = "https://github.com/apache/tvm/blob"
_FOLDER = "python/tvm/relay/op/contrib"


def tvm(name: str, commit: str) -> str:
    """The file in which Apache TVM says what it gives an engine, as it was before Relay was removed."""
    return f"Apache TVM at {commit[:10]}, {_FOLDER}/{name}.py, {_TVM}/{commit}/{_FOLDER}/{name}.py"
