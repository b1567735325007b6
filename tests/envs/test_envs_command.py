"""Tasks that are scored by a program of the user's."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from etude.envs.command import CommandEnvironment
from etude.errors import BoundaryError, ConfigError, DataError
from etude.records import File, Score, Task, Trajectory
from etude.testing.environment import EnvironmentContract
from rows import few

GRADER = """import json, sys
attempt = json.load(sys.stdin)
right = attempt["answer"] == attempt["task"]["gold"]
print(json.dumps({"score": float(right), "soft": 0.5 + right / 2, "feedback": "as told" if right else "wrong"}))
"""
CHECK = """import sys
text = open("out.txt").read()
print("it says", text)
sys.exit(text != "done")
"""


class Project:
    """A folder with tasks and a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows([{"id": f"t{n}", "input": f"Question {n}?", "gold": f"answer {n}"} for n in range(4)])

    def rows(self, rows: list[dict[str, Any]]) -> None:
        (self.folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def program(self, name: str, text: str, *, mode: int = 0o644) -> str:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(mode)
        return name

    def env(self, **options: Any) -> CommandEnvironment:
        return CommandEnvironment({"path": str(self.folder / "tasks.jsonl"), "ratio": [1, 1, 0], **options})

    def grader(self, text: str, **options: Any) -> CommandEnvironment:
        return self.env(grader=f"python {self.program('grade.py', text)}", **options)

    def check(self, text: str, **options: Any) -> CommandEnvironment:
        return self.env(check=f"python {self.program('check.py', text)}", **options)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


TASK = Task(id="t", input="Do it.", gold="secret", data={"column": 7})


def left(**files: str) -> Trajectory:
    return Trajectory(answer="I did it.", files={name: File(data=text.encode()) for name, text in files.items()})


class TestGrader(EnvironmentContract):
    @pytest.fixture(autouse=True)
    def _project(self, project: Project) -> None:
        self.project = project

    def make_environment(self) -> CommandEnvironment:
        return self.project.grader(GRADER)

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [Trajectory(answer=str(task.gold)), Trajectory(answer="no idea")]


class TestCheck(TestGrader):
    def make_environment(self) -> CommandEnvironment:
        return self.project.check(CHECK)

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [
            Trajectory(files={"out.txt": File(data=b"done")}),
            Trajectory(files={"out.txt": File(data=b"almost")}),
        ]


async def test_a_grader_reads_task_answer_and_files_and_prints_score_and_feedback(project: Project) -> None:
    env = project.grader("import sys; open('seen', 'w'); print('reading'); print(sys.stdin.read())", seconds=30)
    with pytest.raises(BoundaryError, match=r"printed score = None; allowed: a number from 0 to 1"):
        await env.score(TASK, left())
    env = project.grader(
        "import json, sys; seen = json.load(sys.stdin); print(json.dumps({'score': 1, 'feedback': json.dumps(seen)}))"
    )
    task = TASK.model_copy(update={"files": {"a.txt": File(data=b"a"), "b.txt": File(data=b"b")}})
    trajectory = Trajectory(
        answer="x", files={"b.txt": None, "c.bin": File(data=b"\xff"), "d/e.txt": File(data=b"e")}
    )
    score = await env.score(task, trajectory)
    assert json.loads(score.feedback) == {
        "task": {
            "id": "t",
            "input": "Do it.",
            "gold": "secret",
            "type": "",
            "group": "",
            "images": [],
            "data": {"column": 7},
        },
        "answer": "x",
        "files": {"a.txt": "a", "c.bin": {"base64": "/w=="}, "d/e.txt": "e"},
        "changed": ["b.txt", "c.bin", "d/e.txt"],
    }


@pytest.mark.parametrize(
    ("printed", "score"),
    [
        ("0.25", Score(hard=0.25, soft=0.25)),
        ("true", Score(hard=1, soft=1)),
        ('{"score": 0, "soft": 0.5}', Score(hard=0, soft=0.5)),
        ('{"score": 1, "feedback": "good", "else": 3}', Score(hard=1, soft=1, feedback="good")),
        ('{\n "score": 0.5\n}', Score(hard=0.5, soft=0.5)),
        ("grading...\nstill at it\n1", Score(hard=1, soft=1)),
    ],
)
async def test_what_a_grader_may_print(project: Project, printed: str, score: Score) -> None:
    assert await project.grader(f"print({printed!r})").score(TASK, left()) == score


@pytest.mark.parametrize(
    ("program", "problem"),
    few(
        [
            ("print('good')", "printed no score but 'good'"),
            ("", "printed no score but ''"),
            ("print(2)", "printed score = 2; allowed: a number from 0 to 1"),
            ("print('{\"soft\": 1}')", "printed score = None; allowed: a number from 0 to 1"),
            ('print(\'{"score": 1, "soft": -1}\')', "printed soft = -1; allowed: a number from 0 to 1"),
            ('print(\'{"score": 1, "feedback": [1]}\')', "printed the feedback [1], which is not text"),
            ("print(1); raise SystemExit(3)", "ended with exit code 3: 1"),
            ("print(1); 1 / 0", "ended with exit code 1: 1\nTraceback"),
            ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
            ("import time; time.sleep(600)", "was ended for its time limit"),
        ],
        first=4,
    ),
)
async def test_a_grader_that_fails_gives_no_score(project: Project, program: str, problem: str) -> None:
    env = project.grader(program, seconds=1 if "sleep" in program else 60)
    with pytest.raises(BoundaryError) as error:
        await env.score(TASK, left())
    assert error.value.message.startswith(f"grader 'python grade.py': ChildProcessError: {problem}")


@pytest.mark.parametrize("code", [1, 125, 255])
async def test_an_exit_code_other_than_0_is_a_failed_check_with_its_last_lines(project: Project, code: int) -> None:
    env = project.check(
        f"import sys\nfor n in range(100): print('line', n)\nprint('because', file=sys.stderr); sys.exit({code})"
    )
    score = await env.score(TASK, left())
    assert score.hard == score.soft == 0
    assert score.feedback == "\n".join([*(f"line {n}" for n in range(81, 100)), "because"])


async def test_what_a_check_prints_is_never_a_score(project: Project) -> None:
    env = project.check("print('{\"score\": 0.5}')")
    assert (await env.score(TASK, left())).hard == 1


@pytest.mark.parametrize(
    ("program", "problem"),
    few(
        [
            ("raise SystemExit(126)", "ended with exit code 126: without a word"),
            ("raise SystemExit(127)", "ended with exit code 127: without a word"),
            ("import os; os.kill(os.getpid(), 15)", "was ended by signal 15"),
            ("import time; time.sleep(600)", "was ended for its time limit"),
            (
                "import os; open(os.environ['ETUDE_SCORE_FILE'], 'w').write('7')",
                "wrote score = 7; allowed: a number from 0 to 1",
            ),
        ],
        first=3,
    ),
)
async def test_a_check_that_is_not_run_to_its_end_gives_no_score(
    project: Project, program: str, problem: str
) -> None:
    env = project.check(program, seconds=1 if "sleep" in program else 60)
    with pytest.raises(BoundaryError) as error:
        await env.score(TASK, left())
    assert error.value.message == f"check 'python check.py': ChildProcessError: {problem}"


async def test_a_check_is_not_told_the_gold_answer_and_knows_the_task(project: Project) -> None:
    env = project.check("import os, sys; print(os.environ['ETUDE_TASK_ID'], sys.stdin.read()); sys.exit(1)")
    name, _, said = (await env.score(TASK, left(x="y"))).feedback.partition(" ")
    assert name == "t"
    attempt = json.loads(said)
    assert attempt["answer"] == "I did it."
    assert attempt["changed"] == ["x"]
    assert attempt["task"]["data"] == {"column": 7}
    assert "gold" not in attempt["task"]


async def test_a_grader_sees_neither_secrets_nor_the_network_nor_other_files(
    project: Project, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "private.txt").write_text("private")
    probe = (
        "import json, os, socket\n"
        "seen = [key for key in os.environ if 'KEY' in key] + [p for p in {paths!r} if os.path.exists(p)]\n"
        "try:\n"
        "    socket.create_connection(('127.0.0.1', {port}), 3)\n"
        "    seen.append('network')\n"
        "except OSError: pass\n"
        "print(json.dumps({{'score': 0, 'feedback': ' '.join(seen)}}))\n"
    )
    with Listener() as port:
        text = probe.format(paths=[str(tmp_path / "private.txt")], port=port)
        assert (await project.grader(text).score(TASK, left())).feedback == ""
        open_env = project.grader(text, network=True, readable=[str(tmp_path / "private.txt")])
        assert (await open_env.score(TASK, left())).feedback == f"{tmp_path / 'private.txt'} network"


class Listener:
    """A port on the loopback."""

    def __enter__(self) -> int:
        self.socket = socket.create_server(("127.0.0.1", 0))
        return self.socket.getsockname()[1]

    def __exit__(self, *args: object) -> None:
        self.socket.close()


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({}, "env: 'grader' or 'check' is missing", "give the program that scores an attempt"),
        ({"grader": "python x", "check": "sh y"}, "env: 'grader' and 'check' exclude each other", "give the program"),
        ({"grader": "python x", "scorer": "exact"}, "env: 'scorer' belongs to the environment 'dataset'", "remove"),
        ({"grader": "no-such-program x"},
         "env: grader = 'no-such-program x': there is no program 'no-such-program', or it is not executable",
         "give one on the PATH, or the path of a file that may be executed"),
        ({"check": "./nothing"}, "env: check = './nothing': there is no program './nothing', or it is not executable",
         "give one on the PATH"),
        ({"check": []}, "env: check = []: there is no program '', or it is not executable", "give one on the PATH"),
        ({"grader": "python 'x"}, "env: grader = \"python 'x\": No closing quotation", "write it as a list of words"),
        ({"grader": "python x", "readable": ["/no/such"]}, "env: readable: '/no/such' does not exist", "leave it"),
        ({"grader": "python x", "second": 5}, "env: unknown key 'second'", "did you mean 'seconds'?"),
        ({"grader": "python x", "seconds": 0}, "env: seconds = 0: must be above 0", "change 's"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_named(project: Project, options: dict, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        project.env(**options)
    assert error.value.message == message
    assert hint in error.value.hint


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("#!/bin/nope", "/bin/nope"),
        ("#! /bin/nope -x", "/bin/nope"),
        ("#!/usr/bin/env no-such-python", "no-such-python"),
        ("#!/usr/bin/env -S A=1 no-such-python -u", "no-such-python"),
    ],
)
def test_a_script_whose_interpreter_does_not_exist_is_refused(project: Project, first: str, name: str) -> None:
    path = project.folder / project.program("check", f"{first}\n", mode=0o755)
    with pytest.raises(ConfigError) as error:
        project.env(check="./check")
    assert error.value.message == f"program {str(path)!r} needs {name!r}, which was not found"
    assert error.value.hint == f"install {name!r}, or correct the first line of {str(path)!r}"


async def test_a_check_that_cannot_be_started_is_refused_or_later_no_score(project: Project) -> None:
    project.program("check", f"#!{sys.executable}\n")
    with pytest.raises(ConfigError, match=r"there is no program './check', or it is not executable"):
        project.env(check="./check")
    (project.folder / "check").chmod(0o755)
    env = project.env(check="./check")
    project.program("check", "#!/bin/nope\n", mode=0o755)
    with pytest.raises(BoundaryError, match=r"ended with exit code 127: .*No such file or directory"):
        await env.score(TASK, left())


def test_the_grader_is_never_in_a_workspace(project: Project) -> None:
    project.program("work/check.py", CHECK)
    project.rows([{"input": f"q {n}", "files": "work"} for n in range(2)])
    with pytest.raises(DataError, match=r"check\.py' is part of what scores attempts, which no agent may see"):
        project.env(check="python work/check.py", fields={"files": "files"})
    with pytest.raises(DataError, match="is part of what scores attempts"):
        project.env(check=[sys.executable, "work"], fields={"files": "files"})


def test_the_fingerprint_changes_with_the_program_and_not_with_its_place(project: Project, tmp_path: Path) -> None:
    before = project.grader(GRADER).fingerprint()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Project(elsewhere)
    assert other.grader(GRADER).fingerprint() == before
    assert project.grader(GRADER, network=True).fingerprint() != before
    assert project.grader(GRADER, seconds=7).fingerprint() == before
    assert project.grader(GRADER + "# other").fingerprint() != before
    assert project.env(grader="python grade.py --strict").fingerprint() != before


def test_scores_are_facts_since_a_program_may_say_something_else_next_time(project: Project) -> None:
    assert not project.grader(GRADER).repeatable
