"""Settings: where they come from, what wins, and what is said about bad ones."""

import re
from typing import Any

import pytest

from etude.config import load_config, make_config
from etude.errors import ConfigError
from etude.published.options import options_of
from rows import rows

KEYS = "write keys below it, as in `{}`"


@rows(
    ("data", "problem", "hint"),
    [
        ({"train": {"epoch": 2}}, "unknown key 'train.epoch'", "did you mean 'train.epochs'?"),
        ({"optimiser": {}}, "unknown key 'optimiser'", "did you mean 'optimizer'?"),
        ({"judge": {"modell": "openai:x"}}, "unknown key 'judge.modell'", "did you mean 'judge.model'?"),
        ({"gate": {"zzz": 1}}, "unknown key 'gate.zzz'", "allowed: allow_loss, metric, mixed_weight"),
        ({"preset": "papr"}, "preset = 'papr' is unknown", "did you mean 'paper'?"),
        ({"target": {}}, "'target.model' is missing", "add 'target.model'"),
        ({"train": {"epochs": 0}}, "train.epochs = 0: must be at least 1", "change 'train.epochs'"),
        *(
            ({"limits": {limit: 0}}, f"limits.{limit} = 0: must be ", f"change 'limits.{limit}'")
            for limit in ("usd", "tokens", "calls", "minutes")
        ),
        ({"target": "a:x"}, "target = 'a:x': expected keys with values", KEYS.format("target: {model: ...}")),
        ({"judge": "a:x"}, "judge = 'a:x': expected keys with values", KEYS.format("judge: {model: ...}")),
        (
            {"target": {"model": "openai:x", "price": 3}},
            "target.price = 3: expected keys with values",
            KEYS.format("price: {input: ...}"),
        ),
    ],
)
def test_what_cannot_be_a_setting_is_refused_with_what_to_do(data: dict[str, Any], problem: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_config(data, where="run.yaml")
    said, _, told = str(caught.value).partition("\nhint: ")
    assert said.startswith(f"run.yaml: {problem}")
    assert told.startswith(hint)


def test_settings_go_on_top_of_the_preset() -> None:
    config = make_config({"preset": "paper", "search": {"edit_budget": 9}})
    assert (options_of(config).edit_budget, options_of(config).batch_size) == (9, 40)


def test_flags_win_over_the_environment_and_the_environment_over_the_file(tmp_path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("train: {epochs: 1, fresh_attempts: true, seed: 1}\n")
    environ = {"ETUDE_TRAIN__FRESH_ATTEMPTS": "false", "ETUDE_TRAIN__SEED": "2", "ETUDE_OTHER": "x"}
    config = load_config(file, flags=[("train.seed", "3")], environ=environ)
    assert (config.train.epochs, config.train.fresh_attempts, config.train.seed) == (1, False, 3)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ETUDE_TRAIN__EPOCH", "unknown key 'train.epoch'"),
        ("ETUDE_TRAIN_EPOCHS", "'ETUDE_TRAIN_EPOCHS' names no setting\nhint: did you mean 'ETUDE_TRAIN__EPOCHS'?"),
    ],
)
def test_a_misspelt_environment_variable_is_refused(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        load_config(environ={name: "1"})


def test_paths_in_a_file_count_from_its_folder(tmp_path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("skill: {path: my}\nrun: {folder: out, name: out}\nenv: {path: d.jsonl}\nprompts: {chat: p.md}\n")
    config = load_config(file, environ={})
    assert config.skill.path == str(tmp_path / "my")
    assert (config.run.folder, config.run.name) == (str(tmp_path / "out"), "out")
    assert (config.env.model_extra or {})["path"] == str(tmp_path / "d.jsonl")
    assert config.prompts == {"chat": str(tmp_path / "p.md")}
    file.write_text('skill: {path: "my\\0skill"}\n')
    assert load_config(file, environ={}).skill.path == str(tmp_path / "my\\0skill"), "no file can have such a name"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"train: [1", "c.yaml: line 1"),
        (b"- 1\n", "expected sections with keys, found list"),
        (b"train: 3\n", "train = 3"),
        (b"\xff\xfe", "cannot be read"),
        (None, "does not exist"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path, content: bytes | None, message: str) -> None:
    file = tmp_path / "c.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_config(file, environ={})


def test_a_section_that_is_not_there_is_said_of_what_names_it(tmp_path) -> None:
    (tmp_path / "c.yaml").write_text("{}")
    with pytest.raises(ConfigError, match=r"--limit\.calls: unknown key 'limit'"):
        load_config(tmp_path / "c.yaml", flags=[("limit.calls", "3")], environ={})
    (tmp_path / "c.yaml").write_text("limit: {usd: 1}")
    with pytest.raises(ConfigError, match=r"c\.yaml: unknown key 'limit'"):
        load_config(tmp_path / "c.yaml", flags=[("limit.calls", "3")], environ={})


@pytest.mark.parametrize(
    "name",
    ["2026-01-01", "007", "1e3", "1.0", "on", "no", "0x1f", "12:30:45", "1_000", "-.inf", ".nan", "2026-01-01 9:00"],
)
def test_a_name_is_text_whatever_it_looks_like(tmp_path, name: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"run: {{name: {name}}}\n")
    assert load_config(file, environ={}).run.name == name
    assert load_config(flags=[("run.name", name)], environ={}).run.name == name
    assert load_config(flags=[("run", f"{{name: {name}, folder: {name}}}")], environ={}).run.folder == name
    assert load_config(environ={"ETUDE_RUN__NAME": name}).run.name == name


def test_no_value_is_still_no_value(tmp_path) -> None:
    file = tmp_path / "c.yaml"
    for text in ("~", "null", ""):
        file.write_text(f"skill: {{path: {text}}}\n")
        assert load_config(file, environ={}).skill.path is None
        assert load_config(flags=[("skill.path", text)], environ={}).skill.path is None


def test_a_flag_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--train\.epochs: cannot read the value"):
        load_config(flags=[("train.epochs", "[1")], environ={})


@pytest.mark.parametrize(
    ("setting", "value", "place"),
    [
        ("target.extra_body", "{a: [1, .inf]}", "target.extra_body.a.1 = inf"),
        ("env.scorer", "{name: numeric, abs_tol: .inf}", "env.scorer.abs_tol = inf"),
        ("target.price", "{input: .inf, output: 1}", "target.price.input = inf"),
        ("agent.some", ".nan", "agent.some = nan"),
    ],
)
def test_a_number_that_json_cannot_hold_is_no_setting(setting: str, value: str, place: str) -> None:
    with pytest.raises(ConfigError, match=f"{re.escape(place)}: must be a finite number"):
        load_config(None, flags=[(setting, value)], environ={})


def test_limits_and_addresses_are_no_part_of_the_identity() -> None:
    one = make_config({"target": {"model": "openai:m", "base_url": "http://a/v1"}, "limits": {"calls": 5}})
    other = make_config(
        {"target": {"model": "openai:m", "timeout": 5}, "run": {"name": "b"}, "executor": {"name": "a", "b": 1}}
    )
    assert one.identity() == other.identity()
    assert one.identity() != make_config({"target": {"model": "openai:n"}}).identity()
