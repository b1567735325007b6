import configparser
import os
import plistlib
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from etude.errors import EtudeError, InputError
from etude.sleep.schedule import (
    SCHEDULERS,
    Called,
    Cron,
    Job,
    Launchd,
    Scheduler,
    Systemd,
    by_hand,
    job_name,
    program_runner,
    schedule,
    scheduler_for,
    unschedule,
)

AWKWARD = [
    "plain",
    "with space",
    "it's",
    'say "hi"',
    "100%",
    "%h %% \\% 5\\%",
    "$HOME ${X} $(id) `id`",
    "back\\slash \\\\ two \\",
    "ünïcödé ✓ 🌙",
    "*?[a] ~ ! # ; & | < > ( )",
    "",
    "-n",
]

# Tells what it was started with: folder, environment and words, a line each.
TELL = """#!/bin/sh
pwd
printf 'PATH=%s\\nHOME=%s\\nKEY=%s\\n' "$PATH" "$HOME" "$KEY"
for word in "$@"; do printf '<%s>\\n' "$word"; done
"""

CRONTAB = """#!/bin/sh
echo "crontab $*" >> "$RECORD/calls"
case "$1" in
-l) if [ -n "$BROKEN" ]; then echo "$BROKEN" >&2; exit 1; fi
    if [ -f "$RECORD/crontab" ]; then cat "$RECORD/crontab"; else echo "no crontab for user" >&2; exit 1; fi;;
-) if [ -n "$FULL" ]; then echo "no space left" >&2; exit 1; fi
   cat > "$RECORD/crontab";;
esac
"""

RECORDER = """#!/bin/sh
name=${0##*/}
echo "$name $*" >> "$RECORD/calls"
case "$*" in $REFUSED) echo "refused, in so many words" >&2; exit 5;; esac
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment where the system's programs are scripts that write down how they are called."""
    folder = tmp_path / "bin"
    program(folder / "crontab", CRONTAB)
    program(folder / "systemctl", RECORDER)
    program(folder / "launchctl", RECORDER)
    record = tmp_path / "record"
    record.mkdir()
    return {"PATH": f"{folder}:/usr/bin:/bin", "RECORD": str(record), "KEY": "s3cret"}


def calls(environ: dict[str, str]) -> list[str]:
    path = Path(environ["RECORD"], "calls")
    return path.read_text().splitlines() if path.exists() else []


def crontab(environ: dict[str, str]) -> bytes:
    return Path(environ["RECORD"], "crontab").read_bytes()


def a_job(tmp_path: Path, **changes: object) -> Job:
    fields = {
        "name": "demo-1a2b3c4d",
        "command": ("/usr/bin/true",),
        "folder": str(tmp_path),
        "path": "/usr/bin:/bin",
        "home": str(tmp_path),
        "log": str(tmp_path / "logs" / "sleep.log"),
        "nights": str(tmp_path / "nights"),
        "hour": 4,
        "minute": 5,
        **changes,
    }
    return Job.model_validate(fields)


def a_scheduler(kind: type[Scheduler], tmp_path: Path, environ: dict[str, str]) -> Scheduler:
    return kind(tmp_path / "state" / "jobs", tmp_path / "home", environ)


KINDS = [Systemd, Launchd, Cron]


