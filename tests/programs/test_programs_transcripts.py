"""What real programs wrote in real runs is read as what happened, for attempts and for nights."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from recorded import FOLDER, home_of, made_now

from etude.programs.installed import Installed
from etude.programs.known import known_programs
from etude.programs.program import Order, Report
from etude.records import Skill, Usage
from etude.sandbox import Finished
from etude.sleep.transcripts.harvest import Harvest, SessionQuery, harvest
from etude.sleep.transcripts.ledger import Ledger
from etude.sleep.transcripts.sources import source_of

PROGRAMS = ("claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "pi", "qwen-code")
TEA, COFFEE, MILK, COCOA = (
    "Write notes.md about tea. Always add a heading.",
    "And now on coffee.",
    "Rather on milk.",
    "No: on cocoa.",
)
DONE = "Done: the notes are about {}."
REFUSED = "there is no salt here"
SCRIPTED = ("claude-code", "codex", "copilot-cli")
"""Programs whose transcripts tell that a script has started them; OpenCode tells it of sessions that are no fork."""


def attempt(name: str, run: str, home: Path, stdout: bytes | None = None) -> Report:
    folder = FOLDER / name / run
    said = (folder / "stdout").read_bytes() if stdout is None else stdout
    error = (folder / "stderr").read_bytes()
    finished = Finished(code=0, signal=None, stdout=said, stderr=error, cut=False, over="")
    order = Order(
        installed=Installed(Path("/bin/x"), ("/bin/x",), ()),
        prompt=TEA,
        skill=Skill(text=""),
        instructions="",
        delivery="inline",
        home=home,
        temporary=folder,
        workspace=folder,
        url="",
        key="",
        model="",
        seconds=1.0,
    )
    return known_programs()[name].read(finished, order)


def night(name: str, home: Path, ledger: Ledger | None = None, *, scripts: bool = True) -> Harvest:
    asked = SessionQuery(now=datetime(2030, 1, 1, tzinfo=UTC), scope="/home/user/shop", scripts=scripts)
    return harvest([source_of(name)], ledger, asked, home=home, environ={})


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_that_went_well(name: str, tmp_path: Path) -> None:
    home = home_of(name, "ok", tmp_path)
    report = attempt(name, "ok", home)
    assert (report.ended, report.error, report.answer) == (True, "", DONE.format("tea"))
    # Three requests of 70 tokens, 20 of them from the cache, and 30 tokens of output, however the program counts.
    assert report.usage == Usage(input_tokens=210, output_tokens=90, cached_tokens=60)
    assert [message.role for message in report.messages] == ["assistant", "tool"] * 2 + ["assistant"]
    failing, writing = (call for message in report.messages for call in message.tool_calls)
    assert ("exit 3" in failing.arguments, "cat notes.md" in writing.arguments) == (True, True)
    assert report.exit_codes == {failing.id: 3, writing.id: 0}
    assert [m.tool_call_id for m in report.messages if m.role == "tool"] == [failing.id, writing.id]
    assert "missing.txt: No such file" in report.messages[1].text
    assert "# Tea" in report.messages[3].text

    (found,) = night(name, home).taken
    (turn,) = found.turns
    assert (turn.prompt.strip(), turn.answer, turn.interrupted) == (TEA, DONE.format("tea"), False)
    assert [(tool.name, tool.failed) for tool in turn.tools] == [(failing.name, True), (writing.name, False)]
    assert [tool.result.strip() for tool in turn.tools] == [report.messages[at].text.strip() for at in (1, 3)]
    assert found.project == "/home/user/shop"
    times = [found.started, turn.at, found.ended]
    assert times == sorted(filter(None, times))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_that_failed(name: str, tmp_path: Path) -> None:
    home = home_of(name, "error", tmp_path)
    report = attempt(name, "error", home)
    assert REFUSED in report.error
    assert report.answer == ""
    (found,) = night(name, home).taken
    assert [(turn.answer, turn.interrupted) for turn in found.turns] == [("", True)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_that_was_killed(name: str, tmp_path: Path) -> None:
    home = home_of(name, "killed", tmp_path)
    report = attempt(name, "killed", home)
    assert (report.ended, report.answer) == (False, "")
    assert not any(code == 0 for code in report.exit_codes.values())
    (found,) = night(name, home).taken
    (turn,) = found.turns
    assert (turn.answer, turn.interrupted) == ("", True)
    assert len(turn.tools) == (name != "gemini-cli")  # which writes a call down when it has its result


@pytest.mark.parametrize("name", ["codex", "claude-code"])
def test_what_is_left_out_in_the_middle_does_not_hide_the_end(name: str, tmp_path: Path) -> None:
    lines = (FOLDER / name / "ok" / "stdout").read_bytes().splitlines()
    parts = b"\n".join([lines[0], b"... 4000 bytes left out ...", *lines[-2:]])
    report = attempt(name, "ok", home_of(name, "ok", tmp_path), parts)
    assert (report.ended, report.answer) == (True, DONE.format("tea"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_output_may_end_anywhere(name: str, tmp_path: Path) -> None:
    home = home_of(name, "ok", tmp_path)
    whole = (FOLDER / name / "ok" / "stdout").read_bytes()
    middle = len(whole) // 2
    for part in (b"", whole[:middle], whole[middle:], b"\xff\n{}\n[1]\n" + whole[: middle + 7]):
        assert attempt(name, "ok", home, part).error == ""


LATER = {
    # Rewound after they were forked: the session, and the fork.
    "claude-code": ({(TEA, COCOA), (TEA, COFFEE, MILK)}, (COCOA, COFFEE, MILK)),
    "codex": ({(TEA, COFFEE), (TEA, COFFEE, COCOA)}, (COFFEE, COCOA)),
    "opencode": ({(TEA, COFFEE), (TEA, COFFEE, MILK)}, (COFFEE, MILK)),
    "gemini-cli": ({(TEA, COCOA)}, (COCOA,)),
}
"""Prompts of each session of a home, and those that were new since the first night."""


@pytest.mark.parametrize("nights", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_sessions_that_went_on_count_each_prompt_once(name: str, nights: int, tmp_path: Path) -> None:
    went_on(name, nights, tmp_path)


def went_on(name: str, nights: int, tmp_path: Path, recorded: Path = FOLDER) -> None:
    sessions, new = LATER.get(name, ({(TEA, COFFEE)}, (COFFEE,)))
    tmp_path.mkdir(exist_ok=True)
    with Ledger(tmp_path / "ledger.json") as ledger:
        if nights == 2:
            first = night(name, home_of(name, "ok", tmp_path, recorded), ledger)
            ledger.take(first.entries)
            ledger.commit(1, first.entries)
        found = night(name, home_of(name, "later", tmp_path, recorded), ledger)
    assert {tuple(turn.prompt.strip() for turn in each.turns) for each in found.taken} <= sessions
    turns = [turn for each in found.taken for turn in each.turns[each.new :]]
    assert sorted(turn.prompt.strip() for turn in turns) == sorted([*new, *[TEA] * (nights == 1)])
    assert all(turn.answer.startswith("Done: the notes are about ") for turn in turns)
    assert found.skipped.get("taken back", 0) == (name in LATER)


@pytest.mark.programs
@pytest.mark.parametrize("name", LATER)
def test_what_the_programs_that_are_here_write_today_is_read_the_same(name: str, tmp_path: Path) -> None:
    made_now(name, tmp_path / "made")
    for nights in (1, 2):
        went_on(name, nights, tmp_path / str(nights), tmp_path / "made")


MOVED = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "copilot-cli": ("COPILOT_HOME", ".copilot"),
    "gemini-cli": ("GEMINI_CLI_HOME", ""),
    "opencode": ("XDG_DATA_HOME", ".local/share"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent"),
    "qwen-code": ("QWEN_HOME", ".qwen"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sessions_are_found_where_the_user_has_moved_them(name: str, tmp_path: Path) -> None:
    variable, folder = MOVED[name]
    moved = {variable: str(home_of(name, "ok", tmp_path) / folder)}
    assert len(source_of(name).find(tmp_path / "elsewhere", moved)) == 1
    assert len(source_of(name).find(tmp_path / "elsewhere", {variable: folder})) == 0  # a path that is not absolute


@pytest.mark.parametrize("name", SCRIPTED)
def test_what_a_script_said_is_left_out_and_counted(name: str, tmp_path: Path) -> None:
    found = night(name, home_of(name, "ok", tmp_path), scripts=False)
    assert (found.taken, found.skipped["told by a script"]) == ((), 1)
    assert found.hints == ("left out: 1 prompt of scripts; sleep.scripts: true takes in what scripts said",)
