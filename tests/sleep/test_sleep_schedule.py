"""A night every day: scripts stand in for the programs of the system, and write down how they are called."""

import configparser
import plistlib
import re
import stat
import subprocess
from pathlib import Path

import pytest

from etude.errors import EtudeError, InputError
from etude.sleep.schedule import Job, Machine, Name, choose, install, installed, job_name, remove, render

AWKWARD = (
    "with space",
    "it's",
    'say "hi"',
    "100% %h \\%",
    "$HOME $(id) `id`",
    "back\\slash \\",
    "✓ 🌙",
    "*?[a] ; &",
    "",
    "-n",
)
TELL = """#!/bin/sh
pwd
printf 'PATH=%s\\nHOME=%s\\nKEY=%s\\n' "$PATH" "$HOME" "$KEY"
for word in "$@"; do printf '<%s>\\n' "$word"; done
"""
CRONTAB = """#!/bin/sh
case "$1" in
-l) if [ -n "$BROKEN" ]; then echo "$BROKEN" >&2; exit 1; fi
    if [ -f "$RECORD/crontab" ]; then cat "$RECORD/crontab"; else echo "no crontab for user" >&2; exit 1; fi;;
-) if [ -n "$REFUSED" ]; then echo "no space left" >&2; exit 1; fi
   cat > "$RECORD/crontab";;
esac
"""
RECORDER = """#!/bin/sh
echo "${0##*/} $*" >> "$RECORD/calls"
if [ -n "$REFUSED" ]; then echo "refused" >&2; exit 5; fi
"""
ALL: tuple[Name, ...] = ("systemd", "launchd", "cron")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    bin_folder, record = tmp_path / "bin", tmp_path / "record"
    program(bin_folder / "crontab", CRONTAB)
    program(bin_folder / "systemctl", RECORDER)
    program(bin_folder / "launchctl", RECORDER)
    record.mkdir()
    environ = {"PATH": f"{bin_folder}:/usr/bin:/bin", "RECORD": str(record)}
    return Machine(tmp_path / "state" / "jobs", tmp_path / "home", environ)


def a_job(tmp_path: Path, **changes: object) -> Job:
    job = Job("demo-1a2b3c4d", ("/usr/bin/true",), str(tmp_path), str(tmp_path / "log"), {"KEY": "s3cret"}, 4, 5)
    return job._replace(**changes)


def with_environ(machine: Machine, **values: str) -> Machine:
    return machine._replace(environ={**machine.environ, **values})


def calls(machine: Machine) -> list[str]:
    return Path(machine.environ["RECORD"], "calls").read_text().splitlines()


def crontab(machine: Machine) -> Path:
    return Path(machine.environ["RECORD"], "crontab")


def files(machine: Machine) -> dict[Path, bytes]:
    roots = (machine.jobs, machine.home)
    return {path: path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()}


def test_the_script_passes_on_every_word_folder_and_variable_as_it_is(tmp_path: Path, machine: Machine) -> None:
    folder = tmp_path / "a 100% 'odd' $HOME \\ folder ✓"
    folder.mkdir()
    tell = program(folder / "tell", TELL)
    own = {"KEY": "a'b\"c $HOME `id` \\ %", "PATH": "/my own/bin:/usr/bin:/bin", "HOME": str(folder)}
    job = a_job(
        tmp_path, command=(str(tell), *AWKWARD), folder=str(folder), log=str(folder / "the log"), variables=own
    )
    install(job, "systemd", machine)
    script = machine.script(job.name)
    subprocess.run(["/bin/sh", str(script)], env={}, check=True)
    expected = [str(folder), *(f"{name}={own[name]}" for name in ("PATH", "HOME", "KEY"))]
    assert (folder / "the log").read_text().splitlines() == [*expected, *(f"<{word}>" for word in AWKWARD)]
    assert stat.S_IMODE((folder / "the log").stat().st_mode) == 0o600


