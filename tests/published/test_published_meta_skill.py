"""Meta skill: what the optimizer remembers about optimizing."""

from stages_doubles import Desk, append, attempt

from etude.published.epochs import Pair, meta_skill
from etude.records import LedgerEntry, Skill

BEFORE, AFTER = Skill(text="Be exact.\n"), Skill(text="Be exact. Sort.\n")
PAIRS = [Pair(category="regressed", previous=attempt("old", 1.0), current=attempt("new", 0.0))]
LEDGER = [LedgerEntry(step=1, edit=append("Sort."), fate="applied", accepted=True, change=0.25)]


async def written(desk: Desk, memory: str = "") -> str:
    return await meta_skill(desk.optimizer, (BEFORE, AFTER), PAIRS, LEDGER, memory, 500)


async def test_the_memory_is_written_from_skills_ledger_and_pairs() -> None:
    desk = Desk(meta_skill={"reasoning": "r", "memory": " Short rules help.\n"})
    assert await written(desk) == "Short rules help."
    text = desk.shown()
    parts = ["# Previous skill", "# Current skill", "validation +0.250", "# regressed: 1 tasks"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "# Previous memory" not in text


async def test_an_unusable_answer_keeps_the_memory_and_is_reported() -> None:
    desk = Desk(meta_skill="Sorry.")
    assert await written(desk, "Old.") == "Old."
    (warning,) = desk.warnings
    assert warning.startswith("the meta skill gave no usable answer and stays as it was: ")
