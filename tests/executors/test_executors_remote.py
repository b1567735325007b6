"""Attempts in other processes come to the same as attempts in this one, whatever happens to these processes."""

import asyncio
import itertools
import json
import os
from pathlib import Path

import pytest
from far_parts import SKILL, ProcessExecutor, TaskExecutor, echo, rollout_with, todo

from etude.agents.program_run import ProgramFailed
from etude.errors import BudgetStop, DataError, EtudeError, StopRun
from etude.executors.local import LocalExecutor
from etude.protocols import Executor
from etude.records import Attempt
from etude.stages.shared.rollout import PlannedAttempt, Rollout
from etude.store.journal import SqliteJournal
from etude.testing.executor import ExecutorContract
from etude_annexes.workers import peer
from rows import few, rows


@pytest.mark.slow
class TestProcessExecutor(ExecutorContract):
    def make_executor(self, concurrency: int) -> Executor:
        return ProcessExecutor(concurrency)


async def attempts(rollout: Rollout, *inputs: str) -> list[Attempt]:
    planned = [PlannedAttempt(task, SKILL) for task in todo(*inputs)]
    found = {index: attempt async for index, attempt in rollout.stream(planned, "train")}
    return [timeless(found[index]) for index in range(len(inputs))]


def timeless(attempt: Attempt) -> Attempt:
    trajectory = attempt.trajectory.model_copy(update={"seconds": None})
    return attempt.model_copy(update={"trajectory": trajectory})


async def test_attempts_errors_and_scores_are_those_of_this_process(tmp_path) -> None:
    inputs = ("ask me", "raise value", "raise key", "raise data", "cancel now", "late x", "ask odd")
    scored = [
        task.model_copy(update={"id": f"s{value}", "data": {"score": value}})
        for task in todo("answer x")
        for value in ("0.25", "7", "raise", "none")
    ]
    made: list[tuple[list[Attempt], list[Attempt]]] = []
    for executor in (LocalExecutor(4), TaskExecutor(4)):
        async with rollout_with(executor, echo) as rollout:
            judged = [timeless(await rollout.attempt(task, SKILL, 0)) for task in scored]
            made.append((await attempts(rollout, *inputs), judged))
    assert made[0] == made[1]
    here, judged = made[0]
    assert [attempt.outcome for attempt in here] == ["completed"] + ["void"] * 6
    assert [attempt.reason for attempt in here[1:3]] == [
        "agent 'obedient': ValueError: bad",
        "agent 'obedient': KeyError: 'k'",
    ]
    assert [attempt.outcome for attempt in judged] == ["completed", "void", "void", "void"]


async def test_attempts_and_scores_are_made_in_several_other_processes_each_of_which_is_made_once() -> None:
    pids = set[str]()

    async def make(rollout: Rollout, batch: int) -> None:
        made = await attempts(rollout, *[f"pid {batch}.{number}" for number in range(8)])
        pids.update(attempt.trajectory.answer for attempt in made)

    async with rollout_with(ProcessExecutor(4, 2), echo) as rollout:
        batches = itertools.count()
        async with asyncio.timeout(60):
            while len(pids) < 2:  # the second one is there a little later
                await make(rollout, next(batches))
        for _ in range(5):
            await make(rollout, next(batches))
        (task,) = todo("pid")
        scored = await rollout.attempt(task.model_copy(update={"data": {"score": "pid"}}), SKILL, 1)
    assert len(pids) == 2
    assert str(os.getpid()) not in pids
    assert scored.score is not None
    assert scored.score.feedback in pids


async def test_what_stops_the_run_here_stops_it_from_there() -> None:
    async with rollout_with(TaskExecutor(), echo) as rollout:
        with pytest.raises(BudgetStop) as stop:
            await attempts(rollout, "answer x", "ask stop", "answer y")
    assert (stop.value.message, stop.value.hint, stop.value.limit) == (
        "limits.calls = 3 is reached", "raise it", "calls",
    )  # fmt: skip


