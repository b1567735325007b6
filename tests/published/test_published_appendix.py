"""The appendix: reminders in a region of their own, each once."""

from etude.published.update_modes.appendix import add_reminders, reminders_in
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
