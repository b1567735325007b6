"""Questions about pictures, over real HTTP: what is sent, what is remembered, what is written down."""

import json
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from http_run import make_project
from small_run import tree

from etude import BudgetStop, Trainer, load_config
from etude.errors import DataError, IdentityError
from etude.simulation.endpoint import running_endpoint

SIZE = 100_000
ADDRESS = "https://example.org/more.png"


def picture(number: int) -> bytes:
    """Large enough that a copy in each attempt would be noticed."""
    return b"\x89PNG\r\n\x1a\n" + bytes([number]) * SIZE


def with_pictures(folder: Path, url: str, **more: Any) -> Path:
    """The usual small project, each task with a picture, the first one of each split with two."""
    folder.mkdir(exist_ok=True)
    config = make_project(folder, url, **more)
    (folder / "pages").mkdir()
    number = 0
    for split in ("train", "val", "test"):
        path = folder / f"{split}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row["page"] = [f"pages/{number}.png"]
            (folder / row["page"][0]).write_bytes(picture(number))
            number += 1
        rows[0]["page"].append(ADDRESS)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = json.loads(config.read_text())
    settings["env"]["fields"] = {"images": "page"}
    config.write_text(json.dumps(settings))
    return config


def train(config: Path, *, fork: str | None = None, **flags: str) -> Any:
    dotted = [(name.replace("__", "."), value) for name, value in flags.items()]
    settings = load_config(config, flags=dotted, environ={})
    return (Trainer(settings) if fork is None else Trainer(settings, fork=fork)).train()


@contextmanager
def overheard(url: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A proxy before the endpoint that keeps all request bodies."""
    bodies: list[dict[str, Any]] = []

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(json.loads(body))
            address = url.removesuffix("/v1") + self.path
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = response.read()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def pictures_in(body: dict[str, Any]) -> list[str]:
    parts = [part for message in body["messages"] for part in message["content"] if isinstance(part, dict)]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A finished run, and what it sent."""
    folder = tmp_path_factory.mktemp("pictured")
    with running_endpoint() as endpoint, overheard(endpoint.url) as (url, bodies):
        train(with_pictures(folder, url))
    return folder, bodies


def test_pictures_are_sent_with_every_attempt_and_written_down_nowhere(pictured) -> None:
    folder, bodies = pictured
    attempts = [body for body in bodies if body["model"] == "target"]
    sent = [pictures_in(body) for body in attempts]
    known = {f"data:image/png;base64,{b64encode(picture(number)).decode()}" for number in range(13)}
    assert {url for urls in sent for url in urls} == known | {ADDRESS}
    assert {len(urls) for urls in sent} == {1, 2}
    assert any(body["messages"][-1]["content"][-1]["type"] == "text" for body in attempts)

    readings = [json.dumps(body) for body in bodies if body["model"] == "optimizer"]
    assert any("[image: 3.png]" in text for text in readings)
    assert not any("base64" in text or "sha256=" in text for text in readings)

    files = tree(folder / "runs")
    assert not any(b"base64" in data for data in files.values())
    assert max(len(data) for data in files.values()) < SIZE
    journal = folder / "runs" / "run" / "journal.db"
    assert b";base64," not in journal.read_bytes()
    assert journal.stat().st_size < 10 * SIZE


def test_a_changed_picture_is_another_fact_and_only_that_one_is_paid_for_again(pictured) -> None:
    folder, bodies = pictured
    config, before = folder / "etude.yaml", len(bodies)
    train(config)  # with nobody to ask
    assert len(bodies) == before
    (folder / "pages" / "7.png").write_bytes(picture(99))
    with pytest.raises(IdentityError, match="the validation tasks are others"):
        train(config)
    first = json.loads((folder / "val.jsonl").read_text().splitlines()[7 - 5])["input"]
    with running_endpoint() as endpoint, overheard(endpoint.url) as (url, bodies):
        train(config, fork="run", run__name="again", target__base_url=url, optimizer__base_url=url)
    assert bodies
    assert all(first in json.dumps(body, ensure_ascii=False) for body in bodies)
    assert {body["model"] for body in bodies} == {"target"}


def test_a_picture_that_is_missing_is_found_out_before_anything_is_paid_for(tmp_path: Path) -> None:
    with running_endpoint() as endpoint:
        config = with_pictures(tmp_path, endpoint.url)
        (tmp_path / "pages" / "11.png").unlink()
        with pytest.raises(DataError, match=r"test\.jsonl:2: image 'pages/11.png' does not exist"):
            train(config)
        assert endpoint.stats()["received"] == 0


@pytest.mark.parametrize(("tokens", "stops"), [("1500", True), ("9000", False)])
def test_budgets_reserve_for_pictures_before_they_are_sent(tmp_path: Path, tokens: str, stops: bool) -> None:
    with running_endpoint() as endpoint:
        config = with_pictures(tmp_path, endpoint.url, limits={"concurrency": 1})
        with pytest.raises(BudgetStop):
            train(config, limits__tokens=tokens, target__max_output_tokens="100")
        assert (endpoint.stats()["received"] == 0) == stops
