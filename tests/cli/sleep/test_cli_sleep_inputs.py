"""What `etude sleep` refuses, and what it shows without asking a model or writing anything."""

import json
from pathlib import Path

import pytest
from small_night import Small, tree

from etude.cli.main import main
from etude.cli.sleep.verbs import SLEEP
from rows import rows

Captured = pytest.CaptureFixture[str]
VERBS = [verb.name.split()[1] for verb in SLEEP]


def refused(capsys: Captured, *words: str) -> str:
    """What a verb says on stderr when it is used wrongly; with --json stdout has the same."""
    capsys.readouterr()
    assert main(["sleep", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert main(["sleep", *words, "--json"]) == 2
    again = json.loads(capsys.readouterr().out)
    assert f"error: {again['error']}\nhint: {again['hint']}\n" == captured.err
    assert again["exit_code"] == 2
    return captured.err


@pytest.mark.parametrize("other", ["--wait", "--unattended"])
def test_a_dry_run_asks_nobody(capsys: Captured, other: str) -> None:
    assert "a dry run asks nobody" in refused(capsys, "run", "--dry-run", other)


@rows("verb", VERBS)
def test_every_verb_has_a_help_with_an_example(verb: str, capsys: Captured) -> None:
    assert main(["sleep", verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: etude sleep {verb} ")
    assert f"example:\n  etude sleep {verb}" in out
    assert "--json" in out


@pytest.mark.parametrize("words", [["sleep"], ["sleep", "--help"]])
def test_the_verbs_are_listed(words: list[str], capsys: Captured) -> None:
    assert main(words) == 0
    out = capsys.readouterr().out
    assert [verb for verb in VERBS if f"\n  {verb} " not in out] == []


@pytest.mark.parametrize("verb", ["run", "schedule"])
def test_without_settings_it_is_said_what_to_write(verb: str, here: Path, capsys: Captured) -> None:
    assert refused(capsys, verb) == (
        "error: no CONFIG was given and there is no 'sleep.yaml' here\nhint: `etude sleep init` makes one\n"
    )
    assert refused(capsys, verb, "other.yaml") == (
        "error: config file 'other.yaml' does not exist\nhint: give the settings of a night\n"
    )


@pytest.mark.parametrize("verb", ["show", "adopt", "revert"])
def test_where_there_is_no_night_it_is_said_how_to_have_one(verb: str, sleeper: Small, capsys: Captured) -> None:
    hint = "hint: `etude sleep status` shows the nights, `etude sleep run` works through one\n"
    for words in ([], [] if verb == "adopt" else ["3"]):
        assert refused(capsys, verb, *words) == f"error: there is no night yet of '{sleeper.project}'\n{hint}"
    assert not sleeper.base.exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["show", "0"], "NIGHT: '0' is not a whole number from 1 on"),
        (["revert", "1", "--rule", "1f0e9d8c"], "NIGHT and --rule exclude each other"),
        (["revert", "--rule", "1f0e9d8c"], "there is no night yet of '/"),
        (["schedule", "--at", "24:00"], "--at: '24:00' is not a time as in 03:17"),
        (["run", "--max_tasks", "3"], "unknown option '--max_tasks'"),
        (["show", "7", "--sessions"], "sessions are not those of a night"),
        (["show", "--diff", "--to", "tasks.json"], "--to is about tasks"),
        (["show", "--diff", "--tasks"], "--tasks: not allowed with argument --diff"),
        (["status", "--project", "nowhere"], "'nowhere' is not a folder"),
        (["status", "--config", "none.yaml"], "config file 'none.yaml' does not exist"),
        (["run", "--sleep.project", "nowhere"], "sleep.project = 'nowhere' is not a folder"),
        (["run", "--sleep.drem", "2"], "--sleep.drem: unknown key 'sleep.drem'"),
        (["run", "--sleep.sources=[no.jsonl]"], "'no.jsonl' does not exist"),
        (["run", "--sleep.tasks", "none.json"], "'none.json' cannot be read"),
        (["run", "--target.model", "simulated:targt"], "unknown simulated model 'targt'"),
        (
            ["run", "--dry-run", "--optimizer.model", "openai:gpt-5.5"],
            "environment variable 'OPENAI_API_KEY' is not set",
        ),
        (["nap"], "unknown verb 'sleep nap'"),
        (["init", "--force", "--agent", "foo"], "--agent: agent = 'foo': no agent has that name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_is_named_and_nothing_is_written(
    words: list[str], error: str, sleeper: Small, capsys: Captured
) -> None:
    before = tree(sleeper.root)
    text = refused(capsys, *words)
    assert error in text.splitlines()[0]
    assert text.splitlines()[1].startswith("hint: ")
    assert tree(sleeper.root) == before


@pytest.mark.parametrize("verb", ["run", "schedule"])
def test_a_setting_without_its_section_is_found_among_those_of_a_night(
    verb: str, sleeper: Small, capsys: Captured
) -> None:
    assert "hint: did you mean '--sleep.max_tasks'?" in refused(capsys, verb, "--max_tasks", "3")


def test_what_a_night_sets_itself_and_models_on_the_command_line_stop_no_other_verb(
    sleeper: Small, capsys: Captured
) -> None:
    path = sleeper.project / "sleep.yaml"
    models, section = path.read_text().splitlines()[:2], path.read_text().splitlines()[2]
    path.write_text(f"{section}\n")
    flags = [f"--{line.split(':')[0]}.model={line.split(chr(39))[1]}" for line in models]
    assert main(["sleep", "run", "--sleep.confirm_trials=0", *flags]) == 0
    for words in (["status"], ["show", "--diff"], ["show"], ["adopt"], ["revert"], ["schedule", "--remove"]):
        assert main(["sleep", *words]) == 0
    assert capsys.readouterr().err.count("error") == 0


def test_settings_that_are_no_yaml_are_refused(here: Path, capsys: Captured) -> None:
    Path("sleep.yaml").write_text("target: {\n")
    for words in (["run"], ["status"], ["schedule", "--remove"]):
        assert refused(capsys, *words).startswith("error: sleep.yaml: line ")


def test_a_document_that_cannot_be_used_is_reported_before_anything_is_asked(
    sleeper: Small, capsys: Captured
) -> None:
    (sleeper.project / "CLAUDE.md").write_bytes(b"\xff\xfe")
    assert "CLAUDE.md' is not UTF-8" in refused(capsys, "run")
    assert "CLAUDE.md' is not UTF-8" in refused(capsys, "run", "--dry-run")
    assert sleeper.state.numbers() == []


def test_a_dry_run_asks_no_model_and_writes_nothing(sleeper: Small, capsys: Captured) -> None:
    dead = [
        f"--{role}.{key}"
        for role in ("target", "optimizer")
        for key in ("model=openai:x", "base_url=http://127.0.0.1:9/v1")
    ]
    for words in ([], dead):
        before = tree(sleeper.root)
        assert main(["sleep", "run", "--dry-run", *words]) == 0
        captured = capsys.readouterr()
        assert tree(sleeper.root) == before
        assert captured.err == ""
        lines = captured.out.splitlines()
        assert lines[0] == "sessions   5 claude-code"
        assert [line.split()[0] for line in lines] == ["sessions", "calls", "cost"]


def test_a_dry_run_foretells_what_the_night_then_does(sleeper: Small, capsys: Captured) -> None:
    assert main(["sleep", "run", "--dry-run", "--json", "--sleep.max_tasks", "4", "--limits.calls", "900"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["sessions"], said["waiting"], said["calls"]) == ({"claude-code": 4}, 1, 900)
    assert sleeper.night({"max_tasks": 4}).spent.calls <= said["calls"]


def test_a_dry_run_after_all_sessions_are_used_says_that_there_is_nothing(one: Small, capsys: Captured) -> None:
    assert main(["sleep", "run", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["sessions   none", "left out   5 used before"]
    assert lines[-1] == "there is nothing for a night to do"


def test_a_dry_run_over_a_task_file_speaks_of_tasks(sleeper: Small, capsys: Captured) -> None:
    checks = [{"op": "min_chars", "arg": 1}]
    tasks = [{"id": f"t{n}", "intent": f"Write about topic {n}.", "checks": checks} for n in range(6)]
    file = {"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": tasks}
    Path("tasks.json").write_text(json.dumps(file))
    before = tree(sleeper.root)
    assert main(["sleep", "run", "--dry-run", "--sleep.tasks", "tasks.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(" ")[0] == "tasks"
    assert sum(int(part.split()[0]) for part in lines[0][11:].split(", ")) == 6
    assert lines[-1] == "cost       unknown; limits.usd bounds it"
    assert tree(sleeper.root) == before


def test_a_harvest_lists_sessions_and_writes_nothing(one: Small, capsys: Captured) -> None:
    before = tree(one.root)
    assert main(["sleep", "show", "--sessions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["source", "session", "started", "(UTC)", "turns", "project", "first", "request"]
    assert len([line for line in lines if line.startswith("claude-code  ")]) == 5
    assert lines[-1] == "sessions   5 claude-code"
    assert tree(one.root) == before


def test_a_harvest_as_json_has_every_session_whole(sleeper: Small, capsys: Captured) -> None:
    words = ["sleep", "show", "--sessions", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["sessions"]) == 5
    first = found["sessions"][0]
    assert (first["source"], len(first["turns"])) == ("claude-code", 3)
    assert first["turns"][0]["prompt"] == sleeper.turns[4].prompt
    assert main([*words, "--project", str(sleeper.root / "home")]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"] == []


def test_a_harvest_shows_no_secret_and_says_what_it_took_out(sleeper: Small, capsys: Captured) -> None:
    key = "sk-proj-" + "a1B2" * 12
    path = sleeper.files[0]
    path.write_text(path.read_text().replace(sleeper.turns[0].prompt, f"{sleeper.turns[0].prompt} {key}"))
    for words in ([], ["--json"]):
        assert main(["sleep", "show", "--sessions", *words]) == 0
        out = capsys.readouterr().out
        assert key not in out
        assert "redacted" in out
