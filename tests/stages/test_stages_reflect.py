"""Reflect: which attempts are read together, what the optimizer is told, and what is made of its answer."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from stages_doubles import Desk, append, attempt, edit_row, minibatches, patch_reply

from etude.config.sections import ReflectSection
from etude.errors import BudgetStop, OutageStop, TransientError
from etude.prompts import Prompts
from etude.published.update_modes.forms import RoutedReply, SuggestionsReply
from etude.records import Attempt, ChatRequest, LedgerEntry, Skill, TrainState
from etude.stages.reflect import (
    Context,
    Reflection,
    after_reflection,
    deep_groups,
    is_silent,
    reflect,
    shallow_groups,
)
from etude.stages.shared.proposals import Forms, PatchReply

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


def test_failures_and_successes_are_read_apart_in_minibatches() -> None:
    groups = shallow_groups([*SUCCESSES, *FAILURES], {}, minibatches(4))
    assert [(group.prompt, group.source, len(group.attempts)) for group in groups] == [
        ("reflect_failures", "failures", 4),
        ("reflect_failures", "failures", 4),
        ("reflect_failures", "failures", 3),
        ("reflect_successes", "successes", 4),
        ("reflect_successes", "successes", 1),
    ]
    assert sorted(ids([each for group in groups for each in group.attempts])) == sorted(ids([*FAILURES, *SUCCESSES]))


def test_minibatches_are_shuffled_by_the_seed() -> None:
    def order(seed: int) -> list[list[str]]:
        return [ids(group.attempts) for group in shallow_groups(FAILURES, {}, minibatches(4, seed=seed))]

    assert order(7) == order(7)
    assert order(7) != order(8)
    assert order(7)[0] != ids(FAILURES[:4])


def test_successes_can_be_left_out() -> None:
    groups = shallow_groups([*SUCCESSES, *FAILURES], {}, minibatches(failures_only=True))
    assert {group.source for group in groups} == {"failures"}


def test_a_task_solved_in_part_is_read_as_a_failure() -> None:
    (group,) = shallow_groups([attempt("part", 0.3)], {}, minibatches())
    assert group.source == "failures"


def test_attempts_that_are_read_stay_in_their_order_outside() -> None:
    attempts = list(FAILURES)
    shallow_groups(attempts, {}, minibatches())
    assert attempts == FAILURES


KINDS = [
    *(attempt(f"date-f{i}", 0.0, kind="date") for i in range(5)),
    *(attempt(f"date-s{i}", 1.0, kind="date") for i in range(5)),
    *(attempt(f"sum-f{i}", 0.0, kind="sum") for i in range(2)),
    attempt("name-s0", 1.0, kind="name"),
]


def test_deep_reflection_shows_failures_with_passes_of_their_type() -> None:
    groups = deep_groups(KINDS, {}, minibatches(5, failures_only=True))
    assert [group.prompt for group in groups] == ["reflect_deep"] * 2
    assert [(len(group.attempts), len(group.contrasts)) for group in groups] == [(5, 3), (2, 0)]
    for group in groups:
        kinds = {each.task.type for each in (*group.attempts, *group.contrasts)}
        assert len(kinds) == 1
        assert all(each.solved for each in group.contrasts)


def test_types_with_few_failures_share_a_call() -> None:
    groups = deep_groups(KINDS, {}, minibatches(4, failures_only=True))
    assert [(len(group.attempts), len(group.contrasts)) for group in groups] == [(4, 3), (3, 3)]
    assert [sorted({each.task.type for each in group.attempts}) for group in groups] == [["date"], ["date", "sum"]]


def test_deep_reflection_reads_successes_too_unless_told_not_to() -> None:
    groups = deep_groups(KINDS, {}, minibatches())
    assert [(group.prompt, len(group.attempts)) for group in groups] == [
        ("reflect_deep", 7),
        ("reflect_successes", 5),
        ("reflect_successes", 1),
    ]


def test_deep_reflection_shows_the_same_task_passing_earlier_first() -> None:
    failed = [attempt("now1", 0.0, task="x", kind="date"), attempt("now2", 0.0, task="y", kind="date")]
    earlier = {"x": attempt("then1", 1.0, task="x", kind="date"), "y": attempt("then2", 0.0, task="y", kind="date")}
    passed = [attempt(f"s{i}", 1.0, kind="date") for i in range(4)]
    (group,) = deep_groups([*failed, *passed], earlier, minibatches(failures_only=True))
    assert group.contrasts[0].id == "then1"
    assert len(group.contrasts) == 3
    assert "then2" not in ids(group.contrasts)


def test_deep_reflection_shows_lost_tasks_first_and_then_passes_whose_task_failed_before() -> None:
    failed = [attempt("now", 0.0, task="lost", kind="date")]
    passed = [
        attempt("steady", 1.0, task="steady", kind="date"),
        attempt("fresh", 1.0, task="fresh", kind="date"),
        attempt("gained", 1.0, task="gained", kind="date"),
        attempt("gained-too", 1.0, task="gained-too", kind="date"),
    ]
    earlier = {
        "lost": attempt("before-lost", 1.0, task="lost", kind="date"),
        "steady": attempt("before-steady", 1.0, task="steady", kind="date"),
        "gained": attempt("before-gained", 0.0, task="gained", kind="date"),
        "gained-too": attempt("before-gained-too", 0.5, task="gained-too", kind="date"),
    }
    for seed in range(5):
        (group,) = deep_groups([*failed, *passed], earlier, minibatches(failures_only=True, seed=seed))
        assert group.contrasts[0].id == "before-lost"
        assert sorted(ids(group.contrasts[1:])) == ["gained", "gained-too"]


def test_a_group_that_lost_nothing_is_shown_three_passes_those_gained_first() -> None:
    attempts = [attempt("f", 0.0, kind="date"), *(attempt(f"s{i}", 1.0, task=f"t{i}", kind="date") for i in range(5))]
    earlier = {"t4": attempt("old4", 0.0, task="t4", kind="date"), "t1": attempt("old1", 1.0, task="t1", kind="date")}
    (group,) = deep_groups(attempts, earlier, minibatches(failures_only=True))
    assert (group.contrasts[0].id, len(group.contrasts)) == ("s4", 3)


def test_deep_groups_are_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[list[str]]:
        groups = deep_groups(KINDS, {}, minibatches(2, seed=seed))
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


async def test_nothing_to_read_asks_nobody() -> None:
    assert await reflect(Desk().optimizer, [attempt("v", None)], context(), shallow(), minibatches()) == ()


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


async def test_each_minibatch_is_shown_the_ledger_of_its_own_types_first() -> None:
    desk = Desk(reflect_failures=patch_reply())
    ledger = [
        LedgerEntry(step=step, edit=append(f"Rule {step}."), fate="applied", accepted=False, types=(kind,))
        for step, kind in ((1, "date"), (2, "sum"), (3, "name"))
    ]
    attempts = [attempt("d", 0.0, kind="date"), attempt("s", 0.0, kind="sum")]
    settings = shallow(ledger_entries=1)
    await reflect(desk.optimizer, attempts, context(ledger=ledger), settings, minibatches(1))
    for call in range(2):
        rule, others = ("Rule 1.", "Rule 2.") if 'id="d"' in desk.shown(call) else ("Rule 2.", "Rule 1.")
        assert rule in desk.shown(call)
        assert others not in desk.shown(call)
        assert "Rule 3." not in desk.shown(call)


async def test_deep_reflection_shows_its_contrasts_apart() -> None:
    desk = Desk(reflect_deep=patch_reply())
    attempts = [attempt("f", 0.0, kind="date"), attempt("s", 1.0, kind="date")]
    await reflect(desk.optimizer, attempts, context(), ReflectSection(mode="deep"), minibatches(failures_only=True))
    text = desk.shown()
    assert text.index('id="f"') < text.index("# Attempts that passed, to compare with") < text.index('id="s"')


AWARE = Forms(RoutedReply, PatchReply, PatchReply)


async def test_failures_and_successes_are_asked_for_in_their_own_forms() -> None:
    routed = {"reasoning": "r", "routes": [], "edits": [], "reminders": []}
    desk = Desk(reflect_failures=routed, reflect_successes=patch_reply())
    known = context()._replace(forms=AWARE)
    await reflect(desk.optimizer, [*FAILURES[:1], *SUCCESSES[:1]], known, shallow(), minibatches())
    asked = {name: request.messages[0].text for name, request in desk.asked}
    assert asked["reflect_failures"].endswith(Prompts()["return_routed_edits"])
    assert asked["reflect_successes"].endswith(Prompts()["return_edits"])


async def test_reminders_answer_lapses_that_were_shown_and_others_are_dropped() -> None:
    routed = {
        "reasoning": "r",
        "routes": [
            {"attempt": "f0", "cause": "execution_lapse"},
            {"attempt": "f1", "cause": "skill_defect"},
            {"attempt": "f9", "cause": "execution_lapse"},
        ],
        "edits": [edit_row("Sort.", "f1", "f0"), edit_row("Add.", "f0")],
        "reminders": [
            {"content": "Mind the order.", "reason": "", "cites": ["f0", "f1", "f9"]},
            {"content": "Mind the sum.", "reason": "", "cites": ["f1"]},
        ],
    }
    known = context()._replace(forms=AWARE)
    (reflection,) = await reflect(
        Desk(reflect_failures=routed).optimizer, FAILURES[:2], known, shallow(), minibatches()
    )
    assert [(edit.content, edit.cites) for edit in reflection.patch.edits] == [("Sort.", ("f1",))]
    assert [(edit.content, edit.cites) for edit in reflection.reminders] == [("Mind the order.", ("f0",))]
    assert [edit.content for edit in reflection.dropped] == ["Add.", "Mind the sum."]
    assert reflection.lapses == ("f0",)


async def test_without_a_budget_none_is_reported_and_nothing_is_cut() -> None:
    desk = Desk(reflect_failures=patch_reply(*(edit_row(f"Rule {i}.", "f0") for i in range(12))))
    (reflection,) = await reflect(desk.optimizer, FAILURES[:1], context(None), shallow(), minibatches())
    assert len(reflection.patch.edits) == 12
    assert "at most" not in desk.shown()


async def test_the_budget_is_reported_in_the_word_for_what_is_proposed() -> None:
    desk = Desk(reflect_failures={"reasoning": "r", "suggestions": []})
    known = context(3)._replace(forms=Forms(SuggestionsReply, SuggestionsReply, SuggestionsReply))
    await reflect(desk.optimizer, FAILURES[:1], known, shallow(), minibatches())
    assert "Propose at most 3 suggestions." in desk.shown()


async def test_long_trajectories_are_cut() -> None:
    desk = Desk(reflect_failures=patch_reply())
    shown = [attempt("f0", 0.0, answer="x" * 2000)]
    await reflect(desk.optimizer, shown, context(), shallow(max_trajectory_chars=300), minibatches())
    # An answer has an eighth of the limit: 18 characters on either side of the cut.
    assert "[... 1964 characters left out ...]" in desk.shown()


async def test_attempts_that_passed_are_cut_in_the_same_way() -> None:
    desk = Desk(reflect_deep=patch_reply())
    attempts = [attempt("f", 0.0, kind="date"), attempt("s", 1.0, kind="date", answer="x" * 2000)]
    settings = ReflectSection(mode="deep", max_trajectory_chars=800)
    await reflect(desk.optimizer, attempts, context(), settings, minibatches(failures_only=True))
    assert "[... 1900 characters left out ...]" in desk.shown()


async def test_ids_that_were_not_shown_are_dropped() -> None:
    desk = Desk(reflect_failures=patch_reply(edit_row("Sort.", "f0", "s0", "f9")))
    (reflection,) = await reflect(desk.optimizer, FAILURES[:2], context(), shallow(), minibatches())
    assert [(edit.content, edit.cites) for edit in reflection.patch.edits] == [("Sort.", ("f0",))]
    assert (reflection.uncited, len(desk.prompts)) == (0, 1)
    assert reflection.patch.reasoning == "because"


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


async def test_edits_beyond_the_budget_are_cut_from_the_tail() -> None:
    reply = patch_reply(*(edit_row(f"Rule {i}.", "f0") for i in range(5)))
    (reflection,) = await reflect(
        Desk(reflect_failures=reply).optimizer, FAILURES[:1], context(2), shallow(), minibatches()
    )
    assert [edit.content for edit in reflection.patch.edits] == ["Rule 0.", "Rule 1."]


def _only_about(name: str):
    """An answer for the minibatch that shows this attempt, nonsense for all others."""

    def answer(request: ChatRequest) -> object:
        return patch_reply(edit_row("Sort.", name)) if f'id="{name}"' in request.messages[1].text else "Sorry."

    return answer


async def test_an_answer_that_cannot_be_used_is_marked_and_told() -> None:
    desk = Desk(reflect_failures=_only_about("f0"))
    reflections = await reflect(desk.optimizer, FAILURES[:2], context(), shallow(), minibatches(1))
    useless, useful = sorted(reflections, key=lambda each: not each.unusable)
    assert useful.patch.edits[0].cites == ("f0",)
    assert useless == Reflection(source="failures", attempts=("f1",), unusable=useless.unusable)
    assert re.search("no usable answer", useless.unusable)
    (warning,) = desk.warnings
    assert warning.startswith("an analysis of 1 attempts gave no usable answer: ")


async def test_a_usable_answer_without_edits_is_no_failure() -> None:
    (reflection,) = await reflect(
        Desk(reflect_failures=patch_reply()).optimizer, FAILURES[:1], context(), shallow(), minibatches()
    )
    assert (reflection.patch.edits, reflection.unusable) == ((), "")


async def read_in_vain() -> tuple[Reflection, ...]:
    desk = Desk(reflect_failures="Sorry.", reflect_successes="Sorry.")
    attempts = [*FAILURES[:2], *SUCCESSES[:1]]
    return await reflect(desk.optimizer, attempts, context(), shallow(), minibatches(1))


def after(silent_steps: int, reflections: Sequence[Reflection], unusable: str = "") -> tuple[int, str]:
    """Silent steps in a row, and why the search gives up, after a step that had so many before it."""
    skill = Skill(text="# Skill")
    state = TrainState(current=skill, best=skill, silent_steps=silent_steps)
    state = after_reflection(state, reflections, unusable)
    return state.silent_steps, state.gave_up


async def test_one_step_without_a_usable_answer_does_not_end_the_search() -> None:
    reflections = await read_in_vain()
    assert [bool(each.unusable) for each in reflections] == [True, True, True]
    assert is_silent(reflections)
    assert after(0, reflections) == (1, "")


async def test_the_second_step_in_a_row_without_a_usable_answer_ends_the_search() -> None:
    steps, why = after(1, await read_in_vain())
    assert steps == 2
    assert why.startswith("the optimizer gave no usable answer in 2 steps in a row: scripted:model: no usable")


async def test_the_fifth_step_in_a_row_without_a_proposal_that_can_be_tried_ends_the_search() -> None:
    assert after(3, (), "it copies 'a b'") == (4, "")
    assert after(4, (), "it copies 'a b'") == (
        5,
        "no proposal of the optimizer could be tried in 5 steps in a row: it copies 'a b'",
    )


async def test_one_usable_answer_after_a_silent_step_goes_on() -> None:
    desk = Desk(reflect_failures=_only_about("f0"))
    reflections = await reflect(desk.optimizer, FAILURES[:3], context(), shallow(), minibatches(1))
    assert after(1, reflections) == (0, "")
    assert sorted(bool(each.unusable) for each in reflections) == [False, True, True]


async def test_a_step_with_nothing_to_read_is_not_silent() -> None:
    reflections = await reflect(Desk().optimizer, [attempt("v", None)], context(), shallow(), minibatches())
    assert reflections == ()
    assert after(1, reflections) == (0, "")


async def test_a_failed_call_stops_the_run_and_names_the_optimizer() -> None:
    with pytest.raises(OutageStop, match=r"^optimizer: 503"):
        await reflect(
            Desk(reflect_failures=TransientError("503")).optimizer, FAILURES[:1], context(), shallow(), minibatches()
        )


async def test_a_stop_in_one_call_does_not_cost_the_others() -> None:
    desk = Desk(reflect_failures=BudgetStop("used up"), reflect_successes=patch_reply())
    attempts = [*FAILURES[:1], *SUCCESSES[:1]]
    with pytest.raises(BudgetStop):
        await reflect(desk.optimizer, attempts, context(), shallow(), minibatches())
    assert sorted(desk.prompts) == ["reflect_failures", "reflect_successes"]
