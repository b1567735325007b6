"""Games of the real engine, made by its own generator, and a game in the format of ALFWorld's."""

import json
import subprocess
from pathlib import Path

import pytest

from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.prompts import Prompts
from etude.records import Reply, Skill, Task, ToolCall
from etude.testing.doubles import ScriptedModel
from etude_annexes.foreign.textworld.environment import TextWorldEnvironment

PYTHON = Path(__file__).parents[2] / ".tools" / "textworld" / "bin" / "python"
pytestmark = pytest.mark.skipif(
    not PYTHON.is_file()
    or subprocess.run([PYTHON, "-c", "import textworld, fast_downward"], check=False).returncode != 0,
    reason="TextWorld is not in .tools/textworld, where scripts/test --slow installs it",
)

DOMAIN = """(define (domain house)
 (:requirements :typing)
 (:types place thing agent)
 (:predicates (at ?a - agent ?r - place) (in ?o - thing ?r - place) (holds ?a - agent ?o - thing))
 (:action goto :parameters (?a - agent ?from - place ?r - place)
  :precondition (at ?a ?from) :effect (and (not (at ?a ?from)) (at ?a ?r)))
 (:action take :parameters (?a - agent ?o - thing ?r - place)
  :precondition (and (at ?a ?r) (in ?o ?r)) :effect (and (not (in ?o ?r)) (holds ?a ?o)))
 (:action put :parameters (?a - agent ?o - thing ?r - place)
  :precondition (and (at ?a ?r) (holds ?a ?o)) :effect (and (in ?o ?r) (not (holds ?a ?o)))))"""
PROBLEM = """(define (problem NAME) (:domain house)
 (:objects me - agent shelf_bar__plus_01 desk_bar__plus_02 - place NAME_bar__plus_03 - thing)
 (:init (at me desk_bar__plus_02) (in NAME_bar__plus_03 shelf_bar__plus_01))
 (:goal (and (in NAME_bar__plus_03 desk_bar__plus_02))))"""
GRAMMAR = '''grammar :: """
{"intro": [{"rhs": "You are in a room.\\n\\nYour task is to: put the NAME on the desk."}],
 "went": [{"rhs": "You arrive at {r.name}."}],
 "took": [{"rhs": "You take {o.name}."}],
 "placed": [{"rhs": "You put {o.name} on {r.name}."}]}
""";
action goto { template :: "go to {r}"; feedback :: "#went#"; }
action take { template :: "take {o} from {r}"; feedback :: "#took#"; }
action put { template :: "put {o} on {r}"; feedback :: "#placed#"; }
'''


async def played(env: TextWorldEnvironment, task: Task, commands: list[str]) -> tuple[float, float]:
    calls = [
        Reply(text="", tool_calls=(ToolCall(id=f"c{n}", name="act", arguments=json.dumps({"command": command})),))
        for n, command in enumerate(commands)
    ]
    agent = ToolsAgent(ScriptedModel([*calls, "Done."]), Prompts(), ToolsOptions(tools=()))
    score = env.score(task, await agent.with_tools(env.tools, "").attempt(task, Skill(text=""), 0))
    return score.hard, score.soft


async def test_games_of_the_generator_are_played_to_their_end(tmp_path: Path) -> None:
    make = {"game": "tw-simple", "options": {"rewards": "dense", "goal": "detailed"}, "train": 2, "val": 1, "test": 1}
    options = {"path": str(tmp_path / "games"), "python": str(PYTHON), "make": make}
    env = TextWorldEnvironment(options)
    for task in (*env.tasks("train"), *env.tasks("val"), *env.tasks("test")):
        walk = json.loads((tmp_path / "games" / f"{task.id}.json").read_text())["metadata"]["walkthrough"]
        assert "####" not in task.input
        assert "$$" not in task.input
        assert await played(env, task, walk) == (1, 1)
        assert await played(env, task, ["look"]) == (0, 0)
        hard, soft = await played(env, task, walk[:-1])
        assert hard == 0
        assert 0 < soft < 1
    other = TextWorldEnvironment({**options, "path": str(tmp_path / "again")})
    assert other.tasks("train") == env.tasks("train")


async def test_games_in_the_format_of_alfworld_have_names_that_one_can_type(tmp_path: Path) -> None:
    for split, name in (("train", "mug"), ("val", "pen")):
        (tmp_path / split).mkdir()
        game = {"pddl_domain": DOMAIN, "pddl_problem": PROBLEM, "grammar": GRAMMAR, "walkthrough": []}
        (tmp_path / split / "game.tw-pddl").write_text(json.dumps(game).replace("NAME", name))
    options = {split: str(tmp_path / split) for split in ("train", "val")}
    env = TextWorldEnvironment({**options, "python": str(PYTHON)})
    (task,) = env.tasks("train")
    assert task.input.startswith("You are in a room.\n\nYour task is to: put the mug on the desk.")
    walk = ["go to shelf 1", "take mug 1 from shelf 1", "go to desk 1", "put mug 1 on desk 1"]
    assert await played(env, task, walk) == (1, 1)
    assert await played(env, task, walk[:3]) == (0, 0)
