"""Nights that are killed or run out of room at any of their writes, and adoptions that are killed too."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sleep_proposals import Project, both, project
from watched import CHILD

from etude.sleep.adoption.adopt import adopt, receipts, recover
from etude.sleep.adoption.revert import revert

HERE = Path(__file__).parent


def ended(script: str, *words: str) -> str:
    """What a program beside this file says; it ends by itself."""
    command = [sys.executable, str(HERE / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=CHILD)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_night_killed_at_any_write_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in ended("night_killed.py", str(tmp_path)).splitlines()]
    places = "\n".join(line["at"] for line in lines)
    for name in ("night.json", "tasks.json", "proposal.json", "archive.jsonl", "journal"):
        assert name in places
    assert [line for line in lines if line["differs"] or line["other"]] == []
    # What was answered and not yet written down is asked for again: at concurrency 1 that is one question at most.
    assert {line["twice"] for line in lines} <= {0, 1}


def test_a_disk_that_is_full_from_any_write_on_costs_nothing_but_the_night(tmp_path: Path) -> None:
    first, *rows = [json.loads(line) for line in ended("full_disk.py", str(tmp_path)).splitlines()]
    assert first["proposal"]
    assert set(first["ledger"]) == {"used"}
    stopped = [row for row in rows if "error" in row["stopped"]]
    assert len(stopped) > 10
    for row in rows:
        assert row["kept"], row
        assert row["same"], row
        assert row["again"]["status"] in ("proposed", "nothing to do"), row
    for row in stopped:
        assert row["stopped"]["code"] == 1, row
        assert row["stopped"]["hint"], row
        assert "cannot be written" in row["stopped"]["error"], row
        assert row["nights"] == [1], row


@pytest.mark.parametrize("what", ["adopt", "revert"])
def test_a_kill_at_any_write_and_again_at_any_write_of_the_recovery_leaves_the_old_or_the_new(
    tmp_path: Path, what: str
) -> None:
    plain = project(tmp_path / "plain" / "case")
    old = plain.files()
    proposal = both(plain)
    adopt(proposal, plain.root, plain.state)
    new = plain.files()
    folder = tmp_path / "killed"
    folder.mkdir()
    ended("adoption_killed.py", str(folder), what)
    cases = sorted(folder.glob("*/*"))
    assert len(cases) > 30
    outcomes: set[str] = set()
    for case in cases:
        home = folder / "case"
        shutil.copytree(case, home, symlinks=True)
        place = Project(home / "project", home / "state")
        for path in (place.memory, place.skill):
            name = path.relative_to(place.root).as_posix()
            now = path.read_bytes() if path.exists() else None
            assert now in (old[name][0] if name in old else None, new[name][0]), f"{case}: {name} is a mixture"
        recover(place.state)
        after = place.files()
        assert after in (old, new), f"{case}: {sorted(after)}"
        outcomes.add("old" if after == old else "new")
        assert recover(place.state) is None
        assert bool([one for one in receipts(place.state) if not one.reverted]) == (after == new), case
        if what == "adopt" and after == old:
            adopt(place.state / "nights" / "n1" / "proposal", place.root, place.state)
            assert place.files() == new
        if what == "revert" and after == new:
            revert("n1", place.state)
            assert place.files() == old
        shutil.rmtree(home)
    assert outcomes == {"old", "new"}
