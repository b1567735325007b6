"""Build the documentation site from docs/ and zensical.toml. A broken page fails.

usage: scripts/docs [--check]      --check builds into a temporary folder and keeps nothing
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "site"

# Fenced blocks are matched to be stepped over.
_FENCE_OR_LINK = re.compile(
    r"^(?P<fence>```+)[^\n]*\n.*?^(?P=fence)[ \t]*$|(?<=\]\()(?P<path>[^)#:\s]+)(?=[)#])", re.DOTALL | re.MULTILINE
)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def pages_in(navigation: Any) -> Iterator[str]:
    """The pages that a part of the navigation names: a page, a title with pages below it, or a list of these."""
    if isinstance(navigation, str):
        yield navigation
    else:
        for part in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from pages_in(part)


def navigation() -> list[str]:
    """The pages that zensical.toml names, from docs/."""
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    return list(pages_in(settings["project"]["nav"]))


def misplaced() -> list[str]:
    """What is wrong with the navigation. zensical's strict mode says nothing of it."""
    named = set(navigation())
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    wrong = [f"error: the navigation of zensical.toml names '{page}', which docs/ has not" for page in named - there]
    wrong += [f"error: the navigation of zensical.toml does not name '{page}'" for page in there - named]
    return sorted(wrong)


def place(file: Path) -> Path:
    """Where a file of the repository is among the pages: those of docs/ as they are, others below `source`."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS)
    page = Path("source") / file.relative_to(ROOT)
    return page if page.suffix == ".md" else page.with_name(f"{page.name}.md")


def page_of(file: Path) -> tuple[str, list[Path]]:
    """The Markdown of a file with links that hold among the pages, and the files that it links to."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".md":
        return f"# `{file.relative_to(ROOT)}`\n\n``````{file.suffix[1:]}\n{text}\n``````\n", []
    linked: list[Path] = []

    def moved(match: re.Match[str]) -> str:
        if match["path"] is None:
            return match[0]
        target = (file.parent / match["path"]).resolve()
        if not target.is_relative_to(ROOT):
            return match[0]
        linked.append(target)
        return Path(os.path.relpath(place(target), place(file).parent)).as_posix()

    return _FENCE_OR_LINK.sub(moved, text), linked


def lay_out(folder: Path) -> None:
    """Write what zensical reads: docs/ with a page for each file outside of it, such as an example, that is linked.

    Links out of docs/ would lead nowhere on the site. A link to a missing file stays one, and zensical reports it.
    """
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(DOCS, folder / "docs")
    waiting = list(DOCS.rglob("*.md"))
    seen = set(waiting)
    while waiting:
        file = waiting.pop()
        text, linked = page_of(file)
        page = folder / "docs" / place(file)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        found = {target for target in linked if target.is_file() and not target.is_relative_to(DOCS)} - seen
        waiting += found
        seen |= found


def build(site: Path) -> bool:
    """Build in strict mode and put the result in place of `site`; if a page is broken, say which and leave `site`."""
    wrong = misplaced()
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return False
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        lay_out(folder)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False
        )
        if done.returncode != 0:
            print(_COLOUR.sub("", done.stdout), file=sys.stderr)
            return False
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(folder / "site", site)
    return True


def main() -> int:
    """Build the site, or only see whether it can be built."""
    if "--check" in sys.argv:
        with TemporaryDirectory() as name:
            return 0 if build(Path(name) / "site") else 1
    if not build(SITE):
        return 1
    print(f"built: {SITE / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
