"""How large a number in a mined check may be."""

from test_sleep_mining import optimizer, reply, row, session

from etude.sleep.tasks.mining import mine
from etude.testing import ScriptedModel


async def test_a_text_that_reads_as_a_large_number_is_a_text_like_any_other() -> None:
    model = ScriptedModel([reply(row(checks=[{"op": "contains", "arg": "100001", "requirement": "the number"}]))])
    mined = await mine([session()], optimizer(model))
    assert [check.arg for task in mined.tasks for check in task.checks] == ["100001"]
