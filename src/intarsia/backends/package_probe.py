"""Whether an engine's Python package is here, and where; the engine itself is not loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import util
from typing import TYPE_CHECKING

from intarsia.backends.contract import Availability

if TYPE_CHECKING:
    from pathlib import Path

_FACTS = ".dist-info"


def installed(
    package: str,
    extra: str,
    *,
    module: str | None = None,
    version: Callable[[], str] | None = None,
    devices: tuple[str, ...] = ("cpu",),
) -> Availability:
    """Whether a package is installed, with its version, or the extra of ours that installs it.

    ``module`` is what is imported of it, where that is called otherwise; ``version`` tells its version, where several
    packages bring the module; ``devices`` are the device types that it was built for.
    """
    absent = Availability(usable=False, reason=f"{package} is not installed", fix=f"pip install 'intarsia[{extra}]'")
    try:
        spec = util.find_spec(module or package)
        if spec is None:
            return absent
        found = version_of(package, spec.origin) if version is None else version()
    except (ImportError, ValueError):  # of an absent distribution it is an ImportError
        return absent
    return Availability(usable=True, version=found, devices=devices)


def version_beside(origin: str | None, package: str) -> str | None:
    """The version of a package by the name of the folder of facts beside its module; ``None`` if there is not one.

    Reading all that is known of a distribution, as `importlib.metadata` does, takes as long as loading an engine.
    """
    if origin is None:
        return None
    place = os.path.dirname(origin)
    if os.path.basename(origin).startswith("__init__."):
        place = os.path.dirname(place)
    wanted = _plain(package)
    try:
        names = [name.removesuffix(_FACTS).partition("-") for name in os.listdir(place) if name.endswith(_FACTS)]
    except OSError:
        return None
    found = [version for name, _, version in names if _plain(name) == wanted and version]
    return found[0] if len(found) == 1 else None


def _plain(name: str) -> str:
    """A name as packages are compared by."""
    return name.lower().replace("-", "_").replace(".", "_")


def version_of(package: str, origin: str | None) -> str:
    """The version of a package whose module lies there; a `metadata.PackageNotFoundError` of none."""
    found = version_beside(origin, package)
    if found is not None:
        return found
    from importlib import metadata

    return metadata.version(package)


def package_folder(module: str, *inside: str) -> Path | None:
    """A folder of a package that is installed; ``None`` if it is not, or has no such folder. It is not imported."""
    from pathlib import Path

    try:
        found = util.find_spec(module)
    except (ImportError, ValueError):
        return None
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = Path(place, *inside)
        if folder.is_dir():
            return folder
    return None
