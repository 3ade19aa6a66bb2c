"""A signature covers every byte and every entry; whatever is changed, added, left out or doubled is refused."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

import intarsia
from intarsia.errors import ArtifactError, ConfigError
from intarsia.runtime import Artifact, attach_report
from intarsia.runtime.artifact import signature as signatures
from intarsia.runtime.artifact.container import SIGNATURE
from intarsia.runtime.artifact.container_writing import reseal
from intarsia.runtime.artifact.signature import is_locked, make_keys, public_keys, sign
from intarsia.runtime.artifact.trust import POLICY, Trust
from tests.artifacts import members, repacked, written

ENTRIES = ("weights.bin", "steps/0/model.onnx", "graph.onnx", "plan.yaml", "manifest.json", "report.json")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        make_keys(folder / f"{name}.key", folder / f"{name}.pub")
    return folder


@pytest.fixture(scope="module")
def signed(keys: Path) -> Path:
    path = written(keys / "m.intarsia")
    sign(path, keys / "mine.key")
    return path


@pytest.fixture
def mine(keys: Path) -> Trust:
    return Trust.of(signed_by=keys / "mine.pub")


def flipped(path: Path, out: Path, name: str) -> Path:
    """One bit of an entry is another; the checksum is right again."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(name)
        with archive.open(info) as stream:
            stream.read(1)
    start = content.index(members(path)[name][:64], info.header_offset)
    content[start + info.file_size // 2] ^= 1
    out.write_bytes(content)
    reseal(out)
    return out


def test_what_is_signed_is_loaded_and_runs_as_before(signed: Path, keys: Path, mine: Trust) -> None:
    assert Artifact(signed, mine).fits_signature
    with intarsia.load(signed, signed_by=keys / "mine.pub") as model, intarsia.load(signed) as unasked:
        assert model.plan == unasked.plan
    with zipfile.ZipFile(signed) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[-1] == SIGNATURE


def test_the_fingerprint_is_that_of_the_key(signed: Path, keys: Path) -> None:
    (raw,) = public_keys(keys / "mine.pub")
    assert Artifact(signed).signer == signatures.fingerprint(raw)
    assert signatures.fingerprint(raw).startswith("SHA256:")


def test_the_same_key_signs_the_same_bytes_alike(signed: Path, keys: Path, tmp_path: Path) -> None:
    again = repacked(tmp_path / "m.intarsia", {n: c for n, c in members(signed).items() if n != SIGNATURE})
    sign(again, keys / "mine.key")
    assert again.read_bytes() == signed.read_bytes()


@pytest.mark.parametrize("name", ENTRIES)
def test_a_changed_byte_is_refused_before_anything_is_parsed(
    name: str, signed: Path, mine: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(ENTRIES) <= set(members(signed))
    path = flipped(signed, tmp_path / "m.intarsia", name)

    def parsed(_: object) -> None:
        raise AssertionError("the manifest was looked at")

    monkeypatch.setattr("intarsia.runtime.artifact.artifact.read_manifest", parsed)
    with pytest.raises(ArtifactError, match="changed after it was signed"):
        Artifact(path, mine)


def test_a_changed_signature_is_refused(signed: Path, mine: Trust, tmp_path: Path) -> None:
    entries = members(signed)
    facts = json.loads(entries[SIGNATURE])
    facts["signature"] = ("B" if facts["signature"][0] == "A" else "A") + facts["signature"][1:]
    path = repacked(tmp_path / "m.intarsia", {**entries, SIGNATURE: json.dumps(facts).encode()})
    with pytest.raises(ArtifactError, match="changed after it was signed"):
        Artifact(path, mine)
    assert Artifact(path).fits_signature is False


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 2000, b"x" * 5000, b'{"format": 1, "public_key": 2}'])
def test_what_is_no_signature_is_told(content: bytes, signed: Path, tmp_path: Path) -> None:
    path = repacked(tmp_path / "m.intarsia", {**members(signed), SIGNATURE: content})
    with pytest.raises(ArtifactError, match="its signature cannot be read"):
        Artifact(path)


def test_another_key_is_refused(signed: Path, keys: Path) -> None:
    with pytest.raises(ArtifactError, match=r"it is signed by SHA256:.*, and signed_by asks for SHA256:"):
        Artifact(signed, Trust.of(signed_by=keys / "other.pub"))
    assert Artifact(signed, Trust.of(signed_by=[keys / "other.pub", keys / "mine.pub"])).signer


def test_a_missing_signature_is_refused(signed: Path, mine: Trust, tmp_path: Path) -> None:
    path = repacked(tmp_path / "m.intarsia", {n: c for n, c in members(signed).items() if n != SIGNATURE})
    with pytest.raises(ArtifactError, match="it is not signed"):
        Artifact(path, mine)


def test_the_signature_of_another_artifact_is_refused(signed: Path, keys: Path, mine: Trust, tmp_path: Path) -> None:
    other = written(tmp_path / "other.intarsia", parts=1)
    sign(other, keys / "mine.key")
    assert Artifact(other, mine).fits_signature
    swapped = {**members(signed), SIGNATURE: members(other)[SIGNATURE]}
    with pytest.raises(ArtifactError, match="changed after it was signed"):
        Artifact(repacked(tmp_path / "m.intarsia", swapped), mine)


