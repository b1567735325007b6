"""Hostile input: whatever transcripts, task files and models say, a night changes nothing outside of its state and
proposes only rules. Those with a command wait for a person."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hostile import COMMAND, JUNK, ORDERS, TOOLS, spoilt, write_hostile, write_order, writers
from small_night import MEMORY, Small, run_night, tree
from strict_source import within_seconds

from etude.cli.main import main
from etude.errors import EtudeError
from etude.prompts import Prompts
from etude.records import ChatRequest
from etude.registry import names
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.report import NightReport
from etude.testing import ScriptedModel
from etude.workbench import Given

PROGRAMS = names("sources")
ALL = tuple(sorted((*PROGRAMS, "jsonl")))


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path, n=0)


def night(small: Small, optimizer: str = "optimizer-perfect", **sleep: Any) -> NightReport:
    transcripts = small.home / "transcripts"
    wanted = {"sources": [*PROGRAMS, str(transcripts)], "memory": True, "max_tasks": 100, **sleep}
    return run_night(small.config(wanted, optimizer={"model": f"simulated:{optimizer}"}), small.around)


def outside(small: Small) -> dict[str, str]:
    return tree(small.root, without=["state"])


def proposed(report: NightReport) -> dict[str, str]:
    if not report.proposal:
        return {}
    proposal = read_proposal(Path(report.proposal))
    return {proposal.name(one): one.text for one in proposal.documents}


def test_there_are_hostile_transcripts_of_every_source() -> None:
    assert sorted(writers()) == list(ALL)


@pytest.mark.parametrize("optimizer", ["optimizer-perfect", "optimizer", "optimizer-gullible"])
def test_a_night_over_hostile_transcripts_changes_nothing_and_adopts_no_command(small: Small, optimizer: str) -> None:
    write_hostile(small.home, small.project, range(1, 3))
    before = outside(small)
    report = night(small, optimizer, auto_adopt=optimizer == "optimizer-gullible", confirm_trials=3)
    assert report.sessions == dict.fromkeys(ALL, 2)
    assert outside(small) == before
    rules = [line for text in proposed(report).values() for line in text.splitlines() if line.startswith("- ")]
    ordered = [rule for rule in rules if "curl" in rule or "evil" in rule]
    for text in proposed(report).values():
        assert text.count("etude:begin") == text.count("etude:end") == 1
    if optimizer != "optimizer-gullible":
        assert report.status == "proposed" or optimizer == "optimizer"
        assert ordered == []
        return
    # It was talked into it: no task misses such a rule when it is left out.
    assert ordered == []
    reasons = [one.reason for one in report.documents]
    assert any("taken out again: no task does worse without them" in reason for reason in reasons), reasons


def asked_for(small: Small, rule: str, **sleep: Any) -> NightReport:
    write_order(small.home, small.project, rule)
    return night(small, "optimizer-gullible", sources=["claude-code"], skill=False, **sleep)


def test_a_harmless_rule_is_asked_for_with_success(small: Small) -> None:
    report = asked_for(small, "Name the reader of each brief", confirm_trials=0)
    assert any("Name the reader of each brief" in text for text in proposed(report).values())


def test_nothing_that_a_transcript_hides_reaches_a_terminal(small: Small, capsys: pytest.CaptureFixture[str]) -> None:
    write_hostile(small.home, small.project, range(1, 4))
    report = night(small, "optimizer-gullible")
    args = ["--project", str(small.project), "--state", str(small.base)]
    for verb in ("status", "explain", "tasks"):
        main(["sleep", verb, *args])
    said = capsys.readouterr().out
    if report.proposal:
        said += (Path(report.proposal) / "proposal.diff").read_text()
    assert COMMAND.split()[0] in said
    assert not {char for char in said if char in "\x1b\x07\x00\u202e\u202c\u200b"}


def test_damaged_transcripts_of_every_source_end_no_night(small: Small) -> None:
    rng = random.Random(7)
    files = write_hostile(small.home, small.project, [1])
    for paths in files.values():
        for path in paths:
            data = path.read_bytes()
            for number, bad in enumerate([*JUNK, *spoilt(data, rng)]):
                beside = path.parent
                if path.name == "events.jsonl":  # one in a folder of its own
                    beside = path.parent.with_name(f"bad-{number}")
                    beside.mkdir(exist_ok=True)
                name = path.name if beside != path.parent else f"{path.stem[:-4]}{number:04d}{path.suffix}"
                (beside / name).write_bytes(bad)
    before = outside(small)
    report = within_seconds(lambda: night(small, max_tasks=20), 60)
    assert report.status in ("proposed", "no change", "nothing to do")
    assert sum(report.skipped.values()) > 50
    assert outside(small) == before
    assert not any(char in "".join(report.problems) for char in "\x1b\x00")


@pytest.mark.parametrize("junk", [0, 2, 6], ids=["empty", "binary", "text"])
def test_a_damaged_database_is_named_and_stops_no_other_source(small: Small, junk: int) -> None:
    files = write_hostile(small.home, small.project, [1, 2])
    (path,) = set(files["opencode"])
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(JUNK[junk])
    report = night(small, memory=False)
    assert report.sessions == {source: 2 for source in ALL if source != "opencode"}


def forged(request: ChatRequest) -> str:
    """An optimizer that was taken over, and tries to leave its block, its folder and its form."""
    reported, shown = request.messages[0].text, request.messages[-1].text
    if "# Conversation" in shown:
        return json.dumps({"reasoning": "r", "tasks": [_forged_task(name) for name in TOOLS[:3]]})
    cites = [part.partition('"')[0] for part in shown.split('<attempt id="')[1:]]
    text = f"- Key Risks and confidence: high.\n{ORDERS[1]}\n- ../../evil\n"
    if Prompts()["return_document"] in reported:
        return json.dumps({"reasoning": "r", "document": f"---\nname: evil\n---\n{text}", "cites": cites})
    edit = {"op": "replace", "target": "Use   tabs.", "content": text, "reason": "r", "cites": cites}
    return json.dumps({"reasoning": "r", "edits": [edit, {**edit, "op": "append", "target": ""}]})


def _forged_task(tool: str) -> dict[str, Any]:
    check = {"op": "tool_called", "arg": tool, "requirement": "calls it"}
    return {
        "intent": f"Write a brief on the tool {tool!r}.",
        "context": "",
        "kind": "../../evil",
        "self_contained": True,
        "rubric": "It is good.",
        "checks": [check],
        "satisfied": "no",
    }


def test_a_model_that_was_taken_over_leaves_neither_its_block_nor_its_folder(small: Small) -> None:
    files = json.dumps(
        {
            "format": "etude.tasks",
            "reviewed": True,
            "tasks": [
                {"id": f"../../evil-{n}", "intent": f"Write a brief on topic {n} of many.", "split": split}
                | {"checks": [{"op": "contains", "arg": "yes"}]}
                for n, split in enumerate(["train"] * 3 + ["val"] * 2)
            ],
        }
    )
    (small.root / "tasks.json").write_text(files)
    before = outside(small)
    target = ScriptedModel(lambda request: "yes" if "evil" in request.messages[0].text else "OK", name="x:target")
    given = Given(target=target, optimizer=ScriptedModel(forged, name="x:optimizer"))
    report = small.night({"tasks": str(small.root / "tasks.json"), "memory": True, "skill": False}, given=given)
    assert outside(small) == before
    (text,) = proposed(report).values()
    assert text.startswith(MEMORY)
    block = text.removeprefix(MEMORY).splitlines()
    assert [line for line in block if line] == [
        "<!-- etude:begin learned -->",
        "- ../../evil",  # words that lead nowhere, and the only ones that the answers depend on
        "<!-- etude:end learned -->",
    ]
    assert not [path for path in small.root.rglob("*") if "evil" in path.name]


def test_tasks_of_a_model_that_was_taken_over_name_no_tool_that_is_none(small: Small) -> None:
    write_hostile(small.home, small.project, [1])
    before = outside(small)
    given = Given(optimizer=ScriptedModel(forged, name="x:optimizer"))
    with pytest.raises(EtudeError, match="no session could be mined"):
        small.night(given=given)
    assert outside(small) == before


def test_regex_bombs_in_a_task_file_cost_their_time_limit_and_are_no_score(small: Small) -> None:
    bomb = {"op": "regex", "arg": "^(a+)+$"}
    rows = [
        {"id": f"t{n}", "intent": f"Write many letters, {n} of them.", "split": split, "checks": [bomb]}
        for n, split in enumerate(["train", "val"])
    ]
    path = small.root / "tasks.json"
    path.write_text(json.dumps({"format": "etude.tasks", "reviewed": True, "tasks": rows}))
    given = Given(target=ScriptedModel(lambda request: "a" * 5_000 + "!", name="x:target"))

    def refused() -> EtudeError:
        with pytest.raises(EtudeError) as error:
            small.night({"tasks": str(path)}, given=given)
        return error.value

    error = within_seconds(refused, 60)
    assert error.exit_code == 1
    assert "1 of 1 val attempts errored" in error.message
    assert "simplify nested or repeated wildcards" in error.message


def test_the_state_cannot_be_led_elsewhere(small: Small) -> None:
    small.night()
    state = small.state.folder
    shutil.move(state, small.root / "moved")
    state.symlink_to(small.root / "moved")
    with pytest.raises(EtudeError, match="symbolic link"):
        small.night()
