"""A stranger's project: nothing that its settings name is imported, run or sent before the user trusts it."""

import json
import os
import pty
import py_compile
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from etude.agents.program import CommandOptions
from etude.agents.tools import ToolsOptions
from etude.cli.main import main
from etude.cli.parsing.parser import VERBS
from etude.cli.trust import foreign, trust_hash
from etude.config import make_config
from etude.envs.command import CommandConfig
from etude.registry import BUILT_IN
from etude_annexes.spreadsheet.environment import SpreadsheetConfig
from forked import forked
from rows import few
from trusting import trust

ETUDE = Path(sys.executable).with_name("etude")
MODELS = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
TASKS = "".join(json.dumps({"input": f"Say {name}.", "gold": name}) + "\n" for name in "abcdefghi")
DATA = {"path": "tasks.jsonl", "ratio": [1, 1, 1]}
SHADOWS = ("yaml", "pydantic", "openai", "openpyxl", "anthropic", "datasets", "pyarrow", "uvicorn")
"""Modules that etude imports itself, now or later."""


class Stranger:
    """A project in which all that can be named leaves a file in `touched`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, folder / "touched"
        self.touched.mkdir()
        (folder / "tasks.jsonl").write_text(TASKS)
        (folder / "a.md").write_text("- Say it.\n")
        for name in ("canary", "pkg/canary", *SHADOWS):
            path = folder / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"open({str(self.touched / path.stem)!r}, 'w').close()\n")
        for name in ("program.sh", "key.sh"):
            path = folder / name
            path.write_text(f"#!/bin/sh\nenv > {self.touched / name}\necho 9.9.9\n")
            path.chmod(0o755)
        plugin = folder / "theirs-1.0.dist-info"
        plugin.mkdir()
        (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        (plugin / "entry_points.txt").write_text("[etude.agents]\ntheirs = canary:Agent\n")
        tasks = [{"id": "m1", "intent": "Say the letter a.", "exact": ["a"]}]
        (folder / "tasks.json").write_text(json.dumps({"tasks": tasks, "reviewed": True}))
        self.settle({})

    def settle(self, settings: dict[str, object]) -> None:
        """These settings on top of plain ones, for training, for nights and in the folder of a run."""
        whole = {"env": {"name": "dataset", **DATA}, **MODELS, "train": {"epochs": 1}, **settings}
        (self.folder / "etude.yaml").write_text(yaml.safe_dump(whole))
        night = {name: value for name, value in whole.items() if name not in ("env", "search", "train")}
        night["sleep"] = {"project": ".", "sources": ["canary:Source"], "tasks": "tasks.json"}
        (self.folder / "sleep.yaml").write_text(yaml.safe_dump(night))
        for run in self.folder.glob("runs/*"):
            shutil.copy(self.folder / "etude.yaml", run / "config.yaml")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command without a terminal, of a user whose environment holds a secret."""
        env = {**os.environ, "SECRET": "s3cret-of-the-user", "OPENAI_API_KEY": "k3y-of-the-user"}
        return subprocess.run(
            [ETUDE, *words], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    @property
    def canaries(self) -> list[str]:
        return sorted(path.name for path in self.touched.iterdir())


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


@pytest.fixture
def said(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What a command prints: as `run`, in this process, which forgets what it has imported."""
    monkeypatch.chdir(stranger.folder)
    monkeypatch.setenv("SECRET", "s3cret-of-the-user")
    monkeypatch.setenv("OPENAI_API_KEY", "k3y-of-the-user")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*words: str) -> str:
        main([*words])
        for name in ("canary", "pkg", "pkg.canary"):
            sys.modules.pop(name, None)
        return "".join(capsys.readouterr())

    return run


@pytest.fixture
def refused(stranger: Stranger, said: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command says that refuses the project."""

    def run(*words: str) -> str:
        assert main([*words]) == 2
        assert stranger.canaries == []
        return capsys.readouterr().err

    return run


@pytest.fixture
def listener(stranger: Stranger) -> Iterator[str]:
    """The address of a server that leaves a file for each request."""

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            (stranger.touched / "request").write_text(str(self.headers))
            self.send_error(400)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def role(**settings: object) -> dict[str, object]:
    return {"target": {"model": "openai:m", **settings}}


THINGS = {
    "environment": ({"env": {"name": "canary:Env"}}, "canary", "plan"),
    "agent": ({"agent": {"name": "canary:Agent"}}, "canary", "doctor"),
    "scorer": ({"env": {**DATA, "name": "dataset", "scorer": {"name": "canary:Scorer"}}}, "canary", "plan"),
    "policy": ({"search": {"policy": "canary:Search"}}, "canary", "plan"),
    "executor": ({"executor": {"name": "canary:Executor"}}, "canary", "plan"),
    "model": ({"target": {"model": "pkg.canary:Model:m"}}, "canary", "plan"),
    "model of a module": ({"target": {"model": "canary:Model:m"}}, "canary", "plan"),
    "program": ({"agent": {"name": "claude-code", "path": "./program.sh"}, **role()}, "program.sh", "doctor"),
    "python": ({"env": {"name": "spreadsheet", "path": "t", "python": "./program.sh"}}, "program.sh", "doctor"),
    "key": (role(base_url="URL", api_key_env="SECRET", api="responses"), "request", "doctor --live"),
    "key command": (role(base_url="URL", api_key_command="./key.sh"), "key.sh", "doctor --live"),
    "its own server": (role(base_url="URL"), "request", "doctor --live"),
}
"""Settings of one thing each, the file it leaves once it is trusted, and the command that does."""


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "canary", "verb"), THINGS.values(), ids=THINGS)
def test_nothing_is_touched_before_it_is_trusted(
    stranger: Stranger,
    listener: str,
    refused: Callable[..., str],
    settings: dict[str, object],
    canary: str,
    verb: str,
) -> None:
    stranger.settle(yaml.safe_load(yaml.safe_dump(settings).replace("URL", listener)))
    told = refused("plan")
    assert "nothing was imported, run or sent" in told
    (given,) = re.findall("--trust ([0-9a-f]{64})$", told.strip())
    stranger.run(*verb.split(), "--trust", given)
    assert canary in stranger.canaries