def test_an_added_or_missing_entry_and_another_order_are_refused(signed: Path, mine: Trust, tmp_path: Path) -> None:
    entries = members(signed)
    signature = entries.pop(SIGNATURE)
    rows = list(entries.items())
    for change in ([*rows, ("more.txt", b"more")], rows[:-1], [rows[1], rows[0], *rows[2:]]):
        path = repacked(tmp_path / "m.intarsia", [*change, (SIGNATURE, signature)])
        with pytest.raises(ArtifactError, match="changed after it was signed"):
            Artifact(path, mine)


def test_an_entry_behind_the_signature_or_put_in_twice_is_refused(signed: Path, mine: Trust, tmp_path: Path) -> None:
    rows = list(members(signed).items())
    path = repacked(tmp_path / "behind.intarsia", [*rows, ("more.txt", b"more")])
    with pytest.raises(ArtifactError, match="behind its signature"):
        Artifact(path, mine)
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = repacked(tmp_path / "twice.intarsia", [("manifest.json", b"{}"), *rows])
    for trust in (mine, Trust()):
        with pytest.raises(ArtifactError, match="two of its entries have one name"):
            Artifact(path, trust)


def test_a_table_that_reads_an_entry_elsewhere_is_refused(signed: Path, mine: Trust, tmp_path: Path) -> None:
    """The bytes before the signature stay; the table behind it calls one entry by another's name."""
    content = bytearray(signed.read_bytes())
    table = content.rindex(b"PK\x01\x02")
    first = content.index(b"PK\x01\x02")
    assert first < table
    place = content.index(b"plan.yaml", first)
    content[place : place + 9] = b"plan.yamk"
    path = tmp_path / "m.intarsia"
    path.write_bytes(content)
    reseal(path)
    with pytest.raises(ArtifactError, match="another name where it lies"):
        Artifact(path, mine)


def test_signing_anew_replaces_the_signature(signed: Path, keys: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.intarsia"
    path.write_bytes(signed.read_bytes())
    sign(path, keys / "other.key")
    assert list(members(path)).count(SIGNATURE) == 1
    assert Artifact(path, Trust.of(signed_by=keys / "other.pub")).fits_signature
    sign(path, keys / "mine.key")
    assert path.read_bytes() == signed.read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == ["m.intarsia"]


def test_nothing_is_added_to_what_is_signed(signed: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.intarsia"
    path.write_bytes(signed.read_bytes())
    with pytest.raises(ArtifactError, match=r"is signed, and would not be with report\.json added"):
        attach_report(path, {})
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(signed.read_bytes()).digest()


def test_a_copy_keeps_its_signature(signed: Path, mine: Trust, tmp_path: Path) -> None:
    with intarsia.load(signed) as model:
        assert Artifact(model.save(tmp_path / "copy.intarsia"), mine).fits_signature


def test_the_policy_is_asked_everywhere_and_no_argument_widens_it(
    signed: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsigned = written(tmp_path / "m.intarsia", parts=1)
    monkeypatch.setenv(POLICY, str(keys / "mine.pub"))
    intarsia.load(signed).close()
    for trust in (Trust(), Trust(is_read=True), Trust.of(signed_by=keys / "other.pub")):
        with pytest.raises(ArtifactError, match="it is not signed"):
            Artifact(unsigned, trust)
    sign(unsigned, keys / "other.key")
    with pytest.raises(ArtifactError, match=rf"and {POLICY} asks for"):
        Artifact(unsigned, Trust.of(signed_by=keys / "other.pub"))
    monkeypatch.setenv(POLICY, f"{keys / 'mine.pub'}:{keys / 'other.pub'}")
    assert Artifact(unsigned).signer


@pytest.mark.parametrize("policy", ["", "mine.pub", "/keys/none.pub", "/dev/null"])
def test_a_policy_that_names_no_key_refuses_all(policy: str, signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POLICY, policy)
    with pytest.raises(ConfigError):
        Artifact(signed)


def test_keys_are_private_never_overwritten_and_may_have_a_passphrase(tmp_path: Path) -> None:
    private, public = tmp_path / "k.key", tmp_path / "k.pub"
    make_keys(private, public, b"open sesame")
    assert private.stat().st_mode & 0o777 == 0o600
    assert is_locked(private)
    with pytest.raises(ConfigError, match="is there already"):
        make_keys(private, public)
    path = written(tmp_path / "m.intarsia", parts=1)
    for wrong in (None, b"", b"open"):
        with pytest.raises(ConfigError, match="a wrong or missing passphrase"):
            sign(path, private, wrong)
    assert sign(path, private, b"open sesame") == Artifact(path, Trust.of(signed_by=public)).signer


def test_files_that_are_no_keys_are_told(keys: Path, signed: Path, tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(ConfigError, match="a private key: name the public one"):
        public_keys(keys / "mine.key")
    with pytest.raises(ConfigError, match="no public key"):
        public_keys(tmp_path / "junk")
    for key in (tmp_path / "junk", keys / "mine.pub"):
        with pytest.raises(ConfigError, match="cannot be read as a private key"):
            sign(signed, key)
    with pytest.raises(ConfigError, match="cannot be read"):
        sign(signed, tmp_path / "none")
