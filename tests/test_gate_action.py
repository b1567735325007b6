"""The gate for pull requests: its workflow and action, against git and a loopback stand-in for the host's API."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
import yaml

from docs_pages import DOCS, ROOT, blocks
from etude.cli.demo import make_project
from etude.cli.main import main
from etude.simulation import SEED_SKILL, make_tasks
from forked import as_copy
from pull_request_host import Host, open_host
from rows import few, rows

ACTION = ROOT / "integrations" / "github"
SKILL = "skills/everyday-tasks"
SIMULATED = ("--target", "simulated:target", "--optimizer", "simulated:optimizer")
RULES = """
- Never remove duplicates; write a word as often as it appears in the input.
- Use the real length of each month: 30 days for April, June, September and November.
- If the first and the last day both count, the number of days is one more than the difference.
- February has 28 days, and 29 only in leap years.
- Small fruits such as strawberries and grapes count as fruits too.
- If words begin with the same letter, use the later letters to decide which comes first.
- Count the last item of the list too, the one after the final and.
- Write the date exactly in the format that is asked for, such as DD/MM/YYYY or YYYY-MM-DD.
"""
HOSTILE = "</td>`|@all #1 [x](http://a)\n<img src=x onerror=alert(1)>\x1b[2J\u202e"


OWN_SCORER = """
import os
from etude import Scorer

class Own(Scorer):
    name = "own"
    repeatable = True

    @classmethod
    def from_options(cls, options, where, judge):
        return cls()

    async def score(self, task, trajectory):
        assert not [name for name in os.environ if name.startswith(("GATE_", "GITHUB_", "ACTIONS_"))]
        return float(trajectory.answer.strip() == task.gold)
