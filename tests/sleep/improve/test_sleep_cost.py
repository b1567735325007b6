"""What a candidate costs in tokens is reported."""

import json
from pathlib import Path

from small_night import Finished
from test_sleep_consolidate import VAL, Optimizer, night

from etude import Task
from etude.cli.sleep.text import document_lines
from etude.records import ChatRequest, Reply, Usage
from etude.sleep.improve.changes import DocumentOutcome, reported

SIX = [*VAL, *(Task(id=f"v{number}", input=f"Task {number}.") for number in (7, 8, 9, 10))]
SLEEP = {"memory": False, "confirm_trials": 3}


def billed(folder: Path, before: int, after: int, optimizer: Optimizer | None = None) -> DocumentOutcome:
    """A night whose target says yes under the rule, with this many output tokens under either document."""

    def answer(request: ChatRequest) -> Reply:
        new = "Say yes." in request.messages[0].text
        usage = Usage(input_tokens=10, output_tokens=after if new else before)
        return Reply(text="yes" if new else "no", usage=usage)

    found, _ = night(folder, bool, optimizer or Optimizer("Say yes."), answer=answer, val=SIX, sleep=SLEEP)
    return found.changes[0]


def test_tokens_of_fresh_attempts_and_of_the_document_are_reported(tmp_path: Path) -> None:
    change = billed(tmp_path, 50, 80)
    assert change.cost is not None
    before, after = change.cost.document
    assert after - before == len("- Say yes.\n") // 4
    assert change.cost.answers == (50, 80)
    assert change.verdict == "ship"
    report = reported("learned", "SKILL.md", change, ())
    assert report.cost == change.cost
    assert f"  document about {before} -> {after} tokens, answers 50 -> 80 on average" in document_lines(report)


def test_the_report_says_what_it_costs(finished: Finished) -> None:
    cost = finished.report.documents[0].cost
    assert cost is not None
    found = json.loads((finished.small.state.night(1) / "night.json").read_text())["documents"][0]
    assert found["cost"] == json.loads(cost.model_dump_json())
