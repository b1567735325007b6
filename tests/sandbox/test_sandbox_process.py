"""Programs are fed, watched and bounded, and are gone afterwards with all they started."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from sandbox_boxes import GENEROUS, living, play, python, sandbox_named, working

from etude.errors import ConfigError
from etude.sandbox import Box, Limits, Lines, Workspace, run
from etude.sandbox.sandbox import SandboxError
from rows import few


@pytest.fixture(params=few(["bubblewrap", "landlock", "unsafe"], "bubblewrap", "unsafe"))
def way(request):
    """Every way to run a program, the one without a sandbox, too."""
    return sandbox_named(request.param)


@pytest.fixture
def token() -> str:
    """A word by which the processes of a test are found."""
    return f"token-{uuid.uuid4().hex}"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def until(condition, seconds: float = 60) -> None:
    """Waits for something that will be true soon."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_program_starts_in_its_workspace_and_has_its_folders_both_outputs_and_its_exit_code(
    way, workspace
) -> None:
    code = """
import sys
for name in ["here", *sys.argv[1:]]: open(name, "w").write(name)
print("out", repr(sys.stdin.read()))
print("err", file=sys.stderr)
sys.exit(7)
"""
    done = await play(way, python(code, f"{workspace.home}/settings", f"{workspace.tmp}/scratch"), workspace)
    assert (done.code, done.signal, done.stdout, done.stderr) == (7, None, b"out ''\n", b"err\n")
    assert (done.cut, done.over) == (False, "")
    assert (workspace.work / "here").read_text() == "here"
    assert (workspace.home / "settings").exists()
    assert (workspace.tmp / "scratch").exists()


async def test_a_program_is_talked_to_line_by_line_while_it_runs(way, workspace) -> None:
    long = b"x" * 300_000
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    lines = Lines(heard.put_nowait)
    lines.say(b"one")
    code = "import sys\nfor line in sys.stdin:\n    print('heard', line, end='', flush=True)"
    running = asyncio.create_task(play(way, python(code), workspace, stdin=lines))
    assert await heard.get() == b"heard one"
    for word in (b"two", long):  # the second is longer than a pipe
        lines.say(word)
        assert await heard.get() == b"heard " + word
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    lines.say(b"nobody is there")
    assert heard.empty()


async def test_a_signal_that_ends_a_program_is_reported(way, workspace) -> None:
    done = await play(way, python("import os; os.kill(os.getpid(), 9)"), workspace)
    assert (done.code, done.signal, done.over) == (None, 9, "")


@pytest.mark.parametrize(
    ("code", "said"),
    [("import sys; print(len(sys.stdin.buffer.read()))", b"3000000\n"), ("print('done')", b"done\n")],
    ids=["all of it", "nothing of it"],
)
async def test_standard_input_of_any_length_is_fed_and_need_not_be_read(way, workspace, code, said) -> None:
    done = await play(way, python(code), workspace, stdin=b"x" * 3_000_000)
    assert (done.code, done.stdout) == (0, said)


async def test_a_program_has_the_environment_that_was_given_and_nothing_else(way, workspace, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    env = {"PATH": "/usr/bin:/bin", "GIVEN": "1"}
    done = await run(["env"], box=Box(workspace.work), limits=GENEROUS, sandbox=way, env=env)
    lines = set(done.stdout.decode().splitlines()) - {f"PWD={workspace.work}"}
    # Under Landlock git looks for no settings of the machine: they can hold tokens, and cannot be read.
    assert lines - {"GIT_CONFIG_NOSYSTEM=1"} == {"PATH=/usr/bin:/bin", "GIVEN=1"}


async def test_no_file_descriptor_of_the_parent_is_open_inside(way, workspace) -> None:
    with open(__file__) as file:
        os.set_inheritable(file.fileno(), True)
        done = await play(way, ["/bin/ls", "-l", "/proc/self/fd"], workspace)
    assert b"test_sandbox_process" not in done.stdout
    assert b"pipe:" in done.stdout


async def test_the_middle_of_long_output_is_left_out(way, workspace) -> None:
    code = "import sys; print('begin'); [print('x' * 999) for _ in range(3000)]; print('end')"
    limits = Limits(seconds=120, output_kb=16)
    done = await play(way, python(code), workspace, limits=limits)
    assert done.cut
    assert done.code == 0
    assert done.stdout.startswith(b"begin\n")
    assert done.stdout.endswith(b"end\n")
    total = len(b"begin\nend\n") + 3000 * 1000
    assert b"\n[%d bytes left out]\n" % (total - 16384) in done.stdout
    assert len(done.stdout) < 17_000


async def test_endless_output_ends_at_the_time_limit_and_takes_no_memory(way, workspace) -> None:
    done = await play(way, ["yes"], workspace, limits=Limits(seconds=0.4, grace_seconds=5, output_kb=64))
    assert (done.timed_out, done.cut, len(done.stdout) < 70_000) == (True, True, True)


async def everywhere(folder: Path, argv, limits: Limits):
    """The same program in every way, at the same time."""

    async def one(sandbox):
        with Workspace(folder) as workspace:
            return await play(sandbox, argv, workspace, limits=limits)

    return await asyncio.gather(*map(one, working()))


async def test_at_the_time_limit_a_program_may_end_by_itself(tmp_path) -> None:
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(3)))
time.sleep(600)
"""
    for done in await everywhere(tmp_path, python(code), Limits(seconds=4, grace_seconds=60)):
        assert (done.timed_out, done.over, done.code, done.stdout) == (True, "time limit", 3, b"saved\n")


async def test_a_program_that_ignores_every_signal_is_killed_after_the_grace(tmp_path, token) -> None:
    code = """
