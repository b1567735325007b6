"""How a step changes the training state."""

from stages_doubles import append, attempt, evaluation

from etude.records import AppliedEdit, Candidate, Edit, Skill, TrainState, Verdict
from etude.stages.state import after_rollout, after_verdict
from rows import rows

OLD, NEW = Skill(text="old"), Skill(text="new")
START = TrainState(step=3, current=OLD, best=OLD, current_val=evaluation({"x": 0.5}), best_val=evaluation({"x": 0.5}))
MADE, MISSED = append("Sort.", "a"), Edit(op="delete", target="Gone.", cites=("b",))
CANDIDATE = Candidate(
    skill=NEW, origin="step", edits=(AppliedEdit(edit=MADE, fate="applied"), AppliedEdit(edit=MISSED, fate="missed"))
)


def test_of_several_attempts_at_a_task_one_that_failed_is_remembered_and_only_voids_are_voids() -> None:
    tries = [attempt(name, hard, task="x") for name, hard in (("a", 0.0), ("b", 0.5), ("c", 1.0), ("d", None))]
    state = after_rollout(START, [*tries, attempt("e", 1.0, task="y"), attempt("f", 1.0, task="y")])
    assert {task: each.solved for task, each in state.earlier.items()} == {"x": False, "y": True}
    assert state.voids == 1


def test_the_ledger_says_which_tasks_need_an_edit_and_why_the_others_went() -> None:
    edits = (AppliedEdit(edit=MADE, fate="applied"), AppliedEdit(edit=MISSED, fate="dropped", detail="Of no use."))
    candidate = Candidate(skill=NEW, origin="step", edits=edits)
    state = after_verdict(START, candidate, Verdict(accepted=True, reason=""), {MADE.id: ("x",)})
    assert [(entry.fate, entry.accepted, entry.needed, entry.why) for entry in state.ledger] == [
        ("applied", True, ("x",), ""),
        ("dropped", None, (), "Of no use."),
    ]


@rows(
    ("verdict", "accepted", "change"),
    [
        (Verdict(accepted=True, reason="", current=0.25, candidate=0.75), True, 0.5),
        (Verdict(accepted=False, reason="", current=0.5, candidate=0.5), False, 0.0),
        (Verdict(accepted=False, reason="raced", current=0.5, candidate=None), False, None),
        (Verdict(accepted=False, reason="nothing compared"), False, None),
        (None, None, None),
    ],
)
def test_every_edit_enters_the_ledger_with_what_came_of_it(
    verdict: Verdict | None, accepted: bool | None, change: float | None
) -> None:
    state = after_verdict(after_verdict(START, CANDIDATE, None), CANDIDATE, verdict)
    assert len(state.ledger) == 4
    entries = state.ledger[2:]
    assert [(entry.edit, entry.fate) for entry in entries] == [(MADE, "applied"), (MISSED, "missed")]
    assert [(entry.step, entry.accepted, entry.change) for entry in entries] == [
        (3, accepted, change),
        (3, None, None),  # nothing was decided on what was not made
    ]


def test_the_ledger_knows_the_types_of_the_tasks_an_edit_answers() -> None:
    attempts = [
        attempt("a", 0.0, kind="sum"),
        attempt("b", 0.0, kind="date"),
        attempt("c", 1.0, kind="date"),
        attempt("d", 0.0, kind="name"),
        attempt("v", None, kind="void"),
    ]
    edits = (append("One.", "a"), append("Many.", "c", "b", "a"), append("Unknown.", "z", "v"), append("None."))
    candidate = Candidate(
        skill=NEW, origin="step", edits=tuple(AppliedEdit(edit=edit, fate="applied") for edit in edits)
    )
    state = after_verdict(after_rollout(START, attempts), candidate, None)
    assert [entry.types for entry in state.ledger] == [("sum",), ("date", "sum"), (), ()]
