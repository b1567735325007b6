"""`sleep schedule` and `unschedule`, with scripts in place of the system's programs."""

import subprocess
from pathlib import Path

import pytest
from cli_said import Captured, data, said
from small_night import Small, tree

from etude.cli.main import main
from etude.sleep.schedule import NOTES

CRONTAB = """#!/bin/sh
case "$1" in
-l) if [ -f "$RECORD/crontab" ]; then cat "$RECORD/crontab"; else echo "no crontab for user" >&2; exit 1; fi;;
-) cat > "$RECORD/crontab";;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$RECORD/systemctl"
"""


@pytest.fixture
def machine(sleeper: Small, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the scripts write down how they are called."""
    programs, record = sleeper.root / "bin", sleeper.root / "record"
    record.mkdir()
    programs.mkdir()
    for name, text in (("crontab", CRONTAB), ("systemctl", SYSTEMCTL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(record))
    return record


def test_the_line_of_the_crontab_runs_a_whole_night(sleeper: Small, machine: Path, capsys: Captured) -> None:
    words = ["--with", "cron", "--at", "4:05", "--sleep.max_tasks", "3", "--reflect.preferences=Say 'please', 100%."]
    lines = said(capsys, "schedule", *words)
    assert lines == [
        f"scheduled  {sleeper.project} every day at 04:05 by cron; log: {sleeper.state.folder}/nights.log",
        "proposals wait for you: see `etude sleep status`",
    ]
    (entry,) = (machine / "crontab").read_text().splitlines()
    assert entry.startswith("5 4 * * * ")
    command = entry.split(maxsplit=5)[5].rpartition(" # ")[0].replace("\\%", "%")
    # As cron does it: from another folder, with next to nothing in the environment.
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
        capture_output=True,
        timeout=120,
        check=False,
    )
    log = (sleeper.state.folder / "nights.log").read_text()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), log
    assert "night 1  proposed" in log
    assert [row["status"] for row in data(capsys, "status")["nights"]] == ["proposed"]
    assert sum(status == "used" for status in sleeper.ledger().values()) == 3
    settings = (sleeper.state.night(1) / "runs" / "mine" / "config.yaml").read_text()
    assert "Say 'please', 100%." in settings
    assert said(capsys, "unschedule") == [f"unscheduled  {sleeper.project} (cron)"]
    assert "sleep run" not in (machine / "crontab").read_text()
    assert said(capsys, "unschedule") == [f"nothing was scheduled for {sleeper.project}"]


def test_systemd_is_told_and_told_again(sleeper: Small, machine: Path, capsys: Captured) -> None:
    found = data(capsys, "schedule", "--with", "systemd", "--at", "23:59")
    assert (found["scheduler"], found["installed"]) == ("systemd", True)
    name = found["job"]["name"]
    units = sorted((sleeper.home / ".config" / "systemd" / "user").glob("*"))
    assert {unit.suffix for unit in units if unit.is_file()} == {".service", ".timer"}
    assert any("23:59" in unit.read_text() for unit in units if unit.suffix == ".timer")
    assert "enable" in (machine / "systemctl").read_text()
    assert data(capsys, "unschedule") == {"name": name, "removed": ["systemd"]}
    assert [unit for unit in units if unit.is_file()] == []


def test_what_would_be_written_is_shown_and_not_written(sleeper: Small, machine: Path, capsys: Captured) -> None:
    before = tree(sleeper.root)
    lines = said(capsys, "schedule", "--with", "cron", "--print")
    assert lines[0] == f"# {sleeper.home}/.local/state/etude/jobs/etude-sleep-" + lines[0].rpartition("-sleep-")[2]
    assert "#!/bin/sh" in lines
    assert "# crontab" in lines
    shown = data(capsys, "schedule", "--with", "cron", "--print")
    assert not shown["installed"]
    assert [piece["text"].rstrip("\n").splitlines() for piece in shown["pieces"]] == [
        lines[1 : lines.index("# crontab")],
        lines[lines.index("# crontab") + 1 :],
    ]
    assert tree(sleeper.root) == before


def test_a_job_carries_what_decides_where_it_reads_and_writes(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = sleeper.root / "moved"
    for name, value in {
        "XDG_STATE_HOME": str(state),
        "CLAUDE_CONFIG_DIR": str(sleeper.home / ".claude"),
        "ETUDE_SLEEP__MAX_TASKS": "2",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "MY_KEY": "s3cret",
    }.items():
        monkeypatch.setenv(name, value)
    text = (sleeper.project / "sleep.yaml").read_text().replace("state: ../state, ", "")
    (sleeper.project / "sleep.yaml").write_text(text)
    found = data(capsys, "schedule", "--with", "cron", "--env", "MY_KEY")
    carried = {"MY_KEY", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "ETUDE_SLEEP__MAX_TASKS", "XDG_STATE_HOME"}
    assert carried <= set(found["job"]["variables"])
    assert "RECORD" not in found["job"]["variables"]
    script = next((state / "etude" / "jobs").glob("*.sh"))
    assert "s3cret" not in (machine / "crontab").read_text() + "".join(
        said(capsys, "schedule", "--print", "--env", "MY_KEY")
    )
    assert script.stat().st_mode & 0o077 == 0
    subprocess.run(["/bin/sh", str(script)], env={"PATH": "/usr/bin:/bin"}, timeout=120, check=False)
    (night,) = data(capsys, "status")["nights"]
    assert night["status"] in ("proposed", "no change")
    assert data(capsys, "status")["sessions"] == {"queued": 3, "used": 2}
    assert str(state) in data(capsys, "status")["state"]


def test_a_key_that_the_job_would_not_have_is_told(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    words = ["sleep", "schedule", "--with", "cron", "--print", "--optimizer.model", "openai:gpt-5.5"]
    note = "note: OPENAI_API_KEY is set here, and the job will not have it; --env OPENAI_API_KEY adds it\n"
    assert main(words) == 0
    assert note in capsys.readouterr().err
    assert main([*words, "--env", "OPENAI_API_KEY"]) == 0
    assert "OPENAI_API_KEY" not in capsys.readouterr().err


def test_the_address_of_azure_comes_along(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://name.openai.azure.com")
    words = ["schedule", "--with", "cron", "--print", "--target.model", "azure:mine"]
    assert "AZURE_OPENAI_ENDPOINT" in data(capsys, *words)["job"]["variables"]


@pytest.mark.parametrize("show", [[], ["--print"]])
def test_what_a_user_must_know_of_the_scheduler_is_told(
    sleeper: Small, machine: Path, capsys: Captured, show: list[str]
) -> None:
    assert main(["sleep", "schedule", "--with", "cron", *show]) == 0
    assert capsys.readouterr().err == f"note: {NOTES['cron']} (cron)\n"
    assert data(capsys, "schedule", "--with", "cron", *show)["note"] == NOTES["cron"]


@pytest.mark.parametrize("name", ["NO_SUCH_VARIABLE", "a-b"])
def test_a_variable_that_cannot_be_carried_is_refused(
    sleeper: Small, machine: Path, capsys: Captured, name: str
) -> None:
    assert main(["sleep", "schedule", "--with", "cron", "--env", name]) == 2
    assert name in capsys.readouterr().err
    assert not (machine / "crontab").exists()


def test_a_project_of_the_settings_is_unscheduled_from_where_it_was_scheduled(
    sleeper: Small, machine: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sleeper.project / "sleep.yaml").rename(sleeper.root / "sleep.yaml")
    monkeypatch.chdir(sleeper.root)
    text = Path("sleep.yaml").read_text().replace("project: .,", "project: project,").replace("../state", "state")
    Path("sleep.yaml").write_text(text)
    said(capsys, "schedule", "--with", "cron")
    assert said(capsys, "unschedule") == [f"unscheduled  {sleeper.project} (cron)"]
    said(capsys, "schedule", "--with", "cron")
    assert said(capsys, "unschedule", "--project", "project") == [f"unscheduled  {sleeper.project} (cron)"]


def test_where_there_is_no_scheduler_an_error_says_how_to_see_what_to_run(
    sleeper: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sleeper.root / "nothing"))
    assert main(["sleep", "schedule"]) == 2
    err = capsys.readouterr().err
    assert "error: no scheduler was found\nhint: `--with cron --print` shows" in err


def test_a_scheduled_night_may_do_without_a_sandbox(sleeper: Small, machine: Path, capsys: Captured) -> None:
    job = data(capsys, "schedule", "--with", "cron", "--print", "--unsafe-no-sandbox")["job"]
    assert job["command"][-1] == "--unsafe-no-sandbox"
