"""What makes the candidates of a night is picked by what earlier nights brought, once for each night."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from small_night import Small

from etude.config import ModelSection
from etude.errors import BudgetStop, ConfigError, EtudeError
from etude.models import build_model
from etude.records import ChatRequest
from etude.sleep.adoption.adopt import adopt
from etude.sleep.config import SleepConfig, SleepSection
from etude.sleep.improve.changes import LeftOut
from etude.sleep.improve.documents import Improved
from etude.sleep.improve.proposers import (
    PROPOSERS,
    Pick,
    Played,
    Proposer,
    Proposers,
    applied,
    credited,
    picked,
    read_proposers,
)
from etude.sleep.night import run_night
from etude.sleep.report import NightReport, untrained
from etude.workbench import Given

ARMS: tuple[Proposer, ...] = ("rewrite", "contrast", "prune")
UNTRIED = "auto: no night with a decision has tried it"


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path, n=3)


def played(proposer: Proposer, accepted: bool, attempts: int = 10, *, tasks: int = 5, night: int = 1) -> Played:
    return Played(night=night, proposer=proposer, accepted=accepted, attempts=attempts, tasks=tasks)


def after(small: Small, *nights: Played) -> SleepConfig:
    """The settings of `auto` after these nights."""
    small.state.make()
    small.state.write(small.state.folder / PROPOSERS, Proposers(nights=nights).model_dump_json())
    return small.config({"proposer": "auto"})


def trained(small: Small, report: NightReport) -> Mapping[str, Any]:
    """The section `train` with which the skill was improved."""
    path = small.state.night(report.night) / "runs" / "learned" / "skill" / "config.yaml"
    return yaml.safe_load(path.read_text())["train"]


def stopped(small: Small, proposer: str) -> None:
    """The first night, stopped while the skill is improved."""

    def stop(request: ChatRequest) -> None:
        del request
        if list(small.state.night(1).rglob("steps")):
            raise BudgetStop("enough 7712")

    small.before = stop
    with pytest.raises(BudgetStop):
        small.night({"proposer": proposer})
    small.before = lambda request: None


def test_unless_it_is_asked_for_a_night_is_one_rewrite_first_and_says_nothing(small: Small) -> None:
    report = small.night()
    assert report.proposer == Pick(name="rewrite", why="")
    assert trained(small, report)["attempts"] == 1
    assert applied(small.config(), "rewrite") == small.config()


def test_each_proposer_is_tried_once_first_and_the_rewrite_before_all(small: Small) -> None:
    for number, arm in enumerate(ARMS):
        report = small.night({"proposer": "auto"})
        assert report.proposer == Pick(name=arm, why=UNTRIED)
        assert report.documents[0].status == "accepted"
        small.write(3 + 3 * number, 6 + 3 * number)
    known = read_proposers(small.state).nights
    assert [(one.night, one.proposer, one.accepted, one.tasks) for one in known] == [
        (at, arm, True, 3) for at, arm in enumerate(ARMS, 1)
    ]
    for night, tries in zip(known, (1, 3, 1), strict=True):
        held_out = sum(task["split"] == "val" for task in small.tasks(night.night))
        # Held-out tasks: before, under the candidate, and three times under both for the verdict.
        assert night.attempts == tries * (3 - held_out) + 8 * held_out
    assert small.night({"proposer": "auto"}).proposer.why.endswith("after 3 nights with a decision")


def test_the_highest_bound_is_picked_and_what_it_costs_counts(small: Small) -> None:
    nights = (
        played("rewrite", True, 10, night=1),
        played("contrast", True, 25, night=2),
        played("prune", False, 10, night=3),
        played("rewrite", False, 10, night=4),
    )
    config = after(small, *nights)
    width = 2 * math.log(4)
    assert Proposers(nights=nights).bounds() == pytest.approx(
        {"rewrite": 1 / 2 + math.sqrt(width / 2), "contrast": 1 / 2.5 + math.sqrt(width), "prune": math.sqrt(width)}
    )
    assert picked(config, small.state) == Pick(
        name="contrast",
        why="auto: the highest of rewrite 1.68, contrast 2.07, prune 1.67 after 4 nights with a decision",
    )


def test_a_night_of_more_tasks_is_no_dearer_proposer() -> None:
    nights = (
        played("rewrite", True, 100, tasks=50),
        played("contrast", True, 10, tasks=5),
        played("prune", True, 2, tasks=1),
    )
    assert len(set(Proposers(nights=nights).bounds().values())) == 1


def test_of_equal_ones_the_first_is_picked(small: Small) -> None:
    config = after(small, *(played(arm, False, night=at) for at, arm in enumerate(ARMS, 1)))
    assert picked(config, small.state).name == "rewrite"


@pytest.mark.parametrize("best", ARMS)
def test_what_alone_brings_proposals_is_picked_most_often(small: Small, best: Proposer) -> None:
    nights: list[Played] = []
    for night in range(1, 61):
        pick = picked(after(small, *nights), small.state).name
        nights.append(played(pick, pick == best, night=night))
    counts = {arm: sum(night.proposer == arm for night in nights) for arm in ARMS}
    assert counts[best] > 2 * max(count for arm, count in counts.items() if arm != best)
    assert min(counts.values()) > 1


def test_of_proposers_that_bring_the_same_the_cheap_one_is_picked_most_often(small: Small) -> None:
    nights: list[Played] = []
    for night in range(1, 61):
        pick = picked(after(small, *nights), small.state).name
        nights.append(played(pick, True, {"rewrite": 30, "contrast": 10, "prune": 30}[pick], night=night))
    assert sum(night.proposer == "contrast" for night in nights) > 30


def test_contrast_attempts_each_training_task_three_times(small: Small) -> None:
    report = small.night({"proposer": "contrast"})
    assert report.proposer.told == "contrast: sleep.proposer names it"
    assert trained(small, report)["attempts"] == 3


def test_prune_leaves_an_old_rule_out_on_trial(small: Small) -> None:
    adopt(Path(small.night().proposal), small.project, small.state.folder)
    small.write(3, 6)
    report = small.night({"proposer": "prune"})
    assert list(small.state.night(2).rglob("retire-skill"))
    small.write(6, 9)
    small.night()
    assert not list(small.state.night(3).rglob("retire-skill"))
    assert report.proposer.name == "prune"


@pytest.mark.parametrize(
    ("proposer", "more", "told"),
    [
        ("contrast", {"train": {"attempts": 1}}, "train.attempts = 1 is set and wins over it"),
        ("contrast", {"train": {"attempts": 5}}, "train.attempts = 5 is set and wins over it"),
        ("prune", {"sleep": {"retire": 0}}, "sleep.retire = 0 is set and wins over it"),
        ("prune", {"train": {"attempts": 2}}, ""),
    ],
)
def test_what_the_user_has_set_wins_and_is_said(
    small: Small, proposer: Proposer, more: dict[str, dict[str, Any]], told: str
) -> None:
    sleep = {"proposer": proposer, **more.get("sleep", {})}
    config = small.config(sleep, **{name: value for name, value in more.items() if name != "sleep"})
    pick = picked(config, small.state)
    assert pick.why == "; ".join(["sleep.proposer names it", *([told] if told else [])])
    used = applied(config, pick.name)
    assert (used == config) is bool(told)
    if not told:
        assert (used.sleep.retire, used.train.attempts) == (1, 2)


def test_what_is_set_to_the_same_value_wins_over_nothing(small: Small) -> None:
    config = small.config({"proposer": "prune", "retire": 1})
    assert picked(config, small.state).why == "sleep.proposer names it"


def test_what_the_user_has_set_is_said_where_the_nights_pick_as_well(small: Small) -> None:
    nights = after(small, played("rewrite", True))
    config = small.config({"proposer": "auto"}, train={"attempts": 2})
    assert nights.sleep == config.sleep
    assert picked(config, small.state).why == f"{UNTRIED}; train.attempts = 2 is set and wins over it"


def test_a_night_that_only_left_a_rule_out_counts_for_its_proposer(small: Small) -> None:
    adopt(Path(small.night().proposal), small.project, small.state.folder)
    nights = (played("contrast", False, night=0), played("rewrite", True, night=1))
    config = after(small, *nights)
    assert picked(config, small.state).name == "prune"
    small.write(3, 6)
    report = small.night({"proposer": "auto"})
    (document,) = report.documents
    assert (report.proposer.name, document.status) == ("prune", "unchanged")
    assert [rule.retired for rule in document.left_out] == [False]
    last = read_proposers(small.state).nights[-1]
    assert (last.night, last.proposer, last.accepted) == (2, "prune", False)
    assert picked(config, small.state).why.startswith("auto: the highest of ")


def test_a_rule_that_goes_counts_beside_a_candidate_of_an_earlier_night() -> None:
    kept, gone = LeftOut(rule="a", text="A", tasks=2, missed=("m1",)), LeftOut(rule="b", text="B", tasks=2)
    nothing = untrained("learned", "SKILL.md", 0)
    of_earlier = nothing.model_copy(update={"status": "accepted", "origin": 1})
    assert Improved(documents=(of_earlier,)).decided == ()
    for rules, came in ((kept,), "rejected"), ((kept, gone), "accepted"):
        assert Improved(documents=(of_earlier.model_copy(update={"left_out": rules}),)).decided == (came,)


def test_only_nights_with_a_decision_count_and_each_once(small: Small) -> None:
    small.state.make()
    for night, statuses in (
        (1, ["accepted", "unchanged"]),
        (2, ["unchanged", "unverified"]),
        (3, []),
        (4, ["rejected"]),
        (5, ["inconclusive"]),
    ):
        credited(small.state, night, "rewrite", statuses, 4)
        credited(small.state, night, "contrast", statuses, 9)
    found = [(one.night, one.proposer, one.accepted, one.tasks) for one in read_proposers(small.state).nights]
    assert found == [(1, "rewrite", True, 4), (4, "rewrite", False, 4), (5, "rewrite", False, 4)]


def test_a_night_that_goes_on_has_the_proposer_that_it_began_with(small: Small) -> None:
    stopped(small, "auto")
    after(small, played("rewrite", True, night=0))  # by this alone it would be another one
    report = small.night({"proposer": "auto"})
    assert (report.night, report.starts) == (1, 2)
    assert report.proposer == Pick(name="rewrite", why=UNTRIED)
    assert [(one.night, one.proposer) for one in read_proposers(small.state).nights] == [
        (0, "rewrite"),
        (1, "rewrite"),
    ]


def test_a_setting_that_wins_over_the_proposer_ends_a_night_that_began_without_it(small: Small) -> None:
    stopped(small, "contrast")
    report = small.night({"proposer": "contrast"}, train={"attempts": 1})  # the default, and set
    assert report.night == 2
    assert trained(small, report)["attempts"] == 1
    first = json.loads((small.state.night(1) / "night.json").read_text())
    assert first["reason"] == "night 1 began with other settings: train.attempts (set)"


@pytest.mark.parametrize("proposer", ["auto", "prune"])
def test_without_fresh_attempts_there_is_nothing_to_learn_from(proposer: str) -> None:
    with pytest.raises(ValidationError, match=f"proposer: {proposer} needs fresh attempts, and confirm_trials is 0"):
        SleepSection.model_validate({"proposer": proposer, "confirm_trials": 0})
    assert SleepSection(proposer="contrast", confirm_trials=0).confirm_trials == 0


@pytest.mark.parametrize("as_object", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "without"),
    [*(("proposer", name, "rewrite") for name in ("auto", "contrast", "prune")), ("retire", 1, 0)],
)
def test_where_a_person_answers_attempts_cannot_be_compared(
    small: Small, name: str, value: str | int, without: str | int, as_object: bool
) -> None:
    person = ModelSection(model=f"handoff:{small.root / 'asked'}")
    settings = small.config({name: value}, **({} if as_object else {"target": {"model": person.model}}))
    with pytest.raises(ConfigError) as caught:
        run_night(settings, small.around, given=Given(target=build_model(person)) if as_object else None)
    assert caught.value.message == (
        f"sleep.{name} = {value!r} compares attempts at one task, and a person answers each question once "
        f"({person.model!r})"
    )
    assert caught.value.hint == f"set sleep.{name}: {without}"
    assert (small.answered, small.state.numbers()) == (0, [])


def test_a_damaged_file_is_told_before_anything_is_asked(small: Small) -> None:
    small.state.make()
    path = small.state.folder / PROPOSERS
    path.write_text("{")
    with pytest.raises(EtudeError) as caught:
        small.night({"proposer": "auto"})
    assert caught.value.message.startswith(f"{str(path)!r} cannot be read: ")
    assert caught.value.hint == "restore it, or remove it"
    assert (small.answered, small.state.numbers()) == (0, [])


def test_a_candidate_of_an_earlier_night_is_no_credit_to_the_proposer_of_tonight(tmp_path: Path) -> None:
    small = Small(tmp_path)
    auto = {"confirm_trials": 2, "proposer": "auto"}
    assert small.night(auto).documents[0].carried
    small.write(5, 14)
    report = small.night(auto)
    assert (report.proposer.name, report.documents[0].status, report.documents[0].origin) == (
        "contrast",
        "accepted",
        1,
    )
    assert [(one.night, one.proposer, one.accepted) for one in read_proposers(small.state).nights] == [
        (1, "rewrite", False)
    ]
