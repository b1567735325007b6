import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.skill.diff import unified_diff


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("a\nb", "a\nb", "old", "new") == ""


def test_the_diff_names_both_sides_and_marks_a_missing_line_end() -> None:
    assert unified_diff("a\nb", "a\nc\n", "old", "new") == (
        "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )


@pytest.mark.parametrize("after", ["", "b\n", "a\nb\nc", "a\r\nb\n"])
def test_patch_turns_one_text_into_the_other(after: str, tmp_path: Path) -> None:
    before = "a\nb\n"
    (tmp_path / "text").write_bytes(before.encode())
    diff = unified_diff(before, after, "text", "text")
    command = ["git", "apply", "--allow-empty", "--whitespace=nowarn", "-p0", "-"]
    subprocess.run(command, cwd=tmp_path, input=diff.encode(), check=True, timeout=60)
    assert (tmp_path / "text").read_bytes() == after.encode()


@given(st.text("ab\n"), st.text("ab\n"))
def test_every_line_of_a_diff_says_what_it_is(before: str, after: str) -> None:
    diff = unified_diff(before, after, "old", "new")
    assert (diff == "") == (before == after)
    assert all(line[:1] in " +-@\\" for line in diff.split("\n"))
