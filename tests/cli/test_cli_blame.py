"""A reason for every line: blame says it, an exported skill carries it, verify recomputes it."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.records.provenance import Provenance, ProvenLine
from rows import few

Captured = pytest.CaptureFixture[str]
RUN = Path("demo/runs/demo")
DOCUMENT = RUN / "best/everyday-tasks/SKILL.md"


def provenance(folder: Path = RUN) -> Provenance:
    return Provenance.model_validate_json((folder / "provenance.json").read_bytes())


def learned() -> tuple[int, ProvenLine]:
    """The first line that an edit put there, and its number."""
    return next((n, line) for n, line in enumerate(provenance().lines, 1) if line.change is not None and line.text)


def verify(skill: Path = DOCUMENT) -> int:
    return main(["verify", str(skill), str(RUN)])


def test_every_line_has_an_origin_and_evidence_that_its_step_has(small_project: Path, capsys: Captured) -> None:
    found, initial = provenance(), (RUN / "skills/0000.md").read_text().splitlines()
    assert [line.text for line in found.lines] == DOCUMENT.read_text().splitlines()
    for line in found.lines:
        if line.change is None:
            assert line.origin == "initial"
            assert line.text in initial
            continue
        change = found.changes[line.change]
        (edit,) = [change.edits[number] for number in line.edits]
        assert line.text.removeprefix("- ") in edit.edit.content
        proof = json.loads((RUN / change.place / "proof.json").read_text())
        (shown,) = [one for one in proof["edits"] if one["kept"] and one["edit"]["content"] == edit.edit.content]
        assert shown["kept"]
        assert (shown["fixes"], shown["needed"]) == ([*edit.solved], [*edit.needed])
        attempted = json.loads((RUN / change.place / "rollout.json").read_text())
        tasks = {attempt["id"]: attempt["task"]["id"] for attempt in attempted}
        assert edit.failures == {name: tasks[name] for name in edit.edit.cites}
        assert edit.attempts > len(edit.failures)
        assert edit.facts
    assert main(["blame", str(RUN), "--json"]) == 0
    assert Provenance.model_validate_json(capsys.readouterr().out) == found


def test_blame_prints_the_skill_line_by_line_and_what_a_line_rests_on(
    small_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, _ = learned()
    monkeypatch.chdir(small_project)
    assert main(["blame"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 + len(provenance(Path("runs/demo")).lines)
    assert lines[3].split() == ["1", "initial", "1", "---"]
    assert main(["blame", str(number)]) == 0
    said = capsys.readouterr().out
    assert "from      step" in said
    assert "needed    " in said
    assert main(["blame", "demo", "1"]) == 0
    assert "from      initial" in capsys.readouterr().out
    assert main(["blame", "demo", "999"]) == 2
    assert "the skill has no line 999" in capsys.readouterr().err


def test_an_exported_skill_carries_its_provenance_and_agrees_with_its_run(small_project: Path, capsys) -> None:
    assert main(["export", str(RUN), "--to", "out", "--name", "sums", "--description", "For sums."]) == 0
    own = provenance(Path("out/sums"))
    assert {line.text for line in own.lines if line.origin == "export"} == {"name: sums", "description: For sums."}
    assert verify(Path("out/sums")) == 0
    assert "agree" in capsys.readouterr().out
    assert main(["export", str(RUN), "--to", "out", "--name", "sums", "--description", "For sums."]) == 0


def test_an_export_over_another_takes_away_the_provenance_of_that_one(small_project: Path) -> None:
    for skill in ("best", "initial"):
        assert main(["export", f"{RUN}:{skill}", "--to", "out", "--name", "sums", "--force"]) == 0
        assert Path("out/sums/provenance.json").exists() is (skill == "best")


def test_a_run_whose_tasks_have_changed_cannot_be_repeated_and_it_is_said_why(
    small_project: Path, capsys: Captured
) -> None:
    Path("other.jsonl").write_text((small_project / "data/train.jsonl").read_text().replace("?", "??"))
    settings = RUN / "config.yaml"
    settings.write_text(
        re.sub(r"train: \S*train.jsonl", f"train: {Path('other.jsonl').resolve()}", settings.read_text())
    )
    assert verify() == 2
    assert capsys.readouterr().err == (
        "error: the run cannot be repeated, as it was made otherwise:\n  the training tasks are others\n"
        "hint: check the skill where tasks and settings are as the run had them\n"
    )


def test_show_and_verify_say_how_well_the_new_lines_are_known_to_help(small_project: Path, capsys: Captured) -> None:
    found = provenance()
    count: dict[str, int] = {}
    for line in found.lines:
        for number in line.edits if line.text.strip() and line.change is not None else ():
            standing = found.changes[line.change or 0].edits[number].standing
            count[standing] = count.get(standing, 0) + 1
    assert count["proved"] > 1
    assert json.loads((RUN / "summary.json").read_text())["new_lines"] == count
    told = ", ".join(f"{count[each]} {each}" for each in ("proved", "trusted", "not tested") if each in count)
    assert main(["show", str(RUN)]) == 0
    assert f"new lines   {told} (`etude blame demo`)\n" in capsys.readouterr().out
    assert verify() == 0
    assert f" lines, {told}, " in capsys.readouterr().out


def test_a_run_of_the_published_loop_has_a_reason_for_every_line_too(paper_project: Path, capsys: Captured) -> None:
    found = provenance()
    origins = {change.origin for change in found.changes}
    assert origins >= {"step"}
    edits = [edit for change in found.changes for edit in change.edits]
    assert all(edit.failures and edit.facts and edit.attempts for edit in edits)
    assert {edit.standing for edit in edits} == {"not tested"}
    assert verify() == 0


@pytest.mark.parametrize("part", few(["learned", "initial", "front matter", "added", "removed"], "learned"))
def test_a_changed_line_of_the_skill_is_named(small_project: Path, capsys: Captured, part: str) -> None:
    assert main(["export", str(RUN), "--to", "out", "--description", "For sums."]) == 0
    path = Path("out/everyday-tasks/SKILL.md")
    lines = path.read_text().splitlines()
    number = {"learned": learned()[0], "front matter": 3, "added": len(lines) + 1}.get(part, 8)
    if part == "removed":
        del lines[number - 1]
    elif part == "added":
        lines.append("- Say please.")
    else:
        lines[number - 1] += "!"
    path.write_text("".join(f"{line}\n" for line in lines))
    capsys.readouterr()
    assert verify(path) == 1
    assert f"line {number}: " in capsys.readouterr().out


def change_fact(name: str) -> None:
    """Change one letter of a fact's value."""
    kind, _, start = name.partition(" ")
    with closing(sqlite3.connect(RUN / "journal.db")) as connection:
        where = "where kind = ? and key_hash like ?"
        (value,) = connection.execute(f"select value from facts {where}", (kind, f"{start}%")).fetchone()
        changed = value.replace('"text":"', '"text":"x', 1)
        assert changed != value
        connection.execute(f"update facts set value = ? {where}", (changed, kind, f"{start}%"))
        connection.commit()


