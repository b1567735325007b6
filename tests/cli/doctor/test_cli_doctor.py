import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from etude.config import RunSection
from etude.simulation.endpoint import Endpoint, running_endpoint
from etude.store import RunFolder
from trusting import trust

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"
SMALL = ["--train.epochs", "1", "--env.limit={train: 6, val: 4, test: 4}"]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint(key="sk-right-key") as endpoint:
        yield endpoint


def checks(capsys: Captured, *words: str, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    assert main(["doctor", *words, "--json"]) == code
    result = json.loads(capsys.readouterr().out)
    assert result["ok"] is (code == 0)
    by_name: dict[str, list[dict[str, Any]]] = {}
    for check in result["checks"]:
        by_name.setdefault(check["name"], []).append(check)
    return by_name


def wrong(by_name: dict[str, list[dict[str, Any]]]) -> dict[str, tuple[str, str]]:
    return {
        name: (check["text"], check["fix"])
        for name, found in by_name.items()
        for check in found
        if check["status"] == "wrong"
    }


def test_a_project_that_is_in_order_is_all_fine(fresh_project: Path, capsys: Captured) -> None:
    assert main(["doctor", CONFIG]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\nno problems found\n")
    shown = [" ".join(line.split()) for line in out.splitlines()]
    assert "ok data 40 train, 20 val, 30 test tasks" in shown
    assert "ok scorer exact accepts all gold answers" in shown
    assert "ok target simulated:target at this process, needs no key" in shown
    assert "ok run folder demo/runs/demo is free" in shown


@pytest.mark.parametrize(
    ("flags", "name", "text", "fix"),
    [
        (["--trian.epochs", "1"], "config", "--trian.epochs: unknown key 'trian'", "did you mean 'train'?"),
        (["--env.train", "nope.jsonl"], "data", "data file 'nope.jsonl' does not exist", "give the path of a file"),
        (["--skill.path", "nope"], "skill", "skill 'nope' does not exist", "give a skill folder"),
        (["--skill.max_tokens", "5"], "skill", "everyday-tasks: about ", "shorten the skill or raise"),
        (["--target.model", "openai:x"], "target", "environment variable 'OPENAI_API_KEY' is not set", "put the key"),
        (["--optimizer.model", "opnai:x"], "optimizer", "model 'opnai:x' names no known provider", "did you mean"),
        (["--env.scorer", "numeric"], "scorer", "the scorer 'numeric' does not accept", "fix these gold answers"),
        (
            ["--env.scorer={name: rubric, rubric: short}"],
            "data",
            "env.scorer 'rubric': no model to ask",
            "add a `judge` section with a model",
        ),
        (["--run.name", "a/b"], "run folder", "run.name = 'a/b' is not a plain folder name: it ", "use letters"),
        (["--run.folder", "file"], "run folder", "file/demo cannot be written", "change run.folder, or the"),
        (["--prompts.chat", "nope.md"], "prompts", "prompts.chat: 'nope.md' cannot be read", "give a Markdown file"),
    ],
)
def test_what_is_wrong_is_named_with_how_to_fix_it(
    flags: list[str], name: str, text: str, fix: str, fresh_project: Path, capsys: Captured
) -> None:
    Path("file").write_text("")
    found = wrong(checks(capsys, CONFIG, *flags, code=1))
    assert list(found) == [name]
    assert found[name][0].startswith(text)
    assert fix in found[name][1]


def test_every_problem_is_listed_not_only_the_first(fresh_project: Path, capsys: Captured) -> None:
    assert main(["doctor", CONFIG, "--skill.path", "nope", "--env.train", "nope", "--target.model", "openai:x"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"\n3 of \d+ checks found a problem\n$", out)
    assert "-> give a skill folder" in out


def test_a_missing_price_is_a_note_and_with_a_money_cap_an_error(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-long-key")
    words = [CONFIG, "--target.model", "openai:x"]
    assert [check["status"] for check in checks(capsys, *words)["target"]] == ["ok", "note"]
    found = wrong(checks(capsys, *words, "--limits.usd", "3", code=1))
    assert found == {
        "target": (
            "limits.usd = 3 needs a price",
            "set target.price.input and target.price.output (USD per million tokens), or drop the cap",
        )
    }
    priced = checks(capsys, *words, "--limits.usd", "3", "--target.price={input: 1, output: 2}")
    assert priced["limits"][0]["text"] == "usd 3"
    with open(CONFIG, "a") as file:
        file.write("\nprices: {'openai:x': {input: 1, output: 2}}\n")
    checks(capsys, *words, "--limits.usd", "3")


def test_a_training_without_a_skill_or_with_replaced_prompts_is_reported_of(
    fresh_project: Path, capsys: Captured
) -> None:
    Path("mine.md").write_text("Do it.\n")
    found = checks(capsys, CONFIG, "--skill.path", "null", "--prompts.chat", "mine.md")
    assert found["skill"][0]["text"] == "none given: training starts with an empty skill"
    assert found["prompts"][0]["text"] == "replaced: chat"


def test_a_skill_that_breaks_the_format_of_agent_skills_is_noted(fresh_project: Path, capsys: Captured) -> None:
    Path("bare").mkdir()
    Path("bare/SKILL.md").write_text("# Bare\n")
    notes = [check["text"] for check in checks(capsys, CONFIG, "--skill.path", "bare")["skill"]]
    assert notes[1:] == ["there is no front matter; name and description are required"]


def test_what_keeps_a_program_from_choosing_an_installed_skill_is_noted(
    fresh_project: Path, capsys: Captured
) -> None:
    Path("claude-poet").mkdir()
    text = f"Writes poems <b>well</b>. {'x' * 1000}"
    front = f"---\nname: claude-poet\ndescription: {text}\n"
    Path("claude-poet/SKILL.md").write_text(front + "---\n\n- Rhyme.\n")

    def notes(*words: str) -> list[str]:
        found = checks(capsys, CONFIG, "--skill.path", "claude-poet", *words)
        return [check["text"] for check in found["skill"][1:]]

    installed = ("--agent.name", "command", "--agent.command", '["true"]', "--agent.delivery", "install")
    assert notes() == ["description: has 1026 characters; at most 1024 are allowed"]
    assert notes(*installed) == [
        "description: has 1026 characters; at most 1024 are allowed",
        "name: 'claude' is reserved by some programs",
        "description: has a tag in angle brackets, which some programs refuse",
        "description: does not say when to use the skill; programs choose by it",
    ]
    Path("claude-poet/SKILL.md").write_text(front + f"when_to_use: {'y' * 600}\n---\n\n- Rhyme.\n")
    assert notes(*installed)[-1] == (
        "description: with when_to_use it has 1,626 characters; what is over 1,536 is not shown"
    )


def test_a_run_folder_in_use_is_wrong(fresh_project: Path, capsys: Captured) -> None:
    with RunFolder.open(RunSection(folder="demo/runs", name="demo")):
        found = wrong(checks(capsys, CONFIG, code=1))
    assert found == {"run folder": ("demo/runs/demo is in use by another process", "wait for it, or change run.name")}


def test_finished_and_unfinished_runs_are_told_apart(demo_project: Path, capsys: Captured) -> None:
    assert "holds a finished run" in checks(capsys, CONFIG)["run folder"][0]["text"]
    Path("demo/runs/demo/summary.json").unlink()
    assert "is not finished: `train` resumes it" in checks(capsys, CONFIG)["run folder"][0]["text"]
    assert main(["evaluate", CONFIG, "--run.name", "new", "--split", "val"]) == 0
    capsys.readouterr()
    assert "holds measurements only" in checks(capsys, CONFIG, "--run.name", "new")["run folder"][0]["text"]


def test_tasks_of_which_none_is_for_training_are_a_note(here: Path, capsys: Captured) -> None:
    Path("tasks.csv").write_text("question,answer\n" + "".join(f"What is {n} + 1?,{n + 1}\n" for n in range(3)))
    assert main(["init", "tasks.csv", "--target", "simulated:target", "--optimizer", "simulated:optimizer"]) == 0
    capsys.readouterr()
    plain, note = checks(capsys, "etude.yaml")["data"]
    assert (plain["status"], note["status"]) == ("ok", "note")
    assert note["text"] == "there are no training tasks: all 3 are for the test"


def test_a_damaged_run_is_wrong(demo_project: Path, capsys: Captured) -> None:
    Path("demo/runs/demo/summary.json").write_text("{")
    assert "is damaged" in wrong(checks(capsys, CONFIG, code=1))["run folder"][0]


def test_an_environment_that_scores_in_its_own_way_is_left_alone(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own_world_for_doctor.py").write_text(
        "from etude.protocols import Environment\n"
        "from etude.records import Task\n"
        "class Env(Environment):\n"
        "    name = 'own'\n"
        "    @classmethod\n"
        "    def from_options(cls, options, where, judge):\n"
        "        return cls()\n"
        "    def tasks(self, split):\n"
        "        return [Task(id=split, input=split)]\n"
        "    def score(self, task, trajectory):\n"
        "        return 1.0\n"
    )
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("own.yaml").write_text("env: {name: 'own_world_for_doctor:Env'}\n")
    trust("own.yaml")
    found = checks(capsys, "own.yaml")
    assert found["data"][0]["text"] == "1 train, 1 val, 1 test tasks"
    assert found["scorer"][0]["text"] == "environment 'own' scores in its own way; nothing to check beforehand"


def test_live_asks_each_model_once_and_reports_latency_and_structure(
    fresh_project: Path, capsys: Captured, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right-key")
    words = [f"--{role}.{key}" for role in ("target", "optimizer") for key in ("model", "base_url")]
    values = ["openai:target", endpoint.url, "openai:optimizer", endpoint.url]
    flags = [word for pair in zip(words, values, strict=True) for word in pair]
    found = checks(capsys, CONFIG, "--live", *flags)
    assert found["live target"][0]["text"].startswith("openai:target answered in ")
    assert "openai:optimizer answered in " in found["live optimizer"][0]["text"]
    assert found["live optimizer structure"][0]["text"] == "native JSON schema"
    assert endpoint.stats()["by_model"] == {"target": 1, "optimizer": 1}


def test_live_shows_the_providers_words_for_a_wrong_key(
    fresh_project: Path, capsys: Captured, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key")
    flags = ["--target.model", "openai:target", "--target.base_url", endpoint.url]
    text, fix = wrong(checks(capsys, CONFIG, "--live", *flags, code=1))["live target"]
    assert text.startswith("HTTP 401: ")
    assert "sk-wrong-key" not in text
    assert fix == "check the key in OPENAI_API_KEY and its account"


def test_live_names_a_dead_endpoint(fresh_project: Path, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    flags = ["--optimizer.model", "openai:optimizer", "--optimizer.base_url", url]
    found = wrong(checks(capsys, CONFIG, "--live", *flags, code=1))
    assert found["live optimizer"][0].startswith("no connection")


def test_live_leaves_out_a_role_that_cannot_be_built(fresh_project: Path, capsys: Captured) -> None:
    found = checks(capsys, CONFIG, "--live", "--target.model", "openai:x", code=1)
    assert "live target" not in found
    assert found["live optimizer"][0]["status"] == "ok"


@pytest.mark.parametrize(("key", "said"), [("x", True), ("sk-1234", True), ("sk-12345", False), ("", False)])
def test_a_key_that_is_too_short_to_be_one_is_reported(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, key: str, said: bool
) -> None:
    monkeypatch.setenv("LOCAL_SERVER", key)
    flags = ["--target.model", "openai:x", "--target.api_key_env", "LOCAL_SERVER"]
    found = checks(capsys, CONFIG, *flags, "--target.base_url", "http://127.0.0.1:9/v1")
    text = (
        "the key in LOCAL_SERVER is shorter than 8 characters: it is treated as a placeholder, sent, and not "
        "removed from what is stored"
    )
    assert [check["status"] for check in found["target"] if check["text"] == text] == ["note"] * said


def test_a_placeholder_for_a_key_changes_nothing_in_the_settings_of_a_run(
    fresh_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "e")
    assert main(["train", CONFIG, *SMALL]) == 0
    written = Path("demo/runs/demo/config.yaml")
    assert "redacted" not in written.read_text()
    assert main(["train", str(written)]) == 0


def install(plugin: str, entry_points: str, **modules: str) -> None:
    """What an installed package leaves in a folder of the search path."""
    info = Path(f"{plugin}-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plugin}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for name, text in modules.items():
        Path(f"{name}.py").write_text(text)


def test_plugins_are_listed_and_those_that_do_not_work_are_wrong_and_harm_no_other(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        "plugin_for_doctor",
        "[etude.scorers]\nfine = etude.envs.scorers.text:Exact\nbroken = nowhere_at_all:Scorer\n"
        "numeric = etude.envs.scorers.text:Exact\n"
        "[etude.environments]\nbare = contract_for_doctor:Bare\nhalf = contract_for_doctor:Half\n"
        "[etude.models]\ncrash = crash_for_doctor:Model\n"
        "[etude.executors]\nplain = etude.executors.local:LocalExecutor\n",
        crash_for_doctor="1 / 0\n",
        contract_for_doctor="class Bare:\n    pass\n\nclass Half:\n    @classmethod\n"
        "    def from_options(cls, options, where, judge):\n        return cls()\n    def tasks(self): pass\n",
    )
    monkeypatch.syspath_prepend(str(Path.cwd()))
    found = checks(capsys, CONFIG, "--executor.name", "plain", code=1)
    origin = "plugin_for_doctor 1.0"
    assert found["plugin fine"][0]["text"] == f"{origin}: etude.envs.scorers.text:Exact, one of the scorers"
    assert found["plugin plain"][0]["status"] == "ok"
    assert found["executor"][0]["text"] == "plain: etude.executors.local:LocalExecutor"
    assert found["plugin numeric"][0]["status"] == "note"
    assert found["plugin numeric"][0]["text"].endswith("is never used: 'numeric' is the name of a built-in one")
    assert found["data"][0]["status"] == found["target"][0]["status"] == "ok"
    module, guide = "contract_for_doctor", "what it needs: docs/python.md#plugins"
    made = "from_options(options, *, where, judge)"
    gone, crash = "nowhere_at_all:Scorer", "crash_for_doctor:Model"
    assert wrong(found) == {
        "plugin broken": (
            f"scorer 'broken' cannot be loaded from '{gone}': No module named 'nowhere_at_all'",
            f"fix or uninstall {origin}",
        ),
        "plugin bare": (f"environment 'bare' from '{module}:Bare' has no `{made}`", guide),
        "plugin half": (f"environment 'half' from '{module}:Half' has no `score`", guide),
        "plugin crash": (
            f"model 'crash' cannot be loaded from '{crash}': ZeroDivisionError: division by zero",
            f"fix or uninstall {origin}",
        ),
    }
    assert main(["train", CONFIG, *SMALL, "--executor.name", "plain"]) == 0


def test_a_plugin_that_ends_the_program_is_wrong_and_one_that_prints_leaves_the_result_alone(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        "rude_for_doctor",
        "[etude.scorers]\nleaving = leaving_for_doctor:Scorer\nloud = loud_for_doctor:Exact\n",
        leaving_for_doctor="import sys\nsys.exit('no licence')\n",
        loud_for_doctor="from etude.envs.scorers.text import Exact\nprint('loud is loaded')\n",
    )
    monkeypatch.syspath_prepend(str(Path.cwd()))
    found = checks(capsys, code=1)
    assert found["plugin loud"][0]["status"] == "ok"
    text, fix = wrong(found)["plugin leaving"]
    assert text == ("scorer 'leaving' cannot be loaded from 'leaving_for_doctor:Scorer': SystemExit: no licence")
    assert fix.startswith("fix or uninstall ")


def test_plugins_that_share_a_name_are_all_named(
    fresh_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = "etude.envs.scorers.text"
    install("aged", "[etude.scorers]\nmine = gone_for_doctor:Scorer\nyours = etude.envs.scorers.text:F1\n")
    install("sound", f"[etude.scorers]\nmine = {texts}:Exact\nyours = {texts}:Exact\nours = {texts}:ANLS\n")
    install("twin", f"[etude.scorers]\nours = {texts}:ANLS\n")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    found = checks(capsys, CONFIG, "--env.scorer", "ours", code=1)
    assert [check["status"] for check in found["plugin mine"]] == ["wrong", "wrong"]
    for check in found["plugin yours"]:
        both = f"scorer 'yours' is the name of several plugins: sound 1.0 ({texts}:Exact) and aged 1.0 ({texts}:F1)"
        assert (check["status"], check["text"]) == ("wrong", both)
    assert [check["status"] for check in found["plugin ours"]] == ["ok", "ok"]
    assert found["scorer"][0]["text"] == "anls accepts all gold answers"


def test_the_chosen_agent_executor_and_trackers_are_looked_at(fresh_project: Path, capsys: Captured) -> None:
    settings = Path(CONFIG).read_text()
    Path(CONFIG).write_text(f"{settings}report_to: [trakio]\n")
    flags = ["--agent.name", "chatt", "--executor.name", "local", "--executor.workers", "3"]
    found = wrong(checks(capsys, CONFIG, *flags, code=1))
    assert found["agent"][0] == "unknown agent 'chatt'"
    assert found["executor"][0] == "executor: unknown key 'workers'"
    assert found["report_to"][0] == "unknown tracker 'trakio'"
    Path(CONFIG).write_text(settings)
    flags = ["--agent.answer_pattern", "(.*)"]
    assert checks(capsys, CONFIG, *flags)["agent"][0]["text"] == "chat: etude.agents.chat:ChatAgent"
