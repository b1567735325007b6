"""Text games, with a stand-in for the engine: what a task is, how it is played and scored, and what goes wrong."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.errors import BoundaryError, ConfigError, DataError
from etude.prompts import Prompts
from etude.records import Message, Reply, Skill, Task, TextPart, ToolCall, Trajectory, assistant, user
from etude.testing.doubles import ScriptedModel
from etude.testing.environment import EnvironmentContract
from etude_annexes.foreign.textworld.environment import TextWorldEnvironment

ENGINE = Path(__file__).parents[1] / "stand_in_engine"
WINS = ["open the box", "take the key"]


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ENGINE))


class Games:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for number in range(4):
            self.add(f"box-{number}.z8", number)

    def add(self, name: str, number: int = 9) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"goal": f"Bring key {number}.", "wins": WINS}))

    def env(self, **options: Any) -> TextWorldEnvironment:
        return TextWorldEnvironment({"path": str(self.folder), "ratio": [1, 1, 0], **options})


@pytest.fixture
def games(tmp_path: Path) -> Games:
    return Games(tmp_path / "games")


async def play(env: TextWorldEnvironment, task: Task, *commands: str) -> Trajectory:
    """A game as the agent with tools plays it."""
    calls = [
        Reply(text="", tool_calls=(ToolCall(id=f"c{n}", name="act", arguments=json.dumps({"command": command})),))
        for n, command in enumerate(commands)
    ]
    model = ScriptedModel([*calls, "That is all."])
    agent = ToolsAgent(model, Prompts(), ToolsOptions(tools=())).with_tools(env.tools, env.fingerprint())
    return await agent.attempt(task, Skill(text=""), 0)


def told(*texts: str) -> Trajectory:
    """A trajectory whose answers of the game are these."""
    messages = [user("Play.")]
    for number, text in enumerate(texts):
        call = ToolCall(id=f"c{number}", name="act", arguments="{}")
        messages += [Message(role="assistant", tool_calls=(call,))]
        messages += [Message(role="tool", tool_call_id=call.id, content=(TextPart(text=text),))]
    return Trajectory(messages=(*messages, assistant("done")))


class TestTextWorld(EnvironmentContract):
    @pytest.fixture(autouse=True)
    def _games(self, games: Games) -> None:
        self.games = games

    def make_environment(self) -> TextWorldEnvironment:
        return self.games.env()

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [told("Done.\n\n[won: score 2 of 2]"), told("[under way: score 1 of 2]"), Trajectory()]


async def test_attempts_at_the_same_time_play_games_of_their_own(games: Games) -> None:
    env = games.env()
    task, other = env.tasks("train")
    first, second, third = await asyncio.gather(
        play(env, task, *WINS), play(env, task, WINS[1]), play(env, other, *WINS)
    )
    assert [env.score(task, one).hard for one in (first, second, third)] == [1, 0, 1]


async def test_possible_commands_are_told_where_that_is_asked_for(games: Games) -> None:
    plain, telling = games.env(), games.env(commands=True)
    for env, there in ((plain, False), (telling, True)):
        trajectory = await play(env, env.tasks("train")[0], "look")
        assert ("Possible commands: look, open the box" in trajectory.messages[2].text) is there
    assert plain.fingerprint() != telling.fingerprint()


async def test_what_is_not_a_command_is_told_and_plays_nothing(games: Games) -> None:
    env = games.env()
    (act,) = env.tools(env.tasks("train")[0])
    for command in ("", " ", "one\ntwo", 3, "x" * 201):
        assert (await act.call({"command": command})).startswith("error:")
    assert (await act.call({"command": " open the box "})).endswith("[under way: score 1 of 2]")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("crash", "the process of the engine ended with exit code 3: noise of the engine"),
        ("kill", "ended with SIGKILL: the machine may be out of memory"),
        ("fail", "no such thing"),
        ("hang", "1 sec"),
    ],
)
async def test_a_game_that_dies_makes_an_attempt_void_and_the_next_one_is_played(
    games: Games, command: str, reason: str
) -> None:
    env = games.env(seconds=1)
    task = env.tasks("train")[0]
    with pytest.raises(BoundaryError, match=reason):
        await play(env, task, "open the box", command)
    assert env.score(task, await play(env, task, *WINS)).hard == 1


async def test_an_attempt_goes_on_where_it_was_when_another_one_killed_the_engine(games: Games) -> None:
    env = games.env()
    task = env.tasks("train")[0]
    (mine,), (other,) = env.tools(task), env.tools(task)
    await mine.call({"command": WINS[0]})
    with pytest.raises(BoundaryError):
        await other.call({"command": "crash"})
    assert (await mine.call({"command": WINS[1]})).endswith("[won: score 2 of 2]")


async def test_games_see_no_keys(games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k3y")
    from etude_annexes.foreign.textworld.engine import environment

    assert "OPENAI_API_KEY" not in environment()


def test_folders_are_splits_and_a_game_in_two_of_them_is_refused(games: Games) -> None:
    for split, numbers in (("train", "12"), ("val", "3")):
        for number in numbers:
            games.add(f"{split}/{number}.tw-pddl", int(number))
    options = {split: str(games.folder / split) for split in ("train", "val")}
    env = TextWorldEnvironment(options)
    assert [task.id for task in env.tasks("train")] == ["train/1", "train/2"]
    assert TextWorldEnvironment({**options, "limit": 1}).tasks("train") == env.tasks("train")[:1]
    games.add("val/4.tw-pddl", 1)
    with pytest.raises(DataError, match="in two splits: train 'train/1' = val 'val/4'"):
        TextWorldEnvironment(options)


def test_games_are_made_once_with_a_seed_each(games: Games, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The generator is a program beside the interpreter: here one that writes down how it was called."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "bin" / "tw-make").write_text(
        "import json, sys, pathlib\n"
        "words = sys.argv[1:]\n"
        "path = pathlib.Path(words[words.index('--output') + 1])\n"
        "path.write_text(json.dumps({'goal': ' '.join(words[:-4]), 'wins': ['look']}))\n"
        "path.with_suffix('.json').write_text('{}')\n"
    )
    make = {"game": "tw-cooking", "options": {"recipe": 2, "cook": True}, "train": 2, "val": 1, "test": 1, "seed": 7}
    options = {"path": str(tmp_path / "made"), "python": str(python), "make": make}
    env = TextWorldEnvironment(options)
    goals = [task.input.partition("\n")[0] for split in ("train", "val", "test") for task in env.tasks(split)]
    assert goals == [f"tw-cooking --cook --recipe 2 --seed {seed}" for seed in (7, 8, 9, 10)]
    assert len(list((tmp_path / "made").rglob("*.json"))) == 4
    (tmp_path / "bin" / "tw-make").write_text("raise SystemExit('no')")
    assert TextWorldEnvironment(options).tasks("train") == env.tasks("train")
    with pytest.raises(DataError, match="made no game: no"):
        TextWorldEnvironment({**options, "make": {**make, "seed": 20, "train": 5}})
    assert caplog.messages == [f"making 7 games in {tmp_path / 'made'}; each takes some seconds"]


@pytest.mark.parametrize("name", ["third-party", "output", "x; y"])
def test_the_generator_gets_no_option_that_runs_or_writes_something_else(games: Games, name: str) -> None:
    with pytest.raises(ConfigError, match="is not an option of the game"):
        games.env(make={"options": {name: "x"}})


def test_what_is_missing_is_said_before_anything_is_paid_for(games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no game"):
        TextWorldEnvironment({"path": str(games.folder.parent / "none")})
    with pytest.raises(ConfigError, match="is not a program"):
        games.env(python="no-such-python")
    monkeypatch.setenv("PYTHONPATH", os.devnull)
    with pytest.raises(ConfigError, match="has no TextWorld") as refused:
        games.env(python=sys.executable)
    assert "pip install textworld" in refused.value.hint
