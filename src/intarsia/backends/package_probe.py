"""Whether an engine's Python package is here, and where; the engine itself is not loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import metadata, util
from pathlib import Path

from intarsia.backends.contract import Availability


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
    try:
        if util.find_spec(module or package) is None:
            raise metadata.PackageNotFoundError(package)
        found = (version or partial(metadata.version, package))()
    except (ImportError, ValueError, metadata.PackageNotFoundError):
        return Availability(usable=False, reason=f"{package} is not installed", fix=f"pip install 'intarsia[{extra}]'")
    return Availability(usable=True, version=found, devices=devices)


def package_folder(module: str, *inside: str) -> Path | None:
    """A folder of a package that is installed; ``None`` if it is not, or has no such folder. It is not imported."""
    try:
        found = util.find_spec(module)
    except (ImportError, ValueError):
        return None
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = Path(place, *inside)
        if folder.is_dir():
            return folder
    return None
