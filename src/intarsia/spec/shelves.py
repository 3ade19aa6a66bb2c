"""Where tags come from that nobody registered: a folder with a file per vendor, a user's folder, installed packages.

Each is read when a name first needs it and then kept, so that merely starting costs nothing. What a file may say is
known to `intarsia.spec.tag_files`.
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
from intarsia.spec.tags import Shelf, Tag

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from intarsia.spec.tag_files import Row


class _ByVendor(Shelf):
    """A shelf in parts: a tag ``vendor/product`` stands in the part of its vendor."""

    def __init__(self) -> None:
        self._parts: dict[str, Mapping[str, Tag]] = {}

    @property
    @abstractmethod
    def vendors(self) -> Collection[str]:
        """The vendors that have a part."""

    @abstractmethod
    def _read(self, vendor: str) -> Mapping[str, Tag]:
        """The part of one of them."""

    def find(self, name: str) -> Tag | None:
        """The tag of this name."""
        vendor, slash, _ = name.partition("/")
        return self.part(vendor).get(name) if slash and vendor in self.vendors else None

    def with_comma(self, text: str) -> tuple[str, ...]:
        """Names with a comma in them, among them each that occurs in this text."""
        if "/" not in text:
            return ()
        named = (vendor for vendor in self.vendors if f"{vendor}/" in text)
        return tuple(name for vendor in named for name in self.part(vendor) if "," in name)

    def similar(self, name: str) -> Iterator[str]:
        """The names of the vendor that this name seems to mean."""
        vendor, slash, _ = name.partition("/")
        near = closest(vendor, self.vendors) if slash else None
        yield from () if near is None else self.part(near)

    def tags(self) -> Mapping[str, Tag]:
        """All of them, by name."""
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
        """The names of the vendor that this name seems to mean; for one without vendor, those of such a product."""
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
    """Tags that installed packages offer: an entry point is named after a vendor and leads to its `Tag` values.

    They may not redefine those of the shelves ``over``.
    """

    def __init__(self, group: str, over: Iterable[Shelf] = ()) -> None:
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


class UserFolder(Shelf):
    """A folder of tag files of any names, read whole when any tag is first asked for; it need not exist.

    A row may redefine a tag of the shelves ``over`` only with ``override``, and has no name that ``is_taken``.
    """

    def __init__(
        self, folder: Callable[[], Path], over: Iterable[Shelf] = (), is_taken: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._folder = folder
        self._over = tuple(over)
        self._is_taken = is_taken

    def tags(self) -> Mapping[str, Tag]:
        """All of them, by name."""
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
    """The tags of every tag file in a folder, by name; a `SpecError` where one is at fault, or two define one tag."""
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


def refuse_redefinition(name: str, where: str, shelves: Iterable[Shelf]) -> None:
    """Raise a `SpecError` if a shelf has a tag of this name."""
    if any(shelf.find(name) is not None for shelf in shelves):
        raise SpecError(f"tag {name!r} of {where} has been previously defined; say override to replace it")
