"""Text games as an environment: the agent plays with a tool, and the game's own score is the score."""

import hashlib
import itertools
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, JsonValue

from etude.concurrency import run_to_end
from etude.config import parse
from etude.envs.scorers.answer_scorer import Judge
from etude.envs.sources import Sources
from etude.errors import ConfigError, DataError
from etude.protocols import Environment, EnvironmentTool
from etude.records import SPLITS, Score, Split, Task, Trajectory, canonical
from etude_annexes.foreign.textworld.engine import GameProcess, GameState
from etude_annexes.foreign.textworld.generator import GameRecipe, make_games

TOOL = "act"
_GAME = re.compile(r".*\.(z[1-8]|tw-pddl)")
_ENDING = re.compile(r"\[(?P<how>won|lost|under way): score (?P<score>-?[\d.]+) of (?P<most>[\d.]+)\]\Z")
_HOW_TO = (
    f"This is a text game. Play it with the tool `{TOOL}`, one short command at a time, as in 'look', 'inventory', "
    "'open the door' or 'take the key from the table'. When the game is over, or you cannot go on, say what you did."
)


class TextWorldConfig(Sources):
    """Settings of the `textworld` environment. `path`, or `train`, `val` and `test`, are folders of games."""

    make: GameRecipe | None = None
    """Games to make with the generator of TextWorld, below the folder `path`. Each is made once."""
    commands: bool = False
    """Tell after each command which ones the game knows next."""
    python: str | None = None
    """The interpreter that has TextWorld; the one that runs etude when not given."""
    seconds: float = Field(default=60, gt=0)
    """Longest that a game may take for one command. An attempt in which it takes longer is void."""


