"""Settings of a night."""

from pathlib import Path
from typing import Any

import pytest

from etude.errors import ConfigError, SkillError
from etude.published.options import options_of
from etude.sleep.config import load_sleep_config, load_sleep_section, make_sleep_config
from etude.sleep.improve.groups import check_documents
from etude.sleep.state import Surroundings
from rows import rows

MODELS: dict[str, Any] = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        make_sleep_config(data)
    return str(error.value)


def test_what_is_not_set_is_that_of_few_tasks_that_count() -> None:
    config = make_sleep_config(MODELS)
    assert config.search.policy == "rewrite_first"
    options = options_of(config)
    assert (config.train.epochs, options.failure_only) == (8, True)
    assert (options.racing, options.no_regression, config.test.enabled) == (False, True, False)
    assert make_sleep_config({**MODELS, "train": {"epochs": 1}}).train.epochs == 1


@rows(
    ("role", "section"),
    [("target", None), ("optimizer", {}), ("target", {"temperature": 0.5}), ("target", "openai:x")],
)
def test_there_is_no_model_by_default(role: str, section: object) -> None:
    assert refused({**MODELS, role: section}) == (
        f"config: no model is named for the {role}\n"
        f"hint: set {role}.model, as in 'agent:codex' for a subscription or 'openai:gpt-5.5' for an API key"
    )


@rows(
    ("section", "hint"),
    [
        ("env", "tasks come from transcripts, or from sleep.tasks"),
        ("run", "leave 'run' out"),
        ("preset", "leave 'preset' out"),
    ],
)
def test_what_a_night_sets_itself_is_refused(section: str, hint: str) -> None:
    assert refused({**MODELS, section: {}}) == f"config: a night sets '{section}' itself\nhint: {hint}"


def test_options_of_its_policy_may_be_set_and_another_policy_may_not() -> None:
    options = options_of(make_sleep_config({**MODELS, "search": {"no_regression": False}}))
    assert (options.no_regression, options.racing, options.failure_only) == (False, False, True)
    assert refused({**MODELS, "search": {"policy": "paper"}}) == (
        "config: a night sets 'search.policy' itself\nhint: leave it out"
    )
    assert "search.failures is an option of search.policy = 'evidence'" in refused(
        {**MODELS, "search": {"failures": 2}}
    )


@rows(
    ("sleep", "message"),
    [
        ({"drem": 1}, "unknown key 'sleep.drem'\nhint: did you mean 'sleep.dream'?"),
        ({"agnet": "codex"}, "did you mean 'sleep.agent'?"),
        ({"dream": -1}, "sleep.dream"),
        ({"max_tasks": 0}, "sleep.max_tasks"),
        ({"memory": " "}, "an empty name"),
        ({"other_paths": ["/old", "../old"]}, "'../old' is not an absolute path"),
        ({"lookback_hours": 0}, "sleep.lookback_hours"),
        ({"val_fraction": 1}, "sleep.val_fraction"),
        ({"skill": False, "memory": False}, "there is nothing to improve"),
        ({"confirm_trials": -1}, "sleep.confirm_trials"),
    ],
)
def test_unknown_keys_and_values_out_of_range_are_named(sleep: dict[str, Any], message: str) -> None:
    assert message in refused({**MODELS, "sleep": sleep})


@rows("hours", ["876001", "1e9", ".inf", ".nan", "0"])
def test_an_age_that_no_calendar_knows_is_refused(hours: str) -> None:
    models = [(f"{role}.model", f"simulated:{role}") for role in MODELS]
    with pytest.raises(ConfigError) as error:
        load_sleep_config(None, flags=[*models, ("sleep.lookback_hours", hours)], environ={})
    assert "sleep.lookback_hours = " in error.value.message


@rows(("name", "near"), [("claude_code", "claude-code"), ("Codex", "codex"), ("jsonl", "")])
def test_an_agent_that_is_unknown_is_refused(name: str, near: str) -> None:
    text = refused({**MODELS, "sleep": {"agent": name}})
    assert text.startswith(f"config: sleep.agent = {name!r}: no agent has that name; ")
    assert (f"did you mean {near!r}?" if near else "allowed: agents, claude") in text


def test_the_section_of_a_night_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "sleep.yaml"
    path.write_text("sleep: {tasks: here.json}\ntest: {enabled: true}\n")
    assert load_sleep_section(path).tasks == str(tmp_path / "here.json")
    path.write_text("sleep: {taks: here}\n")
    with pytest.raises(ConfigError, match=r"unknown key 'sleep.taks'"):
        load_sleep_section(path)


