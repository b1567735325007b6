"""Forms of proposals: whatever the optimizer fills in ends as edits, and evidence is checked by code."""

import pytest
from stages_doubles import append
from stages_doubles import edit_row as row

from etude.models.wrappers.schema import strict_schema
from etude.prompts import Prompts
from etude.records import Edit
from etude.stages.shared.proposals import (
    DocumentReply,
    EditReply,
    PatchReply,
    Proposals,
    RoutedReply,
    SuggestionsReply,
    folded,
    valid_edits,
)
from rows import rows

FORMS = (PatchReply, RoutedReply, SuggestionsReply, DocumentReply)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_words_that_ask_for_it_and_name_its_fields(form: type[Proposals]) -> None:
    words = Prompts()[form.returns]
    for name in strict_schema(form)["properties"]:
        assert f'"{name}": ' in words


@rows(
    ("op", "target", "content"),
    [("append", "", "new"), ("insert_after", "old", "new"), ("replace", "old", "new"), ("delete", "old", "")],
)
def test_an_edit_is_the_row_without_what_its_operation_does_not_use(op: str, target: str, content: str) -> None:
    reply = EditReply.model_validate(row("new", "a", op=op, target="old", reason="why"))
    wanted = {"op": op, "target": target, "content": content, "reason": "why", "cites": ("a",)}
    assert reply.edit() == Edit.model_validate(wanted)


def test_suggestions_become_edits_as_they_are() -> None:
    rows = [row("Say it once.", "a", op="merge", target="x"), row("Be exact.", "b", op="add")]
    reply = SuggestionsReply.model_validate({"reasoning": "r", "suggestions": rows})
    assert [(edit.op, edit.target, edit.content, edit.cites) for edit in reply.proposed()] == [
        ("merge", "x", "Say it once.", ("a",)),
        ("add", "", "Be exact.", ("b",)),
    ]


@pytest.mark.parametrize("form", [PatchReply, SuggestionsReply])
def test_operations_of_another_form_are_refused(form: type[Proposals]) -> None:
    other = "add" if form is PatchReply else "append"
    with pytest.raises(ValueError, match="op"):
        form.model_validate({"reasoning": "", "edits": [row("x", op=other)], "suggestions": [row("x", op=other)]})


def test_a_document_is_one_edit_and_an_empty_one_none() -> None:
    reply = DocumentReply(reasoning="r", document="# Skill\n", cites=("a",))
    assert reply.proposed() == (Edit(op="rewrite", content="# Skill\n", reason="r", cites=("a",)),)
    assert DocumentReply(reasoning="r", document=" \n", cites=("a",)).proposed() == ()


@pytest.mark.parametrize("form", [PatchReply, SuggestionsReply, DocumentReply])
def test_only_routed_replies_know_of_lapses_and_reminders(form: type[Proposals]) -> None:
    reply = form.model_validate({"reasoning": "", "edits": [], "suggestions": [], "document": "", "cites": []})
    assert (reply.reminded(), reply.lapses()) == ((), ())


def routed(*routes: tuple[str, str], edits=(), reminders=()) -> RoutedReply:
    rows = [{"content": content, "reason": "", "cites": list(cites)} for content, *cites in reminders]
    causes = [{"attempt": attempt, "cause": cause} for attempt, cause in routes]
    return RoutedReply.model_validate({"reasoning": "", "routes": causes, "edits": edits, "reminders": rows})


def test_edits_do_not_answer_lapses_and_reminders_do_not_answer_defects() -> None:
    reply = routed(
        ("a", "skill_defect"),
        ("b", "execution_lapse"),
        edits=[row("Sort.", "a", "b"), row("Add.", "b", "c")],
        reminders=[("Mind the order.", "a", "b", "c")],
    )
    assert [edit.cites for edit in reply.proposed()] == [("a",), ("c",)]
    assert [(edit.op, edit.content, edit.cites) for edit in reply.reminded()] == [
        ("remind", "Mind the order.", ("b", "c"))
    ]
    assert reply.lapses() == ("b",)


def test_what_is_said_last_about_a_failure_counts() -> None:
    reply = routed(("a", "execution_lapse"), ("a", "skill_defect"), edits=[row("Sort.", "a")])
    assert (reply.proposed()[0].cites, reply.lapses()) == (("a",), ())


def test_an_empty_reminder_is_none() -> None:
    assert routed(reminders=[(" \n", "a")]).reminded() == ()


def test_citations_of_unknown_attempts_are_dropped_and_repeated_ones_count_once() -> None:
    ((edit,), dropped) = valid_edits([append("Sort.", "b", "zzz", "a", "b")], ("a", "b"))
    assert (edit.cites, edit.support, dropped) == (("b", "a"), 2, ())


def test_an_edit_that_cites_nothing_known_is_set_apart() -> None:
    kept, (dropped, other) = valid_edits([append("Sort.", "zzz"), append("Add.")], ("a", "b"))
    assert kept == ()
    assert (dropped.content, dropped.cites, other.content) == ("Sort.", (), "Add.")


@pytest.mark.parametrize("text", ["Keep  it short", "- keep it\nSHORT.", "**Keep** it short!"])
def test_case_blanks_marks_and_a_final_stop_make_no_difference(text: str) -> None:
    assert folded(text) == "keep it short"
