"""Providers as a script for ONNX Runtime names them, as the targets of a compile."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from intarsia.backends import registry
from intarsia.config import CompilationConfig, engines
from intarsia.errors import ConfigError, IntarsiaError, SpecError
from intarsia.planning.engine_set import absence, leaves
from intarsia.spec.problems import nearest
from intarsia.target import Target
from intarsia.target.aliases import CPU_PROVIDER, PROVIDERS
from intarsia.wording import counted

Provider = str | tuple[str, Mapping[str, Any]]
"""A name, or a name with options: those of the kind of target that the provider stands for."""


def get_all_providers() -> list[str]:
    """Every provider that has a target, by preference."""
    return list(PROVIDERS)


@cache
def _is_available(provider: str) -> bool:
    try:
        described = engines(CompilationConfig.of(PROVIDERS[provider]), registry.usable(), stand_ins=True)
    except IntarsiaError:  # it serves no whole machine, or nothing drives it
        return False
    return any(absence(target) is None for target in leaves(described))


def get_available_providers() -> list[str]:
    """The providers of which some engine runs on this machine, by preference."""
    return [provider for provider in PROVIDERS if _is_available(provider)]


def chosen_providers(
    providers: Sequence[Provider] | None, options: Sequence[Mapping[str, Any]] | None
) -> dict[str, Mapping[str, Any]]:
    """The providers that a session may use, with their options, most preferred first.

    As in ONNX Runtime the processor comes last though nobody names it, and of several providers those that are not here
    are left out with a warning. Unlike there, a session is refused if none that was named is here.

    Raises:
        ConfigError: A provider is not known, none is here, or there are not as many options as providers.
    """
    if providers is None:
        if options:
            raise ConfigError("provider_options belong to providers: name these too")
        return {CPU_PROVIDER: {}}
    if options and len(options) != len(providers):
        raise ConfigError(
            f"{len(options)} provider_options for {counted(len(providers), 'provider')}: give one for each, or none"
        )
    wanted: dict[str, Mapping[str, Any]] = {}
    for place, provider in enumerate(providers):
        name, own = (provider, {}) if isinstance(provider, str) else provider
        if own and options:
            raise ConfigError("options stand beside a provider's name and in provider_options: state them once")
        wanted[_known(name)] = (options[place] if options else own) or {}
    here = {name: own for name, own in wanted.items() if _is_available(name)}
    absent = ", ".join(name for name in wanted if name not in here)
    if wanted and not here:
        raise ConfigError(
            f"{absent}: not on this machine, which has {', '.join(get_available_providers())}; name these"
        )
    if absent:
        warnings.warn(f"{absent}: not on this machine, and left out", UserWarning, stacklevel=3)
    return {**here, CPU_PROVIDER: here.get(CPU_PROVIDER, {})}


def targets_of(providers: Mapping[str, Mapping[str, Any]]) -> list[Target]:
    """The targets that providers stand for, in order; a `ConfigError` for an option that a target does not take."""
    found = []
    for name, options in providers.items():
        try:
            found.append(Target({"kind": PROVIDERS[name], **options}))
        except SpecError as error:
            raise ConfigError(f"{name}: its options are those of the target {PROVIDERS[name]!r}\n{error}") from error
    return found


def _known(name: str) -> str:
    if name in PROVIDERS:
        return name
    hint = nearest(name, PROVIDERS, f"there are {', '.join(PROVIDERS)}; target= takes any target")
    raise ConfigError(f"no target stands for the provider {name!r}{hint}")
