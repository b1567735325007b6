from pathlib import Path

import pytest

from etude import Trainer, load_config
from etude.config import ModelSection, Price
from etude.errors import ConfigError
from etude.models import price_of
from etude.simulation import make_tasks

CHEAP, DEAR = Price(input=1, output=2), Price(input=10, output=20, cached=1)
TABLE = {"openai:m": CHEAP, "simulated:judge": DEAR}


def test_the_price_of_the_role_goes_before_that_of_the_table():
    assert price_of(ModelSection(model="openai:m"), TABLE) == CHEAP
    assert price_of(ModelSection(model="openai:m", price=DEAR), TABLE) == DEAR


def config_file(folder: Path, extra: str) -> Path:
    tasks = make_tasks("sorting", 9, seed=1)
    for at, split in enumerate(("train", "val", "test")):
        rows = [task.model_dump_json(include={"id", "input", "gold"}) for task in tasks[3 * at : 3 * at + 3]]
        (folder / f"{split}.jsonl").write_text("\n".join(rows))
    env = "env: {train: train.jsonl, val: val.jsonl, test: test.jsonl}"
    models = "target: {model: 'openai:target', base_url: 'http://127.0.0.1:9/v1'}"
    path = folder / "etude.yaml"
    path.write_text(f"{env}\n{models}\nrun: {{folder: runs}}\nlimits: {{usd: 1, outage_seconds: 0.1}}\n{extra}\n")
    return path


def test_a_cap_on_money_takes_the_price_from_the_table(tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        Trainer(load_config(config_file(tmp_path, ""), environ={})).train()
    assert str(caught.value) == (
        "limits.usd = 1 needs the price of every model, target.price is not set\n"
        "hint: set target.price.input and target.price.output in USD per million tokens, or prices"
    )
    priced = config_file(tmp_path, "prices: {'openai:target': {input: 0.1, output: 0.2}}")
    with pytest.raises(Exception, match="has not answered"):  # the price is known, the endpoint is dead
        Trainer(load_config(priced, environ={})).train()
