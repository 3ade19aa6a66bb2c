"""The protocol over gRPC: what each call is answered, and on which thread.

The thread that reads answers what is quick and comes alone. The rest is answered by the threads of the instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from intarsia.addresses import Address
from intarsia.serving.access import Access
from intarsia.serving.batching.asked import Asked, Send
from intarsia.serving.grpc.calls import Call, CallServer, Take
from intarsia.serving.grpc.contents import Wanted, decode, encode
from intarsia.serving.grpc.messages import SERVICE, messages
from intarsia.serving.limits import Limits
from intarsia.serving.metadata import ModelMetadata, TensorMetadata
from intarsia.serving.repository import Repository
from intarsia.serving.served import ServedModel
from intarsia.serving.server_facts import server_metadata
from intarsia.serving.statuses import RequestError, Status
from intarsia.serving.versions import Ticket, put
from intarsia.target.cores import thread_budget

if TYPE_CHECKING:
    import numpy as np

_OPEN = frozenset({"ServerLive", "ServerReady"})
_ENVELOPE_BYTES = 2**20
"""What a message may have beside its tensors."""
_LARGE_BYTES = 2**20
"""A message that takes too long to parse for the thread that reads."""


class GrpcEndpoint:
    """Answers calls over gRPC."""

    def __init__(self, repository: Repository, limits: Limits, access: Access, calls: int) -> None:
        """Serve these models; so many calls may be there at one time, and those that one call of a model joins."""
        self._repository = repository
        self._access = access
        self._most_calls = calls
        self._came: list[_Inference] = []
        """Requests that are not handed over yet."""
        self._threads = ThreadPoolExecutor(thread_budget(), "intarsia-grpc")
        self._server = CallServer(self._begin, limits.body_bytes + _ENVELOPE_BYTES)
        answers = {
            "ServerLive": self._server_live,
            "ServerReady": self._server_ready,
            "ModelReady": self._model_ready,
            "ServerMetadata": self._server_metadata,
            "ModelMetadata": self._model_metadata,
        }
        takes: dict[str, Take] = {
            name: partial(_take, getattr(messages(), f"{name}Request"), answer) for name, answer in answers.items()
        }
        takes["ModelInfer"] = self._take_inference
        self._takes = {f"/{SERVICE}/{name}".encode(): (name in _OPEN, take) for name, take in takes.items()}

    def listen(self, address: Address) -> Address:
        """Begin to answer; the address with the port that was taken.

        Raises:
            ConfigError: Nothing can listen there.
        """
        return self._server.listen(address, self._access)

    def stop(self, grace_s: float) -> None:
        """Take no call any more, and wait for those that are there."""
        self._server.stop(grace_s)
        self._threads.shutdown()

    def _begin(self, call: Call) -> None:
        is_open, take = self._takes.get(call.method, (True, None))
        if take is None:
            raise RequestError(Status.WRONG_METHOD, f"there is no {call.method.decode(errors='replace')}")
        if not is_open and self._access.token is not None and not self._access.admits(call.authorization):
            raise RequestError(Status.UNAUTHENTICATED, "give the server's token as metadata: authorization")
        if self._server.open_calls > self._most_calls:
            most = self._most_calls + self._repository.beside_in_batches
            if self._server.open_calls > most:
                raise RequestError(Status.OVERLOADED, f"{most} calls are there already; ask again later")
        call.receive(take)

    def _take_inference(self, call: Call, content: bytes) -> None:
        if len(content) > _LARGE_BYTES:
            self._threads.submit(call.guard, self._infer_large, content)
            return
        inference = self._admitted(call, content)
        if not self._came:
            self._server.once_read(self._put_came)
        self._came.append(inference)

    def _put_came(self) -> None:
        """Hand over what came together, all at once; what came alone may be answered on this thread."""
        came, self._came = self._came, []
        first = came[0]
        if (
            len(came) == 1
            and self._repository.is_answered_where_read(first.model, first.ticket)
            and first.model.reserve(first.ticket)
        ):
            first.call.guard(first.answer)
        else:
            put(came)

    def _infer_large(self, call: Call, content: bytes) -> None:
        put([self._admitted(call, content)])

    def _admitted(self, call: Call, content: bytes) -> _Inference:
        request = _read(messages().ModelInferRequest, content)
        model = self._repository.model(request.model_name)
        try:
            ticket = model.admit(request.model_version)
        except RequestError as error:
            model.count(error.status)
            raise
        ticket.size = len(content)
        return _Inference(call, model, ticket, request, self._send)

    def _send(self, asked: Sequence[_Inference]) -> None:
        """Send answers that were made together."""
        self._server.end_together([each.end for each in asked])

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


class _Inference(Asked):
    """A request for an inference that was admitted."""

    __slots__ = ("_request", "call", "model")

    def __init__(self, call: Call, model: ServedModel, ticket: Ticket, request: Any, send: Send) -> None:
        super().__init__(ticket, send)
        self.call = call
        self.model = model
        self._request = request

    def decode(self, metadata: ModelMetadata) -> tuple[dict[str, np.ndarray], Wanted]:
        """As `intarsia.serving.grpc.contents.decode`."""
        return decode(metadata, self._request)

    def encode(self, metadata: ModelMetadata, results: Mapping[str, np.ndarray]) -> bytes:
        """As `intarsia.serving.grpc.contents.encode`."""
        return encode(metadata, self.wanted, results)

    def answer(self, call: Call) -> None:
        """Answer it on this thread, and send that."""
        call.answer(self.model.answer(self.ticket, self.decode, encode))

    def end(self) -> None:
        """Send what became of it."""
        self.call.guard(self._tell)

    def _tell(self, call: Call) -> None:
        if self.error is not None:
            raise self.error
        call.answer(self.found)


def _take(request_type: Any, act: Callable[[Any], bytes], call: Call, content: bytes) -> None:
    call.answer(act(_read(request_type, content)))


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
