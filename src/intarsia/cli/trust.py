"""The flags that say what an artifact may do, and what is told of the code that it names and holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from intarsia.cli.options import FILE, with_options
from intarsia.errors import ConfigError
from intarsia.spec.problems import shown_name
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.runtime import Artifact

Verb = TypeVar("Verb", bound=Callable[..., Any])

_SIGNED_BY = click.option(
    "--signed-by", metavar="KEY", type=FILE, multiple=True, help="Refuse what none of these public keys has signed."
)
_CODE = (
    click.option(
        "--allow",
        metavar="PATH",
        type=FILE,
        multiple=True,
        help="A library or interpreter that the artifact names and may run.",
    ),
    click.option("--no-machine-code", is_flag=True, help="Refuse an artifact that holds machine code."),
    click.option("--trusted", is_flag=True, help="Load it at once, wherever it comes from; not in a process first."),
)


def trust_options(verb: Verb) -> Verb:
    """The flags of a verb that runs artifacts; it is called with ``trust``, what they say."""

    @wraps(verb)
    def trusting(
        *arguments: Any,
        allow: tuple[Any, ...],
        no_machine_code: bool,
        trusted: bool,
        signed_by: tuple[Any, ...],
        **others: Any,
    ) -> Any:
        from intarsia.runtime.artifact.trust import Trust

        trust = Trust.of(allow, machine_code=not no_machine_code, signed_by=signed_by, trusted=trusted)
        return verb(*arguments, trust=trust, **others)

    return with_options(*_CODE, _SIGNED_BY)(trusting)  # type: ignore[return-value] # as click's own decorators


def reading_options(verb: Verb) -> Verb:
    """The flag of a verb that only shows an artifact; it is called with ``trust`` too."""

    @wraps(verb)
    def trusting(*arguments: Any, signed_by: tuple[Any, ...], **others: Any) -> Any:
        from intarsia.runtime.artifact.trust import Trust

        return verb(*arguments, trust=Trust.of(signed_by=signed_by, is_read=True), **others)

    return with_options(_SIGNED_BY)(trusting)  # type: ignore[return-value] # as above


def code_facts(opened: Artifact) -> dict[str, Any]:
    """Who signed an artifact, the machine code that it holds, and the code that it names, for JSON."""
    return {
        "signature": None if opened.signer is None else {"key": opened.signer, "fits": is_signed(opened)},
        "machine_code": [asdict(held) for held in opened.held_code],
        "named_code": [asdict(named) for named in opened.named_code],
    }


def code_lines(facts: dict[str, Any]) -> list[str]:
    """The same in sentences."""
    return [
        _told(facts["signature"]),
        *(
            f"machine code inside: {shown_name(held['file'])} ({held['engine']}, {counted(held['nbytes'], 'byte')}, "
            f"SHA-256 {held['sha256']})"
            for held in facts["machine_code"]
        ),
        *(
            f"{named['where']} names {named['path']!r}, which loading runs only where --allow names it"
            for named in facts["named_code"]
        ),
    ]


def is_signed(opened: Artifact) -> bool | None:
    """Whether its signature holds; ``None`` where there is none, or it cannot be checked."""
    try:
        return opened.fits_signature
    except ConfigError:
        return None


def _told(signature: dict[str, Any] | None) -> str:
    if signature is None:
        return "not signed"
    doubt = {
        True: "",
        False: "; but it was changed since, so do not load it",
        None: "; not checked, which needs pip install 'intarsia[sign]'",
    }
    return f"signed by the key {signature['key']}{doubt[signature['fits']]}"
