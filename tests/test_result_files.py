"""What was found of skills stays, whatever is asked afterwards."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from etude import aevaluate_skill
from etude.envs import ListEnvironment
from etude.measure.audit.suite import aaudit_skill
from etude.measure.compare import acompare_skills
from etude.measure.recheck import arecheck_skill
from etude.records import Reply
from etude.testing import ScriptedModel
from two_skills import OTHERS, TASKS, A, B, World

Ask = Callable[..., Awaitable[Any]]
MEASURES: dict[str, Ask] = {
    "evaluations": lambda config, **given: aevaluate_skill(config, skill=A, **given),
    "comparisons": lambda config, **given: acompare_skills(config, A, B, **given),
    "rechecks": lambda config, **given: arecheck_skill(config, skill=B, **given),
    "audits": lambda config, **given: aaudit_skill(config, "test", skill=A, **given),
}


@pytest.mark.parametrize("place", MEASURES)
async def test_other_tasks_another_scorer_or_another_metric_leave_a_result_as_it_is(
    place: str, tmp_path: Path
) -> None:
    world = World(tmp_path, {})

    async def ask(tasks: int = 8, scorer: str = "exact", metric: str = "hard") -> str:
        env = ListEnvironment([OTHERS[0]], [OTHERS[1]], TASKS[:tasks], scorer=scorer)
        target = ScriptedModel(lambda _: Reply(text="yes"), name="scripted:target")
        config = world.config()
        config = config.model_copy(update={"gate": config.gate.model_copy(update={"metric": metric})})
        found = await MEASURES[place](config, **world.given() | {"env": env, "target": target})
        assert Path(found.file).parent.name == place
        return found.file

    first = await ask()
    held = Path(first).read_bytes()
    files = {first, await ask(tasks=6), await ask(scorer="f1"), await ask(metric="soft")}
    assert len(files) == 4
    assert (await ask(), Path(first).read_bytes()) == (first, held)
    assert {str(path) for path in Path(first).parent.iterdir()} == files
