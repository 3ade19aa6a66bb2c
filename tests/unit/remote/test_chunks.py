"""A content arrives whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.remote.chunks import BrokenContentError, digest_of, digest_of_file, joined, parts_of, parts_of_file
from intarsia.remote.messages import Part

MOST = 1 << 20


@given(st.binary(max_size=300), st.integers(1, 40))
def test_parts_joined_are_the_content(content: bytes, size: int) -> None:
    parts = list(parts_of(content, size))
    assert all(len(part.content) <= size for part in parts)
    assert joined(parts, MOST) == content


@given(st.binary(min_size=1, max_size=300), st.integers(1, 40), st.data())
def test_no_other_parts_are_taken(content: bytes, size: int, data: st.DataObject) -> None:
    parts = list(parts_of(content, size))
    change = data.draw(st.sampled_from(["lost", "twice", "flipped", "more"]))
    at = data.draw(st.integers(0, len(parts) - 1))
    match change:
        case "lost":
            del parts[at]
        case "twice":
            parts.insert(at, Part(content=parts[at].content or b"x"))
        case "flipped":
            changed = bytearray(parts[at].content)
            changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1
            parts[at].content = bytes(changed)
        case _:
            parts.append(Part(content=b"x"))
    with pytest.raises(BrokenContentError):
        joined(parts, MOST)


@given(st.binary(max_size=200), st.integers(1, 40), st.integers(0, 250))
def test_a_file_is_sent_from_any_place_on(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int, offset: int
) -> None:
    path = tmp_path_factory.mktemp("sent") / "content"
    path.write_bytes(content)
    parts = list(parts_of_file(path, digest_of_file(path), offset, size))
    assert b"".join(part.content for part in parts) == content[offset:]
    assert (parts[0].size, parts[0].digest) == (len(content), digest_of(content))


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([], "cut short"),
        ([Part(content=b"a", size=1)], "no digest"),
        ([Part(digest="../../etc/passwd".ljust(64, "x"), size=1)], "no digest"),
        ([Part(digest="0" * 64, size=MOST + 1)], "are the most"),
        ([Part(digest="0" * 64, size=1, content=b"abc")], "more than the 1 bytes"),
    ],
)
def test_what_is_wrong_is_said(parts: list[Part], told: str) -> None:
    with pytest.raises(BrokenContentError, match=told):
        joined(parts, MOST)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="cannot be read"):
        digest_of_file(tmp_path / "none")
