import contextlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from at_terminal import Terminal
from etude import __version__
from etude.cli.main import main
from etude.cli.parsing.parser import VERBS
from etude.cli.parsing.settings_help import settings_help
from etude.config import TrainConfig
from etude.config.sections import ModelSection, TargetSection
from trusting import trust

Captured = pytest.CaptureFixture[str]


def test_the_version_is_the_packages(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"etude {__version__}\n"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_the_help_of_a_verb_has_an_example_that_parses(verb, capsys: Captured) -> None:
    names = verb.name.split()
    assert main([*names, "--help"]) == 0
    out = capsys.readouterr().out
    for example in verb.examples:
        assert example in out
        program, *words = shlex.split(example)
        assert (program, words[: len(names)]) == ("etude", names)
        verb.parse(words[len(names) :])


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ([], ["--help"]),
        (["help"], ["--help"]),
        (["help", "help"], ["--help"]),
        (["help", "train"], ["train", "--help"]),
        (["help", "sleep"], ["sleep", "--help"]),
    ],
)
def test_help_is_a_verb_too(words: list[str], same: list[str], capsys: Captured) -> None:
    assert main(words) == 0
    text = capsys.readouterr().out
    assert main(same) == 0
    assert text == capsys.readouterr().out
    assert text.startswith("usage: etude ")


@pytest.mark.parametrize(
    ("words", "first", "among"),
    [
        ([], "A run is described by one YAML file.", "  limits     What the run may use"),
        (["train"], "The schedule.", "train.epochs  (integer, default 12)"),
        (["train.epochs"], "train.epochs  (integer, default 12)", "    Passes over the training tasks."),
        (["--limits.usd"], "limits.usd  (number, default null)", "    Most US dollars;"),
        (["edit_budget"], "search.edit_budget  (integer, default ", "    "),
        (["judge.model"], "judge.model  (text, required)", "    Provider and model name"),
        (["judge.temperature"], "target.temperature  (number", "    Sampling temperature"),
        (["target.price"], "target.price  (section", "target.price.input  (number, required)"),
        (["env", "scorer"], "env.scorer  (text or mapping", "    Name of the scorer"),
        (["report_to"], "`preset` is `default` or `paper`", ""),
        (["--help"], "A run is described by one YAML file.", "  train "),
        (["train", "-h"], "The schedule.", "train.epochs  (integer"),
    ],
)
def test_help_says_of_settings_what_the_reference_says(
    words: list[str], first: str, among: str, capsys: Captured
) -> None:
    assert main(["help", "settings", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(first)
    assert any(line.startswith(among) for line in lines)
    assert not any("](" in line or line.startswith("|") for line in lines)


def test_help_knows_each_setting_of_a_run() -> None:
    roles = dict.fromkeys(("target", "optimizer", "judge"), ModelSection) | {"targets": TargetSection}
    kinds = {name: type(section) for name, section in TrainConfig()} | roles
    keys = [f"{name}.{key}" for name, kind in kinds.items() for key in getattr(kind, "model_fields", ())]
    assert {"judge.model", "targets.temperature", "limits.usd"} < set(keys)
    for key in [*kinds, *keys]:
        assert list(settings_help([key])), key


@pytest.mark.parametrize(
    ("word", "hint"), [("epoch", "did you mean 'epochs'?"), ("zzz", "`etude help settings` lists the sections")]
)
def test_help_about_a_setting_that_does_not_exist_says_what_is_meant(word: str, hint: str, capsys: Captured) -> None:
    assert main(["help", "settings", word]) == 2
    assert capsys.readouterr().err == f"error: there is no setting {word!r}\nhint: {hint}\n"


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["--vers"], "unknown option '--vers'", "did you mean '--version'?"),
        (["settings"], "unknown verb 'settings'", "did you mean 'help settings'?"),
        (["hepl", "train"], "unknown verb 'hepl'", "did you mean 'help'?"),
        (["train", "--nmae", "x"], "unknown option '--nmae'", "did you mean '--name'?"),
        (
            ["plan", "--executor", "x"],
            "unknown option '--executor'",
            "a setting has a section and a key, as in --executor.name VALUE",
        ),
        (
            ["plan", "--prices", "x"],
            "unknown option '--prices'",
            "a setting has a section and a key, as in --prices.NAME VALUE",
        ),
        (
            ["train", "--report_to", "x"],
            "unknown option '--report_to'",
            "it is a list, and stands in the settings file, as in `report_to: [...]`",
        ),
        (
            ["runs", "--temperature"],
            "unknown option '--temperature'",
            "allowed: --folder, --help, --json, -h; see `etude runs --help`",
        ),
        (["train", "a.yaml", "b"], "unexpected argument 'b'", "see `etude train --help`"),
        (["train", "a.yaml", "--", "b"], "unexpected argument 'b'", "see `etude train --help`"),
        (["diff"], "`etude diff` needs RUN", "as in `etude diff first`; see `etude diff --help`"),
        (["train", "--a.b"], "--a.b needs a value", "as in --a.b=VALUE"),
        (["train", "--a.b", "--name"], "--a.b needs a value", "as in --a.b=VALUE"),
        (["show", "x", "--step", "0"], "--step: '0' is not a whole number from 1 on", None),
        (["show", "x", "--gate.metric", "soft"], "`etude show` takes no settings, but --gate.metric was given", None),
        (["evaluate", "--split", "tset"], "--split = 'tset' is not one of them", "did you mean 'test'?"),
        (["simulate", "--port", "99999"], "--port: '99999' is not a port from 0 to 65535", None),
        (["simulate", "--latency", "-1"], "--latency: '-1' is not a number of seconds from 0 on", None),
        (
            ["train"],
            "no CONFIG was given and there is no 'etude.yaml' here",
            "`etude init DATA` makes one, `etude demo` needs none",
        ),
        (["train", "nope.yaml"], "config file 'nope.yaml' does not exist", "`etude init DATA` writes one"),
    ],
)
def test_wrong_usage_is_said_on_stderr_with_a_hint_and_exit_code_2(
    words: list[str], error: str, hint: str | None, here: Path, capsys: Captured
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    hint = f"see `etude {words[0]} --help`" if hint is None else hint
    assert captured.err == f"error: {error}\nhint: {hint}\n"
    assert captured.out == ""


NOTHING_ELSE = "executor: unknown key 'workers'", "leave it out: nothing else can be set here"


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["train", "--trian.epochs", "2"], "--trian.epochs: unknown key 'trian'", "did you mean 'train'?"),
        *(([verb, "--executor.workers", "3"], *NOTHING_ELSE) for verb in ("train", "plan")),
    ],
)
def test_an_unknown_setting_is_named_with_what_to_do(
    words: list[str], error: str, hint: str, fresh_project: Path, capsys: Captured
) -> None:
    verb, *flags = words
    assert main([verb, "demo/etude.yaml", *flags]) == 2
    assert capsys.readouterr().err == f"error: {error}\nhint: {hint}\n"


