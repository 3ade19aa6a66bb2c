"""What callers sent to a worker and what it made for them: files by their digest, for as long as it runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from intarsia.files import place_file, replacing
from intarsia.remote.chunks import digest_of_file, receive


class FileStore:
    """Files in a folder of their own, together no larger than ``most``; those not used for longest go first."""

    def __init__(self, folder: Path, most: int) -> None:
        folder.mkdir()
        self._folder = folder
        self._most = most
        self._lock = threading.Lock()

    def path(self, digest: str) -> Path | None:
        """The file with this digest, which is used from now on; ``None`` if there is none."""
        path = self._folder / digest
        if not digest.isalnum() or not path.is_file():
            return None
        os.utime(path)
        return path

    def put(self, parts: Iterable[Any]) -> str:
        """Keep what comes in parts, and return its digest; a `BrokenContentError` if it does not arrive whole."""
        arriving = self._folder / f"arriving-{threading.get_ident()}"
        try:
            with replacing(arriving, lasts=False) as draft, draft.open("r+b") as file:
                digest = receive(parts, self._most, file.write)
            arriving.replace(self._folder / digest)
        finally:
            arriving.unlink(missing_ok=True)
        self._make_room(digest)
        return digest

    def adopt(self, path: Path) -> str:
        """Keep a file that nobody changes any more, and return its digest."""
        digest = digest_of_file(path)
        place_file(path, self._folder / digest, is_spare=True)
        self._make_room(digest)
        return digest

    def lend(self, digest: str, path: Path) -> bool:
        """Put the file with this digest at a path, whose folder is there; whether there is one."""
        found = self.path(digest)
        if found is None:
            return False
        place_file(found, path, is_spare=True)
        return True

    def _make_room(self, newest: str) -> None:
        with self._lock, os.scandir(self._folder) as entries:
            kept = sorted(((each.stat(), each) for each in entries), key=lambda pair: pair[0].st_mtime_ns)
            total = sum(facts.st_size for facts, _ in kept)
            for facts, entry in kept:
                if total <= self._most:
                    return
                if entry.name != newest:
                    os.unlink(entry)
                    total -= facts.st_size