@pytest.mark.parametrize("scheduler", ALL)
def test_a_job_is_installed_again_and_removed_without_a_trace(
    scheduler: Name, tmp_path: Path, machine: Machine
) -> None:
    job = a_job(tmp_path)
    install(job, scheduler, machine)
    once = files(machine)
    install(job, scheduler, machine)
    assert files(machine) == once
    assert installed(job.name, machine) == (scheduler,)
    assert crontab(machine).exists() is (scheduler == "cron")
    if scheduler == "cron":
        assert len(crontab(machine).read_text().splitlines()) == 1
    # The value of a variable may be a key: it is in a file that only its owner can read.
    holding = [path for path, data in once.items() if b"s3cret" in data]
    assert [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in holding] == [0]
    assert remove(job.name, machine) == (scheduler,)
    assert files(machine) == {}
    assert remove(job.name, machine) == ()


@pytest.mark.parametrize("scheduler", ALL)
def test_what_is_rendered_is_what_is_written(scheduler: Name, tmp_path: Path, machine: Machine) -> None:
    job = a_job(tmp_path)
    texts = render(job, scheduler, machine)
    assert files(machine) == {}
    install(job, scheduler, machine)
    if "crontab" in texts:
        assert crontab(machine).read_text() == texts.pop("crontab")
    assert files(machine) == {Path(where): text.encode() for where, text in texts.items()}


@pytest.mark.parametrize("scheduler", ALL)
def test_where_a_program_refuses_no_file_is_left(scheduler: Name, tmp_path: Path, machine: Machine) -> None:
    with pytest.raises(EtudeError, match=r"failed: (refused|no space left)"):
        install(a_job(tmp_path), scheduler, with_environ(machine, REFUSED="yes"))
    assert files(machine) == {}


@pytest.mark.parametrize("before", ALL)
@pytest.mark.parametrize("after", ALL)
def test_a_schedule_that_fails_leaves_the_earlier_one_as_it_was(
    before: Name, after: Name, tmp_path: Path, machine: Machine
) -> None:
    install(a_job(tmp_path), before, machine)
    found = files(machine) | files(machine._replace(jobs=crontab(machine).parent))
    with pytest.raises(EtudeError, match=r"failed: (refused|no space left); the earlier schedule stays"):
        install(a_job(tmp_path, hour=9), after, with_environ(machine, REFUSED="yes"))
    now = files(machine) | files(machine._replace(jobs=crontab(machine).parent))
    assert {path: data for path, data in now.items() if path.name != "calls"} == {
        path: data for path, data in found.items() if path.name != "calls"
    }
    assert installed("demo-1a2b3c4d", machine) == (before,)


def test_a_timer_of_systemd_catches_up_and_starts_the_script(tmp_path: Path, machine: Machine) -> None:
    machine = machine._replace(jobs=tmp_path / '50% $x \\ "jobs"')
    install(a_job(tmp_path), "systemd", machine)
    service, timer = (read_unit(path) for path in machine.entries("demo-1a2b3c4d", "systemd"))
    assert timer["Timer"]["OnCalendar"] == "*-*-* 04:05:00"
    assert timer["Timer"]["Persistent"] == "true"
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert systemd_words(service["Service"]["ExecStart"]) == ["/bin/sh", str(machine.script("demo-1a2b3c4d"))]
    assert calls(machine)[1:] == [
        f"systemctl --user {verb} etude-sleep-demo-1a2b3c4d.timer" for verb in ("enable", "restart")
    ]


def read_unit(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path, encoding="utf-8")
    return parser


