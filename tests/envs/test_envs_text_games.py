"""The example of text games, with a stand-in for the engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.errors import DataError
from etude.prompts import Prompts
from etude.records import Message, Reply, Skill, TextPart, ToolCall, Trajectory
from etude.testing.doubles import ScriptedModel

ROOT = Path(__file__).parents[2]
WINS = ["open the box", "take the key"]


@pytest.fixture
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "stand_in_engine"))
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "text_games"))
    for split in ("train", "val"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "1.z8").write_text(json.dumps({"goal": f"Bring the {split} key.", "wins": WINS}))
    from text_games import TextGames

    return TextGames.from_options({"folder": str(tmp_path)}, "env", None)


async def test_a_game_is_played_with_one_tool_and_scored_by_what_it_says_last(games: Any) -> None:
    (task,) = games.tasks("train")
    assert "Bring the train key." in task.input
    for commands, hard, soft in ((WINS, 1, 1), (WINS[:1], 0, 0.5), (["wait", *WINS], 1, 1)):
        calls = [
            Reply(text="", tool_calls=(ToolCall(id=f"c{n}", name="act", arguments=json.dumps({"command": command})),))
            for n, command in enumerate(commands)
        ]
        model = ScriptedModel([*calls, "That is all."])
        agent = ToolsAgent(model, Prompts(), ToolsOptions(tools=())).with_tools(games.tools, games.fingerprint())
        score = games.score(task, await agent.attempt(task, Skill(text=""), 0))
        assert (score.hard, score.soft) == (hard, soft)
        assert f"after {len(commands)} commands" in score.feedback
    said = Message(role="assistant", content=(TextPart(text="done"),))
    assert games.score(task, Trajectory(answer="", messages=(said,))).soft == 0


def test_a_folder_without_games_is_an_error(games: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no games"):
        type(games)(str(tmp_path / "train"))
