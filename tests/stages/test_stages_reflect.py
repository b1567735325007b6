"""Reflect: which attempts are read together, what the optimizer is told, and what is made of its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from stages_doubles import Desk, append, attempt, edit_row, minibatches, patch_reply, reflect

from etude.config.sections import ReflectSection
from etude.errors import BudgetStop
from etude.published.update_modes.forms import SuggestionsReply
from etude.records import Attempt, ChatRequest, LedgerEntry, Skill
from etude.stages.reflect import Context, make_groups
from etude.stages.shared.proposals import Forms

FAILURES = [attempt(f"f{i}", 0.0) for i in range(11)]
SUCCESSES = [attempt(f"s{i}", 1.0) for i in range(5)]


def shallow(**settings: Any) -> ReflectSection:
    return ReflectSection(mode="shallow", **settings)


def context(
    budget: int | None = 4, ledger: Sequence[LedgerEntry] = (), earlier: Mapping[str, Attempt] | None = None
) -> Context:
    return Context(Skill(text="Be exact."), budget, ledger, earlier or {})


def ids(attempts: Sequence[Attempt]) -> list[str]:
    return [attempt.id for attempt in attempts]


KINDS = [
    *(attempt(f"date-f{i}", 0.0, kind="date") for i in range(5)),
    *(attempt(f"date-s{i}", 1.0, kind="date") for i in range(5)),
    *(attempt(f"sum-f{i}", 0.0, kind="sum") for i in range(2)),
    attempt("name-s0", 1.0, kind="name"),
]


def test_types_with_few_failures_share_a_call() -> None:
    groups = make_groups(KINDS, {}, minibatches(4, failures_only=True), deep=True)
    assert [(len(group.attempts), len(group.contrasts)) for group in groups] == [(4, 3), (3, 3)]
    assert [sorted({each.task.type for each in group.attempts}) for group in groups] == [["date"], ["date", "sum"]]


def test_deep_reflection_shows_the_same_task_passing_earlier_first() -> None:
    failed = [attempt("now1", 0.0, task="x", kind="date"), attempt("now2", 0.0, task="y", kind="date")]
    earlier = {"x": attempt("then1", 1.0, task="x", kind="date"), "y": attempt("then2", 0.0, task="y", kind="date")}
    passed = [attempt(f"s{i}", 1.0, kind="date") for i in range(4)]
    (group,) = make_groups([*failed, *passed], earlier, minibatches(failures_only=True), deep=True)
    assert group.contrasts[0].id == "then1"
    assert len(group.contrasts) == 3
    assert "then2" not in ids(group.contrasts)


def test_deep_minibatches_are_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[list[str]]:
        groups = make_groups(KINDS, {}, minibatches(2, seed=seed), deep=True)
        return [ids(group.attempts) for group in groups]

    assert order(7) == order(7)
    assert order(7) != order(8)


async def test_each_minibatch_is_one_call_and_voids_are_not_shown() -> None:
    desk = Desk(reflect_failures=patch_reply(), reflect_successes=patch_reply())
    attempts = [*FAILURES[:2], *SUCCESSES[:1], attempt("v", None)]
    reflections = await reflect(desk.optimizer, attempts, context(), shallow(), minibatches(1))
    assert sorted(desk.prompts) == ["reflect_failures", "reflect_failures", "reflect_successes"]
    assert [each.source for each in reflections] == ["failures", "failures", "successes"]
    assert sorted(name for each in reflections for name in each.attempts) == ["f0", "f1", "s0"]
    assert all('id="v"' not in desk.shown(call) for call in range(3))


async def test_the_optimizer_is_told_skill_ledger_budget_and_attempts_in_this_order() -> None:
    desk = Desk(reflect_failures=patch_reply())
    ledger = [
        LedgerEntry(step=step, edit=append(f"Rule {step}."), fate="applied", accepted=False) for step in (1, 2, 3)
    ]
    shown = [attempt("f0", 0.0, feedback="Expected 7.")]
    settings = shallow(ledger_entries=2)
    await reflect(desk.optimizer, shown, context(3, ledger), settings, minibatches())
    text = desk.shown()
    parts = ["Be exact.", "Rule 2.", "Rule 3.", "Propose at most 3 edits.", 'id="f0"', "Expected 7."]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "Rule 1." not in text
    assert text.count("Be exact.") == 1


async def test_the_budget_is_reported_in_the_word_for_what_is_proposed() -> None:
    desk = Desk(reflect_failures={"reasoning": "r", "suggestions": []})
    known = context(3)._replace(forms=Forms(SuggestionsReply, SuggestionsReply, SuggestionsReply))
    await reflect(desk.optimizer, FAILURES[:1], known, shallow(), minibatches())
    assert "Propose at most 3 suggestions." in desk.shown()


async def test_what_cites_nothing_is_asked_for_once_and_counts_for_all_failures_shown() -> None:
    desk = Desk(reflect_failures=patch_reply(edit_row("Add.", "made-up"), edit_row("Trim."), edit_row("Sort.", "f1")))
    (reflection,) = await reflect(desk.optimizer, FAILURES[:2], context(), shallow(), minibatches())
    assert desk.prompts == ["reflect_failures"] * 2
    assert "2 proposals cite no attempt" in desk.shown(1)
    ids = tuple(reflection.attempts)
    assert {edit.content: edit.cites for edit in reflection.patch.edits} == {
        "Add.": ids,
        "Trim.": ids,
        "Sort.": ("f1",),
    }
    assert (reflection.uncited, reflection.dropped) == (2, ())


async def test_citations_that_come_when_asked_for_are_taken() -> None:
    def answer(request: ChatRequest) -> object:
        asked = "What was wrong" in request.messages[1].text
        return patch_reply(edit_row("Sort.", *(["f1"] if asked else [])))

    (reflection,) = await reflect(
        Desk(reflect_failures=answer).optimizer, FAILURES[:2], context(), shallow(), minibatches()
    )
    assert [edit.cites for edit in reflection.patch.edits] == [("f1",)]
    assert reflection.uncited == 0


async def test_a_stop_in_one_call_does_not_cost_the_others() -> None:
    desk = Desk(reflect_failures=BudgetStop("used up"), reflect_successes=patch_reply())
    attempts = [*FAILURES[:1], *SUCCESSES[:1]]
    with pytest.raises(BudgetStop):
        await reflect(desk.optimizer, attempts, context(), shallow(), minibatches())
    assert sorted(desk.prompts) == ["reflect_failures", "reflect_successes"]
