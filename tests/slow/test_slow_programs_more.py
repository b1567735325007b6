"""What the fast tests show of two agent programs, for the two others that can answer questions."""

from pathlib import Path

import pytest
import test_models_program as as_model
import test_programs_faults as as_agent

pytestmark = [
    pytest.mark.skipif(
        not as_agent.INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"
    ),
    pytest.mark.parametrize("program", ["opencode", "pi"]),
]


def test_what_passes_is_not_seen(program: str) -> None:
    as_agent.test_what_passes_is_not_seen_by_the_program(program, "hang")


def test_a_question_leaves_nothing_in_the_users_home(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_model.test_a_question_is_answered_without_tools_and_leaves_nothing_in_the_users_home(
        program, tmp_path, monkeypatch
    )


@pytest.mark.parametrize("answer", [as_model.WRONG_KEY, as_model.TOO_LONG])
def test_what_will_never_pass_is_no_answer(program: str, answer: tuple[str, str, type[Exception]]) -> None:
    as_model.test_what_will_never_pass_is_reported_at_once_and_is_no_answer(program, *answer)


def test_what_may_pass_is_no_answer(program: str) -> None:
    as_model.test_what_may_pass_is_reported_as_such_and_is_no_answer(program)
