"""Text of models, tasks, skills and programs that was written to act on the terminal of who reads it."""

import contextlib
import io
import json
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from at_terminal import Terminal
from etude.cli.main import main
from etude.cli.terminal import output
from etude.display.console import open_console
from etude.display.live import status
from etude.display.progress import Progress
from etude.errors import EtudeError
from etude.events import AttemptFinished, CallFinished, Notice, RunStarted, StageStarted
from etude.readable import visible

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"
ATTACKS = {
    "the title": "\x1b]0;root\x07",
    "the clipboard": "\x1b]52;c;cm0gLXJm\x1b\\",
    "a hidden link": "\x1b]8;;https://example.org\x1b\\",
    "the line before": "\x1b[1A\x1b[2Kscore 1.00",
    "8-bit control": "\x9b2J\x9d0;x\x9c",
    "over the line": "score 0.00\rscore 1.00",
    "back over it": "0.00\b\b\b\b1.00",
    "another character set": "\x0e\x0f",
    "right to left": "\u202eexe.txt\u202c",
    "isolated": "\u2066x\u2069",
    "other line ends": "a\x0bb\x0cc\x85d\u2028e\u2029f",
    "nothing and delete": "\0\x7f",
}
FORBIDDEN = [chr(i) for i in (*range(32), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))]


def harmless(text: str) -> bool:
    return not any(char in text for char in FORBIDDEN if char not in "\n\t")


@pytest.fixture(params=ATTACKS)
def attack(request: pytest.FixtureRequest) -> str:
    return ATTACKS[request.param]


def test_what_acts_is_shown_by_its_number_and_the_rest_stays() -> None:
    assert visible("a\x1b[31mb\x9b\u202e") == "a<U+001B>[31mb<U+009B><U+202E>"
    for text in ("", "tab\tand\nlines\r\n", "äöü 日本語 🎉 עברית\u200f e\u0301", "a\r"):
        assert visible(text) == text
    assert visible("\r\r\n") == "<U+000D>\r\n"


def test_results_notes_and_errors_reach_the_reader_but_not_the_terminal(attack: str, capsys: Captured) -> None:
    output.line(attack)
    output.lines([attack])
    output.diff(f"+{attack}\n")
    output.note(attack)
    output.tell(EtudeError(attack, hint=attack))
    printed = capsys.readouterr()
    assert harmless(printed.out + printed.err)
    assert printed.out.count("<U+") == 3 * visible(attack).count("<U+") > 0
    assert printed.err.count("<U+") == printed.out.count("<U+")


def test_styled_lines_of_a_terminal_have_no_codes_but_those_of_their_style(attack: str, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    with contextlib.redirect_stdout(stream):
        output.line(attack, "green")
    assert stream.getvalue().removeprefix("\x1b[32m").removesuffix("\x1b[0m\n") == visible(attack)


def test_json_shows_them_as_escapes_and_means_the_same(attack: str, capsys: Captured) -> None:
    output.json_result({attack: [attack, "日本"]})
    printed = capsys.readouterr().out
    assert harmless(printed)
    assert json.loads(printed) == {attack: [attack, "日本"]}


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_the_lines_of_a_run_show_them(attack: str, stream: type[io.StringIO], monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = stream()
    with open_console(out) as console:
        console.emit(RunStarted(name=f"n{attack}", folder="f", epochs=1, steps=1, resumed=False, simulated=False))
        console.emit(StageStarted(stage="rollout", step=1, epoch=1, total=2))
        reason = f"no score: {attack}"
        console.emit(AttemptFinished(attempt="a", task=attack, split="train", outcome="void", hard=0, reason=reason))
        console.emit(CallFinished(role="target", error=attack))
        console.emit(Notice(level="warning", text=attack))
    assert harmless(out.getvalue())
    assert out.getvalue().count("<U+") >= 3


def test_the_live_lines_show_them(attack: str, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    with open_console(out) as console:
        console.emit(Notice(level="warning", text=f"say {attack}"))
    assert attack not in out.getvalue()
    progress, drawn = Progress(), io.StringIO()
    progress.take(RunStarted(name=attack, folder="f", epochs=1, steps=1, resumed=False, simulated=False))
    progress.take(CallFinished(role="target", error=attack))
    RichConsole(file=drawn, width=300).print(status(progress))
    assert harmless(drawn.getvalue())
    assert drawn.getvalue().count("<U+") >= 2


@pytest.mark.parametrize("name", ["the line before", "8-bit control", "over the line", "right to left"])
def test_a_skill_an_edit_and_a_path_cannot_act_on_the_terminal(
    name: str, demo_project: Path, capsys: Captured
) -> None:
    attack = ATTACKS[name]
    Path("mine.md").write_text(f"Say 42. {attack}\n", newline="")
    selected = Path(RUN, "steps/0001/selected.json")
    edit = {"op": "append", "content": f"Say {attack}", "cites": ["a-1"]}
    selected.write_text(json.dumps({"edits": [], "left_out": [{"edit": edit, "why": f"repeats {attack}"}]}))
    for words in (["diff", RUN, "best", "mine.md"], ["show", RUN, "--step", "1"], ["show", f"no{attack}"]):
        main(words)
        printed = capsys.readouterr()
        assert harmless(printed.out + printed.err)
        assert "<U+" in printed.out + printed.err or ascii(attack)[1:-1] in printed.err, words


def test_a_prompt_is_shown_in_a_terminal_and_whole_where_a_program_takes_it(here: Path, capsys: Captured) -> None:
    Path("mine.md").write_text("Use \x1b[1A here.\n")
    assert main(["export", "mine.md", "--prompt"]) == 0
    assert "\x1b[1A" in capsys.readouterr().out
    stream = Terminal()
    with contextlib.redirect_stdout(stream):
        assert main(["export", "mine.md", "--prompt"]) == 0
    assert "Use <U+001B>[1A here." in stream.getvalue()
