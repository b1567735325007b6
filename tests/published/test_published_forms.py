"""Forms of the update modes: whatever the optimizer fills in ends as edits."""

import pytest
from stages_doubles import edit_row as row

from etude.models.wrappers.schema import strict_schema
from etude.prompts import Prompts
from etude.published.update_modes.forms import DocumentReply, RoutedReply, SuggestionsReply
from etude.records import Edit
from etude.stages.shared.proposals import PatchReply, Proposals

FORMS = (PatchReply, RoutedReply, SuggestionsReply, DocumentReply)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_words_that_ask_for_it_and_name_its_fields(form: type[Proposals]) -> None:
    words = Prompts()[form.returns]
    for name in strict_schema(form)["properties"]:
        assert f'"{name}": ' in words


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
