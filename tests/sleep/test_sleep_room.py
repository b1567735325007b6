"""How long a learned block may become, who is told of it, and what is said of a candidate that is longer."""

import re
from pathlib import Path
from typing import Any

import pytest
from etude.sleep.improve.room import in_room, no_room, told_of_room
from pydantic import ValidationError
from small_night import Small
from test_sleep_carry import SLEEP, a_night
from test_sleep_consolidate import VAL, Optimizer

from etude.config import TrainConfig
from etude.records import Skill
from etude.sleep.config import SleepSection
from etude.sleep.improve.changes import Known
from etude.stages.gate import reason_not_to_evaluate

BEGIN, END = "<!-- etude:begin learned -->\n", "<!-- etude:end learned -->\n"


def document(block: str, head: str = "# House rules\n\n") -> Skill:
    return Skill(text=head + BEGIN + block + END)


def config() -> TrainConfig:
    return TrainConfig.model_validate(
        {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    )


def test_a_block_may_be_as_long_as_its_budget_and_no_longer() -> None:
    before = document("- Be brief.\n")
    most = in_room(config(), before, 10).skill.max_tokens
    fits, long = document("- " + "x" * 37 + "\n"), document("- " + "x" * 44 + "\n")
    assert reason_not_to_evaluate(fits, before, (), most) == ""
    reason = reason_not_to_evaluate(long, before, (), most)
    assert (
        told_of_room(reason, config(), before, 10) == "a block of about 12 tokens, more than sleep.block_tokens = 10"
    )


def test_what_was_short_enough_to_be_tried_has_room_by_the_same_measure() -> None:
    for length in range(30, 50):
        for head in ("\n", "x\n", "xx\n", "xxx\n"):
            before, after = document("", head), document("- " + "x" * length + "\n", head)
            tried = reason_not_to_evaluate(after, before, (), in_room(config(), before, 10).skill.max_tokens)
            assert bool(no_room(after, 5000, 10)) == bool(tried)
    assert no_room(Skill(text="x" * 40), 9, 1) == "about 10 tokens, more than skill.max_tokens = 9"


def test_the_optimizer_is_told_the_budget_and_what_is_left_after_the_house_rules() -> None:
    settings = config()
    section = settings.reflect.model_copy(update={"preferences": "We write British English."})
    settings = settings.model_copy(update={"reflect": section})
    told = in_room(settings, document("- " + "x" * 37 + "\n"), 100).reflect.preferences
    assert told.startswith("We write British English.\n\n")
    assert (
        "about 100 tokens in all, which are 400 characters. They had 10 before the first edit: about 90 are" in told
    )
    full = in_room(settings, document("- " + "x" * 37 + "\n"), 5).reflect.preferences
    assert "They had 10 before the first edit: it has to become shorter." in full


def test_the_limit_of_the_whole_document_still_holds_and_is_the_one_that_is_named() -> None:
    before = document("- Be brief.\n", head="x" * 19_000 + "\n\n")
    assert in_room(config(), before, 1500).skill.max_tokens == 5000
    reason = "about 5100 tokens, more than skill.max_tokens = 5000"
    assert told_of_room(reason, config(), before, 1500) == reason


def test_a_document_without_a_block_has_no_such_budget() -> None:
    plain = Skill(text="# A skill\n\nDo it.\n")
    assert in_room(config(), plain, 1) == config()
    assert told_of_room("no edit changed anything", config(), plain, 1) == "no edit changed anything"


def test_a_budget_for_no_rule_at_all_is_refused() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 50"):
        SleepSection(block_tokens=49)


def test_a_night_tries_no_candidate_whose_block_is_too_long_and_says_so(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.skill.parent.mkdir(parents=True)
    small.skill.write_text(
        document("- Write for readers who are short of time, " + "and once more " * 10 + ".\n").text
    )
    report = small.night({"block_tokens": 50}, train={"epochs": 1})
    shown = [text for text in small.optimizer.answered if "# Current skill" in text]
    told = "about 50 tokens in all, which are 200 characters. They had 47 before the first edit: about 3 are left"
    assert shown
    assert all(told in text for text in shown)
    assert (report.status, report.documents[0].status) == ("no change", "unchanged")
    assert re.fullmatch(
        r"a block of about \d+ tokens, more than sleep\.block_tokens = 50", report.documents[0].reason
    )
    small.write(5, 9)
    assert small.night({"block_tokens": 100}, train={"epochs": 1}).status == "proposed"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"sleep": {**SLEEP, "block_tokens": 60}}, "a block of about 197 tokens, more than sleep.block_tokens = 60"),
        ({"config": {"skill": {"max_tokens": 200}}}, "about 228 tokens, more than skill.max_tokens = 200"),
    ],
)
def test_a_candidate_that_the_settings_leave_no_room_for_is_dropped(
    tmp_path: Path, more: dict[str, Any], why: str
) -> None:
    first = a_night(tmp_path, optimizer=Optimizer("Say yes. " + "Words that nobody needs. " * 31))
    second = a_night(tmp_path, Known(night=2, carried=first.carried), val=VAL, **more)
    assert f"the candidate of night 1 is dropped: {why}" in second.reason
    assert second.origin is None
