import json
from typing import Any

import pytest

from etude.errors import OutageStop, TransientError
from etude.models.wrappers.structured import Structured
from etude.prompts import Prompts
from etude.records import ChatRequest, Reply
from etude.sleep.tasks.dreams import dream, kept_pieces, recall
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.mining import MiningResult
from etude.stages.shared.optimizer import Optimizer
from etude.testing import ScriptedModel
from rows import rows


def mined(name: str, intent: str, **fields: Any) -> MinedTask:
    return MinedTask(**{"id": name, "intent": intent, "rubric": "It is right.", "project": "/p", **fields})


def optimizer(model: ScriptedModel) -> Optimizer:
    return Optimizer(Structured(model), Prompts(), emit=lambda event: None)


def rewordings(*texts: str) -> str:
    return json.dumps({"rewordings": texts})


TASK = mined("a", 'Add 12 and 30.5 to "Total".', context="in euros", cluster="c1", night=2)


async def test_a_dream_asks_for_the_same_and_is_for_training_only() -> None:
    model = ScriptedModel([rewordings('Could you put 30.5 and 12 into "Total"?', '12, 30.5: sum them under "Total"')])
    dreamt = await dream([TASK], 2, optimizer(model))
    assert [task.intent for task in dreamt.tasks] == [
        'Could you put 30.5 and 12 into "Total"?',
        '12, 30.5: sum them under "Total"',
    ]
    for task in dreamt.tasks:
        same = {"id": task.id, "intent": task.intent, "origin": "dream", "derived_from": "a"}
        assert task == TASK.model_copy(update=same)
        assert MinedTask.model_validate_json(task.model_dump_json()) == task
    assert len({task.id for task in dreamt.tasks}) == 2
    system, question = model.requests[0].messages
    assert system.text == Prompts()["sleep_dream"]
    assert question.text.startswith("# Rewordings wanted: 2\n\n<request data=")
    assert TASK.intent in question.text


async def test_rewordings_that_lose_or_repeat_something_are_dropped() -> None:
    texts = (
        'Add 12 and 30 to "Total".',
        "Add 12 and 30.5 to Total.",
        'add 12 and  30.5 to "Total".',
        "short",
        "x" * 4001,
    )
    dreamt = await dream([TASK], 9, optimizer(ScriptedModel([rewordings(*texts)])))
    assert dreamt.tasks == ()
    assert list(dreamt.dropped) == [
        "it loses 30.5",
        'it loses "Total"',
        "it says what another one says",
        "it has 5 characters",
        "it has 4001 characters",
    ]


async def test_no_more_rewordings_are_taken_than_were_asked_for() -> None:
    task = mined("a", "Sort the names of the towns.")
    texts = ("Which order do the names have?", "Put the town names in order.", "Order all of the towns by name.")
    dreamt = await dream([task], 2, optimizer(ScriptedModel([rewordings(*texts)])))
    assert [found.intent for found in dreamt.tasks] == list(texts[:2])


async def test_a_dream_does_not_come_near_what_is_held_out() -> None:
    tasks = [
        mined("a", "Sort the names of the towns."),
        mined("v", "List the rivers by length, longest first.", split="val"),
        mined("t", "Draw a map of the harbour.", split="test"),
    ]
    texts = (
        "Please list the rivers by length, longest first.",
        "Draw the map of a harbour",
        "Order the towns by name.",
    )
    model = ScriptedModel([rewordings(*texts)])
    dreamt = await dream(tasks, 3, optimizer(model))
    assert list(dreamt.dropped) == ["it comes near the held-out task 'v'", "it comes near the held-out task 't'"]
    assert [task.intent for task in dreamt.tasks] == ["Order the towns by name."]
    assert len(model.requests) == 1


async def test_dreams_and_recalled_tasks_are_not_dreamt_of() -> None:
    tasks = [mined("d", "Sort the names.", origin="dream", derived_from="x")]
    model = ScriptedModel([])
    assert await dream(tasks, 3, optimizer(model)) == MiningResult()
    assert await dream([TASK], 0, optimizer(model)) == MiningResult()


async def test_a_task_without_a_usable_answer_has_no_rewordings_and_a_failing_call_stops() -> None:
    other = mined("b", "Sort the names of the towns.")

    def answer(request: ChatRequest) -> Reply | Exception:
        said = request.messages[1].text
        return Reply(text="no" if "Total" in said else rewordings("Order the towns by name."))

    dreamt = await dream([other, TASK], 1, optimizer(ScriptedModel(answer)))
    assert [task.derived_from for task in dreamt.tasks] == ["b"]
    with pytest.raises(OutageStop, match="the line is dead"):
        await dream([TASK], 1, optimizer(ScriptedModel([TransientError("the line is dead")])))


@rows(
    ("text", "pieces"),
    [
        ("Add 4 and 5,000.50 on 2026-01-02.", {"4", "5,000.50", "2026-01-02"}),
        ('Say "a 1", \u201cb\u201d, \u00abc\u00bb and `d`.', {'"a 1"', "\u201cb\u201d", "\u00abc\u00bb", "`d`"}),
        ("Don't touch the user's 'main' branch", {"'main'"}),
        ("Nothing.", set()),
    ],
)
def test_numbers_and_quotes_must_be_kept(text: str, pieces: set[str]) -> None:
    assert kept_pieces(text) == pieces


def test_the_most_similar_training_tasks_of_the_project_are_recalled() -> None:
    tonight = [mined("now", "Write release notes for the parser.")]
    archive = [
        mined("b", "Write release notes for the printer."),
        mined("a", "Write release notes for the printer."),
        mined("c", "Write the notes of the meeting."),
        mined("d", "Bake bread."),
        mined("e", "Write release notes for the scanner.", project="/q"),
        mined("f", "Write notes about the rain.", split="val"),
        mined("g", "Write release notes for the mixer.", origin="dream", derived_from="b"),
        tonight[0],
    ]
    found = recall(archive, tonight, 2)
    assert [task.id for task in found] == ["recall:a", "recall:b"]
    assert found[0] == archive[1].model_copy(
        update={"id": "recall:a", "origin": "recall", "derived_from": "a", "split": "train"}
    )
    assert MinedTask.model_validate_json(found[0].model_dump_json()) == found[0]
    assert [task.id for task in recall(archive[::-1], tonight, 9)] == ["recall:a", "recall:b", "recall:c"]
    assert recall(archive, tonight, 0) == ()
    assert recall(archive, [], 3) == ()


def test_nothing_is_recalled_that_is_near_what_is_held_out() -> None:
    tonight = [
        mined("now", "Write release notes for the parser."),
        mined("val", "Write some release notes for our printer", split="val", cluster="c1"),
        mined("test", "Translate the menu.", split="test", cluster="c2"),
    ]
    archive = [
        mined("a", "Write release notes for the printer."),
        mined("b", "Write release notes in general.", cluster="c2"),
        mined("c", "Write release notes about the weather station.", cluster="c3"),
    ]
    assert [task.id for task in recall(archive, tonight, 9)] == ["recall:c"]