def systemd_words(line: str) -> list[str]:
    """Words as the manual of systemd.service reads them, for words in double quotes or without any."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)
    read = [re.sub(r"\\(.)", r"\1", quoted) if quoted else bare for quoted, bare in words]
    return [word.replace("%%", "%").replace("$$", "$") for word in read]


def test_an_agent_of_launchd_is_started_at_its_time(tmp_path: Path, machine: Machine) -> None:
    install(a_job(tmp_path), "launchd", machine)
    (path,) = machine.entries("demo-1a2b3c4d", "launchd")
    found = plistlib.loads(path.read_bytes())
    assert found["StartCalendarInterval"] == {"Hour": 4, "Minute": 5}
    assert found["ProgramArguments"] == ["/bin/sh", str(machine.script("demo-1a2b3c4d"))]


@pytest.mark.parametrize("folder", ["plain", 'it\'s "odd" 100%', "$HOME `id` #"])
def test_the_line_of_a_crontab_starts_the_script(folder: str, tmp_path: Path, machine: Machine) -> None:
    tell = program(tmp_path / "tell", "#!/bin/sh\necho started\n")
    machine = machine._replace(jobs=tmp_path / folder)
    install(a_job(tmp_path, command=(str(tell),)), "cron", machine)
    minute, hour, *days, command = crontab(machine).read_text().split(" ", 5)
    assert (minute, hour, days) == ("5", "4", ["*", "*", "*"])
    subprocess.run(["/bin/sh", "-c", command.replace("\\%", "%")], env={"PATH": "/usr/bin:/bin"}, check=True)
    assert (tmp_path / "log").read_text() == "started\n"


@pytest.mark.parametrize("mine", [b"MAILTO=me\n1 2 * * * a \\% b\n", b"\xff\xfe no text\r\n\r\n\x0c\n", b"no end"])
def test_other_lines_of_a_crontab_stay_byte_for_byte(mine: bytes, tmp_path: Path, machine: Machine) -> None:
    crontab(machine).write_bytes(mine)
    install(a_job(tmp_path), "cron", machine)
    install(a_job(tmp_path, name="other-1a2b3c4d"), "cron", machine)
    assert crontab(machine).read_bytes().startswith(mine)
    remove("demo-1a2b3c4d", machine)
    assert b"other-1a2b3c4d" in crontab(machine).read_bytes()
    remove("other-1a2b3c4d", machine)
    assert crontab(machine).read_bytes().removesuffix(b"\n") == mine.removesuffix(b"\n")


def test_a_crontab_that_cannot_be_read_is_not_written(tmp_path: Path, machine: Machine) -> None:
    crontab(machine).write_bytes(b"precious\n")
    with pytest.raises(EtudeError, match="out of order"):
        install(a_job(tmp_path), "cron", with_environ(machine, BROKEN="out of order"))
    assert crontab(machine).read_bytes() == b"precious\n"


@pytest.mark.parametrize(
    "changes",
    [
        {"folder": "/a\nb"},
        {"command": ("/bin/x", "a\x00b")},
        {"variables": {"A-B": "x"}},
        {"variables": {"A": "x\ny"}},
    ],
)
def test_what_cannot_be_written_down_is_refused(changes: dict[str, object], tmp_path: Path, machine: Machine) -> None:
    with pytest.raises(InputError):
        install(a_job(tmp_path, **changes), "cron", machine)
    assert files(machine) == {}


def test_scheduling_elsewhere_takes_the_job_out_of_where_it_was(tmp_path: Path, machine: Machine) -> None:
    install(a_job(tmp_path), "cron", machine)
    install(a_job(tmp_path), "systemd", machine)
    assert installed("demo-1a2b3c4d", machine) == ("systemd",)
    assert crontab(machine).read_bytes() == b""


def test_where_a_program_refuses_all_else_is_removed(tmp_path: Path, machine: Machine) -> None:
    install(a_job(tmp_path), "systemd", machine)
    with pytest.raises(EtudeError, match="refused"):
        remove("demo-1a2b3c4d", with_environ(machine, REFUSED="yes"))
    assert files(machine) == {}


@pytest.mark.parametrize(
    ("platform", "booted", "there", "expected"),
    [
        ("linux", True, {"systemctl", "crontab"}, "systemd"),
        ("linux", False, {"systemctl", "crontab"}, "cron"),
        ("darwin", False, {"launchctl"}, "launchd"),
    ],
)
def test_the_systems_own_scheduler_is_taken_before_cron(
    platform: str, booted: bool, there: set[str], expected: Name, tmp_path: Path
) -> None:
    place = tmp_path if booted else tmp_path / "none"
    assert choose(platform, lambda name: name if name in there else None, place) == expected
    with pytest.raises(InputError, match="no scheduler"):
        choose(platform, lambda name: None, place)


def test_the_name_of_a_job_says_the_project_and_differs_with_its_place() -> None:
    one, other = job_name(Path("/a/My Project!")), job_name(Path("/b/My Project!"))
    assert re.fullmatch(r"my-project-[0-9a-f]{8}", one)
    assert one != other