async def test_what_is_asked_belongs_to_the_attempt_that_asks(tmp_path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")

    async def answer(name: str, text: str) -> str:
        async def work() -> str:
            return text

        return await journal.once("reply", text, str, work)

    seen: list[list[dict[str, str]]] = []
    for executor in (LocalExecutor(4), TaskExecutor(4)):
        async with rollout_with(executor, answer) as rollout:
            object.__setattr__(rollout.agent, "journals_calls", True)
            made = await attempts(rollout, "ask a", "ask b", "answer c", "ask a")
        seen.append([{name: fact for name, fact in one.facts.items() if name.startswith("reply")} for one in made])
    journal.close()
    assert seen[0] == seen[1]
    assert [len(facts) for facts in seen[0]] == [1, 1, 0, 1]


async def test_a_cancelled_attempt_ends_there_and_so_does_what_it_asks(tmp_path) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def answer(name: str, text: str) -> str:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    executor, file = TaskExecutor(4, 1), tmp_path / "file"
    async with rollout_with(executor, answer) as rollout:
        under_way = asyncio.create_task(attempts(rollout, f"hold {file}", "ask x"))
        await asyncio.wait_for(asked.wait(), 60)
        while not file.exists():
            await asyncio.sleep(0.01)
        await asyncio.wait_for(executor.cancel(), 60)
        assert file.read_text() == "ended"
        assert ended.is_set()
        under_way.cancel()
        await asyncio.gather(under_way, return_exceptions=True)


async def test_a_question_given_up_costs_no_other_attempt_its_worker(monkeypatch) -> None:
    monkeypatch.setattr(peer, "STOP_SECONDS", 0.2)
    told: list[str] = []

    async def answer(name: str, text: str) -> str:
        try:
            await asyncio.sleep(0.6)
        except asyncio.CancelledError:
            await asyncio.sleep(1)  # what was paid for is still written down
        return text

    async with rollout_with(TaskExecutor(4, 1), answer, told=told) as rollout:
        made = await attempts(rollout, "hurry a", "ask b", "ask c")
    assert [attempt.trajectory.answer for attempt in made] == ["given up", "b", "c"]
    assert told == []


class LostWorker(DataError):
    """Of a plugin, with the name of one of etude's own."""


class Any(DataError):
    """With the name of what is no error."""


@rows("kind", [LostWorker, Any, ProgramFailed, BudgetStop])
def test_an_error_arrives_as_its_own_class(kind: type[EtudeError]) -> None:
    error = kind("no", hint="yes")
    arrived = peer.read_error(json.loads(json.dumps(peer.write_error(error))))
    assert type(arrived) is kind
    assert (vars(arrived), str(arrived)) == (vars(error), str(error))


def test_an_error_that_is_not_known_here_arrives_as_the_nearest_class_that_is() -> None:
    class Any(DataError):
        pass

    assert type(peer.read_error(peer.write_error(Any("no")))) is DataError


async def test_time_in_boxes_counts_as_it_does_here() -> None:
    outcomes: list[list[tuple[str, str]]] = []
    for executor in (LocalExecutor(4), TaskExecutor(4)):
        async with rollout_with(executor, echo, limits={"attempt_seconds": 3}) as rollout:
            made = await attempts(rollout, "box 0.1", "box 3")
        outcomes.append([(attempt.outcome, attempt.reason) for attempt in made])
    assert outcomes[0] == outcomes[1]
    assert [outcome for outcome, _ in outcomes[0]] == ["void", "failed"]


@pytest.mark.parametrize("kind", few([TaskExecutor, ProcessExecutor], TaskExecutor))
async def test_the_attempts_of_a_lost_worker_are_made_again_and_what_it_had_asked_is_asked_once(
    tmp_path: Path, kind: type[ProcessExecutor]
) -> None:
    asked: list[str] = []
    executor, told = kind(4, 2), list[str]()
    journal = SqliteJournal(tmp_path / "journal.db")

    async def answer(name: str, text: str) -> str:
        async def work() -> str:
            asked.append(text)
            if len(asked) in (2, 5):  # while it waits for this answer, its worker dies
                executor.kill()
            await asyncio.sleep(0.2)
            return text

        return await journal.once("reply", text, str, work)

    async with rollout_with(executor, answer, told=told) as rollout:
        made = await attempts(rollout, *[f"ask {number}" for number in range(8)])
    journal.close()
    assert [attempt.trajectory.answer for attempt in made] == [*map(str, range(8))]
    assert sorted(asked) == [*map(str, range(8))]
    assert told


@pytest.mark.slow
async def test_an_attempt_that_ends_its_process_each_time_is_void() -> None:
    async with rollout_with(ProcessExecutor(1, 1), echo) as rollout:
        made = await attempts(rollout, "exit x", "answer x")
    assert [attempt.outcome for attempt in made] == ["void", "completed"]
    assert "5 times" in made[0].reason


async def test_workers_have_no_keys_and_work_in_the_folder_of_this_process(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ETUDE_TEST_KEY", "sk-secret")
    monkeypatch.chdir(tmp_path)
    async with rollout_with(ProcessExecutor(), echo) as rollout:
        made = await attempts(rollout, "variable ETUDE_TEST_KEY", "variable PATH", "folder x")
    assert [attempt.trajectory.answer for attempt in made] == ["nothing", os.environ["PATH"], str(Path.cwd())]


UNABLE = [
    ({"order": "broken"}, "tasks.jsonl is not there"),
    ({"fingerprints": ("another", "one")}, "the agent is not the one"),
    ({"builder": "far_parts:nothing"}, "nothing"),
]


@pytest.mark.parametrize(("more", "message"), few(UNABLE, UNABLE[1]))
async def test_a_worker_that_cannot_make_these_attempts_stops_the_run(more: dict[str, str], message: str) -> None:
    async with rollout_with(TaskExecutor(1, 1), echo, **more) as rollout:
        with pytest.raises(StopRun, match=message):
            await attempts(rollout, "answer x", "answer y")


async def test_workers_that_never_come_stop_the_run() -> None:
    class Stillborn(ProcessExecutor):
        async def work(self, invitation: str) -> None:
            raise OSError("no such machine")

    async with rollout_with(Stillborn(), echo) as rollout:
        with pytest.raises(StopRun, match="no such machine"):
            await attempts(rollout, "answer x")


async def test_nobody_without_the_token_is_heard() -> None:
    ports: list[int] = []

    class Spied(ProcessExecutor):
        async def work(self, invitation: str) -> None:
            told = json.loads(invitation)
            ports.append(told["port"])
            reader, writer = await asyncio.open_connection(told["host"], told["port"])
            data = json.dumps("0" * 48).encode()
            writer.write(len(data).to_bytes(4, "big") + data)
            assert await reader.read() == b""
            writer.close()
            await super().work(invitation)

    executor = Spied(1, 1)
    async with rollout_with(executor, echo) as rollout:
        assert (await attempts(rollout, "answer x"))[0].outcome == "completed"
    assert ports
