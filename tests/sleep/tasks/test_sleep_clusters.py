import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.likeness import NEAR, likeness
from etude.records import Split
from etude.sleep.tasks.clusters import alike, by_recurrence, divide, near
from etude.sleep.tasks.mined import MinedTask, SessionRef
from rows import rows

TOPICS = "invoices parsers holidays databases newsletters budgets passwords recipes mountains"
VERBS = "Summarise the; Translate all; Sort every single one of; Count, weigh and describe; Compare prices of all the"
INTENTS = tuple(f"{verb} {topic} {topic[::-1]}" for verb in VERBS.split("; ") for topic in TOPICS.split())


def mined(name: str, intent: str, **fields: Any) -> MinedTask:
    return MinedTask(**{"id": name, "intent": intent, "rubric": "It is right.", **fields})


def night(*intents: str) -> list[MinedTask]:
    return [mined(f"t{at}", intent) for at, intent in enumerate(intents)]


@rows(
    ("one", "other"),
    [
        ("Fix the failing test in the parser module", "please fix the parser module's failing test"),
        ("Write a commit message for this diff", "Can you write me a commit message for the diff?"),
        ("Summarise the standup notes of the team", "Summarize our team's standup notes, please"),
        ("Draft release notes for version 2.3", "Draft the release notes for version 2.4"),
    ],
)
def test_the_same_wish_in_other_words_is_near(one: str, other: str) -> None:
    assert likeness(one, other) >= NEAR
    assert likeness(one, other) == likeness(other, one)


@rows(
    ("one", "other"),
    [
        ("Advise on moving to Postgres", "Advise on moving to Kubernetes"),
        ("Write a brief on onboarding.", "Write a brief on price tiers."),
        ("Write unit tests for the tax function", "Write unit tests for the date parser"),
        ("Explain what this regex does", "Explain what this SQL query does"),
    ],
)
def test_another_wish_is_not_near(one: str, other: str) -> None:
    assert likeness(one, other) < NEAR


@rows(
    ("kind", "one", "other"),
    [
        ("translation", "Translate the menu into German", "German version of the menu, please"),
        (
            "comparison",
            "Compare Postgres and MySQL for the shop",
            "Should the shop use Postgres or MySQL? Weigh them.",
        ),
        ("brief", "Brief on a booking app", "I need a decision paper on the booking app"),
    ],
)
def test_tasks_of_one_kind_are_near_by_what_they_say_beside_it(kind: str, one: str, other: str) -> None:
    first, second = mined("a", one, type=kind), mined("b", other, type=f"{kind}s")
    assert likeness(one, other) < NEAR
    assert near(first, second)
    assert near(second, first)
    assert not near(first, second.model_copy(update={"type": ""}))
    assert not near(first.model_copy(update={"type": ""}), second.model_copy(update={"type": ""}))
    assert not near(first, second.model_copy(update={"type": "something else"}))
    assert len({task.cluster for task in divide([first, second])}) == 1
    (tonight,) = divide([second], [first.model_copy(update={"cluster": "c1", "split": "test"})])
    assert (tonight.cluster, tonight.split) == ("c1", "test")


@rows(
    ("kind", "one", "other"),
    [
        ("brief", "Write a brief on tea.", "Write a brief on cars."),
        ("brief", "Answer: should we decide a merger?", "Answer: should we decide outsourcing?"),
        *(
            (
                "brief",
                f"{before}Write a brief on a four-day week.{after}",
                f"{before}Analyze the decision of a second bakery.{after}",
            )
            for before, after in [("", " Add this rule: name the reader and the costs."), ("I need support. ", "")]
        ),
        ("commit message", "Write a commit message", "Describe how the commit message is written"),
    ],
)
def test_tasks_of_one_kind_on_other_subjects_or_none_are_not_near(kind: str, one: str, other: str) -> None:
    assert not near(mined("a", one, type=kind), mined("b", other, type=kind))


def test_tasks_of_one_kind_with_other_data_are_not_near() -> None:
    one = mined("a", "Translate the menu into German", type="translation", context="soup, fish and bread")
    other = mined("b", "German version of the menu", type="translation", context="nine hundred kinds of wine")
    assert not near(one, other)


def test_texts_without_words_are_alike_only_to_each_other() -> None:
    assert likeness("...", "!!!") == 1
    assert likeness("...", "word") == 0
    assert likeness("please", "thanks") < 1