@pytest.fixture
def environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Settings in `c.yaml` for an environment of that module, which does this when it is made."""

    def make(module: str, does: str) -> None:
        Path(f"{module}.py").write_text(
            "class Env:\n    tasks = score = print\n    @classmethod\n    def from_options(cls, *a, **k):\n"
            f"        {does}\n"
        )
        monkeypatch.syspath_prepend(str(here))
        Path("c.yaml").write_text(f"env: {{name: '{module}:Env'}}\n")
        trust("c.yaml")

    return make


def test_a_bug_keeps_its_traceback(environment: Callable[[str, str], None]) -> None:
    environment("buggy_for_main", "1 / 0")
    with pytest.raises(ZeroDivisionError):
        main(["train", "c.yaml"])


def test_ctrl_c_where_nothing_else_takes_it_is_exit_code_130(
    environment: Callable[[str, str], None], capsys: Captured
) -> None:
    environment("pressed_for_main", "raise KeyboardInterrupt")
    assert main(["train", "c.yaml", "--json"]) == 130
    captured = capsys.readouterr()
    again = "run the same command again"
    assert json.loads(captured.out) == {"error": "interrupted", "hint": again, "exit_code": 130}
    assert captured.err == f"error: interrupted\nhint: {again}\n"


def test_the_result_has_colour_in_a_terminal_and_none_when_it_is_not_wanted(
    demo_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown: dict[str, str] = {}
    for wish in ("", "1"):
        monkeypatch.setenv("NO_COLOR", wish)
        stream = Terminal()
        with contextlib.redirect_stdout(stream):
            assert main(["show", "demo/runs/demo"]) == 0
        shown[wish] = stream.getvalue()
    assert "\x1b[1;33mSIMULATED MODELS" in shown[""]
    assert "\x1b[1mSIMULATED MODELS" in shown["1"]
