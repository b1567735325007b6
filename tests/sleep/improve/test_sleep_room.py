"""How long a learned block may become, who is told of it, and what is said of a candidate that is longer."""

from pathlib import Path

from small_night import Small

from etude.config import TrainConfig
from etude.published.gate import reason_not_to_evaluate
from etude.records import Skill
from etude.sleep.improve.consolidate import BLOCK_TOKENS, in_room

BEGIN, END = "<!-- etude:begin learned -->\n", "<!-- etude:end learned -->\n"


def document(block: str, head: str = "# House rules\n\n") -> Skill:
    return Skill(text=head + BEGIN + block + END)


def config(**reflect: str) -> TrainConfig:
    return TrainConfig.model_validate(
        {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}, "reflect": reflect}
    )


def test_a_block_may_be_as_long_as_its_budget_and_no_longer() -> None:
    before = document("- Be brief.\n")
    most = in_room(config(), before).skill.max_tokens
    room = 4 * BLOCK_TOKENS
    fits, long = document("- " + "x" * (room - 3) + "\n"), document("- " + "x" * (room + 4) + "\n")
    assert reason_not_to_evaluate(fits, before, (), most) == ""
    assert reason_not_to_evaluate(long, before, (), most) != ""


def test_the_optimizer_is_told_the_budget_and_what_is_left_after_the_house_rules() -> None:
    settings = config(preferences="We write British English.")
    said = in_room(settings, document("- " + "x" * 37 + "\n")).reflect.preferences
    assert said.startswith("We write British English.\n\n")
    assert "They had 10 before the first edit: about 1,490 are left." in said
    full = in_room(settings, document("- " + "x" * 8_000 + "\n")).reflect.preferences
    assert "before the first edit: it has to become shorter." in full


def test_the_limit_of_the_whole_document_still_holds_and_is_the_one_that_is_named() -> None:
    before = document("- Be brief.\n", head="x" * 19_000 + "\n\n")
    assert in_room(config(), before).skill.max_tokens == 5000


def test_a_document_without_a_block_has_no_such_budget() -> None:
    plain = Skill(text="# A skill\n\nDo it.\n")
    assert in_room(config(), plain) == config()


def test_a_night_tries_no_candidate_whose_block_is_too_long_and_says_so(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.skill.parent.mkdir(parents=True)
    small.skill.write_text(
        document("- Write for readers who are short of time, " + "and once more " * 424 + ".\n").text
    )
    report = small.night(train={"epochs": 1})
    shown = [text for text in small.optimizer.answered if "# Current skill" in text]
    assert shown
    assert all("about 1,500 tokens in all" in text for text in shown)
    assert (report.status, report.documents[0].status) == ("no change", "unchanged")
    assert report.documents[0].reason.endswith("more than the 1,500 that its learned block may have leave")
