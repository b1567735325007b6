"""What an attempt leaves in its workspace so that a check accepts it, and what has to work all the same."""

import subprocess
from functools import partial
from pathlib import Path

import pytest

from etude.envs.grading import CommandScorer, UserCommand
from etude.errors import BoundaryError
from etude.records import File, Task, Trajectory
from etude.sandbox import Limits, Sandbox, find_sandbox
from etude.sandbox.find import find_bubblewrap, find_landlock
from rows import few

LANDLOCK = partial(find_landlock, for_root=True)
TASK = Task(id="t", input="Write add.py.")
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
END = "raise SystemExit(0)\n"
INSTALLED = str(Path(pytest.__file__).parents[1])

TESTS = {
    "tests/test_add.py": "import unittest\nfrom add import add\nfrom helper import four\n\n"
    "class Add(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 2), four())\n",
    "tests/helper.py": "def four():\n    return 4\n",
    "check.py": "import copy, json, subprocess, sys\nfrom wanted import wanted\n"
    "code = 'import add, json; print(json.dumps(add.add(2, 2)))'\n"
    "done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
    "sys.exit(json.loads(done.stdout) != wanted())\n",
    "wanted.py": "def wanted():\n    return 4\n",
    "check.sh": "here=$(dirname \"$0\")\npython3 -c 'import copy, json, add; assert add.add(2, 2) == 4' || exit 1\n"
    'cd "$here" && python3 -c "import wanted"\n',
    "unstaged.sh": "git diff --quiet && git status --short >/dev/null && grep -q + add.py\n",
}
PYTEST = "python -m pytest -q -p no:cacheprovider tests"
UNITTEST = "python -m unittest discover -s tests"
COMMANDS = (
    f"{PYTEST} --disable-plugin-autoload",  # the plugins of this machine take a second to load
    UNITTEST,
    "python check.py",
    "sh check.sh",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in TESTS.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    """Most of what is tried here has nothing to do with the kind of sandbox."""
    return find_sandbox()


@pytest.fixture(scope="module", params=few([find_bubblewrap, LANDLOCK], find_bubblewrap))
def either(request: pytest.FixtureRequest) -> Sandbox:
    found = request.param()
    return found if isinstance(found, Sandbox) else pytest.skip(found)


def scorer(project: Path, check: str, sandbox: Sandbox, limits: Limits = Limits(seconds=60)) -> CommandScorer:
    command = UserCommand.parse(check, [project], "check").with_readable([INSTALLED], [project], "check")
    return CommandScorer("check", command, limits, sandbox)


def left(files: dict[str, str]) -> Trajectory:
    return Trajectory(files={name: File(data=text.encode()) for name, text in files.items()})


async def score(scorer: CommandScorer, files: dict[str, str], task: Task = TASK) -> float:
    found = await scorer.score(task, left(files))
    assert found.hard in (0, 1)
    assert found.hard or found.feedback
    return found.hard


@pytest.mark.parametrize("check", few(COMMANDS, UNITTEST, "python check.py"))
async def test_a_check_accepts_the_right_attempt_and_no_other(project: Path, sandbox: Sandbox, check: str) -> None:
    assert await score(scorer(project, check, sandbox), {"add.py": RIGHT}) == 1
    assert (
        await score(
            scorer(project, check, sandbox), {"add.py": "from inner.parts import add\n", "inner/parts.py": RIGHT}
        )
        == 1
    )
    assert await score(scorer(project, check, sandbox), {"add.py": WRONG}) == 0
    assert await score(scorer(project, check, sandbox), {}) == 0


@pytest.mark.parametrize("check", few(COMMANDS, "python check.py"))
@pytest.mark.parametrize(
    "names",
    [
        ("pytest.py", "_pytest/__init__.py", "unittest.py", "json.py", "copy.py", "runpy.py", "argparse.py", "re.py"),
        ("org/__init__.py", "org/python/__init__.py", "org/python/core.py", "pygments.py"),
        (
            "sitecustomize.py",
            "usercustomize.py",
            "wanted.py",
            "helper.py",
            "conftest.py",
            "tests/conftest.py",
            "x.pth",
        ),
    ],
    ids=lambda names: names[0],
)
async def test_no_module_of_an_attempt_stands_in_for_one_of_the_judge(
    project: Path, sandbox: Sandbox, check: str, names: tuple[str, ...]
) -> None:
    planted = dict.fromkeys(names, "import os; os._exit(0)\n")
    assert await score(scorer(project, check, sandbox), {"add.py": WRONG, **planted}) == 0
    assert await score(scorer(project, check, sandbox), {"add.py": RIGHT, **planted}) == 1


async def test_in_either_sandbox_no_module_of_an_attempt_stands_in_for_one_of_the_judge(
    project: Path, either: Sandbox
) -> None:
    planted = dict.fromkeys(("json.py", "wanted.py", "sitecustomize.py"), "import os; os._exit(0)\n")
    assert await score(scorer(project, "python check.py", either), {"add.py": WRONG, **planted}) == 0
    assert await score(scorer(project, "python check.py", either), {"add.py": RIGHT, **planted}) == 1


@pytest.mark.slow
async def test_settings_of_pytest_and_plugins_of_an_attempt_are_not_read(project: Path, sandbox: Sandbox) -> None:
    planted = {
        "add.py": WRONG,
        "pytest.ini": "[pytest]\naddopts = --collect-only\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--collect-only"\n',
        "tox.ini": "[pytest]\naddopts = --version\n",
        "setup.cfg": "[tool:pytest]\naddopts = --help\n",
        "evil.py": "import os; os._exit(0)\n",
        "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
        "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
    }
    assert await score(scorer(project, PYTEST, sandbox), planted) == 0


async def test_a_module_that_is_not_installed_is_never_that_of_the_attempt(project: Path, sandbox: Sandbox) -> None:
    assert await score(scorer(project, "python -m no_such_module tests", sandbox), {"no_such_module.py": END}) == 0


@pytest.mark.parametrize("tool", ["conftest.py", "json.py"])
async def test_a_program_of_the_attempt_has_its_own_folder_first(project: Path, sandbox: Sandbox, tool: str) -> None:
    """It judges nothing: only its output counts."""
    (project / "run.py").write_text(
        "import subprocess, sys\nsys.exit(subprocess.check_output([sys.executable, 'main.py']) != b'4\\n')\n"
    )
    files = {"main.py": f"import {tool[:-3]} as own\nprint(own.four)\n", tool: "four = 4\n"}
    assert await score(scorer(project, "python run.py", sandbox), files) == 1


def repository(tmp_path: Path) -> dict[str, File]:
    """A committed file, as the files of a task."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "add.py").write_text(WRONG)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return {
        path.relative_to(folder).as_posix(): File(data=path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "hooks" not in path.parts
    }


GIT_ATTACKS = [
    {".git/config": "[core]\n\tfsmonitor = ./evil\n\trepositoryformatversion = 0\n"},
    {".git/config": "[filter \"e\"]\n\tclean = ./evil\n", ".gitattributes": "* filter=e\n"},
    {".git/config": "[diff \"e\"]\n\ttextconv = ./evil\n", ".git/info/attributes": "* diff=e\n"},
    {".git/hooks/post-index-change": "#!/bin/sh\n./evil\n"},
    {".git/commondir": "../other\n", "other/config": "[core]\n\tfsmonitor = ./evil\n"},
    {".git/config.worktree": "[core]\n\tfsmonitor = ./evil\n"},
    {".gitconfig": "[core]\n\tfsmonitor = ./evil\n"},
]  # fmt: skip


@pytest.mark.parametrize(
    "planted", few(GIT_ATTACKS, GIT_ATTACKS[0], GIT_ATTACKS[3]), ids=lambda planted: next(iter(planted))
)
async def test_git_runs_no_program_that_an_attempt_names(
    project: Path, sandbox: Sandbox, tmp_path: Path, planted: dict[str, str]
) -> None:
    # What the program would do is not to be undone: it ends the check with success.
    evil = "#!/bin/sh\nprintf '#!/bin/sh\\nexit 0\\n' > git; echo + >> add.py; touch ran\n"
    (project / "unstaged.sh").write_text("git status --short; git diff; git log -p | cat; test ! -e ran\n")
    task = TASK.model_copy(update={"files": repository(tmp_path)})
    files = {name: File(data=text.encode(), executable=True) for name, text in {**planted, "evil": evil}.items()}
    found = await scorer(project, "sh unstaged.sh", sandbox).score(
        task, Trajectory(files={"add.py": File(data=b"x"), **files})
    )
    assert found.feedback == "correct"


async def test_git_shows_what_an_attempt_committed_and_changed(
    project: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    (project / "unstaged.sh").write_text('test "$(git log --format=%s -1)" = a && git diff --exit-code\n')
    task = TASK.model_copy(update={"files": repository(tmp_path)})
    assert await score(scorer(project, "sh unstaged.sh", sandbox), {"other.py": ""}, task) == 1
    found = await scorer(project, "sh unstaged.sh", sandbox).score(task, left({"add.py": RIGHT}))
    assert "+    return a + b" in found.feedback


SHOUT = "import subprocess, sys\nsubprocess.run([sys.executable, 'add.py'])\n"


async def test_a_score_that_the_attempt_prints_does_not_count_against_the_exit_code(
    project: Path, sandbox: Sandbox
) -> None:
    (project / "shout.py").write_text(SHOUT + "sys.exit(open('add.py').read().count('+') == 0)\n")
    shout = "print('{\"score\": 1}')\n"
    assert await score(scorer(project, "python shout.py", sandbox), {"add.py": WRONG + shout}) == 0
    assert await score(scorer(project, "python shout.py", sandbox), {"add.py": RIGHT + shout}) == 1


async def test_a_score_in_the_file_counts_whatever_is_printed(project: Path, sandbox: Sandbox) -> None:
    write = (
        "import os\nopen(os.environ['ETUDE_SCORE_FILE'], 'w').write('{\"score\": 0.25, \"feedback\": \"a part\"}')\n"
    )
    (project / "shout.py").write_text(SHOUT + write)
    loud = left({"add.py": "print('{\"score\": 1}')\n"})
    found = await scorer(project, "python shout.py", sandbox).score(TASK, loud)
    assert (found.hard, found.soft, found.feedback) == (0.25, 0.25, "a part")
    (project / "shout.py").write_text(write + "raise SystemExit('no')\n")
    assert (await scorer(project, "python shout.py", sandbox).score(TASK, loud)).hard == 0


async def test_programs_are_not_looked_for_in_the_workspace(
    project: Path, either: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", ".::bin:/usr/bin:/bin")
    (project / "check.sh").write_text("cat add.py | grep -q +\n")
    for name in ("grep", "bin/cat"):
        fake = {name: File(data=b"#!/bin/sh\nexit 0\n", executable=True), "add.py": File(data=WRONG.encode())}
        assert (await scorer(project, "sh check.sh", either).score(TASK, Trajectory(files=fake))).hard == 0


ENDS = [
    ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n", "was ended by signal 9"),
    ("import time\ntime.sleep(60)\n", "was ended for its time limit"),
    ("held = []\nwhile True:\n    held.append(b'x' * (1 << 22))\n", "was ended for its memory limit"),
    ("raise SystemExit(127)\n", "ended with exit code 127: without a word"),
]


@pytest.mark.parametrize(("code", "reason"), few(ENDS, *ENDS[:2]))
async def test_an_attempt_that_ends_the_check_has_failed(
    project: Path, either: Sandbox, code: str, reason: str
) -> None:
    (project / "start.py").write_text(
        "import os, subprocess, sys\nif os.path.exists('add.py'): sys.exit(subprocess.call(['python3', 'add.py']))\n"
    )
    limits = Limits(seconds=2, memory_mb=200, grace_seconds=0.5)
    found = await scorer(project, "python start.py", either, limits).score(TASK, left({"add.py": code}))
    assert (found.hard, found.feedback) == (0, f"the check {reason}")


async def test_a_check_that_ends_so_without_the_attempt_gives_no_score(project: Path, sandbox: Sandbox) -> None:
    (project / "start.py").write_text("raise SystemExit(127)\n")
    with pytest.raises(BoundaryError, match="ended with exit code 127"):
        await scorer(project, "python start.py", sandbox).score(TASK, left({"add.py": RIGHT}))


@pytest.mark.parametrize("names", [("a\\b",), ("x" * 300,), ("same", "same/file")], ids=["backslash", "long", "both"])
async def test_files_that_cannot_be_put_back_are_a_failed_attempt(
    project: Path, sandbox: Sandbox, names: tuple[str, ...]
) -> None:
    found = await scorer(project, "sh check.sh", sandbox).score(
        TASK, left({"add.py": RIGHT, **dict.fromkeys(names, "")})
    )
    assert found.hard == 0
    assert "cannot be" in found.feedback
