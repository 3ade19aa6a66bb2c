from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from intarsia.addresses import Address
from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.grpc.messages import SERVICE, messages
from intarsia.serving.grpc.service import GrpcEndpoint
from intarsia.serving.limits import Limits
from intarsia.serving.repository import Repository
from tests.unit.serving.fakes import Gated, loaded

PATIENCE_S = 120.0
M = messages()


@contextmanager
def listening(
    model: Gated, limits: Limits, access: Access | None = None, *, cores: int = 2, batch: int = 1
) -> Iterator[tuple[Repository, Any]]:
    """A server on loopback, and a channel to it."""
    repository = Repository({"m": Path("m")}, lambda *_: loaded(model, batch=batch), limits, Figures())
    repository._has_one_core = cores == 1
    endpoint = GrpcEndpoint(repository, limits, access or Access(), 8)
    address = endpoint.listen(Address("127.0.0.1", 0))
    try:
        with grpc.insecure_channel(str(address)) as channel:
            yield repository, channel
    finally:
        endpoint.stop(0)
        repository.close()


def request() -> Any:
    made = M.ModelInferRequest(model_name="m")
    made.inputs.add(name="x", datatype="FP32", shape=[2])
    made.raw_input_contents.append(np.array([1, 2], "<f4").tobytes())
    return made


def ask(channel: Any, name: str, message: Any) -> Any:
    call = channel.unary_unary(
        f"/{SERVICE}/{name}",
        request_serializer=lambda each: each.SerializeToString(),
        response_deserializer=getattr(M, f"{name}Response").FromString,
    )
    return call(message, timeout=PATIENCE_S, wait_for_ready=True)


def test_it_lives_before_it_is_ready_and_refuses_until_it_is() -> None:
    with listening(Gated(), Limits()) as (repository, channel):
        assert ask(channel, "ServerLive", M.ServerLiveRequest()).live
        assert not ask(channel, "ServerReady", M.ServerReadyRequest()).ready
        assert not ask(channel, "ModelReady", M.ModelReadyRequest(name="m")).ready
        with pytest.raises(grpc.RpcError) as caught:
            ask(channel, "ModelInfer", request())
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert ("retry-after", "1") in [tuple(each) for each in caught.value.trailing_metadata()]
        repository.load_all()
        assert ask(channel, "ServerReady", M.ServerReadyRequest()).ready
        answer = ask(channel, "ModelInfer", request())
        assert np.frombuffer(answer.raw_output_contents[0], "<f4").tolist() == [2.0, 3.0]


def test_who_waits_too_long_is_refused() -> None:
    held = Gated(is_open=False)
    with listening(held, Limits(timeout_s=0.05)) as (repository, channel):
        repository.load_all()
        call = channel.unary_unary(f"/{SERVICE}/ModelInfer", request_serializer=M.ModelInferRequest.SerializeToString)
        first = call.future(request(), timeout=PATIENCE_S)
        assert held.entered.acquire(timeout=PATIENCE_S)
        with pytest.raises(grpc.RpcError, match="free within") as caught:
            ask(channel, "ModelInfer", request())
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        held.gate.set()
        first.result()


def ask_again_and_again(channel: Any) -> None:
    """Until it is refused."""
    while True:
        ask(channel, "ServerLive", M.ServerLiveRequest())


class Told(Gated):
    """Tells the threads that it was called on."""

    def __init__(self, *, is_open: bool = True) -> None:
        super().__init__(is_open=is_open)
        self.threads: list[str] = []

    def __call__(self, feeds: Any, /) -> Any:
        self.threads.append(threading.current_thread().name)
        return super().__call__(feeds)