READING = ["demo", "doctor", "plan", "train", "evaluate", "compare", "recheck", "trigger", "audit", "prune", "verify"]
NIGHTS = ["sleep run", "sleep schedule", "sleep run --dry-run", "sleep show --sessions"]


def test_commands_that_read_settings_refuse_a_project_that_names_everything(
    stranger: Stranger, demo_done: Path, listener: str, refused: Callable[..., str]
) -> None:
    names_everything(stranger, demo_done, listener)
    assert {verb.name for verb in VERBS if verb.dotted} <= {*READING, *NIGHTS}
    for name in (*READING, *NIGHTS):
        assert "nothing was imported" in refused(*name.split(), *WORDS.get(name, [])), name


@pytest.mark.slow
def test_no_command_touches_a_project_that_names_everything(
    stranger: Stranger, demo_done: Path, listener: str
) -> None:
    names_everything(stranger, demo_done, listener)
    verbs = [verb.name for verb in VERBS if verb.name != "simulate"]  # that serves until it is ended
    settled: list[str] = []
    for verb in (*verbs, *(words for words in NIGHTS if words not in verbs)):
        done = stranger.run(*verb.split(), *WORDS.get(verb, []))
        assert stranger.canaries == [], (verb, done)
        settled += [verb] if "nothing was imported" in done.stderr else []
        assert "Traceback" not in done.stderr, (verb, done)
    assert settled == [*READING, *NIGHTS]


WORDS = {
    "demo": ["--folder", "demo"],
    "init": ["tasks.jsonl", "--folder", "new"],
    "evaluate": ["--skill", "demo:best", "--target", "openai:m"],
    "compare": ["demo:initial", "demo:best"],
    "recheck": ["demo:best", "--target", "openai:m"],
    "trigger": ["demo"],
    "audit": ["demo:best"],
    "prune": ["demo:best"],
    "show": ["demo"],
    "diff": ["demo"],
    "blame": ["demo"],
    "view": ["demo", "--export", "page.html"],
    "export": ["demo:best", "--to", "out", "--description", "Everyday tasks."],
    "verify": ["demo:best", "demo"],
    "sleep show --sessions": ["--project", "."],
    "sleep schedule": ["--print"],
}
"""What each command needs besides its name."""


