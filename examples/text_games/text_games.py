"""Text games of TextWorld, and ALFWorld's, which are games of the same engine, as an environment.

    pip install textworld                   # 'textworld[pddl]' for the games that `alfworld-download` fetches
    cd examples/text_games
    for n in $(seq 60); do      # twenty games for each split
      split=$(echo train val test | cut -d' ' -f$((n % 3 + 1)))
      tw-make tw-cooking --recipe 2 --take 2 --cook --seed $n --output games/$split/$n.z8
    done
    etude train

The agent `tools` plays with one tool. The score is the game's own as its last answer tells it.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import textworld

from etude import Environment, Score, Task, Trajectory
from etude.errors import DataError
from etude.protocols import EnvironmentTool

HOW_TO = (
    "This is a text game. Play it with the tool `act`, one short command at a time, as in 'look' or 'open the door'. "
    "When the game is over, or you cannot go on, say what you did."
)
STANDS = re.compile(r"\[(won|lost|under way): score (\S+) of (\S+)\]\Z")
SUFFIXES = {".z8", ".tw-pddl"}
COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


class TextGames(Environment):
    """The games in `train`, `val` and `test` of a folder."""

    name = "text-games"
    has_tools = True
    repeatable = True  # the score stands in the trajectory

    def __init__(self, folder: str) -> None:
        self._games = {
            split: {path.stem: path for path in sorted(Path(folder, split).glob("*.*")) if path.suffix in SUFFIXES}
            for split in ("train", "val", "test")
        }
        if not (self._games["train"] and self._games["val"]):
            raise DataError(f"{folder!r} has no games in 'train' and 'val'", hint="make some with tw-make")

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Any] | None) -> "TextGames":
        return cls(str(options.get("folder", "games")))

    def tasks(self, split: str) -> Sequence[Task]:
        return [self._task(split, name, path) for name, path in self._games[split].items()]

    def _task(self, split: str, name: str, path: Path) -> Task:
        begin = start(path).reset()
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        text = f"{begin.objective}\n\n{begin.feedback}\n\n{HOW_TO}"
        return Task(id=f"{split}/{name}", input=text, data={"game": content})

    def tools(self, task: Task) -> Sequence[EnvironmentTool]:
        split, _, name = task.id.partition("/")
        game = start(self._games[split][name])
        game.reset()

        async def act(arguments: Mapping[str, Any]) -> str:
            state, _, over = game.step(str(arguments["command"]))
            how = "won" if state.won else "lost" if state.lost or over else "under way"
            return f"{state.feedback}\n[{how}: score {state.score or 0} of {state.max_score or 1}]"

        return [EnvironmentTool("act", "Give the game one command, and read what comes of it.", COMMAND, act)]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        stands = [found for message in trajectory.messages if (found := STANDS.search(message.text))]
        if not stands:
            return Score(hard=0, soft=0, feedback="no command was given")
        how, score, most = stands[-1].groups()
        share = 1.0 if how == "won" else min(1.0, max(0.0, float(score) / float(most)))
        feedback = f"the game is {how} after {len(stands)} commands: score {score} of {most}"
        return Score(hard=how == "won", soft=share, feedback=feedback)

    def fingerprint(self) -> str:
        return f"text games 1, {textworld.__version__}"


def start(path: Path) -> Any:
    """A game at its beginning."""
    told = ("objective", "score", "max_score", "won", "lost")
    return textworld.start(str(path), textworld.EnvInfos(**dict.fromkeys(told, True)))