def test_other_paths_may_begin_in_the_home_folder_or_on_a_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    there = ["~/old", "C:\\Users\\me\\old", "\\\\wsl$\\Ubuntu\\old"]
    found = make_sleep_config({**MODELS, "sleep": {"other_paths": there}}).sleep.other_paths
    assert found == ("/home/me/old", *there[1:])


def test_a_skill_is_learned_or_named_or_a_path_or_each() -> None:
    def named(skill: bool | str) -> tuple[str, str | None]:
        sleep = make_sleep_config({**MODELS, "sleep": {"skill": skill}}).sleep
        return sleep.skill_name, sleep.skill_path

    assert named(True) == named(False) == named("each") == ("learned", None)
    assert named("briefs") == ("briefs", None)
    assert named("skills/mine/SKILL.md") == ("mine", "skills/mine/SKILL.md")


def test_paths_of_a_file_count_from_the_file_and_flags_win(tmp_path: Path) -> None:
    path = tmp_path / "night" / "sleep.yaml"
    path.parent.mkdir()
    path.write_text(
        "target: {model: 'simulated:target'}\noptimizer: {model: 'simulated:optimizer'}\n"
        "sleep: {project: ../project, memory: CLAUDE.md, dream: 2, sources: [codex, more.jsonl]}\n"
    )
    config = load_sleep_config(path, flags=[("sleep.dream", "3")], environ={"ETUDE_SLEEP__MAX_TASKS": "9"})
    assert config.sleep.project == str(tmp_path / "project")
    assert config.sleep.named_paths == (str(tmp_path / "night" / "CLAUDE.md"),)
    assert config.sleep.sources == ("codex", str(tmp_path / "night" / "more.jsonl"))
    assert (config.sleep.dream, config.sleep.max_tasks) == (3, 9)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load_sleep_config(tmp_path / "none.yaml", environ={})
    assert str(error.value) == (
        f"config file '{tmp_path / 'none.yaml'}' does not exist\nhint: give the settings of a night"
    )
    with pytest.raises(ConfigError, match="no model is named for the target"):
        load_sleep_config(None, environ={})


def test_a_run_of_a_night_has_its_settings_a_judge_and_the_house_rules(tmp_path: Path) -> None:
    config = make_sleep_config(
        {**MODELS, "reflect": {"preferences": "Say please."}, "limits": {"concurrency": 4, "calls": 7}}
    )
    run = config.for_run(tmp_path, "skill")
    assert (run.run.folder, run.run.name) == (str(tmp_path), "skill")
    assert (run.limits.calls, run.limits.concurrency) == (7, 4)
    assert run.reflect.preferences == "Say please."
    assert run.judge is not None
    assert run.judge.model == "simulated:optimizer"
    assert run.search.policy == "rewrite_first"
    assert "sleep" not in run.model_dump()
    judged = make_sleep_config({**MODELS, "judge": {"model": "simulated:judge"}, "reflect": {"preferences": "Mine."}})
    again = judged.for_run(tmp_path, "skill")
    assert again.judge is not None
    assert (again.judge.model, again.reflect.preferences) == ("simulated:judge", "Mine.")


def test_what_may_change_between_a_night_and_its_resumption_is_no_part_of_its_identity() -> None:
    config = make_sleep_config(MODELS)
    free = {"lookback_hours": 1.0, "sources": ["codex"], "auto_adopt": True}
    assert make_sleep_config({**MODELS, "sleep": free}).identity() == config.identity()
    for sleep in ({"dream": 1}, {"tasks": "t.json"}, {"skill": "x"}):
        assert make_sleep_config({**MODELS, "sleep": sleep}).identity() != config.identity()


def test_the_path_of_the_skill_is_the_night_s_and_its_length_is_not() -> None:
    models = {role: {"model": "simulated:target"} for role in ("target", "optimizer")}
    with pytest.raises(ConfigError, match=r"a night sets 'skill\.path' itself") as caught:
        make_sleep_config({**models, "skill": {"path": "x.md"}})
    assert caught.value.hint == "set sleep.skill"
    assert make_sleep_config({**models, "skill": {"max_tokens": 9000}}).skill.max_tokens == 9000


def test_a_document_without_room_for_a_rule_is_reported_before_anything_is_paid_for(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("A rule.\n" * 3000)
    models = {role: {"model": "simulated:target"} for role in ("target", "optimizer")}
    project = {"project": str(tmp_path)}
    with pytest.raises(SkillError, match="leaves no room for a rule"):
        check_documents(make_sleep_config({**models, "sleep": project}), Surroundings(home=tmp_path))
    check_documents(make_sleep_config({**models, "sleep": {**project, "memory": False}}), Surroundings(home=tmp_path))
    check_documents(
        make_sleep_config({**models, "sleep": project, "skill": {"max_tokens": 9000}}), Surroundings(home=tmp_path)
    )
