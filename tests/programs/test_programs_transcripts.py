"""What real programs wrote in real runs is read as what happened."""

from pathlib import Path

import pytest

from etude.programs.aider import Aider
from etude.programs.claude_code import ClaudeCode
from etude.programs.codex import Codex
from etude.programs.copilot_cli import CopilotCli
from etude.programs.gemini_cli import GeminiCli
from etude.programs.installed import Installed
from etude.programs.mini_swe_agent import MiniSweAgent
from etude.programs.opencode import OpenCode
from etude.programs.pi import Pi
from etude.programs.program import Order, Program, Report
from etude.programs.qwen_code import QwenCode
from etude.records import Skill, Usage
from etude.sandbox import Finished
from rows import rows

TRANSCRIPTS = Path(__file__).resolve().parents[2].parent / "shared" / "transcripts"
PROGRAMS: dict[str, Program] = {
    "codex": Codex(),
    "claude": ClaudeCode(),
    "copilot": CopilotCli(),
    "gemini": GeminiCli(),
    "mini": MiniSweAgent(),
    "opencode": OpenCode(),
    "pi": Pi(),
    "qwen": QwenCode(),
}
GEMINI_ERROR = '[API Error: {"error":{"code":400,"message":"stub scripted error 400","status":"INVALID_ARGUMENT"}}]'

pytestmark = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the transcripts are not beside this checkout")


def read(name: str, run: str, stdout: bytes | None = None) -> Report:
    folder = TRANSCRIPTS / name / run
    finished = Finished(
        code=0,
        signal=None,
        stdout=(folder / "stdout").read_bytes() if stdout is None else stdout,
        stderr=(folder / "stderr").read_bytes(),
        cut=False,
        over="",
        seconds=1.0,
    )
    order = Order(
        installed=Installed(Path("/bin/x"), ("/bin/x",), ()),
        prompt="Write notes.",
        skill=Skill(text=""),
        instructions="",
        delivery="inline",
        home=folder / "home",
        temporary=folder,
        workspace=folder,
        url="",
        key="",
        model="",
        seconds=1.0,
    )
    return (PROGRAMS | {"aider": Aider()})[name].read(finished, order)


@rows("name", PROGRAMS)
def test_a_run_that_went_well_has_answer_calls_results_and_tokens(name: str) -> None:
    report = read(name, "ok")
    assert report.ended
    assert report.error == ""
    said = "Done \u2713" if name == "mini" else "Done \u2713 \u2014 r\u00e9sum\u00e9 written to notes.md."
    assert report.answer == report.messages[-1].text.strip() == said
    # Five requests of 1000 tokens, 200 more from the cache, and 34 tokens of output, however the program counts.
    assert report.usage == Usage(input_tokens=6000, output_tokens=170, cached_tokens=1000)
    assert [message.role for message in report.messages] == ["assistant", "tool"] * 4 + ["assistant"]
    assert "r\\u00e9sum\\u00e9 \\u2713" in report.messages[4].tool_calls[0].arguments
    assert "# Notes\nr\u00e9sum\u00e9 \u2713" in report.messages[7].text
    done = [m.tool_call_id for m in report.messages if m.role == "tool"]
    called = [call.id for message in report.messages for call in message.tool_calls]
    assert done == (called[:-1] if name == "mini" else called)  # its last call hands the answer in


@rows("name", PROGRAMS)
def test_exit_codes_of_commands_are_found(name: str) -> None:
    report = read(name, "ok")
    failing = next(call for m in report.messages for call in m.tool_calls if "exit 3" in call.arguments)
    reading = next(call for m in report.messages for call in m.tool_calls if "echo none" in call.arguments)
    assert report.exit_codes[failing.id] == 3
    assert report.exit_codes[reading.id] == 0


@rows(
    ("name", "words"),
    [
        ("codex", "stub scripted error 400"),
        ("claude", "API Error: 400 stub scripted error 400"),
        ("copilot", "400 stub scripted error 400"),
        ("opencode", "400 stub scripted error 400"),
        ("pi", "400 stub scripted error 400"),
        ("gemini", GEMINI_ERROR),
        ("qwen", "[API Error: 400 stub scripted error 400]"),
    ],
)
def test_a_run_that_failed_gives_its_words_as_the_error_and_never_as_the_answer(name: str, words: str) -> None:
    report = read(name, "error")
    assert report.error == words
    assert report.answer == ""


@rows("name", PROGRAMS)
def test_a_run_that_was_ended_from_outside_has_not_come_to_its_end(name: str) -> None:
    report = read(name, "killed")
    assert not report.ended
    assert report.answer == ""
    assert not any(code == 0 for code in report.exit_codes.values())


@rows("name", PROGRAMS)
def test_output_may_end_anywhere(name: str) -> None:
    whole = (TRANSCRIPTS / name / "ok" / "stdout").read_bytes()
    middle = len(whole) // 2
    for part in (b"", whole[:middle], whole[middle:], b"\xff\n{}\n[1]\n" + whole[: middle + 7]):
        assert read(name, "ok", part).error == ""


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_what_is_left_out_in_the_middle_does_not_hide_the_end(name: str) -> None:
    lines = (TRANSCRIPTS / name / "ok" / "stdout").read_bytes().splitlines()
    report = read(name, "ok", b"\n".join([lines[0], b"... 4000 bytes left out ...", *lines[-2:]]))
    assert report.ended
    assert report.answer.startswith("Done")


def test_a_program_without_tools_is_read_from_its_log_of_replies() -> None:
    report = read("aider", "ok")
    assert report.ended
    assert report.answer == "Here it is:\n\nnotes.md\n```\n# Notes\nr\u00e9sum\u00e9\n```"
    assert [message.text for message in report.messages] == [report.answer]
    failed = read("aider", "error")
    assert failed.error.endswith("litellm.BadRequestError: OpenAIException - stub scripted error 400")
    assert failed.answer == ""