def names_everything(stranger: Stranger, demo_done: Path, listener: str) -> None:
    shutil.copytree(demo_done / "runs" / "demo", stranger.folder / "runs" / "demo")
    shutil.copytree(stranger.folder, stranger.folder / "demo", ignore=shutil.ignore_patterns("runs", "demo"))
    whole: dict[str, object] = {}
    for settings, _, _ in THINGS.values():
        whole |= yaml.safe_load(yaml.safe_dump(settings).replace("URL", listener))
    stranger.settle(whole)
    shutil.copy(stranger.folder / "etude.yaml", stranger.folder / "demo")


def test_plain_settings_ask_nothing_and_find_no_module_and_no_plugin_of_the_folder(stranger: Stranger) -> None:
    done = stranger.run("train")
    assert done.returncode == 0, done
    code = f"import runpy, sys; sys.argv = ['etude', 'plan']; sys.path[0] = {str(stranger.folder)!r}; "
    module = [sys.executable, "-c", f"{code} runpy.run_module('etude', run_name='__main__')"]
    assert subprocess.run(module, cwd=stranger.folder, capture_output=True, check=False).returncode == 0
    assert stranger.canaries == []


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"target": {"model": "openai:m"}, "optimizer": {"model": "anthropic:m"}}, 0),
        (role(base_url="https://api.openai.com/v1"), 0),
        (role(base_url="http://127.0.0.1:8000/v1"), 0),
        (role(base_url="http://127.0.0.1:8000/v1", api_key_env="SECRET"), 1),
        (role(base_url="http://127.0.0.1:8000@evil.example/v1"), 1),
        (role(base_url="https://api.openai.com.evil.example/v1"), 1),
        (role(api_key_env="SECRET"), 1),
        ({"target": {"model": "agent:codex"}}, 0),
        ({"target": {"model": "agent:codex", "renew_login": True}}, 1),
        ({"target": {"model": "agent:codex", "base_url": "https://evil.example"}}, 1),
        ({"agent": {"name": "claude-code", "login": "gateway", "limits": {"seconds": 9}}}, 0),
        ({"agent": {"name": "claude-code", "login": "direct", "env": {"ANTHROPIC_BASE_URL": "https://e"}}}, 2),
        ({"agent": {"name": "tools", "network": True, "readable": ["/root"], "unsafe_no_sandbox": True}}, 3),
        ({"agent": {"name": "tools", "network": False, "readable": []}}, 0),
        ({"env": {"name": "command", "path": "t.jsonl", "grader": "python grade.py"}}, 1),
        ({"report_to": ["trackio", "wandb", "canary:Tracker"]}, 1),
        ({"executor": {"name": "ray", "address": "auto", "workers": 4, "port": 9}}, 0),
        ({"executor": {"name": "ray", "address": "ray.evil.example:6379"}}, 1),
    ],
)
def test_what_is_asked_about(monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], count: int) -> None:
    monkeypatch.setenv("SECRET", "of-the-user")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert len(foreign(make_config({**MODELS, **settings}))) == count


PLAIN = {
    "env": "path train val test ratio split_seed limit hub config revision splits format fields template scorer "
    "boxes seconds memory_mb mode turns",
    "agent": "answer_pattern answer_file delivery max_steps max_tokens tools output_chars limits concurrency_mb "
    "model",
}


def test_each_option_is_known_to_name_nothing_or_is_asked_about() -> None:
    kinds = {"env": (CommandConfig, SpreadsheetConfig), "agent": (CommandOptions, ToolsOptions)}
    for section, types in kinds.items():
        names = {name for each in types for name in each.model_fields}
        config = make_config({**MODELS, section: {"name": "command", **dict.fromkeys(names, "x")}})
        asked = {name.partition(".")[2] for each in foreign(config) for name in each.settings}
        assert asked | set(PLAIN[section].split()) == names
        assert not asked & set(PLAIN[section].split())


def test_names_that_are_built_in_are_never_asked_about() -> None:
    for names, section, key in (("agents", "agent", "name"), ("searches", "search", "policy")):
        for name in BUILT_IN[names]:
            assert foreign(make_config({**MODELS, section: {key: name}})) == []


