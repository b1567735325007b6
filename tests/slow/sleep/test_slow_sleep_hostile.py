"""Hostile transcripts of every source: a night over them changes nothing outside of its state, and proposes only
rules. Those with a command wait for a person."""

import random
from pathlib import Path
from typing import Any

import pytest
from hostile import COMMAND, JUNK, spoilt, write_hostile, write_order, writers
from small_night import Small, run_night, tree
from strict_source import within_seconds

from etude.cli.main import main
from etude.registry import names
from etude.sleep.adoption.proposal import read_proposal, readable
from etude.sleep.report import NightReport

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


def test_nothing_that_a_transcript_hides_reaches_a_terminal(
    small: Small, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", small.environ["XDG_STATE_HOME"])
    write_hostile(small.home, small.project, range(1, 4))
    report = night(small, "optimizer-gullible")
    args = ["--project", str(small.project)]
    for words in (["status"], ["show"], ["show", "--tasks"]):
        main(["sleep", *words, *args])
    said = capsys.readouterr().out
    if report.proposal:
        said += readable(read_proposal(Path(report.proposal)))
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
