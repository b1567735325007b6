"""The page as one file, without a browser: what stands in it, and that nothing in it can be taken for markup."""

import base64
import gzip
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from etude.view.export import export_page
from etude.view.gold import HIDDEN, GoldMask
from etude.view.shelf import Shelf
from rows import rows


class Page(HTMLParser):
    """The elements of a page with their attributes, and what stands in its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.links: list[str] = []
        self.policy = ""
        self._open: dict[str, str | None] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if known.get("http-equiv") == "Content-Security-Policy":
            self.policy = known["content"] or ""
        if tag == "script":
            self._open = known
            self.scripts.append((known, ""))

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            known, before = self.scripts[-1]
            self.scripts[-1] = known, before + data

    def handle_endtag(self, tag: str) -> None:
        self._open = None


def contents(text: str) -> tuple[Any, dict[str, Any]]:
    """What stands in a file as it is, and the documents that are compressed."""
    page = Page(text)
    data = next(json.loads(body) for known, body in page.scripts if known.get("id") == "documents")
    shards = [
        json.loads(gzip.decompress(base64.b64decode(body)))
        for known, body in page.scripts
        if (known.get("id") or "").startswith("shard-")
    ]
    places = shards[data["index"]]
    return data, {name: shards[at][name] for name, at in places.items()}


def attempts_of(documents: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in documents.items() if "/attempts/" in name}


def test_a_file_has_the_documents_that_the_server_gives(finished: Path) -> None:
    shelf = Shelf([finished], None)
    data, packed = contents(export_page(shelf))
    attempts = [f"runs/first/attempts/{name}" for name in shelf.attempts("first")]
    assert data["documents"].keys() == {"runs", "runs/first"}
    assert packed.keys() == {*shelf.documents("first"), *attempts} - {"runs/first"}
    for name, document in {**packed, "runs/first": data["documents"]["runs/first"]}.items():
        assert document == json.loads(shelf.document(name))
    assert data["left_out"] == []


def test_what_must_not_leave_the_house_stays_out(finished: Path) -> None:
    shelf = Shelf([finished], None)
    data, packed = contents(export_page(shelf, ["gold"]))
    attempts = attempts_of(packed)
    assert attempts
    for attempt in attempts.values():
        assert {(fact["said"], *fact["asked"]) for fact in attempt["facts"]} <= {("",)}
        if attempt["attempt"] is not None:
            assert attempt["attempt"]["task"]["gold"] is None
            assert attempt["attempt"]["score"]["feedback"] == ""
    steps = [each for name, each in packed.items() if "/steps/" in name]
    assert {attempt["feedback"] for step in steps for attempt in step["attempts"]} == {""}
    assert "may still be quoted" in " ".join(data["left_out"])
    _, packed = contents(export_page(shelf, ["attempts"]))
    assert attempts_of(packed) == {}
    said = json.loads((finished / "steps" / "0001" / "rollout.json").read_text())[0]["trajectory"]["messages"][-1]
    assert said["content"][0]["text"].splitlines()[0] not in json.dumps(packed, ensure_ascii=False)


GOLD = "Grey Harbour, 1987"


def test_a_gold_answer_that_a_model_quotes_stays_out_everywhere(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "first"
    shutil.copytree(finished, run)
    for file in (*run.glob("steps/*/*.json"), run / "provenance.json", run / "summary.json"):
        file.write_text(json.dumps(quoting(json.loads(file.read_text()))))
    for file in (*run.glob("skills/*.md"), *run.glob("steps/*/candidate.*")):
        file.write_text(f"{file.read_text()}\n+ The answer is **grey   harbour** 1987!\n")
    shelf = Shelf([run], None)
    told = re.compile(r"grey\W*harbour", re.IGNORECASE)
    assert sum(bool(told.search(shelf.document(name))) for name in shelf.documents("first")) > 5
    data, packed = contents(export_page(shelf, ["gold"]))
    for name, document in {**data["documents"], **packed}.items():
        assert not told.search(json.dumps(document, ensure_ascii=False)), name
    text = packed["runs/first/skill/1"]["text"]
    assert text.endswith(f"The answer is **{HIDDEN}!\n")
    skill = (finished / "skills" / "0001.md").read_text()
    assert text.startswith(skill)  # nothing else is taken out
    inputs = [each["attempt"]["task"]["input"] for each in attempts_of(packed).values() if each["attempt"]]
    assert len(set(inputs)) > 1


def quoting(value: Any) -> Any:
    """The same where each gold answer is one, and each text of a model quotes it."""
    if isinstance(value, dict) and value.get("role") == "user":
        return value
    if isinstance(value, dict):
        texts = ("reason", "reasoning", "content", "answer", "text", "target", "why", "detail")
        return {
            name: GOLD
            if name == "gold"
            else f"As in {GOLD}: {each}"
            if name in texts and isinstance(each, str)
            else quoting(each)
            for name, each in value.items()
        }
    return [quoting(each) for each in value] if isinstance(value, list) else value


@rows(
    ("gold", "text", "shown"),
    [
        ("30/03/1987", "on 30/03/1987, not 130/03/1987", f"on {HIDDEN}, not 130/03/1987"),
        (["Paris", "the city of Paris"], "The City of PARIS. Parish", f"{HIDDEN}. Parish"),
        ({"total": 1250.5, "unit": "EUR"}, "1250.5 EUR", f"{HIDDEN} EUR"),
        ("yes", "yes", "yes"),
        ("東京都庁", "答え: 東京都庁", f"答え: {HIDDEN}"),
        ("!!!!", "!!!!", "!!!!"),
    ],
)
def test_a_gold_answer_is_found_as_a_whole(gold: Any, text: str, shown: str) -> None:
    assert GoldMask([gold, None, True, "another"]).without(text) == shown


def test_attempts_that_find_no_room_are_counted_and_solved_ones_go_first(finished: Path) -> None:
    shelf = Shelf([finished], None)
    whole = export_page(shelf)
    data, packed = contents(export_page(shelf, most=1_000))
    assert attempts_of(packed) == {}
    (told,) = data["left_out"]
    assert re.match(r"(\d+) of \1 attempts of first are left out, those that solved their task first", told)
    room = len(whole) - 2_000
    assert len(export_page(shelf, most=room)) <= room
    solved = [
        json.loads(shelf.document(f"runs/first/attempts/{name}"))["hard"] == 1 for name in shelf.attempts("first")
    ]
    assert solved == sorted(solved)
    assert len(set(solved)) == 2
