"""The documentation site: complete, built without a warning, and sufficient unto itself."""

import html
import importlib.util
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from docs_pages import DOCS, ROOT
from rows import rows

LOADING = {"src", "srcset", "poster", "data", "xlink:href"}
NAMES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def build_site() -> ModuleType:
    """scripts/build_site.py, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "scripts" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(build_site, tmp_path_factory) -> Path:
    """The site, built once."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    assert build_site.build(folder)
    return folder


class Tags(HTMLParser):
    """The tags of a page with their attributes, and the text of its styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.styles = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "style":
            self.styles += data


def loaded(page: str) -> Iterator[str]:
    """The addresses that a browser asks for when it shows a page."""
    tags = Tags(page)
    yield from loaded_by_styles(tags.styles)
    for tag, attributes in tags.found:
        yield from (value for name, value in attributes.items() if name in LOADING)
        yield from loaded_by_styles(attributes.get("style", ""))
        if tag == "link":
            yield attributes["href"]


def loaded_by_styles(text: str) -> list[str]:
    return re.findall(r"""(?:url\(|@import(?!\s*url))\s*["']?([^"')\s]+)""", text)


def is_elsewhere(address: str) -> bool:
    return re.match(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", address, re.IGNORECASE) is not None


def html_of(site: Path, name: str) -> Path:
    page = site / name
    return page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")


def test_every_page_is_in_the_navigation_once_and_nothing_else_is(build_site) -> None:
    assert sorted(build_site.navigation()) == NAMES


@rows("name", NAMES)
def test_every_page_is_built_under_its_heading(site, name: str) -> None:
    heading = re.search(r"<h1[^>]*>(.*?)(?:<a |</h1>)", html_of(site, name).read_text())
    assert heading is not None
    shown = html.unescape(re.sub(r"<[^>]+>", "", heading[1]))
    assert shown == (DOCS / name).read_text().splitlines()[0].removeprefix("# ").replace("`", "")


def test_a_link_to_a_file_outside_of_docs_leads_to_a_page_that_shows_it(site) -> None:
    assert 'href="source/examples/own_model.py.html"' in (site / "python.html").read_text()
    assert 'href="../../../python.html#plugins"' in (site / "source/examples/plugin/index.html").read_text()
    assert "class" in (site / "source" / "examples" / "own_model.py.html").read_text()


def test_every_link_within_the_site_leads_to_a_file(site) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # stands for any address, so its links count from the root of a host
            continue
        for _, attributes in Tags(page.read_text()).found:
            path = attributes.get("href", "").partition("#")[0]
            if path and not re.match(r"[a-z]+:", path):
                assert (page.parent / path).exists(), (page, path)


def test_nothing_is_loaded_from_another_host(site) -> None:
    pages, styles = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert pages
    assert styles
    for page in pages:
        assert [address for address in loaded(page.read_text()) if is_elsewhere(address)] == [], page
    for style in styles:
        assert [address for address in loaded_by_styles(style.read_text()) if is_elsewhere(address)] == [], style
