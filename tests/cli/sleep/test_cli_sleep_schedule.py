"""`sleep schedule`, with scripts in place of the system's programs."""

import os
import subprocess
from pathlib import Path

import pytest
from cli_said import Captured, data, said
from small_night import Small

from etude.cli.main import main

CRONTAB = """#!/bin/sh
case "$1" in
-l) if [ -f "$RECORD/crontab" ]; then cat "$RECORD/crontab"; else echo "no crontab for user" >&2; exit 1; fi;;
-) cat > "$RECORD/crontab";;
esac
"""


@pytest.fixture
def machine(sleeper: Small, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the scripts write down how they are called."""
    programs, record = sleeper.root / "bin", sleeper.root / "record"
    record.mkdir()
    programs.mkdir()
    (programs / "crontab").write_text(CRONTAB)
    (programs / "crontab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(record))
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return record


def carried_out(sleeper: Small, command: str) -> str:
    """As cron does it: from another folder, with next to nothing in the environment. The log of the job."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(sleeper.home)}
    words = ["/bin/sh", "-c", command]
    done = subprocess.run(words, env=environ, cwd="/", capture_output=True, timeout=120, check=False)
    log = (sleeper.state.folder / "nights.log").read_text()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), log
    return log


def test_the_line_of_the_crontab_runs_a_whole_night(sleeper: Small, machine: Path, capsys: Captured) -> None:
    words = ["--at", "4:05", "--sleep.max_tasks", "3", "--reflect.preferences=Say 'please', 100%."]
    lines = said(capsys, "schedule", *words)
    assert lines == [
        f"scheduled  {sleeper.project} every day at 04:05 by cron; log: {sleeper.state.folder}/nights.log",
        "what nights propose waits for you: see `etude sleep status`",
    ]
    (entry,) = (machine / "crontab").read_text().splitlines()
    assert entry.startswith(f"5 4 * * * /bin/sh {sleeper.state.folder / 'night.sh'} ")
    log = carried_out(sleeper, entry.split(maxsplit=5)[5].rpartition(" # ")[0].replace("\\%", "%"))
    assert "night 1  proposed" in log
    assert [row["status"] for row in data(capsys, "status")["nights"]] == ["proposed"]
    assert sum(status == "used" for status in sleeper.ledger().values()) == 3
    settings = (sleeper.state.night(1) / "runs" / "mine" / "config.yaml").read_text()
    assert "Say 'please', 100%." in settings
    assert said(capsys, "schedule", "--remove") == [f"unscheduled  {sleeper.project}"]
    assert "sleep run" not in (machine / "crontab").read_text()
    assert said(capsys, "schedule", "--remove") == [f"nothing was scheduled for {sleeper.project}"]


@pytest.mark.slow
def test_what_is_printed_for_another_scheduler_runs_a_night(sleeper: Small, machine: Path, capsys: Captured) -> None:
    (command,) = said(capsys, "schedule", "--print", "--sleep.max_tasks", "3")
    assert "night 1  proposed" in carried_out(sleeper, command)
    shown = data(capsys, "schedule", "--print")
    assert (shown["run"], shown["installed"]) == (command, False)
    assert not (machine / "crontab").exists()


def test_a_long_path_stands_in_the_script_and_the_line_stays_short(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = os.environ["PATH"] + "".join(f":{sleeper.root}/no-such-folder-{n}" for n in range(200))
    monkeypatch.setenv("PATH", path)
    said(capsys, "schedule")
    assert len((machine / "crontab").read_text()) < 500
    assert path in (sleeper.state.folder / "night.sh").read_text()


def test_a_variable_that_the_job_would_not_have_is_refused_until_the_profile_sets_it(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("XDG_STATE_HOME", str(sleeper.root / "moved"))
    words = ["sleep", "schedule", "--optimizer.model", "openai:gpt-5.5"]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "the job reads: OPENAI_API_KEY, XDG_STATE_HOME" in err
    assert "sk-none" not in err
    assert not (machine / "crontab").exists()
    profile = f"export OPENAI_API_KEY=sk-none\nexport XDG_STATE_HOME='{sleeper.root / 'moved'}'\n"
    (sleeper.home / ".profile").write_text(profile)
    assert main(words) == 0
    assert "sk-none" not in (machine / "crontab").read_text()


def test_a_project_of_the_settings_is_unscheduled_from_where_it_was_scheduled(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sleeper.project / "sleep.yaml").rename(sleeper.root / "sleep.yaml")
    monkeypatch.chdir(sleeper.root)
    text = Path("sleep.yaml").read_text().replace("project: .,", "project: project,")
    Path("sleep.yaml").write_text(text)
    said(capsys, "schedule")
    assert said(capsys, "schedule", "--remove") == [f"unscheduled  {sleeper.project}"]
    said(capsys, "schedule")
    assert said(capsys, "schedule", "--remove", "--sleep.project", "project") == [f"unscheduled  {sleeper.project}"]


def test_without_crontab_the_script_is_shown_and_one_line_says_what_to_run(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sleeper.root / "nothing"))
    assert main(["sleep", "schedule"]) == 2
    shown = capsys.readouterr()
    error, hint = shown.err.splitlines()
    script = sleeper.state.folder / "night.sh"
    assert error == "error: there is no program 'crontab'"
    assert hint == f"hint: have another scheduler run this every day at 03:17: /bin/sh {script}"
    assert shown.out.rstrip() == script.read_text().rstrip()


def test_a_scheduler_that_refuses_is_reported(sleeper: Small, machine: Path, capsys: Captured) -> None:
    program = sleeper.root / "bin" / "crontab"
    for answer, told in (
        ("echo 'you (me) are not allowed to use this program' >&2; exit 1", "you (me) are not allowed"),
        ('[ "$1" = - ] || { echo "no crontab for me" >&2; exit 1; }', "the line is not in `crontab -l`"),
    ):
        program.write_text(f"#!/bin/sh\n{answer}\n")
        assert main(["sleep", "schedule"]) == 1
        error, hint = capsys.readouterr().err.splitlines()
        assert told in error
        assert "have another scheduler run this every day at 03:17: /bin/sh " in hint