class TextWorldEnvironment(Environment):
    """Games of TextWorld (.z8 with their .json), ALFWorld (.tw-pddl) and others for the Z-machine (.z3, ...).

    The score of an attempt is the game's own as it stands at the end: `hard` is 1 for a game that was won, `soft` its
    share of the highest score. Games are played in a process of their own; should it die, an attempt is void.

    Raises ConfigError: a setting is wrong, or the interpreter has no TextWorld; DataError: a folder or a game is
    missing, or cannot be played, or a game is in two splits.
    """

    name = "textworld"
    options_type: ClassVar[type[TextWorldConfig]] = TextWorldConfig
    has_tools: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, Any], *, where: str = "env") -> None:
        self.config = config = parse(TextWorldConfig, dict(options), where=where)
        self._where = where
        python = shutil.which(config.python) if config.python else sys.executable
        if python is None:
            raise ConfigError(
                f"{where}.python = {config.python!r} is not a program", hint="give a Python that has TextWorld"
            )
        self._engine = GameProcess(python, config.seconds)
        self._numbers = itertools.count(1)
        self._games: dict[str, Path] = {}
        self._tasks = run_to_end(self._read())
        self._check()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], where: str, judge: Callable[[], Judge] | None) -> Self:
        """The environment for the settings of the `env` section."""
        del judge
        return cls(options, where=where)

    @property
    def repeatable(self) -> bool:
        """The score stands in the trajectory."""
        return True

    @property
    def warnings(self) -> Sequence[str]:
        """Nothing is doubtful: many games begin with the same words."""
        return ()

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """All games of a split, always in the same order."""
        return self._tasks[split]

    def fingerprint(self) -> str:
        """Name and version of the engine, and whether commands are told."""
        return canonical([self.name, self._engine.version, self.config.commands])

    def tools(self, task: Task) -> Sequence[EnvironmentTool]:
        """One tool, which plays the game from its beginning."""
        game, number, done = self._game(task), next(self._numbers), list[str]()

        async def act(arguments: Mapping[str, JsonValue]) -> str:
            command = arguments["command"]
            if not isinstance(command, str) or not command.strip() or len(command) > 200 or not command.isprintable():
                return "error: `command` is one line of text, of at most 200 characters"
            done.append(command.strip())
            return self._shown(await self._engine.play(game, number, done))

        description = "Give the game one command, and read what comes of it."
        command: dict[str, JsonValue] = {"type": "string", "description": "What to do, as in 'open the door'."}
        schema: dict[str, JsonValue] = {"type": "object", "properties": {"command": command}, "required": ["command"]}
        return [EnvironmentTool(TOOL, description, schema, act)]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The game's own score, from what its last answer says."""
        calls = {call.id for message in trajectory.messages for call in message.tool_calls if call.name == TOOL}
        answers = [message.text for message in trajectory.messages if message.tool_call_id in calls]
        found = [ending for text in answers if (ending := _ENDING.search(text))]
        if not found:
            return Score(hard=0, soft=0, feedback="no command was given")
        last, most = found[-1], float(found[-1]["most"])
        won = last["how"] == "won"
        soft = 1.0 if won else min(1.0, max(0.0, float(last["score"]) / most)) if most else 0.0
        told = f"the game is {last['how']} after {len(found)} commands: score {last['score']} of {last['most']}"
        return Score(hard=float(won), soft=soft, feedback=told)

    def _shown(self, state: GameState) -> str:
        how = "won" if state.won else "lost" if state.lost else "under way"
        tell = self.config.commands and state.commands and not state.over
        known = [f"Possible commands: {', '.join(state.commands)}"] if tell else []
        return "\n\n".join([state.text, *known, f"[{how}: score {state.score:g} of {max(state.most, 1):g}]"])

    def _game(self, task: Task) -> Path:
        if task.id not in self._games:
            raise DataError(f"there is no game {task.id!r}", hint="give the tasks of this environment")
        return self._games[task.id]

    async def _read(self) -> dict[Split, tuple[Task, ...]]:
        """The tasks of every split. Splits are made of the names of games: only those are begun that count."""
        config, found = self.config, dict[Split, tuple[Task, ...]]()
        await self._engine.start()
        names = await self._made(config.make) if config.make is not None else self._found()
        for split in SPLITS:
            found[split] = tuple([await self._begun(task) for task in names.get(split, ())])
        return found

    def _found(self) -> dict[Split, tuple[Task, ...]]:
        files = self.config.files(self._where, "give 'path', a folder of games, or 'train', 'val' and 'test'")
        return self.config.read(files, lambda name: tuple(self._listed(Path(name), len(set(files.values())) > 1)))

    async def _made(self, make: GameRecipe) -> dict[Split, tuple[Task, ...]]:
        if self.config.path is None or self.config.model_fields_set & {"train", "val", "test", "ratio", "split_seed"}:
            raise ConfigError(
                f"{self._where}.make needs 'path', the folder for the games, and no other splits",
                hint="as in `{path: games, make: {game: custom, train: 20, val: 10, test: 20}}`",
            )
        top = Path(self.config.path)
        games = await make_games(make, top, self._engine.python)
        limits = self.config.limit
        most = limits if isinstance(limits, dict) else dict.fromkeys(SPLITS, limits)
        return {split: tuple(self._named(top, path) for path in games[split][: most.get(split)]) for split in SPLITS}

    def _listed(self, top: Path, several: bool) -> Iterator[Task]:
        found = sorted(path for path in top.rglob("*") if _GAME.fullmatch(path.name) and path.is_file())
        if not found:
            raise DataError(
                f"{self._where}: there is no game (.z8, .tw-pddl) in {str(top)!r}",
                hint="name a folder of games, or have some made with `make`",
            )
        yield from (self._named(top.parent if several else top, path) for path in found)

    def _named(self, top: Path, path: Path) -> Task:
        """A task that nothing is known of yet but its name."""
        id = path.relative_to(top).with_suffix("").as_posix()
        if id in self._games:
            raise DataError(f"two games are called {id!r}", hint="give one of them another name")
        self._games[id] = path
        return Task(id=id, input=id)

    async def _begun(self, task: Task) -> Task:
        path = self._games[task.id]
        state = await self._engine.play(path, 0, ())
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        return task.model_copy(update={"input": f"{state.text}\n\n{_HOW_TO}", "data": {"game": content}})

    def _check(self) -> None:
        """Raises DataError: a split is empty that is needed, or a game is in two."""
        for split in ("train", "val"):
            if not self._tasks[split]:
                raise DataError(f"the {split} split is empty", hint="give it at least one game")
        places: dict[JsonValue, tuple[Split, str]] = {}
        for split in SPLITS:
            for task in self._tasks[split]:
                other, id = places.setdefault(task.data["game"], (split, task.id))
                if other != split:
                    raise DataError(
                        f"the same game is in two splits: {other} {id!r} = {split} {task.id!r}",
                        hint="remove it from one of them",
                    )
