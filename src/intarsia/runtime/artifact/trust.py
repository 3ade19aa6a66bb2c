"""What a caller lets an artifact do: which code it may name, whether it may hold any, and who must have signed it.

An artifact says by itself which libraries and interpreters its engines load, and engines that ship machine code load
what it holds. Whoever made the file would so run what they like, so each is asked for here, before any engine is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.errors import ArtifactError, BackendUnavailableError, ConfigError
from intarsia.files import AnyPath
from intarsia.light_dataclass import dataclass
from intarsia.runtime.artifact.container import SIGNATURE, Reader

if TYPE_CHECKING:
    from intarsia.target import Target

POLICY = "INTARSIA_SIGNED_BY"
"""Files of public keys, as in ``PATH``: only what one of these has signed is opened. No call overrules it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCode:
    """A library or interpreter that an artifact names, and does not hold."""

    path: str
    where: str
    """Who names it, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCode:
    """An entry with machine code, and the engine whose loader loads it."""

    file: str
    engine: str
    nbytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What an artifact may do. Made by `of`."""

    allow: tuple[str, ...] = ()
    """Libraries and interpreters that it may name, as absolute paths."""
    machine_code: bool = True
    """Whether it may hold machine code."""
    signed_by: tuple[str, ...] = ()
    """Files of public keys; empty for whoever made it."""
    trusted: bool = False
    """It is loaded in this process at once, wherever it comes from."""
    is_own: bool = False
    """It was made by this very compile, from what its user said: nothing is asked."""
    is_read: bool = False
    """It is shown, and never loaded: only its signature is asked for."""

    @classmethod
    def of(
        cls,
        allow: AnyPath | Iterable[AnyPath] = (),
        *,
        machine_code: bool = True,
        signed_by: AnyPath | Iterable[AnyPath] = (),
        trusted: bool = False,
        is_read: bool = False,
    ) -> Trust:
        """What the arguments of `intarsia.load` say, and flags of these names; a `ConfigError` for a relative path."""
        allowed = _paths(allow)
        for path in allowed:
            if not os.path.isabs(path):
                import shlex

                full = shlex.quote(os.path.abspath(path))
                raise ConfigError(f"{path!r} is a relative path; what may be run is named in full: {full}")
        return cls(
            allow=allowed, machine_code=machine_code, signed_by=_paths(signed_by), trusted=trusted, is_read=is_read
        )

    @property
    def is_settled(self) -> bool:
        """Whether the caller, or who signed it, answers for what was opened: it is loaded in this process at once."""
        return self.is_own or self.trusted or self._is_signature_asked

    @property
    def _is_signature_asked(self) -> bool:
        return bool(list(self._asked()))

    def check_signature(self, reader: Reader) -> str | None:
        """The fingerprint of who signed it, which is only claimed unless some signature is asked for.

        Raises:
            ArtifactError: It is not signed by one of the keys that the caller names and one of those of `POLICY`.
            ConfigError: A key cannot be read.
        """
        if SIGNATURE not in reader.sizes and not self._is_signature_asked:
            return None
        from pathlib import Path

        from intarsia.runtime.artifact.signature import fingerprint, fits, public_keys, signature_of

        signed = signature_of(reader)
        asked = [] if self.is_own else list(self._asked())
        for name, files in asked:
            keys = {key: file for file in files for key in public_keys(Path(file))}
            wanted = ", ".join(fingerprint(key) for key in keys)
            if signed is None:
                raise ArtifactError(
                    f"{reader.path}: it is not signed, and {name} asks for a signature by {wanted}; take one that is "
                    "signed, or sign it, if you made it: intarsia sign ARTIFACT --key FILE"
                )
            if signed.key not in keys:
                raise ArtifactError(
                    f"{reader.path}: it is signed by {signed.fingerprint}, and {name} asks for {wanted}"
                )
        if asked and signed is not None and not fits(reader, signed):
            raise ArtifactError(
                f"{reader.path}: changed after it was signed by {signed.fingerprint}; take it again from who signed it"
            )
        return None if signed is None else signed.fingerprint

    def check_code(self, path: str, named: Iterable[NamedCode], held: Sequence[str]) -> None:
        """Ask for all that loading would run beside the engines that are installed: what it names, what entries hold.

        Raises:
            ArtifactError: Something is not allowed; the message says what, and how to allow it.
        """
        if self.is_own:
            return
        if self.is_read:
            raise ArtifactError(f"{path}: was opened to be shown, not to be loaded; open it with intarsia.load")
        allowed = {_place(each) for each in self.allow}
        for code in named:
            if not os.path.isabs(code.path) or "\0" in code.path:
                raise ArtifactError(
                    f"{path}: {code.where} names {code.path!r}, which loading would run; "
                    "a relative path is never accepted: compile it anew, with the path in full"
                )
            if _place(code.path) not in allowed:
                import shlex

                raise ArtifactError(
                    f"{path}: {code.where} names {code.path!r}, which loading would run; if you trust that file, say "
                    f"--allow {shlex.quote(code.path)}, or in Python allow=[{code.path!r}]"
                )
        if held and not self.machine_code:
            from intarsia.spec.problems import shown_name

            files = ", ".join(map(shown_name, held))
            raise ArtifactError(
                f"{path}: it holds machine code, which was refused: {files}; compile it for engines whose artifacts "
                "hold none (the page 'What loading trusts' lists them), or leave the refusal out"
            )

    def _asked(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Who asks for a signature, and the files of the keys that do."""
        if self.signed_by:
            yield "signed_by", self.signed_by
        policy = os.environ.get(POLICY)
        if policy is None:
            return
        files = tuple(policy.split(os.pathsep))
        for file in files:
            if not os.path.isabs(file):
                raise ConfigError(f"{POLICY} names {file!r}: give absolute paths of public keys, or unset it")
        yield POLICY, files


UNSTATED = Trust()
"""Of what nobody said anything about: it may name no code, and is asked for a signature where `POLICY` is set."""
OWN = Trust(is_own=True)
"""Of what this very compile made."""


def code_of(target: Target, where: str) -> Iterator[NamedCode]:
    """What a target has loaded or run, by the options that its kinds declare so."""
    for option, path in target.executed():
        yield NamedCode(path=path, where=f"{where} (-{option} of {target.kind_name})")


def code_of_engine(name: str) -> Iterator[NamedCode]:
    """The interpreter that the name of an engine has, as a manifest lists it."""
    kind, away, python = name.partition(registry.AWAY)
    if away:
        from intarsia.spec.problems import shown_name

        yield NamedCode(path=python, where=f"the list of engines, for {shown_name(kind)},")


def holds_code(engine: str, file: str) -> bool:
    """Whether an engine's loader may run a file as machine code; of an engine that is not here, nobody knows."""
    from fnmatch import fnmatchcase

    try:
        patterns: Sequence[str] = registry.get(engine, loading=True).machine_code
    except BackendUnavailableError:
        patterns = ("*",)
    return any(fnmatchcase(file, pattern) for pattern in patterns)


def is_source(file: str) -> bool:
    """Whether a file of a program that is compiled where it is loaded is code."""
    return file.endswith((".c", ".h"))


def _place(path: str) -> str:
    """A path without links on the way. The last name stays: an interpreter knows its packages by the link it is."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _paths(paths: AnyPath | Iterable[AnyPath]) -> tuple[str, ...]:
    several = (paths,) if isinstance(paths, str | os.PathLike) else paths
    return tuple(os.fspath(path) for path in several)
