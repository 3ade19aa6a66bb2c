"""The password of a URL on the command line is taken out of the process list, where every user would read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_URL = re.compile(rb"(?:^|=)postgres(?:ql)?://(?P<rest>.*)$", re.DOTALL)
_SECRET = re.compile(rb"(?<=[?&])(?:password|sslpassword|oauth_client_secret)=(?P<secret>[^&]*)")
_STAT = Path("/proc/self/stat")
_BEGIN, _END = 48, 49
"""The fields of it that say where the arguments lie, counted from 1; see proc(5)."""


def hide_passwords() -> None:
    """Overwrite passwords where the system looks for this process's arguments; ``sys.argv`` keeps them."""
    with suppress(OSError, ValueError, IndexError):
        import ctypes

        fields = _STAT.read_bytes().rpartition(b")")[2].split()  # before it, a name that may hold anything
        begin, end = (int(fields[number - 3]) for number in (_BEGIN, _END))
        for start, stop in secrets(ctypes.string_at(begin, end - begin)):
            ctypes.memset(begin + start, ord("*"), stop - start)


def secrets(arguments: bytes) -> Iterator[tuple[int, int]]:
    """Where the passwords stand in arguments that are divided by zero bytes."""
    start = 0
    for argument in arguments.split(b"\0"):
        url = _URL.search(argument)
        if url is not None:
            begin = start + url.start("rest")
            user, colon, _ = url["rest"].rpartition(b"@")[0].partition(b":")
            if colon:
                yield begin + len(user) + 1, begin + url["rest"].rindex(b"@")
            for found in _SECRET.finditer(url["rest"]):
                yield begin + found.start("secret"), begin + found.end("secret")
        start += len(argument) + 1
