"""The protocol over gRPC. Each call has a thread, which runs the model itself: no other thread hands it on."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.serving.access import Access
from intarsia.serving.grpc.contents import decode, encode
from intarsia.serving.grpc.messages import METHODS, SERVICE, messages
from intarsia.serving.limits import Limits
from intarsia.serving.logs import tell_error
from intarsia.serving.metadata import TensorMetadata
from intarsia.serving.repository import Repository
from intarsia.serving.server_facts import server_metadata
from intarsia.serving.statuses import RequestError, Status

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")  # nothing of ours calls gRPC in a child that was forked
os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it writes lines to stderr that are no JSON

import grpc

_OPEN = frozenset({"ServerLive", "ServerReady"})
_ENVELOPE_BYTES = 2**20
"""What a message may have beside its tensors."""


class GrpcEndpoint:
    """Answers calls over gRPC."""

    def __init__(self, repository: Repository, limits: Limits, access: Access, calls: int) -> None:
        """Serve these models; so many calls may be there at one time."""
        self._repository = repository
        self._access = access
        self._server = grpc.server(
            ThreadPoolExecutor(calls, "intarsia-grpc"),
            maximum_concurrent_rpcs=calls,
            options=[
                ("grpc.max_receive_message_length", limits.body_bytes + _ENVELOPE_BYTES),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # a second server on one port is an error, and does not share it
            ],
        )
        handlers = {name: grpc.unary_unary_rpc_method_handler(self._handler(name)) for name in METHODS}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))

    def listen(self, address: Address) -> Address:
        """Begin to answer; the address with the port that was taken.

        Raises:
            ConfigError: Nothing can listen there.
        """
        try:
            if self._access.certificate is None or self._access.key is None:
                port = self._server.add_insecure_port(str(address))
            else:
                pair = (self._access.key.read_bytes(), self._access.certificate.read_bytes())
                port = self._server.add_secure_port(str(address), grpc.ssl_server_credentials([pair]))
        except RuntimeError:
            port = 0
        if not port:
            raise ConfigError(
                f"nothing can listen on {address}: another program does, or the machine has no such address"
            )
        self._server.start()
        return Address(address.host, port)

    def stop(self, grace_s: float) -> None:
        """Take no call any more, and wait for those that are there."""
        self._server.stop(grace_s).wait()

    def _handler(self, name: str) -> Callable[[bytes, Any], bytes]:
        act = getattr(self, f"_{''.join('_' + c.lower() if c.isupper() else c for c in name)[1:]}")
        request_type = getattr(messages(), f"{name}Request")

        def handle(content: bytes, context: Any) -> bytes:
            try:
                if name not in _OPEN and not self._access.admits(_authorization(context)):
                    raise RequestError(Status.UNAUTHENTICATED, "give the server's token as metadata: authorization")
                found: bytes = act(_read(request_type, content))
            except RequestError as error:
                _abort(context, error)
            except Exception as error:
                tell_error("failed", error, call=name)
                _abort(context, RequestError(Status.FAILED, f"unexpected {type(error).__name__}"))
            return found

        return handle

    def _server_live(self, _: Any) -> bytes:
        return _written(messages().ServerLiveResponse(live=True))

    def _server_ready(self, _: Any) -> bytes:
        return _written(messages().ServerReadyResponse(ready=self._repository.is_ready))

    def _model_ready(self, request: Any) -> bytes:
        try:
            model = self._repository.model(request.name)
            model.check_version(request.version)
        except RequestError:
            return _written(messages().ModelReadyResponse(ready=False))
        return _written(messages().ModelReadyResponse(ready=model.is_ready))

    def _server_metadata(self, _: Any) -> bytes:
        return _written(messages().ServerMetadataResponse(**server_metadata()))

    def _model_metadata(self, request: Any) -> bytes:
        found = self._repository.model(request.name).check_version(request.version)
        response = messages().ModelMetadataResponse(name=found.name, versions=[found.version], platform="intarsia")
        for rows, tensors in ((response.inputs, found.inputs), (response.outputs, found.outputs)):
            for tensor in tensors:
                _add(rows, tensor)
        return _written(response)

    def _model_infer(self, request: Any) -> bytes:
        model = self._repository.model(request.model_name)
        try:
            ticket = model.admit(request.model_version)
        except RequestError as error:
            model.count(error.status)
            raise
        return model.answer(ticket, lambda metadata: decode(metadata, request), encode)


def _add(rows: Any, tensor: TensorMetadata) -> None:
    rows.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)


def _read(type_: Any, content: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return type_.FromString(content)
    except DecodeError as error:
        raise RequestError(Status.BAD_REQUEST, f"the message is not a {type_.DESCRIPTOR.name}: {error}") from None


def _written(message: Any) -> bytes:
    content: bytes = message.SerializeToString()
    return content


def _authorization(context: Any) -> bytes:
    for name, value in context.invocation_metadata():
        if name == "authorization":
            return value if isinstance(value, bytes) else str(value).encode()
    return b""


def _abort(context: Any, error: RequestError) -> NoReturn:
    if error.status.may_retry:
        context.set_trailing_metadata((("retry-after", str(error.retry_s)),))
    context.abort(getattr(grpc.StatusCode, error.status.grpc), str(error))
    raise AssertionError("abort does not return")
