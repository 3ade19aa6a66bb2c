"""Who may call: a token over both endpoints, TLS, and what the command refuses before it listens."""

from __future__ import annotations

import datetime as dt
import http.client
import ipaddress
import json
import ssl
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from intarsia.serving.grpc.messages import SERVICE, messages
from tests.serving.process import PATIENCE_S, Calls, serving
from tests.serving.test_grpc import infer_request


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that its own key signed, and the key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem", folder / "key.pem"


def test_who_has_no_token_learns_only_whether_the_server_lives(
    artifacts: Path, tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    certificate, key = pair
    options = ("--token-file", str(token), "--tls-cert", str(certificate), "--tls-key", str(key))
    with serving(str(artifacts / "net.intarsia"), *options) as running:
        trusting = ssl.create_default_context(cafile=str(certificate))
        web = http.client.HTTPSConnection(running.http, timeout=PATIENCE_S, context=trusting)

        def status(path: str, method: str = "GET", **headers: str) -> int:
            web.request(method, path, headers=headers)
            response = web.getresponse()
            response.read()
            return response.status

        assert status("/v2/health/live") == status("/v2/health/ready") == 200
        for path in ("/v2", "/v2/models/net", "/metrics"):
            assert status(path) == status(path, Authorization="Bearer wrong") == 401
            assert status(path, Authorization="Bearer secret") == 200
        assert status("/v2/models/net/infer", "POST") == 401
        assert status("/v2/models/net/infer", "POST", Authorization="Bearer secret") == 400
        web.close()
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        with grpc.secure_channel(running.grpc, credentials) as channel:
            call = channel.unary_unary(f"/{SERVICE}/ModelInfer", messages().ModelInferRequest.SerializeToString)
            live = channel.unary_unary(f"/{SERVICE}/ServerLive")
            live(b"", timeout=PATIENCE_S)
            call(infer_request(), timeout=PATIENCE_S, metadata=(("authorization", "Bearer secret"),))
            for metadata in ((), (("authorization", "Bearer wrong"),)):
                with pytest.raises(grpc.RpcError) as caught:
                    call(infer_request(), timeout=PATIENCE_S, metadata=metadata)
                assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_one_protocol_may_be_left_out(artifacts: Path) -> None:
    line = [sys.executable, "-m", "intarsia", "serve", str(artifacts / "net.intarsia"), "--http", "off", "--json"]
    with subprocess.Popen([*line, "--grpc", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = "".join(iter(process.stdout.readline, "}\n")) + "}"
        address = json.loads(printed)["grpc"]
        with Calls(address) as calls:
            assert calls.ask("ServerLive").live
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def test_a_file_that_is_none_ends_the_start(artifacts: Path) -> None:
    line = [sys.executable, "-m", "intarsia", "serve", "none.intarsia", "--http", "127.0.0.1:0", "--grpc", "off"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=artifacts, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert done.stderr.endswith("error: none.intarsia: there is no such file\n")
