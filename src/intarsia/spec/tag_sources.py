"""Sources of tags: the shipped folder with one file per vendor, a user's folder, and installed packages.

A source is read when a name first needs it, and then cached, so that starting costs nothing. `intarsia.spec.tag_files`
reads one file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.errors import SpecError
from intarsia.spec.problems import closest
from intarsia.spec.tags import Tag, TagSource

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from intarsia.spec.tag_files import Row


class _ByVendor(TagSource):
    """A source that is divided by vendor: the tag ``vendor/product`` is in the part of its vendor."""

    def __init__(self) -> None:
        self._parts: dict[str, Mapping[str, Tag]] = {}

    @property
    @abstractmethod
    def vendors(self) -> Collection[str]:
        """The vendors for which there is a part."""

    @abstractmethod
    def _read(self, vendor: str) -> Mapping[str, Tag]:
        """Read the part of one vendor."""

    def find(self, name: str) -> Tag | None:
        """The tag of this name."""
        vendor, slash, _ = name.partition("/")
        return self.part(vendor).get(name) if slash and vendor in self.vendors else None

    def with_comma(self, text: str) -> tuple[str, ...]:
        """Return names that contain a comma, at least those that occur in this text."""
        if "/" not in text:
            return ()
        named = (vendor for vendor in self.vendors if f"{vendor}/" in text)
        return tuple(name for vendor in named for name in self.part(vendor) if "," in name)

    def similar(self, name: str) -> Iterator[str]:
        """Return the tags of the vendor whose name is spelled most alike."""
        vendor, slash, _ = name.partition("/")
        near = closest(vendor, self.vendors) if slash else None
        yield from () if near is None else self.part(near)

    def tags(self) -> Mapping[str, Tag]:
        """Return all tags by name."""
        return {name: tag for vendor in self.vendors for name, tag in self.part(vendor).items()}

    def part(self, vendor: str) -> Mapping[str, Tag]:
        """The tags of one vendor."""
        part = self._parts.get(vendor)
        if part is None:
            part = self._parts[vendor] = self._read(vendor)
        return part


class VendorFolder(_ByVendor):
    """A folder of files ``vendor.json``."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    @cached_property
    def vendors(self) -> Collection[str]:
        """The vendors that have a file."""
        return frozenset(path.stem for path in self._folder.glob("*.json"))

    def similar(self, name: str) -> Iterator[str]:
        """Return tags of the vendor with the most similar name; without a vendor, tags with such a product."""
        return super().similar(name) if "/" in name else iter(self._products.get(name, ()))

    @cached_property
    def _products(self) -> Mapping[str, list[str]]:
        products: dict[str, list[str]] = {}
        for name in self.tags():
            products.setdefault(name.rpartition("/")[2], []).append(name)
        return products

    def _read(self, vendor: str) -> Mapping[str, Tag]:
        from intarsia.spec.tag_files import read_tag_file  # a target without a tag needs no reader of files

        rows = read_tag_file(self._folder / f"{vendor}.json")
        return {name: row.tag for name, row in rows.items()}


class PlugIns(_ByVendor):
    """Tags of installed packages: an entry point has the vendor's name and leads to its `Tag` values.

    They may not redefine tags of the sources ``over``.
    """

    def __init__(self, group: str, over: Iterable[TagSource] = ()) -> None:
        super().__init__()
        self._group = group
        self._over = tuple(over)

    @cached_property
    def vendors(self) -> Collection[str]:
        """The vendors that a package offers."""
        return self._points.keys()

    @cached_property
    def _points(self) -> Mapping[str, EntryPoint]:
        from importlib.metadata import entry_points  # slow to import, and needed for unknown names only

        return {point.name: point for point in entry_points(group=self._group)}

    def _read(self, vendor: str) -> Mapping[str, Tag]:
        point = self._points[vendor]
        where = f"plug-in {point.value}"
        try:
            offered = point.load()
            tags = list(offered() if callable(offered) else offered)
        except Exception as raised:
            raise SpecError(f"cannot load the tags of {where}: {raised}") from raised
        for tag in tags:
            if not isinstance(tag, Tag) or not tag.name.startswith(f"{vendor}/"):
                raise SpecError(f"{where} offers {tag!r}; it must be a Tag named {vendor}/…")
            refuse_redefinition(tag.name, where, self._over)
        return {tag.name: tag for tag in tags}


class UserFolder(TagSource):
    """A user's folder of tag files. All files are read at the first look-up; the folder need not exist.

    A row may redefine a tag of the sources ``over`` only with ``override``, and has no name that ``is_taken``.
    """

    def __init__(
        self,
        folder: Callable[[], Path],
        over: Iterable[TagSource] = (),
        is_taken: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._folder = folder
        self._over = tuple(over)
        self._is_taken = is_taken

    def tags(self) -> Mapping[str, Tag]:
        """Return all tags by name."""
        return self._tags

    @cached_property
    def _tags(self) -> Mapping[str, Tag]:
        folder = self._folder()
        if not folder.is_dir():
            return {}
        rows = read_tag_folder(folder)
        for name, row in rows.items():
            if self._is_taken(name):
                raise SpecError(f"{name!r} of {folder} is a target kind or an alias, so it cannot be the name of a tag")
            if not row.override:
                refuse_redefinition(name, str(folder), self._over)
        return {name: row.tag for name, row in rows.items()}


def read_tag_folder(folder: Path) -> Mapping[str, Row]:
    """Return all tags of a folder by name. Raises `SpecError` for an invalid file or a tag that is defined twice."""
    from intarsia.spec.data_files import SUFFIXES
    from intarsia.spec.tag_files import read_tag_file

    rows: dict[str, Row] = {}
    origins: dict[str, Path] = {}
    for path in sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES):
        for name, row in read_tag_file(path).items():
            if name in rows:
                raise SpecError(f"tag {name!r} of {path} has been previously defined by {origins[name]}; leave one out")
            rows[name], origins[name] = row, path
    return MappingProxyType(rows)


def refuse_redefinition(name: str, where: str, sources: Iterable[TagSource]) -> None:
    """Raise a `SpecError` if a source has a tag of this name."""
    if any(source.find(name) is not None for source in sources):
        raise SpecError(f"tag {name!r} of {where} has been previously defined; say override to replace it")
