"""The program as a process: pipes, signals, a terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.simulation.endpoint import Endpoint, running_endpoint
from forked import forked
from rows import few

DEADLINE = 60
SMALL = ["--train.epochs", "1", "--env.limit={train: 6, val: 4, test: 4}"]
COMMAND = [sys.executable, "-m", "etude"]


@pytest.fixture
def slow() -> Iterator[Endpoint]:
    with running_endpoint(latency=0.15) as endpoint:
        yield endpoint


def over(endpoint: Endpoint) -> list[str]:
    return [
        *("--target.model", "openai:target", "--target.base_url", endpoint.url),
        *("--optimizer.model", "openai:optimizer", "--optimizer.base_url", endpoint.url),
    ]


def start(*words: str, **more: object) -> subprocess.Popen[str]:
    return forked(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def wait_for(path: Path, text: str, process: subprocess.Popen[str]) -> None:
    """Until the file holds the text."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and process.poll() is None:
        if path.exists() and text in path.read_text():
            return
        time.sleep(0.02)
    process.kill()
    raise AssertionError(f"{text!r} did not come: {process.communicate()}")


def test_in_a_pipe_there_are_no_control_characters_and_json_stands_alone(fresh_project: Path) -> None:
    process = start(
        "train", "demo/etude.yaml", "--json", *SMALL, "--search.failures", "1", "--limits.concurrency", "2"
    )
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    steps = json.loads(out)["steps"]
    assert steps > 1
    assert "\x1b" not in err
    assert re.search(rf"(step {steps}|tidy) (accepted|rejected|skipped): ", err)


@pytest.mark.parametrize(
    ("words", "code"),
    few([(["show", "demo/runs/demo", "--json"], 0), (["show", "demo/runs/none", "--json"], 2)], first=1),
)
def test_a_reader_that_closes_the_pipe_changes_neither_the_work_nor_its_exit_code(
    demo_project: Path, words: list[str], code: int
) -> None:
    process = start(*words)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    assert ("Traceback" in said, "Broken pipe" in said) == (False, False)
    assert process.wait(timeout=DEADLINE) == code
    process.stderr.close()


def test_a_run_whose_output_nobody_reads_is_finished_and_saved(fresh_project: Path) -> None:
    # The tasks are the user's own code, which prints more than a pipe holds back.
    Path("chatty_for_processes.py").write_text(
        "from etude.envs.dataset import DatasetEnvironment\n"
        "class Chatty(DatasetEnvironment):\n"
        "    def score(self, task, trajectory):\n"
        "        print('scoring', task.id, '.' * 9000, flush=True)\n"
        "        return super().score(task, trajectory)\n"
    )
    words = ["train", "demo/etude.yaml", *SMALL, "--env.name", "chatty_for_processes:Chatty"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = forked(words, stdout=writer, stderr=writer)
    finally:
        os.close(writer)
    code = process.wait(DEADLINE)
    summary = json.loads(Path("demo/runs/demo/summary.json").read_text())
    assert (code, summary["stopped"]) == (0, None)
    assert Path("demo/runs/demo/best/everyday-tasks/SKILL.md").exists()


def test_a_program_without_standard_streams_does_its_work(here: Path) -> None:
    closed = ["bash", "-c", 'exec "$@" >&- 2>&-', "bash", *COMMAND]
    assert subprocess.run([*closed, "--version"], timeout=DEADLINE, check=False).returncode == 0
    assert subprocess.run([*closed, "trian"], timeout=DEADLINE, check=False).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
def test_a_result_that_cannot_be_written_is_one_error(here: Path) -> None:
    words = ["runs", "--folder", ".", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *words], stdout=full, stderr=-1, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: what was printed on standard output cannot be written: No space left on device\n"
        "hint: free some space, or redirect it elsewhere, and run the same command again\n"
    )


def test_characters_that_the_pipe_cannot_take_are_escaped(here: Path) -> None:
    Path("größe").mkdir()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    words = [*COMMAND, "runs", "--folder", "größe"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=True)
    out, err = done.stdout, done.stderr
    assert "gr\\xf6\\xdfe" in out
    assert err == ""


