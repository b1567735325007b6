"""What a candidate costs in tokens is told, and a gain that costs much is left to a person."""

import json
from pathlib import Path

from small_night import Small
from test_sleep_consolidate import VAL, Optimizer, night

from etude import Task
from etude.cli.sleep.text import document_lines
from etude.records import ChatRequest, Reply, Usage
from etude.sleep.improve.changes import Change, Cost, worst
from etude.sleep.report import diagnosed
from rows import rows

SIX = [*VAL, *(Task(id=f"v{number}", input=f"Task {number}.") for number in (7, 8, 9, 10))]
SLEEP = {"memory": False, "confirm_trials": 3}


@rows(
    ("document", "answers", "what"),
    [
        ((100, 300), None, ""),
        ((100, 301), None, "document becomes"),
        ((300, 600), (100.0, 300.0), ""),
        ((300, 300), (100.0, 301.0), "answers become"),
        ((100, 400), (100.0, 400.0), "document and answers become"),
        ((5_000, 5_400), (90.0, 181.0), ""),
    ],
)
def test_much_longer_is_more_than_twice_as_long_and_more_than_200_tokens(
    document: tuple[int, int], answers: tuple[float, float] | None, what: str
) -> None:
    told = Cost(document=document, answers=answers).much_longer
    assert told == (f"{what} more than twice as long: a person decides whether that is worth it" if what else "")


def billed(folder: Path, before: int, after: int, optimizer: Optimizer | None = None) -> Change:
    """A night whose target says yes under the rule, with so many output tokens under either document."""

    def answer(request: ChatRequest) -> Reply:
        new = "Say yes." in request.messages[0].text
        usage = Usage(input_tokens=10, output_tokens=after if new else before)
        return Reply(text="yes" if new else "no", usage=usage)

    found, _ = night(folder, bool, optimizer or Optimizer("Say yes."), answer=answer, val=SIX, sleep=SLEEP)
    return found.changes[0]


def test_tokens_of_fresh_attempts_and_of_the_document_are_told(tmp_path: Path) -> None:
    change = billed(tmp_path, 50, 80)
    assert change.cost is not None
    before, after = change.cost.document
    assert after - before == len("- Say yes.\n") // 4
    assert change.cost.answers == (50, 80)
    assert (change.verdict, change.longer, worst([change])) == ("ship", "", "ship")
    report = diagnosed("learned", "SKILL.md", change, ())
    assert report.cost == change.cost
    assert f"  document about {before} -> {after} tokens, answers 50 -> 80 on average" in document_lines(report)


def test_a_gain_that_makes_answers_much_longer_is_left_to_a_person(tmp_path: Path) -> None:
    change = billed(tmp_path, 50, 300)
    assert (change.status, change.proposed) == ("accepted", True)
    assert (change.verdict, worst([change])) == ("inconclusive", "inconclusive")
    assert diagnosed("learned", "SKILL.md", change, ()).reason.endswith(
        "; answers become more than twice as long: a person decides whether that is worth it"
    )


def test_a_gain_that_makes_the_document_much_longer_is_left_to_a_person(tmp_path: Path) -> None:
    change = billed(tmp_path, 50, 50, optimizer=Optimizer("Say yes. " + "Say it loudly and clearly. " * 40))
    assert (change.status, change.verdict) == ("accepted", "inconclusive")
    assert "; document becomes more than twice as long" in diagnosed("learned", "SKILL.md", change, ()).reason


def test_the_proposal_says_what_it_costs(tmp_path: Path) -> None:
    small = Small(tmp_path)
    report = small.night()
    cost = report.documents[0].cost
    assert cost is not None
    assert cost.told in (Path(report.proposal) / "report.md").read_text().replace("\\>", ">")
    found = json.loads((small.state.night(1) / "night.json").read_text())["documents"][0]
    assert found["cost"] == json.loads(cost.model_dump_json())