@pytest.mark.parametrize("whose", ["attempt", "optimizer"])
def test_a_changed_fact_names_the_lines_that_rest_on_it(small_project: Path, capsys: Captured, whose: str) -> None:
    number, line = learned()
    assert line.change is not None
    change = provenance().changes[line.change]
    change_fact(next(iter(change.edits[line.edits[0]].facts if whose == "attempt" else change.facts)))
    assert verify() == 1
    assert f"line {number}: it rests on the fact" in capsys.readouterr().out


def test_a_changed_claim_names_its_line(small_project: Path, capsys: Captured) -> None:
    number, line = learned()
    assert line.change is not None
    text = provenance().model_dump(mode="json")
    text["changes"][line.change]["edits"][line.edits[0]]["needed"] = ["another-task"]
    (RUN / "provenance.json").write_text(json.dumps(text))
    assert verify() == 1
    assert f"line {number}: the journal says something else" in capsys.readouterr().out


def test_where_the_journal_has_a_gap_is_said_with_the_lines_that_cannot_be_recomputed(
    small_project: Path, capsys: Captured
) -> None:
    rests_on = {name for change in provenance().changes for part in (change, *change.edits) for name in part.facts}
    with closing(sqlite3.connect(RUN / "journal.db")) as connection:
        kept = {name.split(" ")[1] for name in rests_on}
        rows = connection.execute("select key_hash from facts where kind = 'reply' order by created").fetchall()
        other = next(name for (name,) in rows if name[:16] not in kept)
        connection.execute("delete from facts where key_hash = ?", (other,))
        connection.commit()
    assert verify() == 1
    said = capsys.readouterr().out
    assert "the run cannot be repeated beyond step" in said
    assert "line 1:" not in said
    assert f"line {learned()[0]}: it cannot be recomputed" in said


def test_other_damage_is_reported_as_such(small_project: Path, capsys: Captured) -> None:
    def said(code: int) -> str:
        assert verify() == code
        return capsys.readouterr().err

    (RUN / "provenance.json").rename("kept.json")
    assert verify() == 0  # all of it is recomputed
    data = json.loads(Path("kept.json").read_text())
    (RUN / "provenance.json").write_text(json.dumps(data | {"identity": "0" * 16}))
    assert "the skill comes from another run" in said(2)
    (RUN / "provenance.json").write_text("{")
    assert "is damaged" in said(2)
    shutil.move("kept.json", RUN / "provenance.json")
    journal = RUN / "journal.db"
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) // 2])
    assert "is malformed" in said(2)
    journal.write_bytes(b"no database " * 999)
    assert "cannot be used" in said(2)
    journal.unlink()
    assert "is missing, and the folder holds what a run came to" in said(2)
