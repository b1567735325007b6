"""What the optimizer reads of an agent with tools: calls, results, exit codes and files, each within its share."""

import pytest
from stages_doubles import attempt

from etude.records import Attempt, File, Message, TextPart, ToolCall, Trajectory, assistant
from etude.stages.shared.transcript import files_text, transcript_text


def call(id: str, arguments: str = "{}", name: str = "bash") -> Message:
    return Message(role="assistant", tool_calls=(ToolCall(id=id, name=name, arguments=arguments),))


def result(id: str, text: str) -> Message:
    return Message(role="tool", tool_call_id=id, content=(TextPart(text=text),))


def with_messages(*messages: Message, **exit_codes: int) -> Attempt:
    return attempt("a-1").model_copy(update={"trajectory": Trajectory(messages=messages, exit_codes=exit_codes)})


def with_files(files: dict[str, File | None], before: tuple[str, ...] = ()) -> Attempt:
    given = attempt("a-1")
    task = given.task.model_copy(update={"files": {path: File(data=b"before") for path in before}})
    return given.model_copy(update={"task": task, "trajectory": Trajectory(files=files)})


def test_what_fits_is_shown_in_full() -> None:
    shown = with_messages(call("1"), result("1", "x" * 900))
    assert "left out" not in transcript_text(shown, 1000)
    assert "left out" in transcript_text(shown, 900)


def test_what_is_said_is_never_cut_before_the_whole() -> None:
    said = [assistant("t" * 3000), Message(role="tool", tool_call_id="mark", content=(TextPart(text="s" * 3000),))]
    assert transcript_text(with_messages(*said), 500) == f"[assistant] {'t' * 3000}\n[tool] {'s' * 3000}"


def test_files_are_named_with_their_size_and_text_and_what_became_of_them() -> None:
    files: dict[str, File | None] = {
        "notes.txt": None,
        "a/answer.txt": File(data="sieben ü\n".encode()),
        "plot.png": File(data=b"\x89PNG\0" * 1000),
        "old.md": File(data=b"new text"),
    }
    assert files_text(with_files(files, before=("notes.txt", "old.md")), 1000) == (
        "[new a/answer.txt, 10 bytes]\nsieben ü\n\n"
        "[deleted notes.txt]\n"
        "[changed old.md, 8 bytes]\nnew text\n"
        "[new plot.png, 5,000 bytes, not text]"
    )


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"x" * 1_000_001], ids=["not utf-8", "zero byte", "huge"])
def test_files_that_are_no_text_are_only_named(data: bytes) -> None:
    assert files_text(with_files({"f": File(data=data)}), 1000) == f"[new f, {len(data):,} bytes, not text]"


def test_the_name_of_a_file_cannot_pretend_to_be_another_line() -> None:
    assert files_text(with_files({"a]\n[new b": None}), 1000) == "[deleted 'a]\\n[new b']"