def test_one_ctrl_c_finishes_what_is_in_flight_and_says_how_to_go_on(
    fresh_project: Path, slow: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "demo/etude.yaml", *SMALL, *over(slow)]
    process = start(*words)
    wait_for(Path("demo/runs/demo/events.jsonl"), "call_finished", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "finishing what is in flight; press Ctrl-C again to stop now" in err
    assert "error: interrupted\nhint: run the same command again to resume\nresume: etude train " in err
    assert "stopped     interrupted" in out
    stats = slow.stats()
    assert stats["answered"] == stats["received"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] is None
    assert slow.stats()["repeated"] == 0


def test_a_second_ctrl_c_stops_at_once(fresh_project: Path) -> None:
    with running_endpoint(latency=30) as endpoint:
        process = start("train", "demo/etude.yaml", "--json", *over(endpoint))
        wait_for(Path("demo/runs/demo/events.jsonl"), '"stage_started"', process)
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        said = ""
        while "press Ctrl-C again" not in said:
            said = process.stderr.readline()
            assert said, "it ended"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    error = json.loads(out)
    assert error["error"].startswith("stopped at once")  # and where, on a busy machine
    assert error["error"].endswith("; the calls that were in flight are lost and will be made again")
    assert error["hint"].startswith("run the same command again to resume\nresume: etude train demo/etude.yaml")
    assert err.splitlines()[-1].startswith("resume: etude train demo/etude.yaml --json")


@pytest.mark.slow
def test_ctrl_c_before_there_is_anything_to_finish_ends_it(fresh_project: Path, slow: Endpoint) -> None:
    process = start("evaluate", "demo/etude.yaml", *over(slow))
    wait_for(Path("demo/runs/demo/events.jsonl"), "call_finished", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("resume: etude evaluate "), err


def test_simulate_announces_its_address_and_serves_until_interrupted(here: Path) -> None:
    process = start("simulate", "--port", "0", "--key", "k")
    assert process.stdout is not None
    url = process.stdout.readline().split()[1]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
    end = time.monotonic() + DEADLINE
    stats = None
    while stats is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(url.removesuffix("/v1") + "/stats", timeout=5) as response:
                stats = json.loads(response.read())
        except OSError:
            time.sleep(0.05)
    assert stats is not None
    assert stats["received"] == 0
    process.send_signal(signal.SIGINT)
    out = process.stdout.read()  # not `communicate`: it does not see what `readline` has read ahead
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert f"--target.model openai:target --target.base_url {url}" in out
    assert err == "press Ctrl-C to stop\nstopped\n"


@pytest.mark.slow
def test_the_command_that_simulate_shows_trains(fresh_project: Path) -> None:
    process = start("simulate", "--port", "0", "--json")
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        line = process.stdout.readline()
        assert line, "it ended"
        text += line
    url = json.loads(text)["base_url"]
    flags = [f"--{role}.{key}" for role in ("target", "optimizer") for key in ("model", "base_url")]
    values = ["openai:target", url, "openai:optimizer", url]
    words = [word for pair in zip(flags, values, strict=True) for word in pair]
    training = start("train", "demo/etude.yaml", "--json", *SMALL, *words)
    out, _ = training.communicate(timeout=DEADLINE)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE)
    assert training.returncode == 0
    assert json.loads(out)["simulated"] is True


def test_in_a_terminal_progress_is_drawn_live_and_the_result_stays(fresh_project: Path) -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    environment.pop("NO_COLOR", None)
    process = forked(["train", "demo/etude.yaml", *SMALL], environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    text = _read_all(master, process)
    assert process.wait(timeout=DEADLINE) == 0
    assert "\x1b[?25l" in text  # the cursor is hidden while it draws ...
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # ... and comes back
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert re.search(r"step \d (accepted|rejected)", shown)
    assert "elapsed" in shown
    assert "step 1 rollout: " not in shown
    assert "SIMULATED MODELS" in shown
    assert shown.rstrip().endswith("demo/runs/demo/best/everyday-tasks/SKILL.md")


def _read_all(master: int, process: subprocess.Popen[bytes]) -> str:
    found = b""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.1)
        if ready:
            try:
                found += os.read(master, 65536)
            except OSError:  # the other side is closed
                break
        elif process.poll() is not None:
            break
    os.close(master)
    return found.decode(errors="replace")
