"""Progress for a person who works from Python."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from etude import ListEnvironment, Skill, Trainer
from etude.simulation import SEED_SKILL, make_tasks
tasks = make_tasks("counting", 12, seed=1)
env = ListEnvironment(train=tasks[:4], val=tasks[4:8], test=tasks[8:], scorer="exact")
for name, given in (("silent", {"progress": False}), ("shown", {})):
    config = {"train": {"epochs": 1}, "run": {"folder": sys.argv[1], "name": name}}
    print(Trainer(config, env=env, skill=Skill(text=SEED_SKILL), **given).train())
"""


def run(*words: str) -> str:
    """What the program writes where its output is a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stdout=follower, stderr=follower) as program:
        os.close(follower)
        text = b""
        try:
            while part := os.read(leader, 4096):
                text += part
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(leader)
    assert program.returncode == 0, text
    return text.decode()


def test_at_a_terminal_progress_is_shown_unless_it_is_switched_off(tmp_path: Path) -> None:
    silent, _, shown = run(str(tmp_path)).partition("\n")
    assert silent.startswith("<Summary 'silent': ")
    assert "starting run 'shown' in" in shown
    assert "step 1 " in shown
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()[-1].startswith("<Summary 'shown': test ")


def test_in_a_service_nothing_is_shown(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    assert subprocess.run(words, capture_output=True, check=True, timeout=60).stderr == b""
