"""Forms of the update modes: whatever the optimizer fills in ends as edits."""

from stages_doubles import edit_row as row

from etude.published.update_modes.forms import RoutedReply


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
