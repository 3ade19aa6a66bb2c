"""Which engines there are. Finding, listing and probing them loads none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module, metadata
from types import MappingProxyType

from intarsia.backends.base import Availability, Backend
from intarsia.errors import BackendUnavailableError

GROUP = "intarsia.backends"
"""Entry points of this group name a `Backend` class each; the entry point's name is the backend's."""

_BUILT_IN = MappingProxyType(
    {
        "onnxruntime": "intarsia.backends.onnxruntime:OnnxRuntimeBackend",
        "openvino": "intarsia.backends.openvino:OpenVinoBackend",
        "mnn": "intarsia.backends.mnn:MnnBackend",
        "ncnn": "intarsia.backends.ncnn:NcnnBackend",
        "winograd": "intarsia.backends.winograd:WinogradBackend",
        "reference": "intarsia.backends.reference:ReferenceBackend",
    }
)
"""Ours, by ``module:class``. Not entry points, so that a source tree which was never installed has them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the class of a backend is, and whose it is."""

    name: str
    reference: str
    owner: str


def names() -> tuple[str, ...]:
    """Every known engine, installed or not: ours in order of preference, then plug-ins by name."""
    return tuple(_sources())


@cache
def get(name: str) -> Backend:
    """The backend of that name. The engine behind it may still be absent: see ``probe``.

    Raises:
        BackendUnavailableError: There is no such backend, two packages claim the name, or a plug-in does not import.
    """
    sources = _sources().get(name)
    if sources is None:
        near = get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names())}"
        raise BackendUnavailableError(f"there is no engine {name!r}; {hint}")
    if len(sources) > 1:
        owners = " and ".join(source.owner for source in sources)
        raise BackendUnavailableError(f"the engine {name!r} is claimed by {owners}; uninstall all but one of them")
    return _made(sources[0])


def probe(name: str) -> Availability:
    """Whether the engine is usable, or why not. Never raises, not even for a plug-in that does not import."""
    try:
        return get(name).probe()
    except BackendUnavailableError as error:
        return Availability(usable=False, reason=str(error))


def usable() -> tuple[str, ...]:
    """The engines that can be used here."""
    return tuple(name for name in names() if probe(name).usable)


def require(name: str) -> Availability:
    """What the engine's probe found, if it is usable.

    Raises:
        BackendUnavailableError: It is not; the message says why and what mends it.
    """
    found = get(name).probe()
    if not found.usable:
        mend = f"; {found.mend}" if found.mend else ""
        raise BackendUnavailableError(f"the engine {name!r} cannot be used here: {found.reason}{mend}")
    return found


def refresh() -> None:
    """Look for engines anew: packages were installed or removed since they were listed."""
    get.cache_clear()
    _plugins.cache_clear()


def _sources() -> dict[str, tuple[Source, ...]]:
    ours = [Source(name=name, reference=reference, owner="intarsia") for name, reference in _BUILT_IN.items()]
    return _by_name([*ours, *_plugins()])


def _by_name(sources: Iterable[Source]) -> dict[str, tuple[Source, ...]]:
    found: dict[str, tuple[Source, ...]] = {}
    for source in sources:
        if source not in found.get(source.name, ()):
            found[source.name] = (*found.get(source.name, ()), source)
    return found


@cache
def _plugins() -> tuple[Source, ...]:
    points = metadata.entry_points(group=GROUP)
    plugins = [
        Source(name=point.name, reference=point.value, owner=point.dist.name if point.dist else "an unnamed package")
        for point in points
    ]
    return tuple(sorted(plugins, key=lambda source: (source.name, source.owner)))


def _made(source: Source) -> Backend:
    module, _, attribute = source.reference.partition(":")
    try:
        backend: Backend = getattr(import_module(module), attribute)()
    except Exception as error:  # a plug-in is foreign code: whatever it raises, it is the plug-in that is unusable
        raise BackendUnavailableError(
            f"the engine {source.name!r} of {source.owner} does not import: {type(error).__name__}: {error}"
        ) from error
    return backend
