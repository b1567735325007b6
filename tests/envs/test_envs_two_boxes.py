"""Checks whose attempts have a box of their own: the templates of the guide, and what attempts try against them."""

from functools import partial
from pathlib import Path

import pytest

from docs_pages import DOCS, blocks
from etude.envs.command import CommandEnvironment
from etude.envs.grading import CommandScorer, UserCommand
from etude.errors import BoundaryError, ConfigError
from etude.records import File, Score, Task, Trajectory
from etude.sandbox import Limits, Sandbox, find_sandbox
from etude.sandbox.find import find_bubblewrap, find_landlock
from rows import few

LANDLOCK = partial(find_landlock, for_root=True)
TEMPLATES = Path(__file__).parents[2] / "examples" / "checks"
INSTALLED = str(Path(pytest.__file__).parents[1])
COMMANDS = {
    "pytest": "python -m pytest -q -p no:cacheprovider --disable-plugin-autoload pytest_tests",
    "unittest": "python -m unittest discover -s unittest_tests",
    "command": "python command.py",
    "diff": "python diff.py",
}
RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
MAIN = "from solution import add\nimport sys\nprint(add(*map(int, sys.stdin.read().split())))\n"
GOLD = {"cases": [{"stdin": "2 3", "stdout": "5"}, {"stdin": "-1 1", "stdout": "0"}], "files": {"total.txt": "5\n"}}
TASK = Task(id="t", input="Write solution.py, main.py and total.txt.", gold=GOLD)
"""What all four templates ask for, so that each cheat meets each of them."""


@pytest.fixture(scope="module")
def best() -> Sandbox:
    return find_sandbox()


@pytest.fixture(scope="module", params=few([find_bubblewrap, LANDLOCK], find_bubblewrap))
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found = request.param()
    return found if isinstance(found, Sandbox) else pytest.skip(found)


def judge(command: str, sandbox: Sandbox, folder: Path = TEMPLATES, seconds: float = 60) -> CommandScorer:
    parsed = UserCommand.parse(command, [folder], "check").with_readable([INSTALLED], [folder], "check")
    return CommandScorer("judge", parsed, Limits(seconds=seconds, grace_seconds=0), sandbox)


def attempt(files: dict[str, str]) -> Trajectory:
    return Trajectory(files={name: File(data=text.encode()) for name, text in files.items()})


HONEST = {"solution.py": RIGHT, "main.py": MAIN, "total.txt": "5\n"}
LOST = {"solution.py": WRONG, "main.py": MAIN, "total.txt": "4\n"}


@pytest.mark.parametrize("template", few(COMMANDS, "unittest", "diff"))
async def test_a_template_gives_the_honest_attempt_1_and_a_wrong_one_0(template: str, best: Sandbox) -> None:
    await tell_apart(template, best)


@pytest.mark.slow
async def test_a_template_tells_them_apart_in_either_sandbox(sandbox: Sandbox) -> None:
    await tell_apart("unittest", sandbox)


async def tell_apart(template: str, sandbox: Sandbox) -> None:
    scorer = judge(COMMANDS[template], sandbox)
    assert (await scorer.score(TASK, attempt(HONEST))).hard == 1
    score = await scorer.score(TASK, attempt(LOST))
    assert score.hard == 0
    assert score.feedback


