"""A stream of requests as its user sees it: an iterator of results, however the requests are driven behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any

import numpy as np

from intarsia.errors import ClosedError, FeedError
from intarsia.forks import Forkable

Feeds = Mapping[str, np.ndarray]
Results = dict[str, np.ndarray]


class Stream(Iterator[Results], Forkable):
    """Results of a stream of requests, in the order of the requests.

    Feeds are taken when results are asked for, and up to a fixed number ahead of them; what they hold is copied when
    they are taken. An error in one request is raised in the place of its result, and the next result can be asked for
    after it. Ends by itself with the last request, or by ``close``; as a context manager it closes at the end.
    """

    def __init__(
        self, submit: Callable[[Feeds], Future[Results]], feeds: Iterator[Feeds], depth: int, end: Callable[[], None]
    ) -> None:
        self._submit = submit
        self._feeds: Iterator[Feeds] | None = feeds
        self._depth = depth
        self._end: Callable[[], None] | None = end
        self._flight: deque[Future[Results]] = deque()
        self._is_lost = False

    def __next__(self) -> Results:
        if self._is_lost:
            raise ClosedError("the stream was opened by the process that this one was forked from; open it anew here")
        self._fill()
        if not self._flight:
            self.close()
            raise StopIteration
        return self._flight.popleft().result()

    def close(self) -> None:
        """Drop what was not begun, wait for what was. Calling it twice is fine."""
        self._feeds = None
        for future in self._flight:
            future.cancel()
        self._flight.clear()
        end, self._end = self._end, None
        if end is not None:
            end()

    def after_fork(self) -> None:
        """What is in flight is answered in the parent."""
        self._flight.clear()
        self._feeds = self._end = None
        self._is_lost = True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _fill(self) -> None:
        """Take requests until enough are in flight; a result that is there does not wait for more than one request."""
        taken = 0
        while self._feeds is not None and len(self._flight) < self._depth:
            if taken and self._flight[0].done():
                return
            try:
                feeds = next(self._feeds)
            except StopIteration:
                self._feeds = None
            except Exception as error:  # the caller's own: raised when its turn comes
                self._flight.append(failed(error))
            else:
                self._flight.append(self._submit(feeds))
            taken += 1


def in_turn(run: Callable[[Feeds], Results], feeds: Iterable[Feeds]) -> Stream:
    """A stream of which each request runs when its result is asked for, on the thread that asks."""

    def submit(request: Feeds) -> Future[Results]:
        future: Future[Results] = Future()
        try:
            future.set_result(run(checked_request(request)))
        except BaseException as error:
            future.set_exception(error)
        return future

    return Stream(submit, requests_of(feeds), 1, lambda: None)


def requests_of(feeds: Iterable[Feeds]) -> Iterator[Feeds]:
    """The feeds of each request; a `FeedError` if they are those of one request, or nothing to iterate over."""
    if isinstance(feeds, Mapping) or not isinstance(feeds, Iterable):
        raise FeedError("a stream takes many requests: give an iterable of mappings, each with one array per input")
    return iter(feeds)


def checked_request(feeds: Any) -> Feeds:
    """One request; a `FeedError` if it is no mapping."""
    if not isinstance(feeds, Mapping):
        raise FeedError(f"a request is a mapping with one array per input, and this is a {type(feeds).__name__}")
    return feeds


def taken(request: Any, check: Callable[[Feeds], Feeds]) -> Results:
    """What a request holds, checked and copied: its caller may fill the same arrays with the next one."""
    return {name: array.copy() for name, array in check(checked_request(request)).items()}


def failed(error: BaseException) -> Future[Results]:
    """A request that has come to this error."""
    future: Future[Results] = Future()
    future.set_exception(error)
    return future
