"""What the optimizer reads of an agent with tools: calls, results, exit codes and files, each within its share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages_doubles import attempt

from etude.records import Attempt, File, Message, TextPart, ToolCall, Trajectory, assistant
from etude.stages.shared.render import attempt_block
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


def test_calls_stand_before_their_results_which_tell_the_exit_code_where_there_is_one() -> None:
    shown = with_messages(
        call("1", '{"command": "ls"}'),
        result("1", "a.txt"),
        call("2", '{"path": "a.txt"}', name="read"),
        result("2", "seven"),
        call("3", '{"command": "rm b"}'),
        result("3", "no such file"),
        assistant("Done."),
        **{"1": 0, "3": 1},
    )
    assert transcript_text(shown, 1000) == (
        '[assistant calls bash] {"command": "ls"}\n[tool, exit code 0] a.txt\n'
        '[assistant calls read] {"path": "a.txt"}\n[tool] seven\n'
        '[assistant calls bash] {"command": "rm b"}\n[tool, exit code 1] no such file\n'
        "[assistant] Done."
    )


def test_one_huge_output_is_cut_in_its_middle_and_hides_nothing_else() -> None:
    shown = with_messages(
        call("1"), result("1", "first"), call("2"), result("2", "x" * 100_000), call("3"), result("3", "third")
    )
    text = transcript_text(shown, 1000)
    assert "[tool] first\n" in text
    assert text.endswith("[tool] third")
    assert "x\n[... 99" in text
    assert 900 < len(text) <= 1000


def test_long_arguments_are_cut_like_outputs() -> None:
    shown = with_messages(call("1", "y" * 9000), result("1", "written"), assistant("Done."))
    text = transcript_text(shown, 1000)
    assert text.startswith("[assistant calls bash] yyy")
    assert text.endswith("[tool] written\n[assistant] Done.")
    assert 900 < len(text) <= 1000


def test_what_a_short_output_does_not_need_goes_to_the_long_ones() -> None:
    shown = with_messages(
        call("1"), result("1", "a" * 100), call("2"), result("2", "Y" * 5000), call("3"), result("3", "Z" * 5000)
    )
    text = transcript_text(shown, 2000)
    assert "a" * 100 in text
    assert text.count("Y") == pytest.approx(text.count("Z"), abs=2)
    assert 1900 < len(text) <= 2000


def test_what_fits_is_shown_in_full() -> None:
    shown = with_messages(call("1"), result("1", "x" * 900))
    assert "left out" not in transcript_text(shown, 1000)
    assert "left out" in transcript_text(shown, 900)


def test_of_a_hundred_outputs_each_is_shown_with_both_ends() -> None:
    messages = [
        message for at in range(100) for message in (call(f"{at}"), result(f"{at}", f"<{at}{'x' * 999}{at}>"))
    ]
    text = transcript_text(with_messages(*messages), 1000)
    assert all(f"<{at}x" in text and f"x{at}>" in text for at in range(100))


def test_what_is_said_is_never_cut_before_the_whole() -> None:
    said = [assistant("t" * 3000), Message(role="tool", tool_call_id="mark", content=(TextPart(text="s" * 3000),))]
    assert transcript_text(with_messages(*said), 500) == f"[assistant] {'t' * 3000}\n[tool] {'s' * 3000}"


@given(st.lists(st.integers(0, 3000), max_size=12), st.integers(800, 4000))
def test_outputs_and_calls_stay_within_the_limit_but_for_what_is_shown_of_each_at_least(
    sizes: list[int], limit: int
) -> None:
    messages = [part for at, size in enumerate(sizes) for part in (call(f"{at}"), result(f"{at}", "x" * size))]
    text = transcript_text(with_messages(*messages), limit)
    assert len(text) <= max(limit, len(sizes) * (200 + len("[assistant calls bash] {}\n[tool] \n")))


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


def test_a_long_file_is_cut_in_its_middle_and_leaves_room_for_others() -> None:
    files: dict[str, File | None] = {"a.csv": File(data=b"1,2\n" * 5000), "z.txt": File(data=b"seven")}
    text = files_text(with_files(files), 600)
    assert "\n[... 19" in text
    assert text.endswith("[new z.txt, 5 bytes]\nseven")
    assert len(text) <= 600


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"x" * 1_000_001], ids=["not utf-8", "zero byte", "huge"])
def test_files_that_are_no_text_are_only_named(data: bytes) -> None:
    assert files_text(with_files({"f": File(data=data)}), 1000) == f"[new f, {len(data):,} bytes, not text]"


def test_the_name_of_a_file_cannot_pretend_to_be_another_line() -> None:
    assert files_text(with_files({"a]\n[new b": None}), 1000) == "[deleted 'a]\\n[new b']"


def test_the_block_of_an_attempt_shows_files_between_transcript_and_answer_and_stays_bounded() -> None:
    one = with_files({"answer.txt": File(data=b"seven" * 9000)})
    long = one.trajectory.model_copy(
        update={"answer": "w" * 9000, "messages": (call("1"), result("1", "x" * 9000), assistant("Done."))}
    )
    task = one.task.model_copy(update={"input": "q" * 9000})
    block = attempt_block(one.model_copy(update={"trajectory": long, "task": task}), 4000)
    places = [block.index(f"<{tag} data=") for tag in ("task", "transcript", "files", "answer", "feedback")]
    assert places == sorted(places)
    assert "[assistant] Done." in block
    assert "[new answer.txt, 45,000 bytes]\nseven" in block
    assert len(block) < 4000 + 600


def test_without_files_there_is_no_word_of_them() -> None:
    assert "<files" not in attempt_block(attempt("a-1"), 1000)
