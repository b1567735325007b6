"""What changed a skill, and what each line of it rests on."""

from etude.records import AppliedEdit, Attempt, Candidate, Edit, EditEvidence, Proof, Score, Skill, Task, TrainState
from etude.skill import Document, apply_edits
from etude.store.provenance import Changes, exported
from rows import rows

UNDO = Edit(op="replace", target="- Guess the units.", content="- Check the units.")
SKILL = Skill(name="sums", text="# Sums\n\n- Check the units.\n")


def attempt(name: str, hard: float, skill: Skill = SKILL) -> Attempt:
    made = Attempt(
        id=f"a-{name}-{hard:g}",
        task=Task(id=name, input="?"),
        skill_hash=skill.hash,
        outcome="completed",
        score=Score(hard=hard, soft=hard),
    )
    return made.model_copy(update={"facts": {f"reply {name}{hard:g}": "0"}})


def states(before: Skill, after: Skill, *earlier: Attempt) -> tuple[TrainState, TrainState]:
    state = TrainState(current=before, best=before, earlier={one.task.id: one for one in earlier})
    return state, state.model_copy(update={"current": after})


def test_an_edit_has_the_failures_it_cites_and_the_attempts_that_proved_it() -> None:
    failed, other = attempt("one", 0), attempt("two", 0)
    rule = Edit(op="append", content="- Carry the one.", cites=(failed.id,))
    better = SKILL.with_text(f"{SKILL.text}- Carry the one.\n")
    proof = Proof(edits=(EditEvidence(edit=rule, kept=True, fixes=("one",), needed=("one",)),), failed=2)
    changes = Changes(SKILL)
    changes.tried([attempt("one", 1, better), attempt("two", 0.5, better)], proof)
    made = Candidate(skill=better, origin="step", edits=(AppliedEdit(edit=rule, fate="applied"),))
    changes.decided("steps/0001", states(SKILL, better, failed, other), made, "kept 1", {"reply o": "1"})
    found = changes.of(better, "run", "id", simulated=False)
    assert [line.origin for line in found.lines] == ["initial", "initial", "initial", "step"]
    (change,) = found.changes
    (edit,) = change.edits
    assert (edit.failures, edit.solved, edit.needed) == ({failed.id: "one"}, ("one",), ("one",))
    assert (edit.attempts, edit.facts) == (2, {"reply one0": "0", "reply one1": "0"})
    assert change.facts == {"reply o": "1"}


@rows(("standing", "undone"), [("proved", [UNDO]), ("trusted", [UNDO, Edit(op="delete", target="- Two.\n")])])
def test_what_takes_an_edit_back_rests_on_its_race(standing: str, undone: list[Edit]) -> None:
    """Also the line that stands again where one was replaced. Several together have won theirs together."""
    bad = SKILL.with_text("# Sums\n\n- Guess the units.\n- Two.\n")
    after, fates = apply_edits(bad.text, undone)
    changes = Changes(bad)
    changes.tried([attempt("one", 1, bad), attempt("two", 0, bad)])
    changes.decided(
        "steps/0002",
        states(bad, bad.with_text(after)),
        Candidate(skill=bad.with_text(after), origin="tidy", edits=fates),
        "edits break tasks: 1 attempts score +1 without",
        {},
    )
    found = changes.of(bad.with_text(after), "run", "id", simulated=False)
    (again,) = [line for line in found.lines if line.text == "- Check the units."]
    edit = found.changes[0].edits[again.edits[0]]
    assert (again.origin, edit.standing, edit.tested) == ("tidy", standing, found.changes[0].reason)
    assert (edit.attempts, edit.facts) == (2, {"reply one1": "0", "reply two0": "0"})


def test_guidance_answers_the_compared_tasks_that_failed() -> None:
    guided = SKILL.with_text(Document.parse(SKILL.text).with_region("slow_update", "Slow down.").text)
    failed, changes = attempt("one", 0), Changes(SKILL)
    changes.tried([failed, attempt("two", 1)])
    made = Candidate(skill=guided, origin="slow_update")
    changes.decided("epochs/02", states(SKILL, guided), made, "accepted", {})
    line = next(line for line in changes.of(guided, "run", "id", simulated=False).lines if "Slow" in line.text)
    assert (line.origin, line.change, line.edits) == ("slow_update", 0, (0,))
    (edit,) = changes.of(guided, "run", "id", simulated=False).changes[0].edits
    assert edit.failures == {failed.id: "one"}


def test_what_was_rejected_leaves_no_trace_and_an_unreported_change_is_said_to_be_one() -> None:
    changes, other = Changes(SKILL), SKILL.with_text(f"{SKILL.text}- From nowhere.\n")
    changes.tried([attempt("one", 0)])
    changes.decided("steps/0001", states(SKILL, SKILL), Candidate(skill=other, origin="step"), "rejected", {})
    assert not changes.of(SKILL, "run", "id", simulated=False).changes
    found = changes.of(other, "run", "id", simulated=False)
    assert found.changes[found.lines[-1].change or 0].reason == "the search policy did not report this change"


def test_lines_that_an_export_adds_are_the_export_s() -> None:
    found = exported(Changes(SKILL).of(SKILL, "run", "id", simulated=False), f"---\nname: sums\n---\n\n{SKILL.text}")
    assert [line.origin for line in found.lines] == ["export"] * 4 + ["initial"] * 3
