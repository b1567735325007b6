"""Reading the documentation: pages, their blocks, links and commands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))

_BLOCK = re.compile(r"^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of these languages, in their order."""
    text = page.read_text()
    found = (
        Block(page, text.count("\n", 0, match.start()) + 1, match["info"].strip(), match["text"])
        for match in _BLOCK.finditer(text)
    )
    return [block for block in found if block.language in languages]


def all_blocks(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, *languages)]


def links(page: Path) -> Iterator[str]:
    """Relative links, in prose only."""
    for target in _LINK.findall(_BLOCK.sub("", page.read_text())):
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def anchors(page: Path) -> set[str]:
    """What links can point to within a page."""
    headings = _HEADING.findall(_BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def commands(text: str) -> list[list[str]]:
    """The words behind `etude` of every such command in a shell text, in console, sh or indented blocks."""
    joined = text.replace("\\\n", " ")
    found: list[list[str]] = []
    for line in joined.splitlines():
        for part in line.removeprefix("$ ").split("&&"):
            words = shlex.split(part, comments=True)
            if words and Path(words[0]).name == "etude":
                found.append(words[1:])
    return found


class Step(NamedTuple):
    """A command of a console block, and the lines that it prints, `...` standing for any others."""

    program: str
    """`etude`, `python` for a script of this repository, `cd`, or `sed` for what a reader edits in a file."""
    words: list[str]
    shown: list[str]


def steps(block: Block) -> list[Step]:
    found: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            program, *words = shlex.split(line[2:], comments=True)
            assert program in ("etude", "python", "cd", "sed"), (block.place, line)
            found.append(Step(program, words, []))
        else:
            found[-1].shown.append(line)
    return found
