"""The messages of ``worker.proto`` as classes, made from its descriptors, which any protobuf of the stated range reads.

Code that protoc writes is tied to one version of protobuf; descriptors are not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DESCRIPTORS: Final = Path(__file__).with_name("worker.binpb")
"""What ``make proto`` compiles ``worker.proto`` to."""
PACKAGE: Final = "intarsia.remote"


def _classes() -> dict[str, Any]:
    files = descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    names = [each.name for file in files.file for each in file.message_type]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in names}


_FOUND: Final = _classes()
Nothing: Any = _FOUND["Nothing"]
Greeting: Any = _FOUND["Greeting"]
Question: Any = _FOUND["Question"]
Answer: Any = _FOUND["Answer"]
Part: Any = _FOUND["Part"]
Digests: Any = _FOUND["Digests"]
ModelFile: Any = _FOUND["ModelFile"]
CompileRequest: Any = _FOUND["CompileRequest"]
Result: Any = _FOUND["Result"]
Event: Any = _FOUND["Event"]
FetchRequest: Any = _FOUND["FetchRequest"]
Name: Any = _FOUND["Name"]
RunPart: Any = _FOUND["RunPart"]