@pytest.mark.parametrize("kind", KINDS)
def test_the_script_passes_every_word_folder_and_variable_on_as_it_is(kind, tmp_path, machine):
    folder = tmp_path / "a 100% 'odd' $HOME \\ folder ✓"
    folder.mkdir()
    tell = program(folder / "tell", TELL)
    machine["KEY"] = "a'b\"c $HOME `id` \\ %"
    job = a_job(
        tmp_path,
        command=(str(tell), *AWKWARD),
        folder=str(folder),
        path="/my own/bin:/usr/bin:/bin",
        home=str(folder),
        log=str(folder / "the log"),
        variables=("KEY",),
    )
    scheduler = a_scheduler(kind, tmp_path, machine)
    scheduler.install(job)
    subprocess.run(["/bin/sh", str(scheduler.script_file(job.name))], env={}, check=True)
    expected = [
        str(folder),
        "PATH=/my own/bin:/usr/bin:/bin",
        f"HOME={folder}",
        f"KEY={machine['KEY']}",
        *(f"<{word}>" for word in AWKWARD),
    ]
    assert (folder / "the log").read_text(encoding="utf-8").splitlines() == expected
    assert stat.S_IMODE((folder / "the log").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_are_in_no_file_but_the_one_that_only_the_user_can_read(kind, tmp_path, machine):
    scheduler = a_scheduler(kind, tmp_path, machine)
    job = a_job(tmp_path, variables=("KEY",))
    scheduler.install(job)
    assert all("s3cret" not in piece.text for piece in scheduler.render(job))
    holding = [
        path
        for path in [*tmp_path.rglob("*")]
        if path.is_file() and b"s3cret" in path.read_bytes() and "record" not in path.parts
    ]
    assert holding == [scheduler.values_file(job.name)]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(scheduler.jobs.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", KINDS)
def test_removing_takes_away_exactly_what_installing_wrote(kind, tmp_path, machine):
    def files() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "calls"
        }

    Path(machine["RECORD"], "crontab").write_bytes(b"1 1 * * * mine\n")
    before = files()
    scheduler = a_scheduler(kind, tmp_path, machine)
    job = a_job(tmp_path, variables=("KEY",))
    scheduler.install(job)
    assert scheduler.installed() == (job.name,)
    assert files() != before
    assert scheduler.remove(job.name)
    assert scheduler.installed() == ()
    assert files() == before
    assert not scheduler.remove(job.name)


@pytest.mark.parametrize("kind", KINDS)
def test_rendering_says_all_that_installing_writes_and_touches_nothing(kind, tmp_path, machine):
    scheduler = a_scheduler(kind, tmp_path, machine)
    job = a_job(tmp_path)
    pieces = scheduler.render(job)
    assert calls(machine) == []
    assert not scheduler.jobs.exists()
    scheduler.install(job)
    for piece in pieces:
        if piece.where == "crontab":
            assert piece.text.encode() in crontab(machine)
        else:
            assert Path(piece.where).read_text(encoding="utf-8") == piece.text
    assert not scheduler.values_file(job.name).exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_installed_again_replaces_the_one_of_its_name(kind, tmp_path, machine):
    scheduler = a_scheduler(kind, tmp_path, machine)
    scheduler.install(a_job(tmp_path, variables=("KEY",)))
    scheduler.install(a_job(tmp_path, name="other-1a2b3c4d"))
    scheduler.install(a_job(tmp_path, hour=23, minute=59))
    assert scheduler.installed() == ("demo-1a2b3c4d", "other-1a2b3c4d")
    assert not scheduler.values_file("demo-1a2b3c4d").exists()
    assert "23:59" in scheduler.script_file("demo-1a2b3c4d").read_text()


def test_a_timer_of_systemd_catches_up_and_starts_the_script(tmp_path, machine):
    scheduler = Systemd(tmp_path / '50% $x \\ "jobs"', tmp_path / "home", machine)
    job = a_job(tmp_path)
    scheduler.install(job)
    units = tmp_path / "home" / ".config" / "systemd" / "user"
    timer, service = (unit(units / f"etude-sleep-{job.name}.{kind}") for kind in ("timer", "service"))
    assert timer["Timer"]["OnCalendar"] == "*-*-* 04:05:00"
    assert timer["Timer"]["Persistent"] == "true"
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert service["Service"]["Type"] == "oneshot"
    assert systemd_words(service["Service"]["ExecStart"]) == ["/bin/sh", str(scheduler.script_file(job.name))]
    assert calls(machine) == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now etude-sleep-{job.name}.timer",
    ]
    scheduler.remove(job.name)
    assert calls(machine)[2:] == [
        f"systemctl --user disable --now etude-sleep-{job.name}.timer",
        "systemctl --user daemon-reload",
    ]


def unit(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path, encoding="utf-8")
    return parser


