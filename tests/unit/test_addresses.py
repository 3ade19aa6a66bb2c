"""Addresses of servers and workers: text that parses back, and who reaches them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.addresses import Address
from intarsia.errors import ConfigError

HOSTS = st.from_regex(r"[a-z][a-z0-9.-]{0,10}", fullmatch=True) | st.ip_addresses().map(str)


@given(HOSTS, st.integers(0, 65535))
def test_an_address_is_the_text_that_it_prints(host: str, port: int) -> None:
    address = Address(host, port)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "8000", ":8000", "127.0.0.1", "::1:80", "a:65536", "a:-1", "a:b", "[::1]", "[a]:1", "host:", "::1:90"),
        *("http://host:1", "a b:1", "[x:1"),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no address: write HOST:PORT"):
        Address.parse(text)


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.1", False), ("a.example", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, is_loopback: bool) -> None:
    assert Address(host, 1).is_loopback is is_loopback
