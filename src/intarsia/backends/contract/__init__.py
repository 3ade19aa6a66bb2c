"""What an engine must do to take part: import from here all that an engine is written with.

Importing this loads neither an engine nor numpy.
"""

from __future__ import annotations

from intarsia.backends.contract.artifact import EngineArtifact, Signature, border_rows, signature_rows, signatures
from intarsia.backends.contract.backend import Backend, ProfileRequest, thread_count
from intarsia.backends.contract.device_memory import DeviceMemory, DeviceValue
from intarsia.backends.contract.embedding import Embedding, PartitionBlocks, Visit
from intarsia.backends.contract.executable import Executable
from intarsia.backends.contract.guard import guard, guarded
from intarsia.backends.contract.native import NativeFiles, NativeRequest, NativeStep
from intarsia.backends.contract.options import READ_FOR_ALL, Reads, reading
from intarsia.backends.contract.processor import compiler_flags, processor_of, stated
from intarsia.backends.contract.slots import (
    Arrays,
    BoundCall,
    Places,
    Port,
    Slot,
    array_at,
    as_port,
    by_copy,
    following,
    is_late,
)
from intarsia.backends.contract.traits import EVERY_NODE, Availability, ForkFault, Gap, GapReason, KernelChoice, Traits

__all__ = [
    "EVERY_NODE",
    "READ_FOR_ALL",
    "Arrays",
    "Availability",
    "Backend",
    "BoundCall",
    "DeviceMemory",
    "DeviceValue",
    "Embedding",
    "EngineArtifact",
    "Executable",
    "ForkFault",
    "Gap",
    "GapReason",
    "KernelChoice",
    "NativeFiles",
    "NativeRequest",
    "NativeStep",
    "PartitionBlocks",
    "Places",
    "Port",
    "ProfileRequest",
    "Reads",
    "Signature",
    "Slot",
    "Traits",
    "Visit",
    "array_at",
    "as_port",
    "border_rows",
    "by_copy",
    "compiler_flags",
    "following",
    "guard",
    "guarded",
    "is_late",
    "processor_of",
    "reading",
    "signature_rows",
    "signatures",
    "stated",
    "thread_count",
]