EXIT = "raise SystemExit(0)\n"
LOOK = (
    "import glob, json, os\nseen = [json.dumps(dict(os.environ))]\n"
    "for path in [*glob.glob('/proc/*/cmdline'), *glob.glob('/proc/*/environ'), "
    "*glob.glob('/tmp/**', recursive=True), *glob.glob({templates!r} + '/**', recursive=True)]:\n"
    "    try:\n        seen.append(open(path).read())\n    except (OSError, UnicodeError):\n        pass\n"
    "open('seen.txt', 'w').write('\\n'.join(seen))\n"
    "def add(a, b):\n    return 5 if 'test_add' in '\\n'.join(seen) else a - b\n"
)
CHEATS = {
    # as found
    "pytest.py": {"pytest.py": EXIT},
    "unittest.py": {"unittest.py": EXIT, "unittest/__init__.py": EXIT},
    "json.py": {"json.py": EXIT},
    "exit 0 when imported": {"solution.py": "import os\nos._exit(0)\n"},
    "exit 0 when called": {"solution.py": "import os\ndef add(a, b):\n    os._exit(0)\n"},
    "prints a score": {"solution.py": "print('{\"score\": 1}', flush=True)\n" + WRONG},
    "reads the judge": {"solution.py": LOOK.format(templates=str(TEMPLATES))},
    "conftest.py": {"conftest.py": "import os\nos._exit(0)\n", "pytest/conftest.py": "import os\nos._exit(0)\n"},
    "sitecustomize.py": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    # further ones
    "kills everything": {"solution.py": "import os, signal\nos.kill(-1, signal.SIGKILL)\n"},
    "equal to all": {
        "solution.py": "class All(int):\n    __eq__ = lambda *_: True\n    __hash__ = int.__hash__\n"
        "def add(a, b):\n    return All(7)\n"
    },
    "patches json": {"solution.py": "import json\njson.dumps = lambda *_, **__: '{\"value\": 1e999}'\n" + WRONG},
    "writes the score file": {
        "solution.py": "import glob\nfor f in ['../tmp', *glob.glob('/tmp/*/tmp')]:\n    try:\n"
        "        open(f + '/score.json', 'w').write('1')\n    except OSError:\n        pass\n" + WRONG
    },
    "no JSON": {"solution.py": "def add(a, b):\n    return object()\n"},
    "a flood": {"solution.py": "def add(a, b):\n    return 'x' * 20_000_000\n"},
    "too deep": {
        "solution.py": "def add(a, b):\n    r = []\n    for _ in range(900):\n        r = [r]\n    return r\n"
    },
    "raises out of str": {
        "solution.py": "class E(BaseException):\n    def __str__(self):\n        raise KeyboardInterrupt\n"
        "def add(a, b):\n    raise E\n"
    },
    "replaces python": {"python3": "#!/bin/sh\necho 5\n", "usr/bin/python3": "#!/bin/sh\necho 5\n"},
}


@pytest.mark.parametrize("cheat", few(CHEATS, "exit 0 when called", "conftest.py"))
async def test_no_cheat_scores_with_unittest(cheat: str, best: Sandbox) -> None:
    await lose("unittest", cheat, best)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", ["pytest.py", "conftest.py", "exit 0 when called", "raises out of str"])
async def test_no_cheat_scores_with_pytest(cheat: str, best: Sandbox) -> None:
    await lose("pytest", cheat, best)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", ["json.py", "exit 0 when imported"])
@pytest.mark.parametrize("template", ["command", "diff"])
async def test_no_cheat_scores_with_the_other_templates(template: str, cheat: str, best: Sandbox) -> None:
    await lose(template, cheat, best)


@pytest.mark.parametrize("cheat", few(["reads the judge", "writes the score file"], "writes the score file"))
async def test_no_cheat_scores_with_either_sandbox(cheat: str, sandbox: Sandbox) -> None:
    await lose("unittest", cheat, sandbox)


async def lose(template: str, cheat: str, sandbox: Sandbox) -> None:
    score = await judge(COMMANDS[template], sandbox).score(TASK, attempt(LOST | CHEATS[cheat]))
    assert score.hard == score.soft == 0, cheat
    assert score.feedback


async def score_of(
    tmp_path: Path, script: str, files: dict[str, str], sandbox: Sandbox, seconds: float = 60
) -> Score:
    """What a check says that is this Python script."""
    (tmp_path / "check.py").write_text("from etude_attempt import call, read, run\n" + script)
    return await judge("python check.py", sandbox, tmp_path, seconds).score(TASK, attempt(files))