def systemd_words(line: str) -> list[str]:
    """Words as the manual of systemd.service reads them, for words in double quotes or without any."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)
    read = [re.sub(r"\\(.)", r"\1", quoted) if quoted else bare for quoted, bare in words]
    assert not re.search(r"(?<!%)%(%%)*(?!%)", "".join(read))
    return [word.replace("%%", "%").replace("$$", "$") for word in read]


def test_units_go_where_the_user_moved_the_configuration(tmp_path, machine):
    machine["XDG_CONFIG_HOME"] = str(tmp_path / "moved")
    scheduler = a_scheduler(Systemd, tmp_path, machine)
    scheduler.install(a_job(tmp_path))
    assert (tmp_path / "moved" / "systemd" / "user" / "etude-sleep-demo-1a2b3c4d.timer").is_file()
    machine["XDG_CONFIG_HOME"] = "relative"
    assert scheduler.installed() == ()


def test_where_systemd_refuses_to_disable_the_units_and_their_link_are_gone_and_its_words_are_told(tmp_path, machine):
    scheduler = Systemd(tmp_path / "jobs", tmp_path / "home", machine)
    job = a_job(tmp_path)
    scheduler.install(job)
    link = scheduler.units / "timers.target.wants" / f"etude-sleep-{job.name}.timer"
    link.parent.mkdir()
    link.symlink_to(scheduler.units / link.name)
    machine["REFUSED"] = "*disable*"
    with pytest.raises(EtudeError) as caught:
        scheduler.remove(job.name)
    assert str(caught.value) == (
        f"'systemctl --user disable --now etude-sleep-{job.name}.timer' failed with code 5: refused, in so many"
        " words\nhint: look whether systemctl works for this user, or choose another scheduler"
    )
    assert not link.is_symlink()
    assert scheduler.installed() == ()
    assert not scheduler.script_file(job.name).exists()


@pytest.mark.parametrize(("kind", "refused"), [(Systemd, "*enable*"), (Launchd, "bootstrap*"), (Cron, "")])
def test_where_a_program_refuses_the_files_are_as_they_were(kind, refused, tmp_path, machine):
    def files() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "calls"
        }

    scheduler = a_scheduler(kind, tmp_path, machine)
    nothing = files()
    machine.update({"REFUSED": refused, "FULL": "yes"})
    with pytest.raises(EtudeError, match=r"failed with code"):
        scheduler.install(a_job(tmp_path))
    assert files() == nothing
    machine.update({"REFUSED": "", "FULL": ""})
    scheduler.install(a_job(tmp_path, variables=("KEY",)))
    first = files()
    machine.update({"REFUSED": refused, "FULL": "yes"})
    with pytest.raises(EtudeError, match=r"failed with code"):
        scheduler.install(a_job(tmp_path, hour=9))
    assert files() == first


def test_an_agent_of_launchd_is_started_at_its_time(tmp_path, machine):
    scheduler = Launchd(tmp_path / "jobs & <co>", tmp_path / "home", machine, user=501)
    job = a_job(tmp_path)
    scheduler.install(job)
    path = tmp_path / "home" / "Library" / "LaunchAgents" / f"etude-sleep-{job.name}.plist"
    assert plistlib.loads(path.read_bytes()) == {
        "Label": f"etude-sleep-{job.name}",
        "ProgramArguments": ["/bin/sh", str(scheduler.script_file(job.name))],
        "StartCalendarInterval": {"Hour": 4, "Minute": 5},
        "ProcessType": "Background",
    }
    assert calls(machine) == [
        f"launchctl bootout gui/501/etude-sleep-{job.name}",
        f"launchctl bootstrap gui/501 {path}",
    ]
    assert scheduler.remove(job.name)
    label = f"etude-sleep-{job.name}"
    assert calls(machine)[2:] == [f"launchctl bootout gui/501/{name}" for name in (label, f"{label}.catch-up")]


def vixie(command: str, *, halves_backslashes: bool) -> str:
    """The command that cron gives to the shell; on some systems two backslashes are one."""
    out = ""
    escaped = False
    for char in command:
        if escaped:
            out = out[:-1] + char if char == "%" or (halves_backslashes and char == "\\") else out + char
            escaped = False
            continue
        if char == "%":
            return out
        escaped = char == "\\"
        out += char
    return out


@pytest.mark.parametrize("halves_backslashes", [True, False])
@pytest.mark.parametrize(
    "folder", ["plain", "with space", 'it\'s "odd"', "100%", "50\\% $HOME `id`", "\\\\two\\", "\\%\\n", "ünï ✓ #"]
)
def test_the_line_of_a_crontab_starts_the_script_whatever_its_folder_is_called(
    folder, halves_backslashes, tmp_path, machine
):
    tell = program(tmp_path / "tell", "#!/bin/sh\necho started\n")
    scheduler = Cron(tmp_path / folder / "jobs", tmp_path, machine)
    job = a_job(tmp_path, command=(str(tell),))
    scheduler.install(job)
    nightly, booted = [line for line in crontab(machine).decode().splitlines() if not line.startswith("#")]
    minute, hour, *days, command = nightly.split(" ", 5)
    assert (minute, hour, days) == ("5", "4", ["*", "*", "*"])
    at, command_of_start = booted.split(" ", 1)
    assert at == "@reboot"
    a_day_old(scheduler.script_file(job.name))
    for each in (command, command_of_start):
        read = vixie(each, halves_backslashes=halves_backslashes)
        subprocess.run(["/bin/sh", "-c", read], env={"PATH": "/usr/bin:/bin"}, check=True)
    assert Path(job.log).read_text() == "started\n" * 2


@pytest.mark.parametrize(
    "mine",
    [b"", b"MAILTO=me\n1 2 * * * a \\% b\n", b"# only a comment", b"\xff\xfe no text\r\n\r\n\x0c\n", b"a\n\n\n"],
)
def test_other_lines_of_a_crontab_stay_byte_for_byte(mine, tmp_path, machine):
    Path(machine["RECORD"], "crontab").write_bytes(mine)
    scheduler = a_scheduler(Cron, tmp_path, machine)
    scheduler.install(a_job(tmp_path))
    ended = mine if not mine or mine.endswith(b"\n") else mine + b"\n"
    assert crontab(machine).startswith(ended + b"# etude sleep: begin")
    with Path(machine["RECORD"], "crontab").open("ab") as file:
        file.write(b"added later\n")
    scheduler.install(a_job(tmp_path, name="other-1a2b3c4d"))
    scheduler.remove("demo-1a2b3c4d")
    assert scheduler.installed() == ("other-1a2b3c4d",)
    scheduler.remove("other-1a2b3c4d")
    assert crontab(machine) == ended + b"added later\n"


def test_a_line_that_somebody_wrote_into_the_block_stays(tmp_path, machine):
    scheduler = a_scheduler(Cron, tmp_path, machine)
    scheduler.install(a_job(tmp_path))
    Path(machine["RECORD"], "crontab").write_bytes(crontab(machine).replace(b"\n5 4", b"\n9 9 * * * mine\n5 4"))
    scheduler.remove("demo-1a2b3c4d")
    assert crontab(machine).splitlines()[1] == b"9 9 * * * mine"


def test_a_crontab_with_broken_markers_is_left_alone(tmp_path, machine):
    scheduler = a_scheduler(Cron, tmp_path, machine)
    scheduler.install(a_job(tmp_path))
    broken = crontab(machine).replace(b"# etude sleep: end\n", b"")
    Path(machine["RECORD"], "crontab").write_bytes(broken)
    with pytest.raises(EtudeError, match=r"has 1 lines .* and 0 lines .*\nhint: mend it with `crontab -e`"):
        scheduler.install(a_job(tmp_path, hour=1))
    assert crontab(machine) == broken


def test_a_crontab_that_cannot_be_read_is_not_written(tmp_path, machine):
    Path(machine["RECORD"], "crontab").write_bytes(b"mine\n")
    machine["BROKEN"] = "disk on fire"
    with pytest.raises(EtudeError, match=r"the crontab cannot be read: disk on fire"):
        a_scheduler(Cron, tmp_path, machine).install(a_job(tmp_path))
    assert crontab(machine) == b"mine\n"


def test_a_user_who_may_have_no_crontab_has_no_jobs_in_it(tmp_path, machine):
    machine["BROKEN"] = "you are not allowed to use this program"
    assert a_scheduler(Cron, tmp_path, machine).installed() == ()


def test_a_folder_too_long_for_a_line_of_a_crontab_is_refused(tmp_path, machine):
    scheduler = Cron(Path("/" + "x" * 1000), tmp_path, machine)
    with pytest.raises(InputError, match=r"too long for a crontab"):
        scheduler.render(a_job(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_scripts_with_a_line_break_in_its_path_is_refused(kind, tmp_path, machine):
    with pytest.raises(InputError, match=r"holds control characters or line breaks\nhint: rename it"):
        kind(tmp_path / "two\nlines", tmp_path, machine).install(a_job(tmp_path))
    assert not (tmp_path / "two\nlines").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"command": ("/bin/x", "two\nlines")}, r"'two\nlines' holds control characters or line breaks"),
        ({"folder": "/a\x00b"}, r"'/a\x00b' holds control characters or line breaks"),
        ({"log": "/a\u2028b"}, r"'/a\u2028b' holds control characters or line breaks"),
        ({"path": "/bin\t"}, r"'/bin\t' holds control characters or line breaks"),
        ({"home": "/\udc80"}, r"'/\udc80' holds control characters or line breaks"),
        ({"command": ()}, "a job has no command"),
        ({"command": ("python", "-m", "etude")}, "'python' is no absolute path"),
        ({"folder": "here"}, "'here' is no absolute path"),
        ({"name": "../up"}, "job name '../up' is not lower-case letters, digits and dashes"),
        ({"variables": ("A B",)}, "'A B' is no name of a variable"),
        ({"variables": ("PATH",)}, "PATH is carried in any case"),
        ({"hour": 24}, "hour 24 is no hour"),
        ({"minute": -1}, "minute -1 is no minute"),
    ],
)
def test_a_job_that_cannot_be_written_down_is_refused(changes, message, tmp_path):
    with pytest.raises(InputError) as caught:
        a_job(tmp_path, **changes)
    assert caught.value.message == message
    assert caught.value.hint


def test_variables_without_a_value_or_with_line_breaks_are_refused_and_the_value_is_not_shown(tmp_path, machine):
    scheduler = a_scheduler(Cron, tmp_path, machine)
    with pytest.raises(InputError, match=r"variable NONE is not set\nhint: export NONE, or leave it out"):
        scheduler.install(a_job(tmp_path, variables=("NONE",)))
    machine["KEY"] = "one\ntwo"
    with pytest.raises(InputError) as caught:
        scheduler.install(a_job(tmp_path, variables=("KEY",)))
    assert str(caught.value) == ("the value of KEY holds control characters or line breaks\nhint: leave KEY out")
    assert not scheduler.jobs.exists()


def test_no_path_is_made_of_a_name_that_no_job_can_have(tmp_path, machine):
    with pytest.raises(InputError, match=r"job name '../../x'"):
        a_scheduler(Cron, tmp_path, machine).remove("../../x")


def test_a_projects_name_says_what_it_is_called_and_differs_with_its_place():
    assert re.fullmatch(r"my-project-[0-9a-f]{8}", job_name(Path("/a/My Project!")))
    assert job_name(Path("/a/demo")) != job_name(Path("/b/demo"))
    assert job_name(Path("/a/demo")) == job_name(Path("/a/demo"))
    assert job_name(Path("/ü")).startswith("project-")
    assert len(job_name(Path("/" + "x" * 200))) <= 64


@pytest.mark.parametrize(
    ("platform", "booted", "there", "expected"),
    [
        ("linux", True, {"systemctl", "crontab"}, Systemd),
        ("linux", False, {"systemctl", "crontab"}, Cron),
        ("linux", True, {"crontab"}, Cron),
        ("darwin", True, {"launchctl", "crontab"}, Launchd),
        ("freebsd14", True, {"crontab"}, Cron),
    ],
)
def test_the_systems_own_scheduler_is_taken_before_cron(platform, booted, there, expected, tmp_path):
    which = {name: f"/usr/bin/{name}" for name in there}.get
    folder = tmp_path if booted else tmp_path / "absent"
    assert scheduler_for(a_job(tmp_path), platform, which, booted=folder) is expected


def test_a_scheduler_that_is_asked_for_by_name_is_taken_or_missed(tmp_path):
    job = a_job(tmp_path)
    assert scheduler_for(job, "linux", {"crontab": "/c"}.get, wanted="cron", booted=tmp_path) is Cron
    with pytest.raises(InputError, match=r"no scheduler: launchctl not found"):
        scheduler_for(job, "linux", {"crontab": "/c"}.get, wanted="launchd")
    with pytest.raises(InputError) as caught:
        scheduler_for(job, "linux", {}.get, wanted="crn")
    assert str(caught.value) == "unknown scheduler 'crn'\nhint: did you mean 'cron'?"


def test_where_there_is_no_scheduler_the_line_to_run_is_told(tmp_path):
    tell = program(tmp_path / "tell it", TELL)
    job = a_job(tmp_path, command=(str(tell), *AWKWARD), log=str(tmp_path / "the log"), variables=("KEY",))
    with pytest.raises(InputError) as caught:
        scheduler_for(job, "linux", {}.get, booted=tmp_path)
    assert caught.value.message == "no scheduler: systemctl and crontab not found"
    assert caught.value.hint == f"have this run every night at 04:05: {by_hand(job)}"
    assert by_hand(job).endswith("  # and set KEY")
    subprocess.run(["/bin/sh", "-c", by_hand(job)], env={}, check=True)
    assert (tmp_path / "the log").read_text(encoding="utf-8").splitlines()[4:] == [f"<{word}>" for word in AWKWARD]
    assert by_hand(a_job(tmp_path)).endswith(">> " + str(tmp_path / "logs" / "sleep.log") + " 2>&1")


def test_unscheduling_removes_a_job_from_every_scheduler_that_has_it(tmp_path, machine):
    jobs, home = tmp_path / "jobs", tmp_path / "home"
    job = a_job(tmp_path)
    for kind in (Systemd, Cron):
        kind(jobs, home, machine).install(job)
    assert unschedule(job.name, jobs, home, machine).schedulers == ("systemd", "cron")
    assert unschedule(job.name, jobs, home, machine) == ((), ())
    assert list(jobs.iterdir()) == []


def test_the_key_of_a_job_that_was_taken_out_by_hand_does_not_stay_behind(tmp_path, machine):
    jobs, home = tmp_path / "jobs", tmp_path / "home"
    cron = Cron(jobs, home, machine)
    job = a_job(tmp_path, variables=("KEY",))
    cron.install(job)
    Path(machine["RECORD"], "crontab").unlink()
    left = (cron.script_file(job.name), cron.values_file(job.name))
    assert unschedule(job.name, jobs, home, machine) == ((), left)
    assert list(jobs.iterdir()) == []


def test_the_files_of_a_job_stay_as_long_as_another_scheduler_has_it(tmp_path, machine):
    jobs, home = tmp_path / "jobs", tmp_path / "home"
    job = a_job(tmp_path, variables=("KEY",))
    for kind in (Systemd, Cron):
        kind(jobs, home, machine).install(job)
    assert unschedule(job.name, jobs, home, machine, only="cron") == (("cron",), ())
    assert len(list(jobs.iterdir())) == 2
    assert len(unschedule(job.name, jobs, home, machine, only="systemd").files) == 2
    assert list(jobs.iterdir()) == []


def test_scheduling_elsewhere_takes_the_job_out_of_where_it_was(tmp_path, machine):
    jobs, home = tmp_path / "jobs", tmp_path / "home"
    cron, systemd = Cron(jobs, home, machine), Systemd(jobs, home, machine)
    job = a_job(tmp_path, variables=("KEY",))
    schedule(job, cron)
    schedule(job, systemd)
    assert (cron.installed(), systemd.installed()) == ((), (job.name,))
    assert len(list(jobs.iterdir())) == 2


def test_where_a_crontab_cannot_be_read_all_else_is_removed_and_told(tmp_path, machine):
    jobs, home = tmp_path / "jobs", tmp_path / "home"
    systemd = Systemd(jobs, home, machine)
    job = a_job(tmp_path, variables=("KEY",))
    machine["BROKEN"] = "the disk is broken"
    schedule(job, systemd)
    files = systemd.script_file(job.name), systemd.values_file(job.name)
    with pytest.raises(EtudeError) as caught:
        unschedule(job.name, jobs, home, machine)
    assert str(caught.value) == (
        f"the crontab cannot be read: the disk is broken; removed: systemd, {files[0]}, {files[1]}\n"
        "hint: look at `crontab -l`, or choose another scheduler"
    )
    assert list(jobs.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told_and_the_files_are_as_they_were(tmp_path, machine):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".config").write_text("a file")
    scheduler = Systemd(tmp_path / "jobs", tmp_path / "home", machine)
    with pytest.raises(EtudeError, match=r"the job cannot be written: .*Not a directory"):
        scheduler.install(a_job(tmp_path, variables=("KEY",)))
    assert not (tmp_path / "jobs").exists() or not list((tmp_path / "jobs").iterdir())


def test_schedulers_have_names_and_say_what_a_user_must_know():
    assert {name: kind.name for name, kind in SCHEDULERS.items()} == {name: name for name in SCHEDULERS}
    assert all(kind.note for kind in SCHEDULERS.values())


def a_day_old(path: Path) -> None:
    then = path.stat().st_mtime - 25 * 60 * 60
    os.utime(path, (then, then))


@pytest.mark.parametrize(
    ("job_is_new", "last_night", "starts"),
    [
        (False, None, True),
        (False, "old", True),
        (False, "new", False),
        (True, None, False),
        (True, "old", False),
    ],
)
def test_a_start_that_catches_up_leaves_at_once_where_no_night_was_missed(
    job_is_new, last_night, starts, tmp_path, machine
):
    tell = program(tmp_path / "tell", "#!/bin/sh\necho started\n")
    job = a_job(tmp_path, command=(str(tell),), nights=str(tmp_path / "state of 'me'" / "nights"))
    scheduler = a_scheduler(Cron, tmp_path, machine)
    scheduler.install(job)
    script = scheduler.script_file(job.name)
    if not job_is_new:
        a_day_old(script)
    if last_night:
        for number in ("0001", "0002"):
            report = Path(job.nights, number, "night.json")
            report.parent.mkdir(parents=True)
            report.write_text("{}")
            if (number, last_night) != ("0002", "new"):
                a_day_old(report)
    subprocess.run(["/bin/sh", str(script), "catch-up"], env={"PATH": "/usr/bin:/bin"}, check=True)
    assert Path(job.log).exists() == starts
    subprocess.run(["/bin/sh", str(script)], env={"PATH": "/usr/bin:/bin"}, check=True)
    assert Path(job.log).read_text() == "started\n" * (1 + starts)


def test_an_agent_of_launchd_catches_up_at_the_next_login(tmp_path, machine):
    scheduler = Launchd(tmp_path / "jobs", tmp_path / "home", machine, user=501)
    job = a_job(tmp_path)
    scheduler.install(job)
    assert scheduler.installed() == (job.name,)
    place = tmp_path / "home" / "Library" / "LaunchAgents" / f"etude-sleep-{job.name}.catch-up.plist"
    agent = plistlib.loads(place.read_bytes())
    assert agent["RunAtLoad"] is True
    assert agent["ProgramArguments"] == ["/bin/sh", str(scheduler.script_file(job.name)), "catch-up"]
    assert "StartCalendarInterval" not in agent
    assert [call for call in calls(machine) if "bootstrap" in call] == [
        f"launchctl bootstrap gui/501 {place.with_name(f'etude-sleep-{job.name}.plist')}"
    ]
    assert scheduler.withdraw(job.name)
    assert list(place.parent.iterdir()) == []
    assert f"launchctl bootout gui/501/etude-sleep-{job.name}.catch-up" in calls(machine)


def test_a_program_that_is_missing_or_hangs_up_is_a_failed_call(tmp_path):
    run = program_runner({"PATH": str(tmp_path)})
    called = run(("nothing-of-that-name",), b"")
    assert (called.code, "No such file" in called.errors) == (127, True)
    assert program_runner({"PATH": "/usr/bin:/bin"})(("cat",), b"in") == Called(code=0, output=b"in")


def test_a_job_travels_as_json(tmp_path):
    job = a_job(tmp_path, command=(sys.executable, "-m", "etude", "sleep", "run", *AWKWARD))
    assert Job.model_validate_json(job.model_dump_json()) == job
