"""Public data sets: their gold answers pass their own scorer."""

from pathlib import Path

import pytest

from etude.envs.dataset import DatasetEnvironment
from etude.envs.gold import check_gold
from etude.records import SPLITS

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

LIVEMATH = {
    "template": "{mcq.question}\n\nChoices:\n{mcq.correct_choice}\n{mcq.choices}",
    "fields": {"id": "no", "gold": "mcq.correct_choice.label", "type": "theorem_type"},
    "scorer": "choice",
}


@pytest.mark.parametrize(
    ("file", "options", "count"),
    [
        ("gsm8k/train_300.jsonl", {"scorer": "numeric"}, 300),
        ("gsm8k/train_300.jsonl", {"scorer": {"name": "exact", "answer_after": "####"}}, 300),
        ("bbh/word_sorting.json", {"scorer": "exact"}, 250),
        ("bbh/object_counting.json", {"scorer": "numeric"}, 250),
        ("bbh/date_understanding.json", {"scorer": "choice"}, 250),
        ("livemath/qa_202511_final.json", LIVEMATH, 29),
    ],
)
async def test_gold_answers_of_public_data_pass_their_scorer(file: str, options: dict, count: int) -> None:
    path = DATA / file
    if not path.exists():
        pytest.skip(f"the data set {file} is not on this machine")
    env = DatasetEnvironment({"path": str(path), **options})
    tasks = [task for split in SPLITS for task in env.tasks(split)]
    assert len(tasks) == count
    await check_gold(env, tasks)
