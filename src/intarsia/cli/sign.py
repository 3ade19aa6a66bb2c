"""``intarsia sign`` and ``intarsia keygen``: say who made an artifact, so that others can ask for it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from intarsia.cli.console import print_answer, print_text
from intarsia.cli.options import FILE, json_option, verbose_option

PASSPHRASE = "INTARSIA_KEY_PASSPHRASE"
"""Of the private key, for where nobody can be asked."""
PRIVATE, PUBLIC = ".key", ".pub"


@click.command(short_help="Sign an artifact.")
@click.argument("artifact", type=FILE)
@click.option("--key", metavar="FILE", type=FILE, required=True, help="The private key, as keygen writes it.")
@json_option
@verbose_option
def sign(artifact: Path, key: Path, as_json: bool) -> None:
    """Sign ARTIFACT with a private key: whoever has the public one can ask for that (--signed-by).

    The signature is put into the file, in place of one that is there. A passphrase is asked for, or taken from
    INTARSIA_KEY_PASSPHRASE.
    """
    from intarsia.runtime.artifact.signature import is_locked
    from intarsia.runtime.artifact.signature import sign as put

    passphrase = _passphrase(f"passphrase of {key}", twice=False) if is_locked(key) else None
    try:
        fingerprint = put(artifact, key, passphrase)
    except OSError as error:
        raise click.UsageError(f"cannot write {artifact}: {error.strerror}") from error
    report = {"artifact": str(artifact), "key": fingerprint}
    print_answer(report, lambda _: print_text(f"signed {artifact} with the key {fingerprint}"), as_json=as_json)


@click.command(short_help="Make a pair of keys to sign with.")
@click.argument("name", type=FILE)
@click.option("--passphrase", is_flag=True, help="Ask for a passphrase that the private key is kept with.")
@json_option
@verbose_option
def keygen(name: Path, passphrase: bool, as_json: bool) -> None:
    """Write NAME.key, which signs and is kept secret, and NAME.pub, which is given to those who check."""
    from intarsia.runtime.artifact.signature import make_keys

    private, public = (name.with_name(name.name + suffix) for suffix in (PRIVATE, PUBLIC))
    fingerprint = make_keys(private, public, _passphrase("passphrase", twice=True) if passphrase else None)
    report = {"private_key": str(private), "public_key": str(public), "key": fingerprint}
    sentence = f"wrote {private}, to be kept secret, and {public}: the key {fingerprint}"
    print_answer(report, lambda _: print_text(sentence), as_json=as_json)


def _passphrase(what: str, *, twice: bool) -> bytes:
    given = os.environ.get(PASSPHRASE)
    if given is not None:
        return given.encode()
    asked: str = click.prompt(what, hide_input=True, confirmation_prompt=twice, err=True)
    return asked.encode()
