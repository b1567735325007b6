"""What goes wrong around a night: it is an error with the reason, nothing is used up, and the next one succeeds."""

import contextlib
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from small_night import MODELS, Small, run_night, tree

from etude.errors import ConfigError, EtudeError, RejectedRequest, StopRun
from etude.records import ChatRequest
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults
from etude.sleep.report import NightReport
from etude.testing import ScriptedModel
from etude.workbench import Given


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path, n=4)


def served(url: str, role: str, **more: Any) -> dict[str, Any]:
    return {"model": f"openai:{MODELS[role]}", "base_url": url, "api_key_env": "NO_SUCH_KEY", "timeout": 30, **more}


def over_http(small: Small, url: str, broken: str = "", **more: Any) -> NightReport:
    """A night with models behind an endpoint."""
    timeout = more.pop("timeout", 30)
    roles = {role: served(url, role, timeout=timeout) for role in MODELS}
    if broken:
        roles[broken] |= more.pop("role", {})
    limits = {"concurrency": 1, "outage_seconds": 0.3, **more.pop("limits", {})}
    return run_night(small.config(limits=limits, **roles, **more), small.around)


def failed(small: Small, night: int = 1) -> NightReport:
    """The report of a night that failed, of which nothing is left but what explains it."""
    report = small.report(night)
    assert (report.status, report.resumes, report.proposal) == ("error", True, "")
    assert report.hint
    folder = small.state.night(night)
    assert not (folder / "proposal").exists()
    assert not (small.state.folder / "adopted").exists()
    assert not (small.state.folder / "archive.jsonl").exists()
    return report


@contextlib.contextmanager
def unchanged(small: Small) -> Generator[None]:
    before = tree(small.root, without=["state"])
    yield
    assert tree(small.root, without=["state"]) == before


class Broken(BaseHTTPRequestHandler):
    """Gives one answer to everything."""

    answer: ClassVar[tuple[int, str] | None] = None
    """Status and body; None for no answer."""

    def do_POST(self) -> None:
        if self.answer is None:
            self.connection.settimeout(5)
            with contextlib.suppress(OSError):
                while self.connection.recv(1000):
                    pass
            return
        status, body = self.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextlib.contextmanager
def broken(answer: tuple[int, str] | None) -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Broken,), {"answer": answer}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [((500, '{"error": {"message": "broken 7712"}}'), "broken 7712"), (None, "not answered")],
    ids=["500", "hung"],
)
def test_a_server_that_gives_no_answer_ends_the_night_and_uses_nothing_up(
    small: Small, answer: tuple[int, str] | None, words: str
) -> None:
    with broken(answer) as url, unchanged(small), pytest.raises(EtudeError) as error:
        over_http(small, url, timeout=30 if answer else 0.5)
    assert error.value.exit_code == 1
    report = failed(small)
    assert words in report.reason
    assert (report.resumes, small.ledger()) == (True, {})


def test_a_wrong_key_stops_the_night_at_once_with_the_words_of_the_provider(small: Small, monkeypatch: Any) -> None:
    monkeypatch.setenv("A_KEY", "sk-wrong")
    role = {"api_key_env": "A_KEY"}
    with running_endpoint(key="sk-right") as endpoint:
        with unchanged(small), pytest.raises(EtudeError, match="401"):
            over_http(small, endpoint.url, "target", role=role)
        assert endpoint.stats()["received"] == 1
        report = failed(small)
        assert "sk-wrong" not in report.model_dump_json()
        assert small.ledger() == {}


def test_an_outage_on_the_way_is_an_error_and_the_night_goes_on_where_it_was(small: Small) -> None:
    with running_endpoint(faults=Faults(outage_after=17)) as endpoint:
        with unchanged(small), pytest.raises(EtudeError):
            over_http(small, endpoint.url)
        report = failed(small)
        assert report.spent.calls >= 17
        assert "used" not in small.ledger().values()
        endpoint.set_faults(Faults())
        again = over_http(small, endpoint.url)
        assert (again.night, again.status) == (1, "proposed")
        assert (again.documents[0].baseline, again.documents[0].candidate) == (0, 1)
        # Nothing was answered twice.
        assert endpoint.stats()["repeated"] == 0
    assert set(small.ledger().values()) == {"used"}


def test_too_many_voids_are_an_error_and_the_night_goes_on_without_asking_twice(small: Small) -> None:
    asked: list[str] = []  # with the seeds: the target is asked the same for each attempt

    def reject(request: ChatRequest) -> None:
        shown = [message.text for message in request.messages]
        if small.turns[0].prompt in shown[-1] and "# Conversation" not in shown[-1]:
            raise RejectedRequest("content filter 7712")
        asked.append(request.model_dump_json())

    small.before = reject
    with unchanged(small), pytest.raises(EtudeError) as error:
        small.night(limits={"concurrency": 1, "max_void": 0.0, "max_void_eval": 0.0})
    assert error.value.exit_code == 1
    assert "attempts errored" in failed(small).reason
    assert "content filter 7712" in failed(small).reason
    assert set(small.ledger().values()) == {"queued"}
    small.before = lambda request: asked.append(request.model_dump_json())
    again = small.night(limits={"concurrency": 1, "max_void": 0.0, "max_void_eval": 0.0})
    assert (again.night, again.status, again.documents[0].baseline) == (1, "proposed", 0)
    paid = [sent for sent in asked if "word OK" not in sent]
    assert len(paid) == len(set(paid))
    assert set(small.ledger().values()) == {"used"}


def test_a_target_that_says_nothing_after_its_probe_is_an_error_and_no_score(small: Small) -> None:
    def silent(request: ChatRequest) -> str:
        return "OK" if "Reply with the word OK" in request.messages[-1].text else ""

    model = ScriptedModel(silent, name="simulated:target-steady")
    with unchanged(small), pytest.raises(EtudeError) as error:
        small.night(given=Given(target=model), train={"epochs": 1})
    assert error.value.exit_code == 1
    report = small.report()
    assert (report.status, report.resumes, report.proposal) == ("error", False, "")
    assert report.reason == "no attempt has an answer; the last one: the reply was empty"
    assert set(small.ledger().values()) == {"queued"}


def test_an_agent_program_that_is_not_there_is_reported_before_anything_is_paid_for(small: Small) -> None:
    with unchanged(small), pytest.raises(ConfigError, match="no-such-program"):
        small.night(agent={"name": "command", "command": ["no-such-program"]})
    assert small.answered == 0


def test_a_proposal_that_cannot_be_written_is_no_proposal_and_comes_with_the_next_run(small: Small) -> None:
    place = small.state.night(1) / "proposal" / "proposal.json"

    def obstruct(request: ChatRequest) -> None:
        if small.state.night(1).exists():
            place.mkdir(parents=True, exist_ok=True)

    small.before = obstruct
    with unchanged(small), pytest.raises(StopRun, match="cannot be written: Is a directory") as error:
        small.night()
    assert error.value.hint == "free some space or fix the permissions, then run the same command again"
    assert not place.is_file()
    assert set(small.ledger().values()) == {"queued"}
    asked = small.answered
    small.before = lambda request: None
    place.rmdir()
    report = small.night()
    assert (report.night, report.status) == (1, "proposed")
    assert small.answered == asked
