"""Nights with answers that cannot be used: by a person, and by a judge who takes words for work."""

import re
from pathlib import Path

import pytest
from small_night import Small

from etude.config import ModelSection
from etude.errors import EtudeError, HandoffStop
from etude.models.handoff import HandoffModel
from etude.workbench import Given


def test_answers_in_files_that_cannot_be_used_are_mended_or_asked_again(tmp_path: Path) -> None:
    small, folder = Small(tmp_path, n=1), tmp_path / "night"
    optimizer = HandoffModel(str(folder), ModelSection(model=f"handoff:{folder}"), settled=0.02)
    answers = folder / "answers"

    def night() -> EtudeError:
        with pytest.raises(EtudeError) as error:
            small.night(given=Given(optimizer=optimizer))
        return error.value

    for _ in range(3):
        assert isinstance(night(), HandoffStop)
        for question in (folder / "questions").iterdir():
            (answers / question.name).write_text("No idea.")
    error = night()
    assert error.message.startswith(f"no session could be mined: handoff:{folder}: no usable answer in 3 replies; ")
    assert not re.search(r"_\w+Reply", error.message)
    assert error.hint == (
        f"fix these answers in {str(answers)!r}, or delete them to be asked again; then run the same command again"
    )
    for answer in answers.iterdir():
        answer.unlink()
    assert isinstance(night(), HandoffStop)
