"""Making games with the generator of TextWorld, each once."""

import asyncio
import contextlib
import logging
import os
from pathlib import Path

from pydantic import Field, JsonValue, field_validator

from etude.concurrency import together
from etude.config import Section
from etude.errors import DataError
from etude.records import SPLITS, Split, digest
from etude_annexes.foreign.textworld.engine import environment

_OURS = frozenset({"output", "seed", "format", "force", "silent", "verbose", "third-party", "save-overview", "test"})
_SHOWN = 600
_MAKE_SECONDS = 600.0
"""Longest for one game. Most take some seconds; no game comes of options that cannot be met."""
_TOLD = 5
"""A line for so many games: there is no run yet whose progress could be shown."""
_LOG = logging.getLogger(__name__)


class GameRecipe(Section):
    """Games to make: `tw-make GAME OPTIONS` of TextWorld, with a seed of its own for each."""

    game: str = "custom"
    """Kind of game: `custom`, `tw-simple`, `tw-cooking`, `tw-coin_collector`, `tw-treasure_hunter`."""
    options: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Options of `tw-make` without their dashes, as in `{quest-length: 3}`; `true` for one that takes no value. Some
    games need some, as `tw-simple` does `{rewards: dense, goal: brief}`."""
    train: int = Field(default=20, ge=1)
    """Training games."""
    val: int = Field(default=10, ge=1)
    """Validation games."""
    test: int = Field(default=20, ge=0)
    """Test games."""
    seed: int = Field(default=1, ge=0)
    """Seed of the first game; each further one has the next."""

    @field_validator("options")
    @classmethod
    def _no_others(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for name in value:
            if name in _OURS or not name.replace("-", "").isalnum():
                raise ValueError(f"{name!r} is not an option of the game")
        return value

    @field_validator("game")
    @classmethod
    def _plain(cls, value: str) -> str:
        if not value.replace("-", "").replace("_", "").isalnum() or value.startswith("-"):
            raise ValueError(f"{value!r} is not the name of a kind of game")
        return value


async def make_games(make: GameRecipe, folder: Path, python: str) -> dict[Split, list[Path]]:
    """The games of each split, below `folder`; those that are there already are not made again. Raises DataError: the
    generator failed."""
    words = [word for name, value in sorted(make.options.items()) for word in _words(name, value)]
    mark = digest([make.game, words])[:8]
    found: dict[Split, list[Path]] = {split: [] for split in SPLITS}
    seed = make.seed
    counts: dict[Split, int] = {"train": make.train, "val": make.val, "test": make.test}
    for split, count in counts.items():
        for number in range(seed, seed + count):
            found[split].append(folder / split / f"{make.game}-{mark}-{number}.z8")
        seed += count
    places = asyncio.Semaphore(os.cpu_count() or 1)
    missing = {path for paths in found.values() for path in paths if not path.is_file()}

    made = 0

    async def one(path: Path) -> None:
        nonlocal made
        async with places:
            await _make(path, [make.game, *words, "--seed", path.stem.rpartition("-")[2]], python)
        made += 1
        if made % _TOLD == 0 and made < len(missing):
            _LOG.warning("%d of %d games are made", made, len(missing))

    if len(missing) >= _TOLD:
        _LOG.warning("making %d games in %s; each takes some seconds", len(missing), folder)
    await together(map(one, sorted(missing)))
    return found


def _words(name: str, value: JsonValue) -> list[str]:
    if value is True:
        return [f"--{name}"]
    values = value if isinstance(value, list) else [value]
    return [f"--{name}", *map(str, values)]


def _last(said: str) -> str:
    """The last line of what a program said, which tells why it ended."""
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "it said nothing")[-_SHOWN:]


async def _make(path: Path, words: list[str], python: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f"making-{path.name}")
    program = Path(python).with_name("tw-make")
    process = await asyncio.create_subprocess_exec(
        python,
        str(program),
        *words,
        "--output",
        str(made),
        "--silent",
        "--force",
        env=environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _MAKE_SECONDS)
    except TimeoutError:
        said = f"it took more than {_MAKE_SECONDS:,.0f} seconds".encode()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0 or not made.is_file():
        raise DataError(
            f"tw-make {' '.join(words)} made no game: {_last(said.decode(errors='replace'))}",
            hint=f"change env.make.game or env.make.options; `{program} {words[0]} --help` says what there is",
        )
    # What was said of the game lies beside it. The game comes last, so that it is never without that.
    for part in (made.with_suffix(".ni"), made.with_suffix(".json"), made):
        if part.is_file():
            part.rename(path.with_suffix(part.suffix))
