"""Nights on the command line: what each verb says of them, as text and as JSON."""

import json

import pytest
from cli_said import Captured, data, said
from small_night import MEMORY, Small, tree

from etude.cli.main import main
from etude.cli.terminal.news import news_folder
from etude.errors import Interrupted
from etude.sleep.page import OPENED


def test_a_night_says_what_it_did_and_what_to_do_next(sleeper: Small, capsys: Captured) -> None:
    lines = said(capsys, "run")
    assert lines[:4] == [
        "SIMULATED MODELS: these scores say nothing about a real model.",
        "night 1  proposed",
        "Night 1 proposes 1 new rule. Nothing changes before you say so.",
        "",
    ]
    assert "Key Risks" in lines[4]
    assert lines[5].startswith("   You asked for it in ")
    assert lines[6] == "   Without this rule 0 of 2 tasks came out right, with it 2 of 2."
    assert lines[10] == f"   {OPENED}"
    assert lines[11].startswith("   It goes into .claude/skills/learned/SKILL.md: about ")
    assert lines[13:16] == [
        "sessions   5 claude-code",
        "tasks      3 train, 2 val",
        f"learned: accepted  ({sleeper.skill})",
    ]
    statistics = "  held-out tasks: before 0.000, candidate 1.000 (selected on), n=2"
    assert statistics not in lines
    report = (sleeper.state.night(1) / "report.md").read_text()
    page = report.splitlines()[:15]
    assert [line for line in lines[2:11] if line] == [line for line in page if line in lines[2:11] and line]
    for words in (
        "proposes 1 new rule",
        "You asked for it",
        "Without this rule",
        "Undo it later: etude sleep revert 1",
    ):
        assert any(words in line for line in page), words
    assert statistics in report.partition("<details>")[2]
    assert lines[-3:] == ["next:", "  etude sleep review", "  etude sleep adopt"]
    assert (sleeper.project / "CLAUDE.md").read_bytes() == MEMORY.encode()
    assert not news_folder().exists()  # somebody has watched


def test_with_json_the_report_stands_alone(sleeper: Small, capsys: Captured) -> None:
    assert main(["sleep", "run", "--json"]) == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert (report["night"], report["status"], report["tasks"]) == (1, "proposed", {"train": 3, "val": 2})
    assert "step 1" in captured.err


def test_the_difference_is_shown(one: Small, capsys: Captured) -> None:
    lines = said(capsys, "show", "--diff")
    assert lines[:3] == ["--- /dev/null", "+++ b/.claude/skills/learned/SKILL.md", "@@ -0,0 +1,8 @@"]
    assert lines[-1] == "+<!-- etude:end learned -->"
    found = data(capsys, "show", "--diff", "1")
    assert found["diff"].splitlines() == lines
    (document,) = found["documents"]
    assert document["name"] == ".claude/skills/learned/SKILL.md"
    assert [rule["night"] for rule in document["rules"]] == ["0001"]


def test_a_proposal_is_adopted_and_taken_back(one: Small, capsys: Captured) -> None:
    before = tree(one.project)
    assert said(capsys, "adopt") == [
        f"adopted  {one.skill}: rules added: 1, taken out: 0",
        "take it back with: etude sleep revert 1",
    ]
    assert "Key Risks" in one.skill.read_text()
    assert main(["sleep", "adopt"]) == 2
    assert capsys.readouterr().err == (
        "error: no rule of night 1 waits: it is adopted\nhint: `etude sleep status` shows how each rule stands; "
        "`adopt --rule ID` puts one that was taken out in place\n"
    )
    rule = data(capsys, "status")["rules"][0]["id"]
    assert said(capsys, "revert") == [f"restored  {one.skill}: as it was before"]
    assert tree(one.project) == before
    assert main(["sleep", "revert"]) == 2
    assert "error: no night is adopted\n" in capsys.readouterr().err
    assert main(["sleep", "adopt"]) == 2
    assert "error: no rule of night 1 waits: it is reverted\n" in capsys.readouterr().err
    assert tree(one.project) == before
    assert main(["sleep", "adopt", "--rule", rule]) == 0


def test_one_rule_is_taken_out_by_its_id(one: Small, capsys: Captured) -> None:
    said(capsys, "adopt")
    rule = data(capsys, "status")["rules"][0]["id"]
    assert said(capsys, "revert", "--rule", rule) == [f"restored  {one.skill}: as it was before"]
    assert not one.skill.exists()
    assert said(capsys, "status")[-1].split()[:3] == [rule, "taken", "out"]
    assert main(["sleep", "revert", "--rule", rule]) == 2
    assert f"error: no adopted document has a rule '{rule}'" in capsys.readouterr().err


def test_a_document_that_was_edited_since_keeps_what_was_written(one: Small, capsys: Captured) -> None:
    said(capsys, "adopt")
    with one.skill.open("a") as file:
        file.write("\nBy hand.\n")
    lines = said(capsys, "revert", "1")
    assert lines == [f"changed   {one.skill}: other changes stay, so only rules were taken out"]
    assert one.skill.read_text().endswith("\nBy hand.\n")
    assert "Key Risks" not in one.skill.read_text()


def stands(capsys: Captured) -> list[str]:
    return [row["status"] for row in data(capsys, "status")["nights"]]


def test_the_status_follows_a_proposal_and_says_what_waits(one: Small, capsys: Captured) -> None:
    lines = said(capsys, "status")
    assert lines[:2] == [f"state     {one.state.folder}", "sessions  5 used"]
    assert lines[2].split() == ["night", "started", "(UTC)", "status", "tasks", "documents"]
    assert lines[3].split()[3:] == ["proposed", "5", "learned", "accepted"]
    assert lines[-1] == "1 rule waits for you: etude sleep review, or etude sleep adopt for all"
    said(capsys, "adopt")
    assert stands(capsys) == ["adopted"]
    assert said(capsys, "show")[-1] == f"statistics and run folders: {one.state.night(1)}"
    assert "  etude sleep revert 1" in said(capsys, "show")
    said(capsys, "revert")
    assert stands(capsys) == ["reverted"]
    assert said(capsys, "show")[1] == "night 1  reverted"
    assert "next:" not in said(capsys, "show")


