"""A secret in every place where one may be, and a world that repeats all it was sent: no file of a run has it, and
nothing that is printed."""

import base64
import json
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from http_run import make_project

from etude.cli.main import main
from etude.view.shelf import Shelf
from trusting import trust

# None has the shape of a credential: they are known by the place where they are.
PASSWORD, QUERY, HEADER, BEARER = "correct.horse.battery", "of-the-query", "of-the-header", "behind-the-bearer"
PRINTED, LOGIN, RENEWED, VARIABLE = "printed-by-a-command", "of-the-login", "renewed-in-a-run", "of-a-variable"
CANARIES = (PASSWORD, QUERY, HEADER, BEARER, PRINTED, LOGIN, RENEWED, VARIABLE)

PROGRAM = """\
#!PYTHON
import json, os, sys
from pathlib import Path

if "--version" in sys.argv:
    sys.exit(print("2.1.328 (Claude Code)"))
place = Path.home() / ".claude" / ".credentials.json"
login = place.read_text()
place.write_text(json.dumps({"claudeAiOauth": {"accessToken": "renewed-in-a-run"}}))
said = f"{login} {place.read_text()} {dict(os.environ)}"
Path("stolen.txt").write_text(json.loads(login)["claudeAiOauth"]["accessToken"])
print(said, file=sys.stderr)
print(json.dumps({"type": "assistant", "message": {"content": said}}))
failed = Path("fail.txt").exists()
said = "401 " * failed + said
print(json.dumps({"type": "result", "subtype": "success", "is_error": failed, "result": said}))
""".replace("PYTHON", sys.executable)


class Echo(ThreadingHTTPServer):
    """Answers with all it was sent, as text and in headers; every third time, or always, it refuses with it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = 0
        self.closed = False
        self.heard = ""


class Handler(BaseHTTPRequestHandler):
    server: Echo

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        said = f"{self.path} {dict(self.headers.items())}"
        self.server.asked += 1
        self.server.heard += said
        reply = {
            "choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop", "index": 0}]
        }
        status = 401 if self.server.closed else 500 if self.server.asked % 3 == 1 else 200
        body = json.dumps(reply if status == 200 else {"error": {"message": said, "code": said}}).encode()
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), ("X-Echo", said), ("Retry-After", "0")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def echo() -> Iterator[Echo]:
    with Echo() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", VARIABLE)
    program = tmp_path / "claude"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    login = tmp_path / "home" / ".claude" / ".credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text(json.dumps({"claudeAiOauth": {"accessToken": LOGIN, "scopes": ["user:inference"]}}))
    return tmp_path


def leaks(text: bytes) -> list[str]:
    """The secrets that are in it, as they are or as the files of a workspace are kept."""
    return [one for one in CANARIES if one.encode() in text or base64.b64encode(one.encode())[:-4] in text]


def check(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Nothing of it has a secret or is for others; what was printed."""
    printed = "".join(capsys.readouterr())
    assert leaks(printed.encode()) == []
    below = [folder, *folder.rglob("*")]
    assert {path: leaks(path.read_bytes()) for path in below if path.is_file() and leaks(path.read_bytes())} == {}
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in below}
    assert modes == {(True, 0o700), (False, 0o600)}
    shelf = Shelf([folder / "run"], None)  # what the page shows, and its file holds
    attempts = shelf.attempts("run")
    assert attempts
    for name in (*shelf.documents("run"), *(f"runs/run/attempts/{one}" for one in attempts)):
        assert leaks(shelf.document(name).encode()) == [], name
    return printed


def test_secrets_of_a_model_are_nowhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = shlex.join([sys.executable, "-c", f"print({PRINTED!r})"])
    with echo() as server:
        url = f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/v1?region=north&subscription-key={QUERY}"
        key = {"api_key_command": command.replace(PRINTED, "'+'".join((PRINTED[:7], PRINTED[7:])))}
        headers = {"X-Service-Key": HEADER, "Proxy-Authorization": f"Bearer {BEARER}"}
        target = {"model": "openai:target", "base_url": url, "headers": headers, **key}
        simulated = {"model": "simulated:optimizer"}
        config = make_project(here, "", target=target, optimizer=simulated, train={"epochs": 1})
        trust(config)
        assert main(["train", str(config)]) == 0
        for verb in ("show", "diff", "verify"):
            main([verb, "run"])
        assert main(["train", "runs/run/config.yaml"]) == 2  # its secrets are gone
        main(["doctor", str(config), "--live"])
        main(["plan", str(config)])
        server.closed = True
        refused = main(["train", str(config), "--run.name", "refused", f"--target.headers.X-Other-Token={HEADER}"])
        assert refused == 1
        assert all(
            one in server.heard for one in (HEADER, BEARER, base64.b64encode(f"me:{PASSWORD}".encode()).decode())
        )
    printed = check(here / "runs", capsys)
    assert "HTTP 401" in printed
    assert "a header or the address has a redacted secret" in printed
    assert "[redacted:X-Service-Key]" in printed


def test_the_login_of_a_program_is_nowhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = {"name": "claude-code", "path": str(here / "claude"), "login": "direct"}
    models = {role: {"model": f"simulated:{role}"} for role in ("target", "optimizer")}
    config = make_project(here, "", sizes=(2, 2, 1), agent=agent, train={"epochs": 1}, **models)
    before = os.listdir(here / "home" / ".claude"), (here / "home" / ".claude" / ".credentials.json").read_bytes()
    trust(config)
    assert main(["train", str(config)]) == 0
    main(["show", "run"])
    (here / "claude").write_text(PROGRAM.replace('Path("fail.txt").exists()', "True"))
    trust(config)
    assert main(["train", str(config), "--run.name", "refused"]) == 1
    printed = check(here / "runs", capsys)
    assert "gave up: 401" in printed
    assert "[redacted:login]" in printed
    login = here / "home" / ".claude" / ".credentials.json"
    assert (os.listdir(login.parent), login.read_bytes()) == before
