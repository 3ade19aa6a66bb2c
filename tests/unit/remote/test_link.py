"""What ends a call says which of several things happened, against doors that only look like a worker's."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intarsia.addresses import Address
from intarsia.errors import (
    ClosedError,
    WorkerDiedError,
    WorkerShutdownError,
    WorkerTimeoutError,
    WorkerTokenError,
    WorkerUnreachableError,
    WorkerVersionError,
)
from intarsia.remote.client import Worker
from intarsia.remote.link import Link, LinkDownError
from intarsia.remote.listening import Listener, Listening
from intarsia.remote.messages import Nothing
from intarsia.remote.place import WorkerPlace
from tests.remote_workers import TOKEN, Way

LOOPBACK = Address.parse("127.0.0.1:0")


@contextmanager
def door(answer: Callable[[socket.socket], object]) -> Iterator[Address]:
    """Something that takes connections, does this with each, and closes them all at the end."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                taken.append(connection)
                answer(connection)

        taking = threading.Thread(target=take, daemon=True)
        taking.start()
        try:
            yield Address(host="127.0.0.1", port=listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            taking.join()
            for each in taken:
                each.close()


def silence(connection: socket.socket) -> None:
    """Leave a connection open and unanswered."""


def at(address: Address, timeout: float = 1.0) -> WorkerPlace:
    return WorkerPlace(address=address, token=TOKEN, timeout=timeout)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_where_nothing_listens_nothing_is_reached() -> None:
    began = time.monotonic()
    with pytest.raises(WorkerUnreachableError, match="nothing listens at"):
        Worker(at(Address(host="127.0.0.1", port=free_port()), timeout=60))
    assert time.monotonic() - began < 30


def test_a_name_that_nobody_knows_is_not_reached() -> None:
    with pytest.raises(WorkerUnreachableError, match="cannot be reached"):
        Worker(at(Address(host="no-such-host.invalid", port=1)))


def test_what_takes_connections_and_is_silent_does_not_answer_in_time() -> None:
    with door(silence) as address, pytest.raises(WorkerTimeoutError, match="does not answer"):
        Worker(at(address))


def test_what_closes_each_connection_takes_no_calls() -> None:
    with door(socket.socket.close) as address, pytest.raises(WorkerUnreachableError, match="and no calls"):
        Worker(at(address))


def test_another_token_is_refused(place: WorkerPlace) -> None:
    with pytest.raises(WorkerTokenError, match="refuses the token"):
        Worker(replace(place, token="another"))


def test_a_worker_of_another_version_is_told(token_file: Path) -> None:
    how = Listening(address=LOOPBACK, token_file=token_file, version="0.0.1")
    with Listener(how) as old, pytest.raises(WorkerVersionError, match=r"has Intarsia 0\.0\.1"):
        Worker(at(old.address))


def test_a_server_of_something_else_is_told() -> None:
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.raises(WorkerVersionError, match="is no worker of Intarsia's protocol"):
        Worker(at(Address(host="127.0.0.1", port=port), 5.0))
    server.stop(None).wait()


def test_a_link_without_tls_to_one_with_is_told(tmp_path: Path, token_file: Path) -> None:
    certificate, key = self_signed(tmp_path)
    how = Listening(address=LOOPBACK, token_file=token_file, certificate=certificate, key=key)
    with Listener(how) as listener:
        with pytest.raises(WorkerUnreachableError, match="wants its certificate named"):
            Worker(at(listener.address))
        place = WorkerPlace.of(str(listener.address), token_file, tls_ca=certificate, timeout=10)
        with Worker(place) as worker:
            assert worker.machine
        other, _ = self_signed(tmp_path / "other")
        with pytest.raises(WorkerUnreachableError, match="wants its certificate named"):
            Worker(WorkerPlace.of(str(listener.address), token_file, tls_ca=other, timeout=1.0))


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine's loopback address, and its key."""
    import datetime as dt
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "worker of the tests")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def test_a_link_that_was_dropped_comes_back(place: WorkerPlace) -> None:
    way = Way(str(place.address))
    with Worker(replace(place, address=Address.parse(way.address), timeout=20.0)) as worker:
        way.drop()
        mending = threading.Timer(1.0, way.mend)
        mending.start()
        assert worker.doctor("reference")["engines"]
        mending.join()
    way.close()


def test_a_link_that_stays_away_ends_in_its_own_error(place: WorkerPlace) -> None:
    way = Way(str(place.address))
    with Worker(replace(place, address=Address.parse(way.address), timeout=1.0)) as worker:
        way.close()
        with pytest.raises(WorkerDiedError, match=r"nothing listens at .* any more"):
            worker.devices()


def test_another_process_at_the_same_address_is_told(token_file: Path) -> None:
    how = Listening(address=LOOPBACK, token_file=token_file)
    with Listener(how) as first:
        worker = Worker(WorkerPlace.of(str(first.address), token_file, timeout=20.0))
    with Listener(replace(how, address=first.address)), pytest.raises(WorkerDiedError, match="another one listens"):
        worker.link.lasting(_lost_first(worker.link))
    worker.close()


def _lost_first(link: Link) -> Callable[[], Any]:
    """The call of a link that was lost since its last one."""
    tries = [LinkDownError("lost")]

    def act() -> Any:
        if tries:
            raise tries.pop()
        return link.once("Devices", Nothing(), 5.0)

    return act


def test_a_worker_that_was_told_to_end_says_so(token_file: Path) -> None:
    how = Listening(address=LOOPBACK, token_file=token_file)
    with Listener(how) as listener, Worker(at(listener.address, 10.0)) as worker:
        worker.shutdown()
        assert listener.ends.wait(10)
        with pytest.raises(WorkerShutdownError, match="was told to end"):
            worker.devices()


def test_a_closed_link_is_closed(place: WorkerPlace) -> None:
    worker = Worker(place)
    worker.close()
    worker.close()
    with pytest.raises(ClosedError, match="was closed"):
        worker.devices()
    other = Worker(place)
    other.link.after_fork()
    with pytest.raises(ClosedError, match="belongs to the process"):
        other.devices()