def test_the_same_wish_about_other_data_is_another_task() -> None:
    one = mined("a", "Sum this column.", context="4, 5 and 6 apples")
    assert alike(one, mined("b", "Sum this column.", context="nine hundred pears in boxes")) == 0
    assert alike(one, mined("b", "Sum this column.", context="4, 5, and 6 apples!")) == 1
    assert alike(one, mined("b", "Sum this column.")) == 1
    two = divide([one, mined("b", "Sum this column.", context="nine hundred pears in boxes")])
    assert len({task.cluster for task in two}) == 2


def test_rewordings_are_in_one_cluster_and_on_one_side() -> None:
    for seed in range(20):
        tasks = divide(
            night(
                "Write a commit message for this diff",
                "Explain the failing build",
                "please write the commit message for the diff",
                "Can you write a commit message for this diff now?",
                "Translate the menu",
            ),
            seed=seed,
        )
        assert len({(task.cluster, task.split) for task in (tasks[0], *tasks[2:4])}) == 1
        assert len({task.cluster for task in tasks}) == 3
        assert {task.split for task in tasks} == {"train", "val"}


def test_likeness_goes_from_one_to_the_next() -> None:
    chain = night("alpha beta gamma delta omega", "beta gamma delta omega zeta", "gamma delta omega zeta epsilon")
    assert likeness(chain[0].intent, chain[2].intent) < NEAR <= likeness(chain[0].intent, chain[1].intent)
    assert len({task.cluster for task in divide(chain)}) == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(INTENTS), unique=True, max_size=20), st.integers(0, 99), st.randoms())
def test_a_division_does_not_depend_on_the_order_of_tasks(
    intents: list[str], seed: int, order: random.Random
) -> None:
    tasks = [mined(intent, intent) for intent in intents]
    shuffled = order.sample(tasks, len(tasks))
    one, other = divide(tasks, seed=seed), divide(shuffled, seed=seed)
    assert [task.id for task in other] == [task.id for task in shuffled]
    assert set(one) == set(other)


def test_shares_are_of_clusters() -> None:
    tasks = divide(night(*INTENTS), val=0.4)
    assert len({task.cluster for task in tasks}) == len(INTENTS)
    count = {side: sum(task.split == side for task in tasks) for side in ("train", "val")}
    assert 18 <= count["train"] <= 36
    assert 10 <= count["val"] <= 26
    assert {task.split for task in divide(night(*INTENTS[:5]), val=0)} == {"train"}


def test_a_task_keeps_its_side_over_the_nights_and_rewordings_join_it() -> None:
    archive = divide(night(*INTENTS[:9]))
    for task in archive:
        again = mined("new", f"please, {task.intent.casefold()} now")
        for seed in range(5):
            (found, *_) = divide([again, *night(*INTENTS[9:14])], archive, seed=seed)
            assert (found.cluster, found.split) == (task.cluster, task.split)


def test_a_task_that_is_like_several_earlier_ones_joins_the_nearest() -> None:
    far = mined("far", "alpha beta gamma delta", cluster="c1", split="val")
    near = mined("near", "beta gamma delta epsilon", cluster="c2", split="test")
    twin = mined("twin", "beta gamma delta epsilon", cluster="c3", split="train")
    for archive in ([far, near, twin], [twin, near, far]):
        (found,) = divide([mined("new", "epsilon delta gamma beta")], archive)
        assert (found.cluster, found.split) == ("c2", "test")


BILLING = "Write the weekly status report about the billing service for the managers"
BETWEEN = "Write the weekly status report about the payment service for the team managers"
PAYMENT = "Write the weekly status summary about the payment service for the team leads"
"""The second is near both others, which are not near each other."""


def sides_between(billing: Split, payment: Split) -> dict[str, str]:
    """Where the three are in a night that has them all, and had the outer two before."""
    archive = [
        mined("billing", BILLING, cluster="c1", split=billing),
        mined("payment", PAYMENT, cluster="c2", split=payment),
    ]
    tonight = [mined("billing", BILLING), mined("between", BETWEEN), mined("payment", PAYMENT)]
    assert likeness(BILLING, PAYMENT) < NEAR <= min(likeness(BILLING, BETWEEN), likeness(BETWEEN, PAYMENT))
    found = {tuple((task.id, task.split) for task in divide(tonight, archive, seed=seed)) for seed in range(5)}
    (one,) = found
    return dict(one)


