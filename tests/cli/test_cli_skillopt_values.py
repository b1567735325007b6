"""`init --from-skillopt`: no value of a file is lost without a word, and a wrong one is named as it stands there."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from etude.cli.main import main
from etude.cli.scaffold.skillopt.file import SECTIONS
from etude.cli.scaffold.skillopt.settings import Converted, convert
from etude.config import TrainConfig, load_config, make_config
from etude.errors import ConfigError
from etude.simulation import make_tasks

Captured = pytest.CaptureFixture[str]
OF_DATA = {"env.skill_init", "env.split_mode", "env.split_ratio", "env.split_seed", "env.split_dir", "env.data_path"}
LIMITS = ("env.limit", "evaluation.sel_env_num", "evaluation.test_env_num")
KEYS = sorted({f"{section}.{leaf}" for section, leaves in SECTIONS.items() for leaf in leaves.split()} - OF_DATA)
BACKENDS = (
    "qwen_chat",
    "minimax_chat",
    "claude_chat",
    "openai_compatible",
    "codex_exec",
    "azure_openai",
    "telepathy",
)
OF_BACKENDS = (
    *("qwen_chat_base_url", "qwen_chat_temperature", "qwen_chat_timeout_seconds", "qwen_chat_max_tokens"),
    *("qwen_chat_enable_thinking", "qwen_chat_thinking_mode", "minimax_region", "minimax_base_url", "minimax_model"),
    *("minimax_temperature", "minimax_max_tokens", "minimax_timeout_seconds", "minimax_enable_thinking"),
    *("azure_openai_endpoint", "azure_openai_auth_mode", "azure_openai_ad_scope", "codex_exec_sandbox"),
)


def checked(given: dict[str, Any]) -> tuple[Converted, TrainConfig]:
    """What becomes of settings, with errors in the words of the file."""
    converted = convert(given, "c.yaml")
    try:
        return converted, make_config(converted.settings, where="c.yaml")
    except ConfigError as error:
        raise converted.in_their_words(error) from None


def refusal(given: dict[str, Any]) -> str | None:
    try:
        checked(given)
    except ConfigError as error:
        return error.message
    return None


def left(given: dict[str, Any]) -> dict[str, str]:
    return checked(given)[0].left


def project(text: str) -> None:
    rows = [{"id": task.id, "question": task.input, "answer": task.gold} for task in make_tasks("sorting", 40, 1)]
    Path("all.json").write_text(json.dumps(rows))
    for split, part in (("train", rows[:20]), ("val", rows[20:30]), ("test", rows[30:])):
        Path("folders", split).mkdir(parents=True)
        Path("folders", split, "items.json").write_text(json.dumps(part))
    Path("c.yaml").write_text(text)


def result(capsys: Captured) -> dict[str, Any]:
    assert main(["init", "--from-skillopt", "c.yaml", "--folder", "new", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


RATIO = (
    "is not a ratio of train, val and test: three whole numbers, the first two more than 0\nhint: as in '2:1:7', in "
)
SEED = "is not a whole number\nhint: as in 42, which holds when env.split_seed is left out\n"


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ("split_seed: ''", f"env.split_seed = '' {SEED}"),
        ("split_seed: lucky", f"env.split_seed = 'lucky' {SEED}"),
        ("split_ratio: ''", f"env.split_ratio = '' {RATIO}"),
        ("split_ratio: '2:1'", f"env.split_ratio = '2:1' {RATIO}"),
        ("split_ratio: 8:2", f"env.split_ratio = 482 {RATIO}"),
        ("split_ratio: '2:0:1'", f"env.split_ratio = '2:0:1' {RATIO}"),
    ],
)
def test_a_split_that_cannot_be_made_is_refused_as_it_is_written(
    here: Path, capsys: Captured, setting: str, error: str
) -> None:
    project(f"env:\n  data_path: all.json\n  {setting}\n")
    assert main(["init", "--from-skillopt", "c.yaml", "--folder", "new"]) == 2
    assert capsys.readouterr().err.startswith(f"error: c.yaml: {error}")
    assert not Path("new").exists()


def test_a_seed_in_quotes_is_one(here: Path, capsys: Captured) -> None:
    project("env: {data_path: all.json, split_seed: '7', split_ratio: '1:1:0'}\n")
    assert result(capsys)["tasks"] == {"train": 20, "val": 20, "test": 0}
    assert yaml.safe_load(Path("new/etude.yaml").read_text())["env"]["split_seed"] == 7


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("split_dir: folders, split_ratio: null, split_seed: 42, split_mode: split_dir", {}),
        (
            "split_dir: folders, data_path: all.json, split_ratio: '8:1:1', split_seed: 7",
            {
                "env.data_path = all.json": "the split folders are taken as they are",
                "env.split_ratio = 8:1:1": "the split folders are taken as they are",
                "env.split_seed = 7": "the split folders are taken as they are",
            },
        ),
        (
            "split_dir: folders, split_mode: ratio",
            {"env.split_mode = ratio": "the folders of env.split_dir are used"},
        ),
        (
            "split_dir: folders, data_path: all.json, split_mode: ratio",
            {"env.split_dir = folders": "env.split_mode is 'ratio'"},
        ),
        (
            "data_path: all.json, split_mode: split_dir",
            {"env.split_mode = split_dir": "env.data_path is divided by a ratio"},
        ),
    ],
)
def test_settings_of_the_split_without_an_effect_are_named(
    here: Path, capsys: Captured, settings: str, expected: dict[str, str]
) -> None:
    project(f"env: {{{settings}}}\n")
    assert result(capsys).get("not_carried", {}) == expected


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"train.num_epochs": "many"}, "c.yaml: train.num_epochs (train.epochs) = 'many': "),
        ({"optimizer.skill_update_mode": ["a"]}, "c.yaml: optimizer.skill_update_mode (update.mode) = ['a']: "),
        (
            {"model.target_backend": "qwen_chat", "model.target_qwen_chat_temperature": -1},
            "c.yaml: model.target_qwen_chat_temperature (target.temperature) = -1: ",
        ),
        (
            {"optimizer.use_skill_aware_reflection": True, "optimizer.skill_update_mode": "full_rewrite_minibatch"},
            (
                "optimizer.use_skill_aware_reflection (reflect.skill_aware) = true does not go with "
                "optimizer.skill_update_mode (update.mode) = 'full_rewrite'"
            ),
        ),
        (
            {"env.limit": "all"},
            "c.yaml: env.limit = 'all' is not a number of tasks\nhint: a whole number, 0 for all of",
        ),
        ({"evaluation.sel_env_num": -5}, "c.yaml: evaluation.sel_env_num = -5 is not a number of tasks\n"),
    ],
)
def test_a_value_that_is_not_allowed_is_told_under_its_name_in_the_file(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked(given)
    assert str(caught.value).startswith(error)


def test_the_hint_names_the_setting_of_the_file_alone() -> None:
    with pytest.raises(ConfigError) as caught:
        checked({"train.num_epochs": 0})
    assert caught.value.hint == "change 'train.num_epochs'"


@pytest.mark.parametrize("key", [*KEYS, *(f"model.{key}" for key in OF_BACKENDS)])
def test_no_value_of_any_setting_ends_in_a_traceback_and_errors_name_the_setting(key: str) -> None:
    for value in (None, "", "word", "0", -1, 0, 1.5, True, False, [], ["a"], {"a": 1}, float("nan")):
        for backend in ({}, *({"model.backend": name} for name in BACKENDS)):
            problem = refusal({**backend, key: value})
            assert problem is None or key in problem, (backend, value)


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_is_carried_over_or_named(key: str) -> None:
    for value in (7, "7", False):
        if refusal({key: value}) is not None or (key, value) == ("evaluation.use_semantic_density", False):
            continue
        converted = checked({key: value})[0]
        limited = key in LIMITS and "limit" in converted.settings["env"]
        assert limited or any(key in text for text in (*converted.left, *converted.origins.values())), value


@pytest.mark.parametrize(
    "key", [f"model.{role}{key}" for key in OF_BACKENDS for role in ("", "target_", "optimizer_")]
)
def test_every_setting_of_a_backend_is_carried_over_or_named(key: str) -> None:
    for backend in BACKENDS:
        for given in ({"model.backend": backend}, {"model.target_backend": backend}):
            if refusal({**given, key: 1}) is not None:
                continue
            converted = checked({**given, key: 1})[0]
            assert any(key in text for text in (*converted.left, *converted.origins.values())), given


@pytest.mark.parametrize(
    ("given", "line", "why"),
    [
        (
            {"optimizer.use_skill_aware_reflection": True},
            "optimizer.skill_aware_appendix_source = both",
            "reminders come from failures only here, as with failure_only there",
        ),
        (
            {"optimizer.skill_aware_consolidate_threshold": 9},
            "optimizer.skill_aware_consolidate_threshold = 9",
            "has no effect without use_skill_aware_reflection",
        ),
        (
            {"model.target_backend": "qwen_chat", "model.reasoning_effort": "high"},
            "model.reasoning_effort = high (target)",
            "not every model behind 'qwen_chat' takes it: set target.reasoning_effort if yours does",
        ),
        (
            {"model.optimizer_backend": "codex_exec", "model.reasoning_effort": "medium"},
            "model.reasoning_effort = medium (optimizer)",
            "not every model behind 'codex_exec' takes it: set optimizer.reasoning_effort if yours does",
        ),
        ({"no.such_thing": False}, "no.such_thing = False", "not a setting known here"),
        ({"no_such_thing": None}, "no_such_thing = (empty)", "not a setting known here"),
        ({"train.shuffle": False}, "train.shuffle = False", "not a setting known here"),
        (
            {"model.codex_exec_network_access": False},
            "model.codex_exec_network_access = False",
            "belongs to an agent program; the agent that is written is chat",
        ),
        (
            {"model.target_backend": "claude_code_exec"},
            "model.target_backend (target)",
            (
                "'claude_code_exec' runs Claude Code; here the target is the model 'openai:gpt-5.5', and "
                "agent.name = 'claude-code' has it work in that program"
            ),
        ),
        (
            {"model.optimizer_backend": "codex_exec"},
            "model.optimizer_backend (optimizer)",
            "'codex_exec' runs Codex; here the optimizer is the model 'openai:gpt-5.5'",
        ),
        (
            {"optimizer.lr_control_mode": "none", "optimizer.skill_update_mode": "full_rewrite_minibatch"},
            "optimizer.lr_control_mode = none",
            "a whole new document has no edit budget, there or here",
        ),
        (
            {"optimizer.lr_control_mode": "none", "optimizer.skill_update_mode": "rewrite_from_suggestions"},
            "optimizer.lr_control_mode = none",
            "the schedule holds",
        ),
        (
            {"optimizer.lr_control_mode": "none"},
            "optimizer.lr_control_mode = none",
            "has no effect with patches, there or here: the schedule holds",
        ),
        ({"optimizer.lr_control_mode": "off"}, "optimizer.lr_control_mode = off", "unknown: the schedule holds"),
        (
            {"optimizer.lr_control_mode": "autonomous", "optimizer.lr_scheduler": "linear"},
            "optimizer.lr_scheduler = linear",
            "optimizer.lr_control_mode = autonomous: the optimizer decides",
        ),
        (
            {"optimizer.lr_scheduler": "autonomous", "optimizer.learning_rate": 6},
            "optimizer.learning_rate = 6",
            "optimizer.lr_scheduler = autonomous has no cap",
        ),
        (
            {"model.target_backend": "qwen_chat", "env.max_completion_tokens": 9, "model.qwen_chat_max_tokens": 5},
            "env.max_completion_tokens = 9",
            "the target's replies are bounded by model.qwen_chat_max_tokens",
        ),
        (
            {
                "model.backend": "azure_openai",
                "model.target_backend": "qwen_chat",
                "model.optimizer_backend": "qwen_chat",
            },
            "model.backend = azure_openai",
            "both roles have a backend of their own",
        ),
        (
            {"model.backend": "minimax_chat", "model.target": "x", "model.minimax_model": "m"},
            "model.target = x",
            "model.minimax_model comes before it",
        ),
        (
            {
                "model.backend": "qwen_chat",
                "model.qwen_chat_temperature": 0,
                "model.target_qwen_chat_temperature": 1,
                "model.optimizer_qwen_chat_temperature": 1,
            },
            "model.qwen_chat_temperature = 0",
            "a setting that comes before it is there",
        ),
        (
            {"model.target_backend": "qwen_chat", "model.optimizer_qwen_chat_temperature": 1},
            "model.optimizer_qwen_chat_temperature = 1",
            "belongs to a backend that the optimizer does not use",
        ),
        (
            {"model.backend": "qwen_chat", "model.qwen_chat_enable_thinking": "server_default"},
            "model.qwen_chat_enable_thinking = server_default",
            "neither true nor false: the server's own way holds",
        ),
        (
            {"model.minimax_region": "global_en"},
            "model.minimax_region = global_en",
            "belongs to a backend that no role uses",
        ),
        (
            {"model.target_backend": "minimax_chat", "model.minimax_region": "global_en"},
            "model.minimax_region = global_en",
            "set base_url of the role",
        ),
        ({"model.extra": {"api_key": "secret"}}, "model.extra = (hidden)", "not a setting known here"),
    ],
)
def test_what_is_lost_is_named_with_its_reason(given: dict[str, Any], line: str, why: str) -> None:
    assert left(given)[line] == why


@pytest.mark.parametrize(
    "given",
    [
        {"optimizer.skill_aware_appendix_source": "both", "optimizer.skill_aware_consolidate_threshold": 0},
        {"optimizer.lr_control_mode": "fixed", "train.train_size": 0, "evaluation.use_semantic_density": False},
        {"optimizer.use_skill_aware_reflection": True, "optimizer.skill_aware_appendix_source": "failure_only"},
        {"model.reasoning_effort": "low", "model.backend": "azure_openai"},
        {"model.reasoning_effort": None, "model.target_backend": "qwen_chat"},
        {"evaluation.semantic_density_weight": 0.05, "evaluation.leading_words": []},
        {"model.azure_openai_endpoint": "", "model.target_azure_openai_auth_mode": None, "model.codex_exec_path": ""},
    ],
)
def test_defaults_that_say_what_holds_here_anyway_need_no_word(given: dict[str, Any]) -> None:
    assert left(given) == {}


@pytest.mark.parametrize(("weight", "clamped"), [(1.5, 1), (-2, 0)])
def test_a_weight_out_of_range_is_written_as_it_counts_there_and_said(weight: float, clamped: int) -> None:
    converted, config = checked({"evaluation.gate_metric": "mixed", "evaluation.gate_mixed_weight": weight})
    assert config.gate.mixed_weight == clamped
    assert converted.notes[-1] == (
        f"evaluation.gate_mixed_weight = {weight} is out of range: {clamped} is written, as it counts there"
    )


@pytest.mark.parametrize(
    "settings",
    [
        "{}",
        "{use_skill_aware_reflection: true}",
        "{skill_update_mode: full_rewrite_minibatch}",
        "{skill_update_mode: rewrite_from_suggestions}",
    ],
)
def test_the_published_policy_is_written_whatever_the_update_mode(
    here: Path, capsys: Captured, settings: str
) -> None:
    project(f"optimizer: {settings}\nenv: {{name: searchqa, split_dir: folders}}\n")
    result(capsys)
    assert load_config("new/etude.yaml").search.policy == "paper"


def test_minimax_without_a_name_is_its_default_model() -> None:
    assert checked({"model.target_backend": "minimax_chat"})[1].target.model == "openai:MiniMax-M3"


@pytest.mark.parametrize("name", ["DocVQA", "docvqa_mini"])
def test_questions_about_documents_without_pictures_say_so(here: Path, capsys: Captured, name: str) -> None:
    project(f"env: {{name: {name}, split_dir: folders}}\n")
    (note,) = [note for note in result(capsys)["notes"] if "picture" in note]
    assert note == (
        "no column of pictures was found, so the questions are asked without the documents they are about: name the "
        "column in env.fields.images"
    )


def test_pictures_under_a_key_of_an_object_are_found_from_the_new_place(here: Path, capsys: Captured) -> None:
    project("env: {name: DocVQA, split_dir: folders}\n")
    for start, split in enumerate(("train", "val", "test")):
        Path("folders", split, "1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes([start]))
        row = {"question": f"What is on page {start}?", "answer": "7", "scan": {"front": "1.png"}}
        Path("folders", split, "items.json").write_text(json.dumps([row]))
    assert result(capsys)["fields"]["images"] == "scan.front"
    (row,) = map(json.loads, Path("new/data/train.jsonl").read_text().splitlines())
    assert row["scan"] == {"front": "../../folders/train/1.png"}
    simulated = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]
    assert main(["doctor", "new/etude.yaml", *simulated]) == 0


def test_the_scorer_of_an_environment_that_is_not_known_is_a_guess_that_is_told(here: Path, capsys: Captured) -> None:
    project("env: {name: mine, split_dir: folders}\n")
    assert (
        "how 'mine' scores answers is not known here: the scorer follows from the look of the gold answers"
        in (result(capsys)["notes"])
    )


def test_settings_left_out_for_one_reason_share_a_line(here: Path, capsys: Captured) -> None:
    project("model: {minimax_region: x, qwen_chat_max_tokens: 9}\nenv: {split_dir: folders}\n")
    assert main(["init", "--from-skillopt", "c.yaml", "--folder", "new"]) == 0
    assert (
        "\nleft    model.minimax_region = x; model.qwen_chat_max_tokens = 9: belongs to a backend that no role uses\n"
    ) in capsys.readouterr().out


def test_keys_that_are_no_text_are_named_too(here: Path, capsys: Captured) -> None:
    project("7: x\nenv: {split_dir: folders}\n")
    assert result(capsys)["not_carried"] == {"7 = x": "not a setting known here"}
