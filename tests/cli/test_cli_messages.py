"""What newcomers get wrong, and the whole of what they are told."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from etude import ListEnvironment, Trainer
from etude.cli.main import main
from etude.simulation.endpoint import Endpoint, running_endpoint
from etude.testing import ScriptedModel

SETTINGS = """\
env: {name: dataset, path: t.jsonl, ratio: [2, 1, 1], scorer: numeric}
target: {model: simulated:target}
optimizer: {model: simulated:optimizer}
train: {epochs: 1}
run: {name: first}
"""
SIMULATED = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the finished run `first`. Look, do not touch."""
    folder = tmp_path_factory.mktemp("newcomer")
    rows = [{"id": f"t{n}", "question": f"What is {n} + {3 * n}?", "answer": str(4 * n)} for n in range(20)]
    files = {
        "t.jsonl": rows,
        "same.jsonl": [{**row, "answer": "yes"} for row in rows],
        "words.jsonl": [{**row, "answer": "about " + "x" * (n % 3 + 1)} for n, row in enumerate(rows)],
    }
    for name, some in files.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in some))
    (folder / "SKILL.md").write_text("Add the numbers.\n")
    (folder / "empty.md").write_text("\n")
    (folder / "etude.yaml").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["train"]) == 0
    return folder


@pytest.fixture
def project(trained: Path, here: Path) -> Path:
    """A copy of it as the current folder."""
    return shutil.copytree(trained, here, dirs_exist_ok=True)


def said(capsys: pytest.CaptureFixture[str], words: str) -> str:
    """What is said on stderr from the error on; how a run goes until then does not matter."""
    assert main(words.split()) in (1, 2)
    text = capsys.readouterr().err
    return text[text.index("error: ") :].rstrip("\n")


MESSAGES = (Path(__file__).parent / "messages.txt").read_text().removesuffix("\n").split("\n\n")
"""Each as at a terminal, behind what is changed in the settings for it."""


@pytest.mark.parametrize(
    "message", MESSAGES, ids=[message.partition("$ etude ")[2].splitlines()[0] for message in MESSAGES]
)
def test_what_is_wrong_and_what_to_do_is_said_in_full(
    message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, _, shown = message.partition("$ etude ")
    if change:
        old, new = (json.loads(text) for text in change.removeprefix("# in etude.yaml ").split(" is "))
        assert old in SETTINGS
        (project / "etude.yaml").write_text(SETTINGS.replace(old, new))
    words, _, text = shown.partition("\n")
    assert said(capsys, words) == text


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as endpoint:
        yield endpoint


def test_a_mistyped_model_is_named_once_and_nothing_is_made_of_no_answers(
    project: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"train --name new --target.model openai:targt --target.base_url {endpoint.url}"
    assert main(words.split()) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("The model 'targt' does not exist") == 1
    assert captured.err.splitlines()[-2:] == [
        f"hint: check the model name 'targt' and the address {endpoint.url}",
        f"correct the name of the model, and type again: etude {words}",
    ]
    assert main(words.replace("targt", "target").split()) == 0


def test_a_model_that_is_mistyped_after_answers_came_is_gone_on_without_with_a_fork(
    project: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"train --name new --optimizer.model openai:opt --optimizer.base_url {endpoint.url}"
    assert main(words.split()) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert last == f"correct the name of the model, and type again: etude {words} --name new-2 --fork new"
    again = last.partition(": etude ")[2].replace("openai:opt ", "openai:optimizer ")
    assert main(again.split()) == 0


def test_an_address_without_v1_is_told_where_the_interface_may_be(
    project: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = endpoint.url.removesuffix("/v1")
    words = f"train --name new --target.model openai:target --target.base_url {bare}"
    assert said(capsys, words) == (
        f"error: target model 'openai:target' at {bare} refuses every request: HTTP 404: Not Found\n"
        f"hint: set base_url: {endpoint.url}, where many servers have their interface; or check the model name "
        f"'target' and the address {bare}\n"
        f"resume: etude {words}"
    )


def test_a_run_made_in_python_says_what_the_command_line_lacks(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [(f"Say {n}", str(n)) for n in range(9)]
    env = ListEnvironment(tasks[:3], tasks[3:6], tasks[6:], scorer="exact")
    models = {role: ScriptedModel(lambda request: '{"reasoning": "", "edits": []}') for role in SIMULATED}
    Trainer({"run": {"name": "first"}, "train": {"epochs": 1}}, env=env, **models).train()
    (here / "other.md").write_text("Say it.\n")
    assert said(capsys, "compare first:best other.md") == (
        "error: run 'first' was made in Python, and its tasks with it: the settings of the run do not have that\n"
        "hint: name a settings file that does, or do it in Python"
    )
    assert said(capsys, "verify other.md first") == (
        "error: run 'first' was made in Python, and its tasks with it: the settings of the run do not have that\n"
        "hint: do it in Python"
    )
