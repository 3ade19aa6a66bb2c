"""The configuration that travels with a model in its metadata, so that one saved half-way can be handed back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intarsia.config.compilation import CompilationConfig
from intarsia.errors import ConfigError, SpecError

CONFIG_KEY = "intarsia.config"
"""The entry of a model's metadata that holds its configuration."""

Executed = tuple[str, str]
"""An option, and the path that it has loaded or run, as `Spec.executed` tells."""


def to_metadata(config: CompilationConfig) -> dict[str, str]:
    """The entries that carry a configuration in a model's metadata."""
    return {CONFIG_KEY: config.json()}


def from_metadata(metadata: Mapping[str, str]) -> CompilationConfig | None:
    """The configuration that a model carries, or ``None``; a `SpecError` where the entry describes none."""
    text = metadata.get(CONFIG_KEY)
    if text is None:
        return None
    try:
        return CompilationConfig.of(text)
    except SpecError as error:
        what = f"the model's metadata entry {CONFIG_KEY!r} is not a configuration; correct it, or remove it"
        raise SpecError(f"{what}\n{error}") from error


def one_config(argument: object, metadata: Mapping[str, str]) -> CompilationConfig:
    """The configuration to compile with: the argument's, else the one that the model carries, else this machine.

    Raises:
        SpecError: One of them is at fault.
        ConfigError: Both are there and they differ; or only the model's names code that would run.
    """
    carried = from_metadata(metadata)
    if argument is None:
        refuse_unstated(() if carried is None else carried.executed(), (), "the configuration that the model carries")
        return CompilationConfig.of(None) if carried is None else carried
    stated = CompilationConfig.of(argument)
    if carried not in (None, stated):
        what = f"the model carries the configuration {str(carried)!r} and the argument says {str(stated)!r}"
        raise ConfigError(f"{what}; leave the argument out, or remove {CONFIG_KEY!r} from the model's metadata")
    return stated


def refuse_unstated(named: Iterable[Executed], stated: Iterable[Executed], who: str) -> None:
    """Raise a `ConfigError` for code that a file (``who``) names and the user does not, with how to allow it."""
    known = {path for _, path in stated}
    for option, path in named:
        if path not in known:
            raise ConfigError(
                f"{who} names {path!r} (-{option}), and compiling would run it; if you trust that file, name it "
                f"yourself: --target 'ENGINE -{option}={path}'"
            )