@rows(
    ("billing", "payment", "sides"),
    [
        ("test", "train", ("test", "test", "train")),
        ("val", "test", ("val", "test", "test")),
        ("test", "test", ("test", "test", "test")),
        ("train", "val", ("train", "val", "val")),
        ("val", "train", ("val", "val", "train")),
        ("train", "train", ("train", "train", "train")),
    ],
)
def test_a_request_near_two_sides_unlocks_nothing_and_locks_nothing_that_was_used(
    billing: Split, payment: Split, sides: tuple[str, ...]
) -> None:
    assert tuple(sides_between(billing, payment).values()) == sides


def test_a_new_request_near_a_test_task_is_for_the_test_where_other_sides_are_nearer() -> None:
    archive = [
        mined("t", "alpha beta gamma delta", cluster="c1", split="test"),
        mined("v", "beta gamma delta epsilon", cluster="c2", split="val"),
    ]
    (found,) = divide([mined("new", "epsilon delta gamma beta alpha")], archive)
    assert (found.cluster, found.split) == ("c1", "test")


def test_of_four_clusters_or_more_at_least_two_are_held_out_and_one_is_for_training() -> None:
    for seed in range(60):
        assert sorted(task.split for task in divide(night(*INTENTS[:2]), seed=seed)) == ["train", "val"]
        for count in (4, 5, 7):
            sides = [task.split for task in divide(night(*INTENTS[:count]), val=0.1 + seed / 80, seed=seed)]
            assert sides.count("val") >= 2
            assert "train" in sides
        assert [task.split for task in divide(night(*INTENTS[:3]), val=0.01, seed=seed)].count("val") == 1
    known = [mined(name, intent, cluster=name) for name, intent in zip("abc", INTENTS, strict=False)]
    assert [task.split for task in divide(night(*INTENTS[:4]), known)] == ["train", "train", "train", "val"]


def test_one_cluster_alone_is_not_divided() -> None:
    found = {tuple({task.split for task in divide(night(INTENTS[0], INTENTS[0]), seed=seed)}) for seed in range(20)}
    assert found == {("train",), ("val",)}
    assert divide([]) == ()


def test_dreams_and_recalled_tasks_are_for_training_and_count_for_no_repair() -> None:
    archive = [mined("old", INTENTS[7], cluster="c9", split="train")]
    tasks = [
        mined("a", INTENTS[0]),
        mined("d", INTENTS[1], origin="dream", derived_from="a"),
        mined("r", INTENTS[7], origin="recall", derived_from="old", cluster="c9"),
    ]
    for seed in range(10):
        real, dream, recalled = divide(tasks, archive, seed=seed)
        assert dream.cluster == real.cluster
        assert recalled.cluster == "c9"
        assert (dream.split, recalled.split) == ("train", "train")


def test_dreams_in_the_archive_hold_no_place() -> None:
    archive = [mined("d", INTENTS[0], origin="dream", derived_from="x", cluster="c1"), mined("n", INTENTS[0])]
    (found,) = divide(night(INTENTS[0]), archive)
    assert found.cluster != "c1"


def test_what_recurs_most_often_comes_first() -> None:
    refs = [SessionRef(source="codex", id=str(at)) for at in range(3)]
    tasks = [
        mined("a", INTENTS[0], cluster="c1", sessions=refs[:1]),
        mined("b", INTENTS[1], cluster="c2", sessions=refs[:1]),
        mined("c", INTENTS[2], cluster="c2", sessions=refs[1:2]),
        mined("d", INTENTS[3], cluster="c0", sessions=refs[:1] * 2),
    ]
    assert [task.id for task in by_recurrence(tasks)] == ["b", "c", "d", "a"]


def test_of_equally_frequent_wishes_those_that_were_not_met_come_first() -> None:
    refs = [SessionRef(source="codex", id="1")]
    tasks = [
        mined("a", INTENTS[0], cluster="c1", sessions=refs, feedback="satisfied"),
        mined("b", INTENTS[1], cluster="c2", sessions=refs, feedback="unsatisfied"),
    ]
    assert [task.id for task in by_recurrence(tasks)] == ["b", "a"]
