"""The site is built without a warning, its links lead somewhere, and reading it asks nothing of any other machine."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest

import intarsia
from intarsia.cli.main import cli

ROOT = Path(__file__).parents[2]
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""What a browser loads by itself, and the attribute that says from where."""


@dataclass
class Page(HTMLParser):
    """What one page links to, loads, and can be linked to at."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.places.update(told[name] for name in ("id", "name") if name in told)
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        if FETCHED.get(tag) in told:
            self.loads.append(told[FETCHED[tag]])

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-d", str(folder / "read")]
    done = subprocess.run([*build, str(ROOT / "docs"), str(folder / "html")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = Page()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_every_link_inside_leads_to_a_page_and_a_place_on_it(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (path.parent / unquote(where.path)).resolve() if where.path else path
            place = unquote(where.fragment)
            if not target.is_file() or (place and target.suffix == ".html" and place not in pages[target].places):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {link for page in pages.values() for link in page.loads}
    assert loaded
    assert [link for link in loaded if urlsplit(link).scheme not in ("", "data") or urlsplit(link).netloc] == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert [each for text in styles for each in re.findall(r"(?:url\(|@import)\W*https?:[^)]*", text)] == []


def test_every_public_name_is_on_the_page_of_python(site: Path, pages: dict[Path, Page]) -> None:
    text = pages[site / "api.html"].text
    assert [name for name in intarsia.__all__ if f"intarsia.{name}" not in text and name != "__version__"] == []


def test_every_verb_and_option_is_on_the_page_of_the_command_line(site: Path, pages: dict[Path, Page]) -> None:
    text = pages[site / "cli.html"].text
    verbs = {**cli.commands, **{f"config {name}": verb for name, verb in _group("config").commands.items()}}
    options = {option for verb in verbs.values() for each in verb.params for option in each.opts if option[:2] == "--"}
    assert [f"intarsia {name}" for name in verbs if f"intarsia {name}" not in text] == []
    assert sorted(option for option in options if option not in text) == []


def _group(name: str) -> click.Group:
    found = cli.commands[name]
    assert isinstance(found, click.Group)
    return found
