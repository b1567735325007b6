"""A finished run of which something is damaged, and what each verb then says."""

import base64
import gzip
import io
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from etude.cli.demo import make_project
from etude.cli.main import main

RUN = Path("demo/runs/demo")
JOURNAL = RUN / "journal.db"
LOG = RUN / "journal.db-wal"
SETTINGS = (
    "demo/etude.yaml",
    "--train.epochs",
    "1",
    "--env.limit={train: 5, val: 3, test: 3}",
    "--search.failures=2",
)
TRAIN = ("train", *SETTINGS, "--json")
READING: Mapping[str, tuple[str, ...]] = {
    "show": ("show", str(RUN), "--json"),
    "cost": ("show", str(RUN), "--cost", "--json"),
    "step": ("show", str(RUN), "--step", "1", "--json"),
    "runs": ("runs", "--folder", "demo/runs", "--json"),
    "blame": ("blame", str(RUN), "--json"),
    "view": ("view", str(RUN), "--export", "page.html"),
    "verify": ("verify", str(RUN / "best/everyday-tasks"), str(RUN), "--json"),
    "compare": ("compare", f"{RUN}:initial", f"{RUN}:2", "--split", "val", "--json"),
}
"""What only reads, or reads first. What it prints is what it found."""


TOLD = re.compile("was changed in the journal|is damaged: |cannot be used: |lacks what it held|is missing, and")
"""How a page says that it does not show all."""


class Said(NamedTuple):
    """What a verb came to."""

    code: int
    out: str
    err: str


def make_run(folder: Path) -> None:
    """A project with a finished run, as `folder/closed`; and as `folder/logged`, where the journal has a log next to
    it, as after a kill. The current folder is `folder`."""
    make_project(folder / "demo")
    assert main(["train", *SETTINGS, "--limits.calls", "1"]) == 3
    with closing(sqlite3.connect(JOURNAL)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM meta").fetchall()  # so that the log is not taken into the file at the end
        assert main(["train", *SETTINGS]) == 0
        assert main(list(READING["compare"])) in (0, 4, 5)
        shutil.copytree("demo", "logged")
    shutil.copytree("demo", "closed")
    with closing(sqlite3.connect("closed/runs/demo/journal.db")) as journal:
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def say(words: tuple[str, ...]) -> Said:
    """Run a verb here. What is no error of etude is raised."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(words))
    page = words[0] == "view" and code == 0
    return Said(code, Path("page.html").read_text() if page else out.getvalue(), err.getvalue())


def result(verb: str, said: Said) -> object:
    """What a verb found, without what differs between two runs that came to the same."""
    if verb == "view":
        return re.sub('"(bytes|changed)":[0-9.]+', "", said.out)
    found: Any = json.loads(said.out)
    for each in found if isinstance(found, list) else [found]:
        for name in ("cost", "folder", "changed", "bytes", "file", "test_openings"):
            each.pop(name, None)
    return found


def harm(verb: str, said: Said, whole: Said) -> str:
    """What is wrong with what a verb said of a damaged run, as against a whole one; nothing where it found the same,
    or said what is damaged."""
    if said.code != whole.code and "error: " in said.err:
        named = re.search(r"(journal|demo/runs/demo|\.json|\.jsonl|SKILL|skills/|config\.yaml)", said.err)
        return "" if named and "hint: " in said.err else f"{verb}: no file or no hint in {said.err!r}"
    if verb == "verify" and said.code == 1 and json.loads(said.out)["problems"]:
        return ""
    if result(verb, said) == result(verb, whole):
        return ""
    if verb == "view" and any(TOLD.search(text) for text in texts(said.out)):
        return ""
    if verb == "runs" and json.loads(said.out)[0]["why"]:
        return ""
    return f"{verb}: another result in silence"


def texts(page: str) -> Iterator[str]:
    """What stands in a page that is one file, as JSON."""
    yield from re.findall('id="documents">([^<]*)<', page)
    for shard in re.findall('id="shard-[0-9]+">([^<]*)<', page):
        yield gzip.decompress(base64.b64decode(shard)).decode()


def flipped(kept: str, number: int, whole: Mapping[str, Said]) -> list[str]:
    """What goes wrong with a bit flipped somewhere in the journal, or in its log: with training again, and with two
    verbs that read."""

    def damage() -> str:
        chance = random.Random(number)
        return flip(chance.choice([path for path in (JOURNAL, LOG) if path.exists()]), chance)

    verbs = random.Random(number).sample(sorted(READING), 2)
    return harms(kept, damage, [*verbs, "train"], whole)


def flip(path: Path, chance: random.Random) -> str:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    place, bit = chance.randrange(len(data)), chance.randrange(8)
    data[place] ^= 1 << bit
    path.write_bytes(data)
    return f"bit {bit} of byte {place} of {path.name}"


def words_of(verb: str) -> tuple[str, ...]:
    return TRAIN if verb == "train" else READING[verb]


def fresh(kept: str) -> None:
    """Put a copy of a kept run in place."""
    shutil.rmtree("demo", ignore_errors=True)
    shutil.copytree(kept, "demo")


def told_whole(kept: str) -> dict[str, Said]:
    """What each verb says of a run that is whole."""
    found: dict[str, Said] = {}
    for verb in (*READING, "train"):
        fresh(kept)
        found[verb] = say(words_of(verb))
    return found


def harms(kept: str, damage: Callable[[], str], verbs: Iterable[str], whole: Mapping[str, Said]) -> list[str]:
    """Damage a copy of a run and go over it with verbs; what each does wrong."""
    found: list[str] = []
    for verb in verbs:
        fresh(kept)
        what = damage()
        try:
            wrong = harm(verb, say(words_of(verb)), whole[verb])
        except Exception as error:  # noqa: BLE001 - a traceback is what is looked for
            wrong = f"{verb}: {type(error).__name__}: {error}"
        if wrong:
            found.append(f"{what}: {wrong}")
    return found
