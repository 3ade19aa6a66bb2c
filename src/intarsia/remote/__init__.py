"""Workers on other machines: `intarsia worker` listens there, and what is compiled there is called from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.remote.client import Worker
    from intarsia.remote.place import WorkerPlace
    from intarsia.remote.verbs import compile

__all__ = ["Worker", "WorkerPlace", "compile"]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.remote.client": ("Worker",),
        "intarsia.remote.place": ("WorkerPlace",),
        "intarsia.remote.verbs": ("compile",),
    },
)