async def test_programs_share_their_workspace_and_files_come_back(tmp_path: Path, sandbox: Sandbox) -> None:
    script = (
        "import os\nassert os.listdir() == []\n"
        "assert run(['sh', '-c', 'cat > a; echo told >&2; exit 3'], stdin='x\\n').stderr == 'told\\n'\n"
        "assert run(['./prog']).stdout == 'x\\n' and read('a') == b'x\\n' and read('b') is None\n"
    )
    left = attempt({"check.py": "raise SystemExit(0)\n"}).files | {
        "prog": File(data=b"#!/bin/sh\ncat a\n", executable=True)
    }
    (tmp_path / "check.py").write_text("from etude_attempt import read, run\n" + script)
    score = await judge("python check.py", sandbox, tmp_path).score(TASK, Trajectory(files=left))
    assert score.hard == 1, score.feedback


async def test_the_code_of_the_guide_runs(tmp_path: Path, best: Sandbox) -> None:
    (block,) = blocks(DOCS / "scorers.md", "py")
    (tmp_path / "check.py").write_text(block.text)
    main = "import os\nn = int(input()) ** 2\nprint(n)\nos.mkdir('out')\nopen('out/total.txt', 'w').write(str(n))\n"
    score = await judge("python check.py", best, tmp_path).score(
        TASK, attempt({"solution.py": RIGHT, "main.py": main})
    )
    assert score.hard == 1, score.feedback


async def test_a_shell_script_asks_by_the_command(tmp_path: Path, best: Sandbox) -> None:
    (tmp_path / "check.sh").write_text('[ "$(echo 4 5 | python3 -m etude_attempt python3 main.py)" = 9 ]\n')
    assert (await judge("sh check.sh", best, tmp_path).score(TASK, attempt(HONEST))).hard == 1


async def test_what_a_call_comes_to_is_plain_json(tmp_path: Path, best: Sandbox) -> None:
    script = (
        "assert call('it', 'up', 2, {'a': []}) == [2, {'a': []}]\n"
        "try:\n    call('it', 'end')\nexcept AssertionError as e:\n    assert 'exit code 3' in str(e), e\n"
        "try:\n    call('it', 'up')\nexcept AssertionError as e:\n    assert 'raised TypeError' in str(e), e\n"
    )
    code = (
        "import os\ndef up(one, other):\n    print('more', one)\n    return one, other\ndef end():\n    os._exit(3)\n"
    )
    score = await score_of(tmp_path, script, {"it.py": code, "json.py": "raise SystemExit(0)"}, best)
    assert score.hard == 1, score.feedback


async def test_endless_code_is_a_failed_attempt_with_the_reason(tmp_path: Path, best: Sandbox) -> None:
    files = {"loop.py": "def go():\n    while True:\n        pass\n"}
    score = await score_of(tmp_path, "call('loop', 'go', seconds=0.3)\n", files, best)
    assert score.hard == 0
    assert "time limit" in score.feedback
    score = await score_of(tmp_path, "run(['python3', 'loop.py'], seconds=0.3)\n", {"loop.py": "while 1: 0\n"}, best)
    assert score.hard == 0
    assert "time limit" in score.feedback
    script = "import time\nread('a') is None or time.sleep(60)\n"
    score = await score_of(tmp_path, script, {"a": "keeps the check waiting"}, best, 2)
    assert score.hard == 0
    assert "time limit" in score.feedback


async def test_a_program_that_this_machine_lacks_is_not_the_attempts_fault(tmp_path: Path, best: Sandbox) -> None:
    with pytest.raises(BoundaryError, match="no-such-program"):
        await score_of(tmp_path, "run(['no-such-program'])\n", {}, best)
    score = await score_of(tmp_path, "run(['./no-such-program'])\n", {}, best)
    assert score.hard == 0
    assert "no-such-program" in score.feedback


def test_two_boxes_need_a_check_and_sandboxes(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "1", "input": "x", "gold": "y"}\n')
    options = {"path": str(tmp_path / "t.jsonl"), "boxes": 2}
    for wrong in (
        {"grader": "true"},
        {"check": "true", "network": True},
        {"check": "true", "unsafe_no_sandbox": True},
    ):
        with pytest.raises(ConfigError, match="boxes = 2"):
            CommandEnvironment(options | wrong)
