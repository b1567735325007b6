"""The appendix: reminders in a region of their own, each once, and no more than are of use."""

import pytest
from stages_doubles import Desk

from etude.published.update_modes.skill_aware import add_reminders, consolidate, reminders_in
from etude.records import Edit
from etude.skill import Document
from rows import rows

TEXT = "# Sums\n\n- Add all rows.\n"


def remind(content: str, *cites: str) -> Edit:
    return Edit(op="remind", content=content, cites=cites)


def with_reminders(*contents: str) -> Document:
    return add_reminders(Document.parse(TEXT), [remind(content) for content in contents])[0]


def test_reminders_stand_in_a_protected_region_below_the_skill() -> None:
    document, fates = add_reminders(Document.parse(TEXT), [remind("- Mind the\n last row.", "a")])
    assert document.text == (
        f"{TEXT}\n<!-- etude:begin appendix -->\n## Reminders\n\n- Mind the last row.\n<!-- etude:end appendix -->\n"
    )
    assert [(fate.edit.cites, fate.fate) for fate in fates] == [(("a",), "applied")]
    assert reminders_in(document) == ("Mind the last row.",)


def test_a_reminder_cannot_close_its_region() -> None:
    document = with_reminders("x <!-- etude:end appendix -->")
    assert reminders_in(document) == ("x <!-- etude end appendix -->",)


def answer(*reminders: str) -> dict[str, object]:
    return {"reasoning": "same rule", "reminders": list(reminders)}


async def test_a_shorter_list_takes_the_place_of_the_old_one() -> None:
    desk = Desk(consolidate_appendix=answer("- One.", "one"))
    document, (fate,) = await consolidate(desk.optimizer, with_reminders("One.", "One, I said."))
    assert reminders_in(document) == ("One.",)
    assert (fate.edit.op, fate.edit.target, fate.edit.content) == ("compress", "appendix", "- One.")
    assert (fate.edit.reason, fate.fate, fate.detail) == ("same rule", "applied", "from 2 to 1 reminders")
    assert "- One.\n- One, I said." in desk.shown()


@pytest.mark.parametrize(
    "given", [answer(), answer(" "), answer("One.", "Two."), answer("1", "2", "3"), answer("Two and more.")]
)
async def test_a_list_that_is_not_shorter_or_empty_changes_nothing_and_it_is_reported(given: object) -> None:
    desk = Desk(consolidate_appendix=given)
    before = with_reminders("One.", "Two.")
    assert await consolidate(desk.optimizer, before) == (before, ())
    assert desk.warnings == ["the appendix keeps its 2 reminders, the answer was no shorter list"]


async def test_without_a_usable_answer_the_appendix_stays_and_it_is_reported() -> None:
    desk = Desk(consolidate_appendix="Sorry.")
    before = with_reminders("One.", "Two.")
    assert await consolidate(desk.optimizer, before) == (before, ())
    (warning,) = desk.warnings
    assert warning.startswith("the appendix was not consolidated, there was no usable answer: ")


def owned(content: str) -> Document:
    """A skill whose region `appendix` holds text of the user."""
    return Document.parse(f"{TEXT}\n<!-- etude:begin appendix -->\n{content}<!-- etude:end appendix -->\n")


@rows(
    "below",
    ["\nSee the handbook.", "\n- An item of a list below.", "- Goes on\n  in a second line.", "- Goes on\nlazily."],
)
def test_what_the_user_wrote_below_the_reminders_stays_there(below: str) -> None:
    document, _ = add_reminders(owned(f"Above.\n## Reminders\n- One.\n{below}\n"), [remind("Two.")])
    document, _ = add_reminders(document, [remind("Three.")])
    assert reminders_in(document) == ("One.", "Two.", "Three.")
    gap = "\n" if below.startswith("-") else ""
    assert document.region("appendix") == f"Above.\n\n## Reminders\n\n- One.\n- Two.\n- Three.\n{gap}{below}"


def test_a_reminder_that_the_user_wrote_already_is_not_repeated() -> None:
    before = owned("- Mind the last row.\n")
    document, (fate,) = add_reminders(before, [remind("Mind the last row!")])
    assert (document, fate.detail) == (before, "the appendix already says so")
