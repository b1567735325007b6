from pathlib import Path

import pytest

from etude import Trainer, load_config
from etude.config import ModelSection, Price, make_config
from etude.errors import ConfigError
from etude.models import price_of
from etude.simulation import make_tasks

CHEAP, DEAR = Price(input=1, output=2), Price(input=10, output=20, cached=1)
TABLE = {"openai:m": CHEAP, "simulated:judge": DEAR}


def test_the_price_of_the_role_goes_before_that_of_the_table():
    assert price_of(ModelSection(model="openai:m"), TABLE) == CHEAP
    assert price_of(ModelSection(model="openai:m", price=DEAR), TABLE) == DEAR


def test_a_model_that_nobody_has_priced_stays_unknown():
    assert price_of(ModelSection(model="openai:n"), TABLE) is None
    assert price_of(ModelSection(model="openai:m")) is None


def test_the_simulated_world_is_free_unless_the_table_says_otherwise():
    assert price_of(ModelSection(model="simulated:target"), TABLE) == Price(input=0, output=0)
    assert price_of(ModelSection(model="simulated:judge"), TABLE) == DEAR


def test_a_model_that_is_not_the_one_of_the_settings_goes_by_its_own_name():
    assert price_of(ModelSection(model="simulated:target"), TABLE, "openai:m") == CHEAP
    assert price_of(ModelSection(model="openai:m"), TABLE, "scripted:x") is None


def test_the_table_comes_from_the_config_and_may_change_when_a_run_is_resumed():
    config = make_config({"prices": {"openai:gpt-x": {"input": 1.5, "output": 6}}})
    assert config.prices["openai:gpt-x"] == Price(input=1.5, output=6)
    assert "prices" not in config.identity()


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
