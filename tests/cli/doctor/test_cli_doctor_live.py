"""What `doctor --live` finds out by asking as a run would."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main

CONFIG = "demo/etude.yaml"
Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
"""From the body of a request to status and body of its answer."""


@contextmanager
def answering(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and what it is sent."""
    heard: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = answer(heard[-1])
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", heard
        finally:
            server.shutdown()
            thread.join()


def said(text: str = '{"answer": 5}', finish: str = "stop") -> tuple[int, dict[str, Any]]:
    return 200, {"choices": [{"message": {"content": text}, "finish_reason": finish}]}


def refused(message: str) -> tuple[int, dict[str, Any]]:
    return 400, {"error": {"message": message}}


def without(field: str) -> Answer:
    """A server that refuses a field."""
    return lambda asked: refused(f"Unsupported parameter: '{field}' is not supported.") if field in asked else said()


def without_system(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return refused("System role not supported") if asked["messages"][0]["role"] == "system" else said()


def up_to_512(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return refused("max_tokens must be <= 512") if asked["max_tokens"] > 512 else said()


def live(
    capsys: pytest.CaptureFixture[str], answer: Answer, *flags: str, role: str = "target", code: int = 0
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is found of a role, and what its server was sent."""
    with answering(answer) as (url, heard):
        words = [f"--{role}.model", "openai:m", f"--{role}.base_url", url]
        assert main(["doctor", CONFIG, "--live", "--json", *words, *flags]) == code
    checks = json.loads(capsys.readouterr().out)["checks"]
    return [check for check in checks if check["name"].startswith(f"live {role}")], heard


@pytest.mark.parametrize(
    ("answer", "text", "fix"),
    [
        (without("seed"), "openai:m does not take seed: ", "set target.send_seed: false"),
        (without("temperature"), "openai:m does not take temperature = 0.3: ", "leave target.temperature unset"),
        (without("max_tokens"), "openai:m does not take the limit of a reply: ", "put it into target.extra_body "),
        (without_system, "openai:m does not take system messages: ", ""),
    ],
)
def test_what_a_run_would_leave_out_is_noted(
    fresh_project: Path, capsys: pytest.CaptureFixture[str], answer: Answer, text: str, fix: str
) -> None:
    (note, check), heard = live(capsys, answer, "--target.temperature=0.3")
    assert (note["status"], check["status"], len(heard)) == ("note", "ok", 2)
    assert note["text"].startswith(text)
    assert note["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("answer", "flags", "text", "fix"),
    [
        (up_to_512, [], "HTTP 400: max_tokens must be <= 512", "set target.max_output_tokens to what the server"),
        (without("temperature"), ["--target.temperature=0"], "HTTP 400: Unsupp", "leave target.temperature unset"),
        (lambda asked: said("", "length"), [], "openai:m was cut off at max_output_tokens = 4,096", "raise target."),
        (lambda asked: said(" "), [], "openai:m gave no answer: the reply was empty", "look at how the server"),
        (
            lambda asked: said("<think>5"),
            [],
            "openai:m gave no answer: the reply is a thought",
            "look at how the server",
        ),
        (without("tools"), ["--agent.name=tools"], "HTTP 400: Unsupported parameter: 'tools'", ""),
    ],
)
def test_what_would_keep_a_run_from_scores_is_wrong_and_names_the_setting(
    fresh_project: Path, capsys: pytest.CaptureFixture[str], answer: Answer, flags: list[str], text: str, fix: str
) -> None:
    checks, _ = live(capsys, answer, *flags, code=1)
    wrong = next(check for check in checks if check["status"] == "wrong")
    assert wrong["text"].startswith(text)
    assert wrong["fix"].startswith(fix)


def test_tools_are_offered_where_the_agent_calls_them(
    fresh_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    called = {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    (check,), (asked,) = live(capsys, lambda asked: (200, called), "--agent.name=tools")
    assert (check["status"], len(asked["tools"])) == ("ok", 1)
    (check,), (asked,) = live(capsys, lambda asked: said())
    assert (check["status"], "tools" in asked) == ("ok", False)


def test_a_model_that_answers_but_not_in_the_form_that_was_asked_for_is_wrong(
    fresh_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (structure, check), _ = live(capsys, lambda asked: said("five, I think"), role="optimizer", code=1)
    assert (structure["name"], structure["status"]) == ("live optimizer structure", "wrong")
    assert "no usable answer in " in structure["text"]
    assert (check["name"], check["status"]) == ("live optimizer", "ok")