import signal, subprocess, sys, time
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", *sys.argv[1:]])
time.sleep(600)
"""
    for done in await everywhere(tmp_path, python(code, token), Limits(seconds=4, grace_seconds=0.5)):
        assert (done.timed_out, done.code, done.signal) == (True, None, 9)
    assert living(token) == []


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        os.closerange(0, 3)
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", *sys.argv[1:]])
    os._exit(0)
os.wait()
print("gone")
"""


@pytest.mark.parametrize("pipes", ["closed", "open"])
async def test_a_daemon_without_parent_session_and_environment_does_not_outlive_or_delay_the_run(
    way, workspace, token, pipes
) -> None:
    code = DAEMON if pipes == "closed" else DAEMON.replace("os.closerange(0, 3)", "pass")
    done = await play(way, python(code, token), workspace)
    assert (done.code, done.stdout, done.stderr) == (0, b"gone\n", b"")
    assert living(token) == []


SLEEPER = """
import signal, sys, time
def end(*_):
    open("saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open("started", "w").close()
time.sleep(600)
"""


async def test_cancelling_lets_the_program_end_and_is_raised_again(way, workspace, token) -> None:
    task = asyncio.create_task(play(way, python(SLEEPER, token), workspace))
    await until((workspace.work / "started").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (workspace.work / "saved").exists()
    assert living(token) == []


async def test_cancelling_twice_leaves_out_the_grace(way, workspace, token) -> None:
    deaf = SLEEPER.replace("sys.exit(0)", "")
    limits = Limits(seconds=1000, grace_seconds=1000)
    task = asyncio.create_task(play(way, python(deaf, token), workspace, limits=limits))
    await until((workspace.work / "started").exists)
    task.cancel()
    await until((workspace.work / "saved").exists)
    task.cancel()
    async with asyncio.timeout(100):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert living(token) == []


async def test_cancelling_at_the_very_start_leaves_nothing(way, workspace, token) -> None:
    for pause in (0, 0, 0.005, 0.01, 0.02, 0.04):
        task = asyncio.create_task(play(way, python("import time; time.sleep(600)", token), workspace))
        await asyncio.sleep(pause)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert living(token) == []


async def test_a_timeout_around_a_run_works_as_everywhere(way, workspace, token) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await play(way, python("import time; time.sleep(600)", token), workspace)
    assert living(token) == []


KILLED = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = sys.argv[2].split(":")
from sandbox_boxes import play, python, sandbox_named
from etude.sandbox import Workspace
async def main():
    with Workspace(Path(sys.argv[4])) as workspace:
        code = f"open('started', 'w').close(); import time; time.sleep(600)"
        await play(sandbox_named(sys.argv[1]), python(code, sys.argv[3]), workspace)
asyncio.run(main())
"""


@pytest.mark.parametrize("name", few(["bubblewrap", "landlock", "unsafe"], "bubblewrap"))
async def test_nothing_is_left_when_etude_itself_is_killed(name, tmp_path, token) -> None:
    sandbox_named(name)
    paths = ":".join([str(Path(__file__).parent), *sys.path])
    parent = subprocess.Popen([sys.executable, "-c", KILLED, name, paths, token, str(tmp_path)])
    try:
        await until(lambda: list(tmp_path.glob("*/work/started")))
        assert len(living(token)) > 1
    finally:
        parent.kill()
        parent.wait()
    await until(lambda: not living(token))


KILLS = [(name, which) for name in ("bubblewrap", "landlock", "unsafe") for which in ("keeper", "supervisor")]


@pytest.mark.parametrize(("name", "which"), few(KILLS, KILLS[0], KILLS[1], KILLS[5]))
async def test_a_killed_supervisor_is_an_error_that_leaves_nothing(name, which, workspace, token) -> None:
    code = DAEMON + "open('started', 'w').close(); import signal; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    task = asyncio.create_task(play(sandbox_named(name), python(code, token), workspace))
    await until((workspace.work / "started").exists)
    (watching,) = [pid for pid in living(token) if parent(pid) == os.getpid()]
    if which == "supervisor":
        (watching,) = [pid for pid in living(token) if parent(pid) == watching]
    os.kill(watching, signal.SIGKILL)
    with pytest.raises(SandboxError) as error:
        await task
    assert str(error.value) == (
        "the process that watches a program ended with SIGKILL\n"
        "hint: it was killed from outside, or the machine is out of memory"
    )
    await until(lambda: not living(token))


async def test_a_script_of_the_workspace_is_found_by_its_relative_path(way, workspace) -> None:
    script = workspace.work / "check.sh"
    script.write_text("#!/bin/sh\necho checked\n")
    script.chmod(0o755)
    assert (await play(way, ["./check.sh"], workspace)).stdout == b"checked\n"


UNUSABLE = {
    "no program": (["no-such-program"], "'no-such-program' does not exist", "install it"),
    "a zero byte": (["echo", "a\0b"], "'a\\x00b' holds a zero byte", "in a file"),
    "a long line": (["echo", "x" * 5_000_000], "the command line is too long", "in a file"),
}


@pytest.mark.parametrize(("argv", "problem", "hint"), UNUSABLE.values(), ids=UNUSABLE)
async def test_a_command_that_cannot_be_run_says_why(way, workspace, argv, problem, hint) -> None:
    with pytest.raises(ConfigError) as error:
        await play(way, argv, workspace)
    assert problem in error.value.message
    assert hint in error.value.hint


def test_limits_have_ranges() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        Limits(seconds=0)


@pytest.mark.parametrize(
    ("box", "problem"),
    [
        ({"workspace": Path("/nowhere")}, "the folder '/nowhere' does not exist"),
        ({"writable": (Path("/nowhere"),)}, "the folder '/nowhere' does not exist"),
        ({"readable": (Path("/nowhere"),)}, "the path '/nowhere' does not exist"),
        ({"network": "gateway", "port": 8080}, "network 'gateway' needs a socket"),
        ({"network": "gateway", "socket": Path("/dev/null"), "port": 80}, "port '80' is not between 1024 and 65535"),
    ],
)
async def test_a_box_that_cannot_be_made_is_an_error_and_no_result(way, box, problem, tmp_path) -> None:
    place = Box(**{"workspace": tmp_path, **box})
    with pytest.raises(ConfigError) as error:
        await run(["true"], box=place, limits=GENEROUS, sandbox=way, env={"PATH": "/usr/bin:/bin"})
    assert error.value.message == problem
    assert error.value.hint


async def test_the_whole_file_system_cannot_be_put_into_a_box(sandbox, tmp_path) -> None:
    with pytest.raises(ConfigError) as error, Workspace(tmp_path) as workspace:
        await play(sandbox, ["true"], workspace, readable=(Path("/"),))
    assert str(error.value) == "the path '/' cannot be put into a box\nhint: name the folders the program needs"


async def test_git_works_in_every_box(way, workspace) -> None:
    if shutil.which("git", path="/usr/bin:/bin") is None:
        pytest.skip("git is not installed")
    commit = "git -c user.name=n -c user.email=e commit -qm m"
    script = f"git init -q x && cd x && echo a > b && git add b && {commit} && git log --oneline"
    done = await play(way, ["/bin/sh", "-c", script], workspace, env={"HOME": str(workspace.home)})
    assert (done.code, done.stderr) == (0, b"")
    assert done.stdout.endswith(b" m\n")
