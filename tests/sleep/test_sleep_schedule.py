"""A night every day: a script stands in for `crontab`."""

import re
import subprocess
from pathlib import Path

import pytest

from etude.errors import EtudeError, InputError
from etude.sleep.schedule import command_of, install, installed, job_name, line_of, remove, script_of

AWKWARD = ("with space", "it's", 'say "hi"', "100% %h", "$HOME $(id) `id`", "✓ 🌙", "*?[a] ; & #", "", "-n")
TELL = """#!/bin/sh
pwd
printf 'PATH=%s\\nKEY=%s\\n' "$PATH" "$KEY"
for word in "$@"; do printf '<%s>\\n' "$word"; done
"""
CRONTAB = """#!/bin/sh
case "$1" in
-l) if [ -n "$BROKEN" ]; then echo "$BROKEN" >&2; exit 1; fi
    if [ -f "$RECORD/crontab" ]; then cat "$RECORD/crontab"; else echo "no crontab for user" >&2; exit 1; fi;;
-) cat > "$RECORD/crontab"
   if [ -n "$REFUSED" ] && [ ! -f "$RECORD/refused" ]; then
       touch "$RECORD/refused"; : > "$RECORD/crontab"; echo "no space left" >&2; exit 1
   fi;;
esac
"""
NAME, AT = "demo-1a2b3c4d", (4, 5)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def crontab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the script keeps."""
    program(tmp_path / "bin" / "crontab", CRONTAB)
    (tmp_path / "record").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    return tmp_path / "record" / "crontab"


def test_the_line_passes_on_every_word_the_folder_and_what_the_profile_sets(tmp_path: Path, crontab: Path) -> None:
    folder = tmp_path / "a 100% 'odd' $HOME folder ✓"
    folder.mkdir()
    tell, log = program(folder / "tell", TELL), folder / "the log"
    (folder / ".profile").write_text("export KEY='a b'\n")
    script = folder / "night 1.sh"
    script.write_text(script_of((str(tell), *AWKWARD), str(folder), str(log)))
    install(NAME, AT, command_of(script))
    minute, hour, *days, command = crontab.read_text().split(" ", 5)
    assert (minute, hour, days) == ("5", "4", ["*", "*", "*"])
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    subprocess.run(["/bin/sh", "-c", command.replace("\\%", "%")], env=environ, check=True)
    expected = [str(folder), f"PATH={tmp_path / 'bin'}:/usr/bin:/bin", "KEY=a b"]
    assert log.read_text().splitlines() == [*expected, *(f"<{word}>" for word in AWKWARD)]


@pytest.mark.parametrize("mine", [b"MAILTO=me\n1 2 * * * a \\% b\n", b"\xff\xfe no text\r\n\r\n\x0c\n", b"no end"])
def test_a_job_is_replaced_and_removed_and_other_lines_stay_byte_for_byte(mine: bytes, crontab: Path) -> None:
    crontab.write_bytes(mine)
    for _ in range(2):
        install(NAME, AT, "true")
    install("other-1a2b3c4d", AT, "true")
    assert crontab.read_bytes().startswith(mine)
    assert crontab.read_bytes().count(b"etude-sleep-") == 2
    assert installed(NAME)
    assert remove(NAME)
    assert b"other-1a2b3c4d" in crontab.read_bytes()
    remove("other-1a2b3c4d")
    assert crontab.read_bytes().removesuffix(b"\n") == mine.removesuffix(b"\n")
    assert (installed(NAME), remove(NAME)) == (False, False)


def test_a_schedule_that_fails_leaves_the_earlier_one_as_it_was(
    crontab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(NAME, AT, "true")
    before = crontab.read_bytes()
    monkeypatch.setenv("REFUSED", "yes")
    with pytest.raises(EtudeError, match="no space left"):
        install(NAME, (9, 0), "true")
    assert crontab.read_bytes() == before


def test_a_crontab_that_cannot_be_read_is_not_written(crontab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crontab.write_bytes(b"precious\n")
    monkeypatch.setenv("BROKEN", "out of order")
    with pytest.raises(EtudeError, match="out of order"):
        install(NAME, AT, "true")
    with pytest.raises(EtudeError, match="out of order"):  # the job may be there
        remove(NAME)
    assert crontab.read_bytes() == b"precious\n"


def test_what_a_crontab_cannot_hold_is_refused(crontab: Path) -> None:
    for command in ("a\nb", "a\x00b", "a\\b"):
        with pytest.raises(InputError, match="cannot stand in a crontab"):
            line_of(NAME, AT, command)
    with pytest.raises(InputError, match="a crontab takes 990") as caught:
        install(NAME, AT, f"echo {'long' * 300} short")
    assert str(caught.value.hint).startswith("set XDG_STATE_HOME to another folder; or have another scheduler run ")
    assert not crontab.exists()


def test_without_crontab_there_is_nothing_to_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert not remove(NAME)


def test_the_name_of_a_job_says_the_project_and_differs_with_its_place() -> None:
    one, other = job_name(Path("/a/My Project!")), job_name(Path("/b/My Project!"))
    assert re.fullmatch(r"my-project-[0-9a-f]{8}", one)
    assert one != other
