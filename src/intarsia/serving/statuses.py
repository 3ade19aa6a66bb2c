"""How a request can end that was not answered, in the words of HTTP and of gRPC."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """An end without an answer: HTTP's number, and the name of gRPC's code."""

    BAD_REQUEST = (400, "INVALID_ARGUMENT")
    UNAUTHENTICATED = (401, "UNAUTHENTICATED")
    NOT_FOUND = (404, "NOT_FOUND")
    WRONG_METHOD = (405, "UNIMPLEMENTED")
    SLOW_CLIENT = (408, "DEADLINE_EXCEEDED")
    TOO_LARGE = (413, "RESOURCE_EXHAUSTED")
    ENCODED = (415, "UNIMPLEMENTED")
    FAILED = (500, "INTERNAL")
    OVERLOADED = (503, "RESOURCE_EXHAUSTED")
    NOT_READY = (503, "UNAVAILABLE")

    @property
    def http(self) -> int:
        """The status of an HTTP response."""
        return int(self.value[0])

    @property
    def grpc(self) -> str:
        """The name of gRPC's status code."""
        return str(self.value[1])

    @property
    def may_retry(self) -> bool:
        """Whether the same request may be answered later."""
        return self in (Status.OVERLOADED, Status.NOT_READY)


class RequestError(Exception):
    """A request that is not answered.

    Attributes:
        status: How it ends.
        retry_s: Seconds after which to ask again, where that may help.
    """

    def __init__(self, status: Status, message: str, retry_s: int = 1) -> None:
        super().__init__(message)
        self.status = status
        self.retry_s = retry_s


def bad(message: str) -> RequestError:
    """The error of a request that is not well formed, or not what the model takes."""
    return RequestError(Status.BAD_REQUEST, message)
