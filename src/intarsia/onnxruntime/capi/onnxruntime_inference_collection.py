"""The classes of a session, for scripts that import them from here."""

from __future__ import annotations

from typing import Any

from intarsia.interop.binding import IOBinding
from intarsia.interop.refusal import refuse_absent
from intarsia.interop.session import InferenceSession
from intarsia.interop.values import OrtDevice, OrtValue

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue"]


def __getattr__(name: str) -> Any:
    raise refuse_absent(__name__, name, __all__)