def test_a_proposal_is_found_behind_nights_without_one(one: Small, capsys: Captured) -> None:
    assert said(capsys, "run")[0] == "night 2  nothing to do: there is no session that no night has used"
    assert stands(capsys) == ["proposed", "nothing to do"]
    assert said(capsys, "status")[-1].startswith("1 rule waits for you: ")
    assert "Key Risks" in "\n".join(said(capsys, "show", "--diff"))
    assert main(["sleep", "show", "--diff", "2"]) == 2
    assert "error: night 2 has no proposal\nhint: `etude sleep status` " in capsys.readouterr().err
    said(capsys, "adopt")
    assert stands(capsys) == ["adopted", "nothing to do"]
    said(capsys, "revert")
    assert stands(capsys) == ["reverted", "nothing to do"]


def test_a_night_without_a_change_points_to_the_explanation(sleeper: Small, capsys: Captured) -> None:
    tasks = sleeper.root / "tasks.json"
    task = {"id": "t", "intent": "Write about apples.", "rubric": "Good.", "split": "test"}
    tasks.write_text(json.dumps({"reviewed": True, "tasks": [task]}))
    lines = said(capsys, "run", "--sleep.tasks", str(tasks))
    assert "night 1  no change: there is nothing to train on" in lines
    assert lines[-2:] == ["next:", "  etude sleep show 1"]
    assert "next:" not in said(capsys, "show")
    assert data(capsys, "show")["rules"] == []
    assert stands(capsys) == ["no change"]
    assert main(["sleep", "show", "--diff"]) == 2
    assert "error: no night has a proposal\nhint: `etude sleep status` " in capsys.readouterr().err


def test_a_night_that_stopped_says_how_it_goes_on(sleeper: Small, capsys: Captured) -> None:
    assert main(["sleep", "run", "--limits.calls", "9"]) == 3
    captured = capsys.readouterr()
    assert "error: limits.calls = 9 is reached: 9 used in this night\n" in captured.err
    assert captured.err.splitlines()[-1] == (
        "resume (with a larger --limits.calls): etude sleep run --limits.calls 9"
    )
    assert captured.out == ""
    assert stands(capsys) == ["stopped"]
    on = "night 1 continues with the next `etude sleep run` of the same settings (with a larger --limits.calls)"
    assert said(capsys, "status")[-1] == on
    lines = said(capsys, "show")
    assert lines[1].startswith("night 1  stopped: limits.calls = 9 is reached")
    assert lines[2] == "  hint: raise `limits.calls` and run the same command again"
    assert f"  {on}" in lines
    found = data(capsys, "run", "--limits.calls", "10", code=3)
    assert (found["night"], found["status"], found["exit_code"], found["simulated"]) == (1, "error", 3, True)
    assert found["error"].startswith("limits.calls = 10 is reached")
    assert found["hint"].splitlines()[0] == "raise `limits.calls` and run the same command again"
    assert data(capsys, "show")["simulated"] is True
    assert data(capsys, "run")["status"] == "proposed"


def test_a_night_that_was_killed_says_so_and_goes_on(one: Small, capsys: Captured) -> None:
    report = one.state.night(1) / "night.json"
    running = {**json.loads(report.read_text()), "status": "running", "resumes": True}
    report.write_text(json.dumps(running))
    assert stands(capsys) == ["killed"]
    assert said(capsys, "status")[-1] == "night 1 continues with the next `etude sleep run` of the same settings"
    assert said(capsys, "show")[1] == "night 1  killed"
    report.unlink()
    assert stands(capsys) == ["killed"]
    assert main(["sleep", "show"]) == 2
    assert capsys.readouterr().err == ("error: night 1 has no report yet\nhint: `etude sleep run` continues it\n")
    assert said(capsys, "status")[-1] == "night 1 continues with the next `etude sleep run` of the same settings"
    assert data(capsys, "run")["night"] == 1
    assert stands(capsys) == ["proposed"]


def test_a_night_under_way_is_reported_from_one_that_was_killed(sleeper: Small, capsys: Captured) -> None:
    seen: list[str] = []

    def before(request: object) -> None:
        seen.extend(stands(capsys))
        raise Interrupted("7712")

    sleeper.before = before
    with pytest.raises(Interrupted):
        sleeper.night()
    assert (seen, stands(capsys)) == (["under way"], ["stopped"])


def test_a_night_that_failed_for_good_says_why(sleeper: Small, capsys: Captured) -> None:
    sleeper.night({"max_tasks": 2})
    sleeper.state.archive.write_text("no JSON\n")
    assert main(["sleep", "run"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert stands(capsys) == ["proposed", "error"]
    assert said(capsys, "show")[1].startswith("night 2  error: '")
    assert sorted(sleeper.ledger().values()) == ["queued"] * 3 + ["used"] * 2


def test_nights_are_found_by_project_and_settings(one: Small, capsys: Captured, monkeypatch) -> None:
    monkeypatch.chdir(one.root)
    assert data(capsys, "status", "--project", "project")["nights"][0]["status"] == "proposed"
    assert data(capsys, "status", "--config", "project/sleep.yaml")["nights"][0]["status"] == "proposed"
    assert said(capsys, "status") == [
        f"state     {data(capsys, 'status')['state']}",
        "sessions  none looked at yet",
        "nights    none",
    ]
