"""The protocol's messages for gRPC, built from the table below: no compiler of protocol buffers is needed.

They have a pool of their own, so that a client's generated module of the same names does no harm in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"

_REPEATED = "repeated "
_MAP = "map "
_ONE_OF = "oneof "
_SCALARS = {
    "bool": 8,
    "bytes": 12,
    "double": 1,
    "float": 2,
    "int32": 5,
    "int64": 3,
    "string": 9,
    "uint32": 13,
    "uint64": 4,
}
"""Numbers of ``FieldDescriptorProto.Type``."""
_MESSAGE_TYPE = 11
_OPTIONAL_LABEL, _REPEATED_LABEL = 1, 3
_PARAMETERS = ("parameters", _MAP + "InferParameter")
_MODEL = (("name", "string"), ("version", "string"))
_TENSOR = (("name", "string"), ("datatype", "string"), ("shape", _REPEATED + "int64"))
_TENSOR_WITH_CONTENTS = (*_TENSOR, _PARAMETERS, ("contents", "InferTensorContents"))

MESSAGES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ServerLiveRequest": (),
    "ServerLiveResponse": (("live", "bool"),),
    "ServerReadyRequest": (),
    "ServerReadyResponse": (("ready", "bool"),),
    "ModelReadyRequest": _MODEL,
    "ModelReadyResponse": (("ready", "bool"),),
    "ServerMetadataRequest": (),
    "ServerMetadataResponse": (("name", "string"), ("version", "string"), ("extensions", _REPEATED + "string")),
    "ModelMetadataRequest": _MODEL,
    "ModelMetadataResponse.TensorMetadata": _TENSOR,
    "ModelMetadataResponse": (
        ("name", "string"),
        ("versions", _REPEATED + "string"),
        ("platform", "string"),
        ("inputs", _REPEATED + "ModelMetadataResponse.TensorMetadata"),
        ("outputs", _REPEATED + "ModelMetadataResponse.TensorMetadata"),
    ),
    "InferParameter": (
        ("bool_param", _ONE_OF + "bool"),
        ("int64_param", _ONE_OF + "int64"),
        ("string_param", _ONE_OF + "string"),
        ("double_param", _ONE_OF + "double"),
        ("uint64_param", _ONE_OF + "uint64"),
    ),
    "InferTensorContents": (
        ("bool_contents", _REPEATED + "bool"),
        ("int_contents", _REPEATED + "int32"),
        ("int64_contents", _REPEATED + "int64"),
        ("uint_contents", _REPEATED + "uint32"),
        ("uint64_contents", _REPEATED + "uint64"),
        ("fp32_contents", _REPEATED + "float"),
        ("fp64_contents", _REPEATED + "double"),
        ("bytes_contents", _REPEATED + "bytes"),
    ),
    "ModelInferRequest.InferInputTensor": _TENSOR_WITH_CONTENTS,
    "ModelInferRequest.InferRequestedOutputTensor": (("name", "string"), _PARAMETERS),
    "ModelInferRequest": (
        ("model_name", "string"),
        ("model_version", "string"),
        ("id", "string"),
        _PARAMETERS,
        ("inputs", _REPEATED + "ModelInferRequest.InferInputTensor"),
        ("outputs", _REPEATED + "ModelInferRequest.InferRequestedOutputTensor"),
        ("raw_input_contents", _REPEATED + "bytes"),
    ),
    "ModelInferResponse.InferOutputTensor": _TENSOR_WITH_CONTENTS,
    "ModelInferResponse": (
        ("model_name", "string"),
        ("model_version", "string"),
        ("id", "string"),
        _PARAMETERS,
        ("outputs", _REPEATED + "ModelInferResponse.InferOutputTensor"),
        ("raw_output_contents", _REPEATED + "bytes"),
    ),
}
"""The fields of each message in the order of their numbers, which count from 1. A message with a dot is inside another.

Open Inference Protocol 2, "gRPC"; the last two kinds of parameters are of later editions.
"""


@cache
def messages() -> Any:
    """The classes of the messages, by their names."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    names = [name for name in MESSAGES if "." not in name]
    found = {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in names}
    return SimpleNamespace(**found)


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="intarsia_inference.proto", package=PACKAGE, syntax="proto3")
    outer = {name: file.message_type.add(name=name) for name in MESSAGES if "." not in name}
    for name, fields in MESSAGES.items():
        parent, _, own = name.rpartition(".")
        message = outer[parent].nested_type.add(name=own) if parent else outer[name]
        for number, (field, type_) in enumerate(fields, start=1):
            _add(message, name, number, field, type_)
    return file


def _add(message: Any, name: str, number: int, field: str, type_: str) -> None:
    many = type_.startswith((_REPEATED, _MAP))
    made = message.field.add(name=field, number=number, label=_REPEATED_LABEL if many else _OPTIONAL_LABEL)
    if type_.startswith(_ONE_OF):
        if not message.oneof_decl:
            message.oneof_decl.add(name="parameter_choice")
        made.oneof_index = 0
    sort = type_.partition(" ")[2] or type_
    if type_.startswith(_MAP):
        entry = message.nested_type.add(name="ParametersEntry")
        entry.options.map_entry = True
        _add(entry, name, 1, "key", "string")
        _add(entry, name, 2, "value", sort)
        sort = f"{name}.ParametersEntry"
    if sort in _SCALARS:
        made.type = _SCALARS[sort]
    else:
        made.type, made.type_name = _MESSAGE_TYPE, f".{PACKAGE}.{sort}"