CHECK = {"name": "command", "path": "tasks.jsonl"}


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ({"agent": {"name": "mine:Agent"}}, "mine.py helper.py"),
        ({"env": {**CHECK, "check": "python -m pytest tests grade.py"}}, "grade.py tests/test_it.py"),
        ({"env": {**CHECK, "check": "python ~/program.sh"}}, "home/program.sh"),
        ({"env": {"name": "harbor", "path": "tasks"}}, "tasks/one/tests/test.sh"),
        ({"env": {"name": "inspect", "task": "tasks/sums.py"}}, "tasks/sums.py tasks/helper.py"),
        ({"env": {"name": "verifiers", "task": "~/sums.py"}}, "home/sums.py"),
        ({"agent": {"name": "claude-code", "path": "~/program.sh"}}, "home/program.sh"),
        (role(api_key_command="sh key.sh"), "key.sh"),
        (role(api_key_command="~/program.sh"), "home/program.sh"),
    ],
)
def test_the_hash_changes_with_all_that_is_imported_or_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], changed: str
) -> None:
    monkeypatch.setenv("HOME", str(here / "home"))
    files = [Path(name) for name in (*changed.split(), "notes.md")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("import helper\n")
    found = foreign(make_config({**MODELS, **settings}))
    assert [len(each.settings) for each in found] == [1]
    hashes = [trust_hash(found)]
    for file in files:
        file.write_text("# changed\n")
        hashes.append(trust_hash(foreign(make_config({**MODELS, **settings}))))
    assert hashes[-1] == hashes[-2]
    assert len(set(hashes)) == len(files)


def test_an_answer_holds_for_these_contents_in_this_folder(
    stranger: Stranger,
    said: Callable[..., str],
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stranger.settle({"env": {"name": "canary:Env"}})
    trust()
    said("plan")
    assert stranger.canaries == ["canary"]
    (stranger.touched / "canary").unlink()
    shutil.copytree(stranger.folder, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    refused("plan")
    with (stranger.folder / "canary.py").open("a") as module:
        module.write("# changed\n")
    monkeypatch.chdir(stranger.folder)
    refused("plan")


def test_an_old_hash_is_refused_and_what_is_kept_is_for_its_owner_only(
    stranger: Stranger, said: Callable[..., str], refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(stranger.folder / "kept"))
    stranger.settle({"env": {"name": "canary:Env"}})
    told = refused("plan", "--trust", "0" * 64)
    assert "the list of --trust was another one, or a file has changed" in told
    assert not (stranger.folder / "kept").exists()
    (given,) = re.findall("--trust ([0-9a-f]{64})$", told.strip())
    said("plan", "--trust", given)
    (kept,) = (stranger.folder / "kept" / "etude" / "trusted").iterdir()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "import 'canary:Env'" in kept.read_text()


def test_what_the_command_line_sets_is_the_word_of_the_user(stranger: Stranger, said: Callable[..., str]) -> None:
    said("plan", "--target.model", "pkg.canary:Model:m")
    assert stranger.canaries == ["canary"]


def test_words_of_the_user_do_not_vouch_for_the_rest_of_the_file(
    stranger: Stranger, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = {"name": "canary:Scorer"}
    stranger.settle({"env": {**DATA, "scorer": scorer}, "agent": {"name": "claude-code", "env": {"A": "b"}}})
    typed = ["--env.scorer={strict: true}", "--agent.env={C: d}", "--agent.name", "chat"]
    said = refused("plan", *typed)
    assert "env.scorer.name: import 'canary:Scorer'" in said
    assert "agent.env.A, agent.env.C: set" in said
    stranger.settle({})
    monkeypatch.setenv("ETUDE_ENV__NAME", "canary:Env")  # a project can bring variables in an .env file
    assert "env.name: import 'canary:Env'" in refused("plan")


NESTED = {"name": "verifiers", "task": "", "args": {"load": {"code": "theirs", "split": "train"}, "n": 3}}


@pytest.mark.parametrize(
    ("settings", "typed", "asked"),
    [
        (
            {"agent": {"name": "tools", "env": {"A": "b", "C": "d"}}},
            ["--agent.env.C", "e"],
            "agent.env.A, agent.env.C",
        ),
        ({"env": NESTED}, ["--env.args.n", "4"], "env.args.load.code, env.args.load.split, env.args.n"),
        ({"env": NESTED}, ["--env.args.load.split", "test"], "env.args.load.code, env.args.load.split, env.args.n"),
        (
            {"env": NESTED},
            ["--env.args={load: {split: test}}"],
            "env.args.load.code, env.args.load.split, env.args.n",
        ),
        (
            role(base_url="https://e.example", api_key_env="SECRET"),
            ["--target.base_url", "https://f.example"],
            "target.base_url, target.api_key_env",
        ),
        ({"report_to": ["canary:Tracker"]}, ["--env.limit", "3"], "report_to"),
    ],
)
def test_one_item_that_is_typed_does_not_vouch_for_the_others(
    stranger: Stranger, refused: Callable[..., str], settings: dict[str, object], typed: list[str], asked: str
) -> None:
    stranger.settle(settings)
    assert f"  {asked}: " in refused("plan", *typed)


def test_all_items_that_are_typed_need_no_second_word(stranger: Stranger, said: Callable[..., str]) -> None:
    stranger.settle({"agent": {"name": "tools", "env": {"A": "b", "C": "d"}}})
    assert "nothing was imported" not in said("plan", "--agent.env.A=x", "--agent.env.C=y")


def test_another_target_does_not_open_an_address_of_the_file(
    stranger: Stranger, refused: Callable[..., str], listener: str
) -> None:
    stranger.settle({"target": {"model": "simulated:target", "base_url": listener}})
    assert main(["plan"]) == 0  # nothing is sent to it
    for words in (["evaluate", "--target", "openai:m"], ["doctor", "--live", "--target.model", "openai:m"]):
        assert "send 'OPENAI_API_KEY' to 'http://127.0.0.1" in refused(*words)


def test_a_compiled_file_does_not_stand_in_for_the_source_that_was_trusted(
    stranger: Stranger, said: Callable[..., str]
) -> None:
    source = stranger.folder / "canary.py"
    trap = stranger.folder / "trap.py"
    trap.write_text(f"open({str(stranger.touched / 'trap')!r}, 'w').close()\n")
    place = stranger.folder / "__pycache__" / f"canary.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(trap), str(place), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    stranger.settle({"env": {"name": "canary:Env"}})
    trust()
    said("plan")
    assert source.exists()
    assert stranger.canaries == ["canary"]


@pytest.mark.parametrize(("answer", "canaries"), few([("y", ["canary"]), ("", [])], ("y", ["canary"])))
def test_at_a_terminal_the_user_is_asked_once(
    stranger: Stranger, said: Callable[..., str], answer: str, canaries: list[str]
) -> None:
    stranger.settle({"env": {"name": "canary:Env", "note": "\x1b[2J\nenv.name: nothing"}})
    master, slave = pty.openpty()
    with forked(["plan"], stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(master, 4096)
        os.write(master, f"{answer}\n".encode())
        process.wait(60)
    os.close(master)
    assert stranger.canaries == canaries
    assert b"\x1b[2J" not in shown
    assert b"\nenv.name: nothing" not in shown
    assert ("nothing was imported" in said("plan")) == (not canaries)


def test_a_night_has_the_trust_that_was_given_when_it_was_set_up(
    stranger: Stranger, said: Callable[..., str], refused: Callable[..., str]
) -> None:
    assert "sleep.sources: import 'canary:Source'" in refused("sleep", "run")
    trust("sleep.yaml")
    command = json.loads(said("sleep", "schedule", "--print", "--json"))["command"]
    assert "nothing was imported" not in said(*command[command.index("sleep") :])


@pytest.mark.parametrize("thing", few(["program", "python"], "program"))
def test_a_program_that_is_asked_about_itself_sees_no_key(
    stranger: Stranger, said: Callable[..., str], thing: str
) -> None:
    settings, canary, verb = THINGS[thing]
    stranger.settle(settings)
    trust()
    said(*verb.split())
    names = {line.partition("=")[0] for line in (stranger.touched / canary).read_text().splitlines()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} <= {"PATH", "HOME", "LANG", "TMPDIR"}


def test_a_model_of_ones_own_that_init_was_given_needs_no_second_word(
    stranger: Stranger, said: Callable[..., str]
) -> None:
    told = said("init", "tasks.jsonl", "--folder", ".", "--force", "--target", "pkg.canary:Model:m")
    assert stranger.canaries == ["canary"], told
    assert "nothing was imported" not in said("plan")
