"""Signatures of artifacts: who signed one, whether it was changed since, and making one. Ed25519, by `cryptography`.

The checksum of an artifact says that it arrived as it was sent, and anyone can compute it anew. A signature says who
sent it. It is the last entry of the file, and covers every byte before itself and, as the table of entries stands
behind it, the name, place, size and order of each entry: what is changed, added, left out or put in twice breaks it.
Which signatures somebody wants is said by `intarsia.runtime.artifact.trust`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.errors import ArtifactError, ConfigError
from intarsia.files import replacing
from intarsia.runtime.artifact.container import SIGNATURE, Member, Reader
from intarsia.runtime.artifact.container_writing import append

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = "intarsia signature 1"
_LONGEST = 4096
"""Bytes of a signature's entry: what is longer is none, and is not parsed."""
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
_INSTALL = "signatures need the package 'cryptography': pip install 'intarsia[sign]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What an artifact says of its signature, with the 32 bytes of the public key; `fits` says whether it holds."""

    key: bytes
    signature: bytes

    @property
    def fingerprint(self) -> str:
        """What people compare keys by."""
        return fingerprint(self.key)


def fingerprint(key: bytes) -> str:
    """A public key as people compare it: its SHA-256, spelt as OpenSSH does."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def signature_of(reader: Reader) -> Signed | None:
    """The signature that an artifact has, not yet checked; ``None`` if it has none.

    Raises:
        ArtifactError: There is something in its place that is no signature, or it is not the last entry.
    """
    names = [member.name for member in reader.members]
    if SIGNATURE not in names:
        return None
    if names[-1] != SIGNATURE:
        raise ArtifactError(f"{reader.path}: entries were put behind its signature; take it again from who signed it")
    _, size = reader.locate(SIGNATURE)
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        facts = json.loads(reader.read(SIGNATURE)) if size <= _LONGEST else {}
        key, signature = (base64.b64decode(facts[name], validate=True) for name in ("public_key", "signature"))
        if facts["format"] == FORMAT and (len(key), len(signature)) == (_KEY_BYTES, _SIGNATURE_BYTES):
            return Signed(key=key, signature=signature)
    raise ArtifactError(f"{reader.path}: its signature cannot be read; take it again from who signed it")


def fits(reader: Reader, signed: Signed) -> bool:
    """Whether the key that a signature names has signed this very content; a `ConfigError` without the library."""
    with _library():
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    *members, own = reader.members
    statement = _statement(reader, members, own.header)
    try:
        Ed25519PublicKey.from_public_bytes(signed.key).verify(signed.signature, statement)
    except (InvalidSignature, ValueError):  # a key may be no point of the curve
        return False
    return True


def sign(path: Path, key: Path, passphrase: bytes | None = None) -> str:
    """Sign an artifact, in place of the signature that it may have; the fingerprint of the key.

    The file is replaced whole or not at all. The private key is one that `make_keys` writes, or
    ``openssl genpkey -algorithm ed25519``.

    Raises:
        ArtifactError: It is damaged, or no artifact.
        ConfigError: The key cannot be read, or the library that signs is not installed.
        OutputError: The file cannot be written.
    """
    private = _private_key(key, passphrase)
    path = path.resolve()
    reader = Reader(path)
    signature_of(reader)
    members = [member for member in reader.members if member.name != SIGNATURE]
    end = next((member.header for member in reader.members if member.name == SIGNATURE), reader.table)
    raw = private.public_key().public_bytes_raw()
    signed = {"public_key": raw, "signature": private.sign(_statement(reader, members, end))}
    facts = {"format": FORMAT, **{name: base64.b64encode(value).decode() for name, value in signed.items()}}
    with replacing(path) as draft:
        shutil.copy(path, draft)
        append(draft, SIGNATURE, json.dumps(facts))
    return fingerprint(raw)


def make_keys(private: Path, public: Path, passphrase: bytes | None = None) -> str:
    """Write a new pair of keys as PEM files, the private one for its owner's eyes alone; the fingerprint.

    Raises:
        ConfigError: A file is there already (nothing is overwritten), or the library that makes keys is not installed.
        OutputError: A file cannot be written.
    """
    with _library():
        from cryptography.hazmat.primitives import serialization as forms
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.generate()
    closed = forms.BestAvailableEncryption(passphrase) if passphrase else forms.NoEncryption()
    texts = {
        private: key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, closed),
        public: key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo),
    }
    if there := [path for path in texts if path.exists() or path.is_symlink()]:
        raise ConfigError(f"{there[0]} is there already, and a key is never overwritten; give another name")
    for path, text in texts.items():
        with replacing(path) as draft:
            draft.chmod(0o600 if path == private else 0o644)  # while it is empty
            draft.write_bytes(text)
    return fingerprint(key.public_key().public_bytes_raw())


def is_locked(key: Path) -> bool:
    """Whether a private key has a passphrase; a `ConfigError` if it cannot be read."""
    return b"ENCRYPTED" in _content(key, "private key")


def public_keys(path: Path) -> tuple[bytes, ...]:
    """The Ed25519 keys of a PEM file, each as its 32 bytes.

    Raises:
        ConfigError: The file holds none, or something else too; or the library is not installed.
    """
    content = _content(path, "public key")
    with _library():
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    keys = []
    for block in _PEM.findall(content):
        try:
            key = load_pem_public_key(block)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{path}: cannot be read as a public key: {error}") from error
        if not isinstance(key, Ed25519PublicKey):
            raise ConfigError(f"{path}: holds a key of another kind; artifacts are signed with Ed25519")
        keys.append(key.public_bytes_raw())
    if not keys:
        what = (
            "a private key: name the public one, which ends in .pub" if b"PRIVATE KEY" in content else "no public key"
        )
        raise ConfigError(f"{path}: holds {what}; intarsia keygen makes a pair")
    return tuple(keys)


def _statement(reader: Reader, members: Sequence[Member], end: int) -> bytes:
    """What is signed: all bytes before ``end``, and which entries they are read as."""
    with memoryview(reader.buffer) as view, view[:end] as content:
        digest = hashlib.sha512(content).hexdigest()
    rows = [[member.name, member.start, member.size] for member in members]
    return json.dumps([FORMAT, end, digest, rows], separators=(",", ":")).encode()


def _private_key(path: Path, passphrase: bytes | None) -> Ed25519PrivateKey:
    content = _content(path, "private key")
    with _library():
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(content, passphrase if is_locked(path) else None)
    except (ValueError, TypeError) as error:
        why = "a wrong or missing passphrase" if is_locked(path) else "it holds none; intarsia keygen makes one"
        raise ConfigError(f"{path}: cannot be read as a private key: {why}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{path}: holds a key of another kind; artifacts are signed with Ed25519")
    return key


def _content(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the {what} {path} cannot be read: {error.strerror}") from error


@contextmanager
def _library() -> Iterator[None]:
    """Import the library inside; an error says how to install it where it is absent."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(_INSTALL) from error
