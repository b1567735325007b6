"""The page as one file, without a browser: what stands in it, and that nothing in it can be taken for markup."""

import base64
import gzip
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder

from etude.view.export import export_page
from etude.view.server import page_files
from etude.view.shelf import Shelf

HOSTILE = '</script><script>alert(1)</script><!-- <script> ]]> {{7*7}} ${x} \u202e "'


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
    """The documents of a file, and its attempts."""
    page = Page(text)
    data = next(json.loads(body) for known, body in page.scripts if known.get("id") == "documents")
    attempts: dict[str, Any] = {}
    for known, body in page.scripts:
        if (known.get("id") or "").startswith("shard-"):
            attempts |= json.loads(gzip.decompress(base64.b64decode(body)))
    return data, attempts


def test_a_file_has_the_documents_that_the_server_gives(finished: Path) -> None:
    shelf = Shelf([finished], None)
    data, attempts = contents(export_page(shelf))
    for name in shelf.documents("first"):
        assert data["documents"][name] == json.loads(shelf.document(name))
    assert (
        attempts.keys()
        == data["shards"].keys()
        == {f"runs/first/attempts/{name}" for name in shelf.attempts("first")}
    )
    for name, attempt in list(attempts.items())[::5]:
        assert attempt == json.loads(shelf.document(name))
    assert data["left_out"] == []


def test_a_file_asks_for_nothing_and_only_its_own_modules_run(finished: Path) -> None:
    text = export_page(Shelf([finished], None))
    page = Page(text)
    assert all(link.startswith("data:") for link in page.links)
    assert page.policy.startswith("default-src 'none'; script-src data: 'sha256-")
    assert "unsafe" not in page.policy
    modules = next(json.loads(body)["imports"] for known, body in page.scripts if known.get("type") == "importmap")
    assert modules.keys() == {f"etude/{name}" for name in page_files() if name.endswith(".js")}
    for address in modules.values():
        source = base64.b64decode(address.removeprefix("data:text/javascript;base64,")).decode()
        for name in re.findall(r'\b(?:from|import) ?"([^"]+)"', source):
            assert name in modules


def test_no_text_ends_a_script_or_begins_a_comment(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "first"
    shutil.copytree(finished, run)
    for file in (*run.glob("steps/*/*.json"), run / "provenance.json"):
        known = json.loads(file.read_text())
        file.write_text(json.dumps(spoiled(known)))
    text = export_page(Shelf([run], None))
    scripts = Page(text).scripts
    assert "alert" not in "".join(body for known, body in scripts if known.get("type") in ("module", "importmap"))
    assert {known.get("type") for known, _ in scripts} == {
        "module",
        "importmap",
        "application/json",
        "application/octet-stream",
    }
    data, _ = contents(text)
    edits = [edit for name, each in data["documents"].items() if "/steps/" in name for edit in each["edits"]]
    assert edits
    assert all(edit["edit"]["reason"] == HOSTILE for edit in edits)


def spoiled(value: Any) -> Any:
    """The same with hostile reasons and feedback."""
    if isinstance(value, dict):
        return {name: HOSTILE if name in ("reason", "feedback") else spoiled(each) for name, each in value.items()}
    return [spoiled(each) for each in value] if isinstance(value, list) else value


def test_what_must_not_leave_the_house_stays_out(finished: Path) -> None:
    shelf = Shelf([finished], None)
    data, attempts = contents(export_page(shelf, ["gold"]))
    assert attempts
    for attempt in attempts.values():
        assert {(fact["said"], *fact["asked"]) for fact in attempt["facts"]} <= {("",)}
        if attempt["attempt"] is not None:
            assert attempt["attempt"]["task"]["gold"] is None
            assert attempt["attempt"]["score"]["feedback"] == ""
    steps = [each for name, each in data["documents"].items() if "/steps/" in name]
    assert {attempt["feedback"] for step in steps for attempt in step["attempts"]} == {""}
    assert "may still quote" in " ".join(data["left_out"])
    text = export_page(shelf, ["attempts"])
    assert contents(text)[1] == {}
    said = json.loads((finished / "steps" / "0001" / "rollout.json").read_text())[0]["trajectory"]["messages"][-1]
    assert said["content"][0]["text"].splitlines()[0] not in text


def test_attempts_that_find_no_room_are_counted(finished: Path) -> None:
    data, attempts = contents(export_page(Shelf([finished], None), most=1_000))
    assert attempts == {}
    (told,) = data["left_out"]
    assert re.fullmatch(
        r"(\d+) of \1 attempts of first are left out: with them the file would be larger than 0 MB\.", told
    )


def test_the_shell_is_small() -> None:
    assert sum(map(len, page_files().values())) <= 300_000


def test_a_wheel_holds_the_page_and_the_licences_of_its_libraries() -> None:
    root = Path(__file__).parents[2]
    there = {file.distribution_path for file in WheelBuilder(str(root)).recurse_included_files()}
    assert {f"etude/view/page/{name}" for name in page_files()} <= there
    assert {f"etude/view/page/vendor/{name}.LICENSE" for name in ("preact", "htm", "uplot")} <= there
