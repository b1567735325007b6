"""What the attempts of a run say about its setup: told while it trains, and in its summary."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Trainer
from etude.cli.terminal.summary_text import summary_lines
from etude.events import Event, Notice
from etude.records import ChatRequest, Reply, Task
from etude.records.summary import Summary
from etude.records.tasks import CURES
from etude.testing import ScriptedModel

Answer = Callable[[ChatRequest], Reply | str]
NO_EDIT = '{"reasoning": "nothing to say", "edits": []}'


class Warnings:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.withdrawn: list[str] = []

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level == "warning":
            self.texts.append(event.text)
        if isinstance(event, Notice) and event.withdrawn:
            self.withdrawn.append(event.text)


def tasks(first: int, count: int = 24) -> list[Task]:
    """Sums; every fourth one is of the type `hard`."""
    return [
        Task(id=f"t{n}", input=f"Add {n} and 1", gold=str(n + 1), type="easy" if n % 4 else "hard")
        for n in range(first, first + count)
    ]


def trained(
    folder: Path, answer: Answer, optimizer: Any = lambda request: NO_EDIT, test: Sequence[Task] = ()
) -> tuple[Summary, list[str]]:
    summary, said = told(folder, answer, optimizer, test)
    return summary, said.texts


def told(folder: Path, answer: Answer, optimizer: Any, test: Sequence[Task] = ()) -> tuple[Summary, Warnings]:
    said = Warnings()
    settings = {"train": {"epochs": 1}, "test": {"enabled": bool(test)}, "run": {"folder": str(folder)}}
    env = ListEnvironment(tasks(100), tasks(200, 8), test, scorer="exact")
    given: Any = {"env": env, "target": ScriptedModel(answer), "optimizer": ScriptedModel(optimizer), "sinks": [said]}
    return Trainer(settings, **given).train(), said


def right(request: ChatRequest) -> str:
    return str(int(request.messages[-1].text.split()[1]) + 1)


def right_but(few: int) -> Answer:
    """Right, but for so many of the training tasks, all of one step."""
    return lambda request: (
        "?" if int(request.messages[-1].text.split()[1]) in range(101, 101 + few) else right(request)
    )


def test_a_target_that_refuses_is_shown_as_that(tmp_path: Path) -> None:
    refused = Reply(text="No.", finish="refusal")
    summary, _ = trained(tmp_path, lambda request: refused)
    assert "answer: the model refused; gold: 1" in summary.doubts[0].example


def test_a_target_that_solves_nothing_is_told_at_once_and_stands_in_the_summary(tmp_path: Path) -> None:
    summary, said = trained(tmp_path, lambda request: "I cannot")
    first, *_ = summary.doubts
    assert first.what.startswith("none of the first")
    assert "answer: I cannot; gold: 1" in first.example
    assert first.text in said
    text = "\n".join(summary_lines(summary))
    assert text.index("doubtful    none of the first") < text.index("steps  ")
    assert all(len(line) <= 80 for line in text[text.index("doubtful") : text.index("steps  ")].splitlines())


def test_an_optimizer_whose_only_answer_is_unusable_is_told_too(tmp_path: Path) -> None:
    summary, said = trained(tmp_path, right_but(4), lambda request: "I would rather not.")
    (doubt,) = summary.doubts
    assert doubt.what == "the optimizer gave no usable edit"
    assert "no usable answer" in doubt.example
    assert doubt.text in said


def test_a_doubt_that_later_attempts_contradict_is_withdrawn(tmp_path: Path) -> None:
    """None is solved before the rule that the optimizer proposes, and all are with it."""

    def taught(request: ChatRequest) -> str:
        return right(request) if any("ADD." in message.text for message in request.messages[:-1]) else "I cannot"

    def teach(request: ChatRequest) -> str:
        cites = re.findall(r"a-[0-9a-f]{8}", request.messages[-1].text)
        edit = {"op": "append", "target": "", "content": "- ADD.", "cites": cites, "reason": "because"}
        return json.dumps({"reasoning": "because", "edits": [edit]})

    summary, said = told(tmp_path, taught, teach)
    assert summary.accepted == 1
    (doubt,) = (text for text in said.texts if text.startswith("none of the first 16 training attempts scored above"))
    assert said.withdrawn == [doubt]
    assert summary.doubts == ()


CUT, REFUSED = (Reply(text="Let me see, it is", finish=finish) for finish in ("length", "refusal"))
EMPTY, THOUGHTS = Reply(text=""), Reply(text="<think>It may be 7.</think>")
ELSEWHERE = Reply(text="", text_in="reasoning_content")


@pytest.mark.parametrize(
    ("reply", "how", "example", "todo"),
    [
        (CUT, "cut off", "at target.max_output_tokens = 4096", "raise target.max_output_tokens"),
        (REFUSED, "refused", "the model refused", "take another target.model, or leave out what it refuses"),
        (EMPTY, "empty", "the reply was empty", CURES["empty"]),
        (THOUGHTS, "empty", "the reply has thoughts and no answer", CURES["empty"]),
        (ELSEWHERE, "empty", "the reply has no `content`,.*", CURES["empty"]),
    ],
)
def test_replies_that_do_not_end_by_themselves_are_counted_with_what_to_do(
    tmp_path: Path, reply: Reply, how: str, example: str, todo: str
) -> None:
    summary, said = trained(tmp_path, lambda request: reply)
    early, end = (doubt for doubt in summary.doubts if f"were {how}" in doubt.what)
    assert early.what == f"none of the first 16 training attempts scored above 0: the replies of 16 were {how}"
    assert early.todo == end.todo == f"{todo} (in a fork)"
    assert end.what == f"42 of 42 replies in training and 8 of 8 replies in validation were {how}"
    assert re.fullmatch(rf"one of them: task \S+ \(attempt a-\w+\), {example}", end.example)
    assert [said.count(doubt.text) for doubt in (early, end)] == [1, 1]