@pytest.mark.parametrize("batch", [1, 64])
def test_what_waits_together_is_answered_by_one_thread_and_sent_to_each(batch: int) -> None:
    told = Told(is_open=False)
    with listening(told, Limits(), batch=batch) as (repository, channel):
        repository.load_all()
        infer = channel.unary_unary(
            f"/{SERVICE}/ModelInfer",
            request_serializer=M.ModelInferRequest.SerializeToString,
            response_deserializer=M.ModelInferResponse.FromString,
        )
        first = infer.future(request(), timeout=PATIENCE_S, wait_for_ready=True)
        assert told.entered.acquire(timeout=PATIENCE_S)
        asked = []
        for number in range(6):  # no more than eight calls may be there but for those that are joined
            made = request()
            made.id = "x" * 2**20 if number == 2 else str(number)
            made.raw_input_contents[0] = np.array([number, 0], "<f4").tobytes()
            asked.append(infer.future(made, timeout=PATIENCE_S))
        wrong = request()
        wrong.inputs[0].name = "z"
        refused = infer.future(wrong, timeout=PATIENCE_S)
        while repository.model("m").admitted < 8:
            threading.Event().wait(0.001)
        others = [infer.future(request(), timeout=PATIENCE_S) for _ in range(20 if batch > 1 else 0)]
        while repository.model("m").admitted < 8 + len(others):
            threading.Event().wait(0.001)
        told.gate.set()
        for number, call in enumerate(asked):
            assert np.frombuffer(call.result().raw_output_contents[0], "<f4").tolist() == [number + 1.0, 1.0]
        for call in (first, *others):
            assert np.frombuffer(call.result().raw_output_contents[0], "<f4").tolist() == [2.0, 3.0]
        assert refused.exception().code() is grpc.StatusCode.INVALID_ARGUMENT
    assert told.calls < 5 or batch == 1
    assert all(name.startswith("intarsia-batch-m") for name in told.threads)


@pytest.mark.parametrize("batch", [1, 64])
def test_the_thread_that_reads_answers_what_comes_alone_again_and_again(batch: int) -> None:
    told = Told()
    with listening(told, Limits(), batch=batch) as (repository, channel):
        repository.load_all()
        while "intarsia-grpc" not in told.threads:
            ask(channel, "ModelInfer", request())
    assert len(told.threads) > 16


def test_a_call_without_a_message_or_to_nowhere_is_refused() -> None:
    with listening(Gated(), Limits()) as (_, channel):
        nowhere = channel.unary_unary(f"/{SERVICE}/ModelSteal")
        with pytest.raises(grpc.RpcError, match="there is no") as caught:
            nowhere(b"", timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        empty = channel.stream_unary(f"/{SERVICE}/ServerLive")
        with pytest.raises(grpc.RpcError, match="exactly one message"):
            empty(iter(()), timeout=PATIENCE_S)


def test_more_calls_than_there_may_be_are_refused() -> None:
    with listening(Gated(), Limits()) as (_, channel):
        stream = channel.stream_unary(f"/{SERVICE}/ServerLive")
        gate = threading.Event()

        def nothing() -> Iterator[bytes]:
            gate.wait(PATIENCE_S)
            yield from ()

        held = [stream.future(nothing(), timeout=PATIENCE_S) for _ in range(8)]
        with pytest.raises(grpc.RpcError, match="8 calls are there already") as caught:
            ask_again_and_again(channel)
        assert ("retry-after", "1") in [tuple(each) for each in caught.value.trailing_metadata()]
        gate.set()
        for each in held:
            assert each.exception() is not None


def test_a_large_message_is_read_by_another_thread() -> None:
    with listening(Gated(), Limits()) as (repository, channel):
        repository.load_all()
        large = request()
        large.id = "x" * 2**20
        assert ask(channel, "ModelInfer", large).id == large.id


def test_a_model_that_fails_is_an_internal_error() -> None:
    class Broken(Gated):
        def __call__(self, feeds: Any, /) -> Any:
            raise ZeroDivisionError("by zero")

    with listening(Broken(), Limits()) as (repository, channel):
        repository.load_all()
        with pytest.raises(grpc.RpcError, match="by zero") as caught:
            ask(channel, "ModelInfer", request())
        assert caught.value.code() is grpc.StatusCode.INTERNAL


def test_without_the_token_only_its_life_is_told() -> None:
    with listening(Gated(), Limits(), Access(token=b"secret")) as (repository, channel):
        repository.load_all()
        assert ask(channel, "ServerReady", M.ServerReadyRequest()).ready
        with pytest.raises(grpc.RpcError, match="token") as caught:
            ask(channel, "ModelInfer", request())
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