"""


@pytest.fixture
def host() -> Iterator[Host]:
    with open_host() as server:
        yield server


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


class Repository(NamedTuple):
    """A repository, and the checkout of its base branch on a runner."""

    upstream: Path
    checkout: Path
    event: Path
    host: Host

    def proposed(self, skill: Mapping[str, str], **more: str) -> str:
        """A commit of a pull request with this skill and other files."""
        git(self.upstream, "checkout", "-q", "--detach", "main")
        shutil.rmtree(self.upstream / SKILL)
        for name, text in {**{f"{SKILL}/{name}": text for name, text in skill.items()}, **more}.items():
            path = self.upstream / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self.committed()

    def committed(self) -> str:
        git(self.upstream, "add", "-A")
        git(self.upstream, "commit", "-q", "-m", "proposal")
        return git(self.upstream, "rev-parse", "HEAD")

    def environ(self, head: str, *, fork: bool = False, **more: str) -> dict[str, str]:
        base = {"sha": git(self.upstream, "rev-parse", "main"), "repo": {"full_name": "o/r"}}
        pull = {"number": 7, "base": base, "head": {"sha": head, "repo": {"full_name": "f/r" if fork else "o/r"}}}
        self.event.write_text(json.dumps({"pull_request": pull}))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "OPENAI_"))}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_EVENT_PATH": str(self.event),
            "GITHUB_EVENT_NAME": "pull_request_target",
            "GITHUB_SHA": base["sha"],
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_API_URL": f"http://127.0.0.1:{self.host.server_port}",
            "GITHUB_ACTION_PATH": str(ACTION),
            "GATE_SKILL": SKILL,
            "GATE_CONFIG": "etude.yaml",
            "GATE_ARGUMENTS": "--trials 1 --limits.usd 2",
            "GATE_TOKEN": "token-of-the-host",
            **more,
        }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A repository and the checkout of its base branch, for tests that add proposals only."""
    folder = tmp_path_factory.mktemp("shared")
    upstream, checkout = folder / "upstream", folder / "checkout"
    upstream.mkdir()
    make_project(upstream)
    settings = upstream / "etude.yaml"
    settings.write_text(settings.read_text().replace("  scorer: exact", "  limit: {test: 60}\n  scorer: exact"))
    git(upstream, "init", "-q")
    git(upstream, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(upstream, "add", "-A")
    git(upstream, "commit", "-q", "-m", "base")
    git(folder, "clone", "-q", "-b", "main", str(upstream), str(checkout))
    return upstream, checkout


@pytest.fixture
def repository(
    shared: tuple[Path, Path], tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Repository]:
    upstream, checkout = shared
    monkeypatch.chdir(checkout)
    yield Repository(upstream, checkout, tmp_path / "event.json", host)
    git(checkout, "checkout", "-q", "main")


@pytest.fixture
def own(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A copy, whose base branch may go on."""
    upstream, checkout = (shutil.copytree(path, tmp_path / path.name) for path in repository[:2])
    git(checkout, "remote", "set-url", "origin", str(upstream))
    git(upstream, "checkout", "-q", "-f", "main")
    monkeypatch.chdir(checkout)
    return repository._replace(upstream=upstream, checkout=checkout)


@pytest.fixture(scope="module")
def gate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gate", ACTION / "gate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.subprocess = SimpleNamespace(**{**vars(subprocess), "run": _run})  # type: ignore[attr-defined]
    return module


def _run(words: list[str], **more: Any) -> "subprocess.CompletedProcess[Any]":
    """As `subprocess.run`; `etude` is a copy of this process. The action below starts it as a runner does."""
    copy = as_copy(lambda: main(words[1:]), more["env"]) if words[0] == "etude" else {}
    return subprocess.run(words, **more, **copy)


Captured = pytest.CaptureFixture[str]


def workflow() -> dict[str, Any]:
    """The one that the page shows."""
    (block,) = (one for one in blocks(DOCS / "scale.md", "yml") if "pull_request_target" in one.text)
    return yaml.safe_load(block.text)


def run_action(step: Mapping[str, Any], environ: Mapping[str, str]) -> int:
    """Run the steps of the action as a runner does, with the inputs of a step of the workflow."""
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    assert set(step["with"]) <= set(action["inputs"])
    given = {name: step["with"].get(name, about.get("default", "")) for name, about in action["inputs"].items()}
    for own in action["runs"]["steps"]:
        assert own["shell"] == "bash"
        assert "${{" not in own["run"]  # what a pull request can choose is never part of a script
        named = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
            for name, value in own.get("env", {}).items()
        }
        environment = {**environ, **{name: value for name, value in named.items() if "${{" not in value}}
        code = subprocess.run(["bash", "-e", "-c", own["run"]], env=environment, check=False).returncode
        if code:
            return code
    return 0


def test_the_workflow_of_the_page_judges_with_the_base_branch() -> None:
    flow = workflow()
    assert flow[True] == {"pull_request_target": {"paths": ["skills/**"]}}  # `on` is true in YAML 1.1
    checkout, step = flow["jobs"]["gate"]["steps"]
    assert checkout == {"uses": "actions/checkout@v4"}  # with this event, of the base branch
    assert step["uses"].partition("@")[0].endswith("/integrations/github")


@pytest.mark.slow
def test_the_workflow_of_the_page_passes_a_better_skill_and_fails_a_worse_one(repository: Repository) -> None:
    step = workflow()["jobs"]["gate"]["steps"][1]
    better = repository.proposed({"SKILL.md": SEED_SKILL.replace("- List each repeated word only once.\n", RULES)})
    assert run_action(step, repository.environ(better)) == 0
    (comment,) = repository.host.comments
    assert "\n**ship**, on tasks like these: the difference is +0." in comment["body"]
    assert "On just these tasks: ship, luck alone would do as well in" in comment["body"]
    assert "| base | 0." in comment["body"]
    assert "Simulated models" in comment["body"]
    worse = repository.proposed({"SKILL.md": "---\nname: everyday-tasks\ndescription: d\n---\nAnswer with no.\n"})
    assert run_action(step, repository.environ(worse)) in (4, 5)
    (comment,) = repository.host.comments  # the same one
    assert "**ship**" not in comment["body"]
    assert worse[:12] in comment["body"]
    assert {asked[2] for asked in repository.host.asked} == {"Bearer token-of-the-host"}


def test_what_judges_comes_from_the_base_branch(repository: Repository, gate: ModuleType) -> None:
    cheat = {"etude.yaml": "env: {name: dataset, path: own.jsonl}\n", "data/test.jsonl": ""}
    head = repository.proposed({"SKILL.md": f"{SEED_SKILL}\nThank you.\n"}, **cheat)
    assert gate.main(repository.environ(head)) in (4, 5)
    assert "60 `test` tasks, 1 attempt each" in repository.host.comments[0]["body"]
    assert "own.jsonl" not in (repository.checkout / "etude.yaml").read_text()


def test_a_checkout_of_the_pull_request_is_refused(
    repository: Repository, gate: ModuleType, capsys: Captured
) -> None:
    head = repository.proposed({"SKILL.md": "Other.\n"})
    git(repository.checkout, "fetch", "-q", "origin", head)
    git(repository.checkout, "checkout", "-q", head)
    assert gate.main(repository.environ(head, GITHUB_EVENT_NAME="pull_request", GITHUB_SHA=head)) == 1
    assert "the pull request could change what judges it" in capsys.readouterr().out
    assert repository.host.asked == []


def test_where_the_skill_is_the_same_nothing_is_asked(repository: Repository, gate: ModuleType) -> None:
    text = (repository.checkout / SKILL / "SKILL.md").read_text()
    head = repository.proposed({"SKILL.md": text}, **{"README.md": "More.\n"})
    assert gate.main(repository.environ(head)) == 0
    assert repository.host.asked == []


def test_an_error_of_the_api_is_not_a_pass(repository: Repository, gate: ModuleType, capsys: Captured) -> None:
    repository.host.refuses = 403
    head = repository.proposed({"SKILL.md": SEED_SKILL.replace("- List each repeated word only once.\n", RULES)})
    summary = repository.event.with_name("summary.md")
    assert gate.main(repository.environ(head, GITHUB_STEP_SUMMARY=str(summary))) == 1
    assert "the comment could not be written: HTTP Error 403" in capsys.readouterr().out
    assert "**ship**" in summary.read_text()


def test_settings_that_name_code_need_the_hash_and_a_fork_is_told_of_secrets(
    own: Repository, gate: ModuleType, tmp_path: Path
) -> None:
    repository = own
    base = repository.upstream
    settings = base / "etude.yaml"
    settings.write_text(settings.read_text().replace("scorer: exact", "scorer: own:Own"))
    (base / "own.py").write_text(OWN_SCORER)
    repository.committed()
    git(repository.checkout, "pull", "-q")
    head = repository.proposed({"SKILL.md": f"{SEED_SKILL}\nThank you.\n"})
    more = {"XDG_STATE_HOME": str(tmp_path / "state")}
    environ = repository.environ(head, fork=True, **more)
    assert gate.main({**environ, "GITHUB_EVENT_NAME": "pull_request"}) == 2
    body = repository.host.comments[0]["body"]
    assert "**Not compared** (exit code 2)" in body
    assert "from a fork: with the event pull_request it gets no secrets" in body
    found = re.search(r"--trust (\w+)", body)
    assert found is not None
    assert gate.main({**environ, "GATE_TRUST": found[1], "ACTIONS_RUNTIME_TOKEN": "t"}) in (4, 5)
    assert "**Not compared**" not in repository.host.comments[0]["body"]


UNFIT = [
    (lambda folder: (folder / "secrets.md").symlink_to("/etc/passwd"), "is a link or a submodule"),
    (lambda folder: (folder / "SKILL.md").write_text("word " * 20_000), "has 100,000 bytes, 64,000 are allowed"),
    (lambda folder: [(folder / f"{number}.txt").touch() for number in range(101)], "has 102 files, 100 are allowed"),
    (lambda folder: (folder / "data.bin").write_bytes(b"0" * 1_000_001), "the skill is larger than 1,000,000 bytes"),
    (lambda folder: (folder / "a\x1b[2J`|<b>").touch(), "is not a usable file name"),
    (shutil.rmtree, "the pull request has no skill at"),
    (lambda folder: (shutil.rmtree(folder), folder.symlink_to("/etc")), "is a link or a submodule"),
]


@rows(("made", "said"), UNFIT)
def test_a_skill_that_is_no_plain_small_folder_is_refused_before_anything_is_asked(
    made: Any, said: str, repository: Repository, gate: ModuleType
) -> None:
    repository.proposed({"SKILL.md": f"{SEED_SKILL}\nThank you.\n"})
    made(repository.upstream / SKILL)
    git(repository.upstream, "add", "-A")
    git(repository.upstream, "commit", "-q", "--amend", "-m", "proposal")
    environ = repository.environ(git(repository.upstream, "rev-parse", "HEAD"), GATE_CONFIG="nowhere.yaml")
    assert gate.main(environ) == 1
    (comment,) = repository.host.comments  # it takes the place of that of the row before
    assert said in comment["body"]
    assert "\x1b" not in comment["body"]


def test_the_files_of_a_skill_arrive_as_they_are(repository: Repository, gate: ModuleType, tmp_path: Path) -> None:
    head = repository.proposed({"SKILL.md": "Text.\r\n", "scripts/deep/run.py": "print(1)\n"})
    git(repository.checkout, "fetch", "-q", "origin", head)
    folder = gate.written(head, SKILL, tmp_path / "out")
    assert folder.name == "everyday-tasks"
    assert (folder / "SKILL.md").read_bytes() == b"Text.\r\n"
    assert (folder / "scripts/deep/run.py").read_text() == "print(1)\n"


def test_nothing_in_the_comment_is_markdown_of_somebody_else(gate: ModuleType) -> None:
    score = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    flip = {"task": HOSTILE, "a": 0.0, "b": 1.0}
    result = {
        "a": {"score": score, "skill": HOSTILE},
        "b": {"score": score, "skill": HOSTILE},
        "difference": score,
        "at_least": 0.0,
        "at_most": 0.1,
        "margin": -0.02,
        "verdict": "inconclusive",
        "metric": "hard",
        "split": "test",
        "trials": 2,
        "gained": [flip] * 30,
        "lost": [flip],
        "equal": 1,
        "voids": 0,
        "settle": {"note": HOSTILE},
    }
    text = "\n".join(gate.report(result))
    assert "`ship` needs it above -0.02" in text
    these = {"these": {"verdict": HOSTILE, "p": 1 / 216}, "claim": "these tasks"}
    first = next(gate.report({**result, **these}))
    assert first.startswith("**inconclusive**, on just these tasks: luck alone would do as well in 0.463% of cases.")
    assert "onerror" not in next(gate.report({**result, **these, "claim": "tasks like these"}))
    assert text.count("onerror") == 22  # 20 of 30, the lost one, and the note
    outside = re.sub(r"`[^`\n]*`", "", text)
    for part in ("onerror", "@all", "#1", "http:", "\x1b", "\u202e"):
        assert part not in outside
    assert all(line.count("|") == 4 for line in text.splitlines() if line.startswith("|"))
    block = gate.safe_block("```\n# heading\n````\n\x1b[2J")
    fence = block.splitlines()[-1]
    assert set(fence) == {"`"}
    assert len(fence) > 4
    assert block.splitlines()[1] == f"{fence}text"
    assert "\x1b" not in block


def test_a_comment_of_a_person_with_the_same_mark_is_left_alone(repository: Repository, gate: ModuleType) -> None:
    mark = gate.read(repository.environ("0" * 40)).marker
    others = [{"id": number, "user": {"type": "User"}, "body": f"{mark}\nship!"} for number in range(150)]
    repository.host.comments += others
    one = gate.read(repository.environ("0" * 40))
    gate.comment(one, f"{mark}\nfirst")
    gate.comment(one, f"{mark}\nsecond")
    assert [each["body"] for each in repository.host.comments[150:]] == [f"{mark}\nsecond"]
    assert repository.host.comments[:150] == others


@rows("path", ["", "/etc", "../x", "a/../../b", "."])
def test_a_path_out_of_the_repository_is_refused(
    path: str, repository: Repository, gate: ModuleType, capsys: Captured
) -> None:
    assert gate.main(repository.environ("0" * 40, GATE_SKILL=path)) == 1
    assert "is not a path within the repository" in capsys.readouterr().out


def test_where_the_base_branch_has_no_skill_an_empty_one_is_the_bar(
    repository: Repository, gate: ModuleType, tmp_path: Path
) -> None:
    assert gate.written("HEAD", "skills/new", tmp_path / "out").read_bytes() == b""
    with pytest.raises(gate.Refused, match="the pull request has no skill at 'skills/new'"):
        gate.written(repository.environ("")["GITHUB_SHA"], "skills/new", tmp_path / "other")


ENOUGH = "- Name the risks.\n- Make a clear recommendation.\n- Cite a source.\n"


@pytest.mark.parametrize(("rules", "code"), few([(ENOUGH, 0), ("- Thank the reader.\n", 5)], (ENOUGH, 0)))
def test_three_tasks_are_enough_for_the_workflow_of_the_page(
    own: Repository, monkeypatch: pytest.MonkeyPatch, rules: str, code: int
) -> None:
    """Where the skill solves them all and none is solved without it. As the evals of a skill make a project."""
    repository = own
    skill, front = "skills/brief", "---\nname: brief\ndescription: Writes briefs.\n---\n"
    expected = ["It names the risks.", "It makes a clear recommendation.", "It cites a source."]
    rows = [{"prompt": task.input, "expectations": expected} for task in make_tasks("briefs", 3, seed=2)]
    written = repository.upstream / skill
    (written / "evals").mkdir(parents=True)
    (written / "SKILL.md").write_text(front)
    (written / "evals" / "evals.json").write_text(json.dumps(rows))
    monkeypatch.chdir(repository.upstream)
    assert main(["init", "--skill", skill, "--folder", "gate", *SIMULATED]) == 0
    repository.committed()
    monkeypatch.chdir(repository.checkout)
    git(repository.checkout, "pull", "-q")
    git(repository.upstream, "checkout", "-q", "--detach")
    (written / "SKILL.md").write_text(front + rules)
    step = workflow()["jobs"]["gate"]["steps"][1]
    given = {**step["with"], "skill": skill, "config": "gate/etude.yaml"}
    assert run_action({"with": given}, repository.environ(repository.committed())) == code
    (comment,) = repository.host.comments
    assert f"**{'ship' if code == 0 else 'do not ship'}**, on just these tasks" in comment["body"]
