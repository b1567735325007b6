"""Citations that can only mean one attempt are repaired by code."""

from etude.published.update_modes.forms import ReminderReply, RoutedReply, RouteReply
from etude.records import Attempt, Score, Task, Trajectory
from etude.stages.shared.citations import Citations
from etude.stages.shared.proposals import EditReply, PatchReply
from rows import rows


def attempt(id: str, task: str) -> Attempt:
    return Attempt(
        id=id,
        task=Task(id=task, input="Add 1 and 2.", gold="3"),
        skill_hash="s",
        trial=0,
        outcome="completed",
        trajectory=Trajectory(answer="4"),
        score=Score(hard=0.0, soft=0.0, feedback="It is 3."),
    )


SHOWN = [attempt("a-1f2e3d4c", "sum-0001"), attempt("a-9b8a7c6d", "sum-0002"), attempt("b-77777777", "product-9")]
MEANT = ["a-1f2e3d4c", "a-9b8a7c6d", "b-77777777"]


def patch(cites: object) -> PatchReply:
    edit = {"op": "append", "target": "", "content": "- Add.", "reason": "", "cites": cites}
    return PatchReply.model_validate({"reasoning": "", "edits": [edit]})


@rows("cites", [[], ["a-00000000"], ["d4c"], [""], "", ["sum"]])
def test_what_means_none_or_several_counts_for_all_that_were_meant(cites) -> None:
    citations = Citations(SHOWN, MEANT)
    (edit,) = citations.read(patch(cites)).proposed()
    assert list(edit.cites) == MEANT
    assert (citations.uncited, citations.repaired) == (1, 0)


def test_routes_are_repaired_before_they_decide() -> None:
    reply = RoutedReply(
        reasoning="",
        routes=(RouteReply(attempt="sum-0001", cause="execution_lapse"),),
        edits=(EditReply(op="append", target="", content="- Add.", reason="", cites=("1f2e3d4c", "b-77777777")),),
        reminders=(ReminderReply(content="Add.", reason="", cites=("sum-0001",)),),
    )
    read = Citations(SHOWN, MEANT).read(reply)
    assert read.lapses() == ("a-1f2e3d4c",)
    assert [edit.cites for edit in read.proposed()] == [("b-77777777",)]
    assert [edit.cites for edit in read.reminded()] == [("a-1f2e3d4c",)]
