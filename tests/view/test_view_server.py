"""Who may ask the server what. Over real HTTP: what a client normalises, a test client would hide."""

import http.client
import json
from collections.abc import Generator
from pathlib import Path

import pytest
from view_asking import ask

from etude.view.server import ViewServer, page_files, serving
from etude.view.shelf import Shelf
from rows import rows


@pytest.fixture(scope="module")
def server(finished: Path) -> Generator[ViewServer]:
    with serving(Shelf([finished], None)) as server:
        yield server


def test_who_has_the_link_gets_the_page_and_its_data(server: ViewServer) -> None:
    status, headers, body = ask(server, "")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b'src="main.js"' in body
    for name, data in page_files().items():
        assert ask(server, name)[::2] == (200, data)
    assert json.loads(ask(server, "data/runs/first")[2])["name"] == "first"
    assert ask(server, "data/runs/first", Host=f"localhost:{server.port}")[0] == 200
    assert ask(server, "data/runs/first", Origin=f"http://127.0.0.1:{server.port}")[0] == 200


def test_no_script_can_stand_in_the_page_and_no_other_host_is_asked(server: ViewServer) -> None:
    for path in ("", "data/runs", "nothing", "/"):
        policy = ask(server, path)[1]["content-security-policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
    for name, data in page_files().items():
        if not name.startswith("vendor/"):
            assert b"//" not in data.replace(b"http://www.w3.org/2000/svg", b"").split(b"<script", 1)[
                0
            ] or name.endswith(".js")
            assert b"innerHTML" not in data.replace(b"dangerouslySetInnerHTML", b"")
            assert b"eval(" not in data


@rows(
    ("path", "headers", "refused"),
    [
        *((path, {}, (403,)) for path in ("/", "/data/runs", "/wrong/data/runs", "/%C3%A9/", "//", "/events")),
        ("/main.js", {}, (403,)),
        *(
            ("data/runs", {"Host": host}, (400, 421))
            for host in ("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", "")
        ),
        *(
            ("data/runs", {"Origin": origin}, (403,))
            for origin in ("http://evil.example", "null", "https://127.0.0.1:{port}", "http://localhost:{port}")
        ),
    ],
)
def test_who_has_no_token_asks_another_host_or_is_another_page_is_refused(
    server: ViewServer, path: str, headers: dict[str, str], refused: tuple[int, ...]
) -> None:
    given = {name: value.format(port=server.port) for name, value in headers.items()}
    status, _, body = ask(server, path, **given)
    assert status in refused
    assert b"first" not in body


@rows(
    "path",
    [
        "../pyproject.toml",
        "..%2f..%2fetc/passwd",
        "vendor/../../server.py",
        "%2e%2e/server.py",
        "data/runs/..%2f..%2fetc",
        "data/runs/first/steps/..%2f..%2fsummary.json",
        "data/runs/first/attempts/..%2fconfig.yaml",
        "data/runs//etc/passwd",
        "/{token}/..//etc/passwd",
        "data/runs/first/skill/..%2f0000",
    ],
)
def test_no_path_leads_out_of_the_page_and_its_runs(server: ViewServer, path: str) -> None:
    status, _, body = ask(server, path.format(token=server.token))
    assert status in (403, 404)
    assert b"root:" not in body
    assert b"import" not in body


@rows("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@rows("path", ["", "data/runs", "data/runs/first", "main.js"])
def test_nothing_is_written_by_asking(server: ViewServer, method: str, path: str) -> None:
    assert ask(server, path, method, x_etude_token=server.token)[0] == 405


def test_only_the_page_can_stop_a_run(server: ViewServer, finished: Path) -> None:
    stop = finished / "stop"
    assert ask(server, "act/stop/first", "POST")[0] == 403
    assert ask(server, "act/stop/first", "POST", x_etude_token="wrong")[0] == 403
    assert ask(server, "act/stop/first", "POST", x_etude_token=server.token, Origin="http://evil.example")[0] == 403
    assert ask(server, "act/stop/first")[0] in (404, 405)
    assert ask(server, "act/stop/..%2fother", "POST", x_etude_token=server.token)[0] in (404, 405)
    assert not stop.exists()
    assert ask(server, "act/stop/first", "POST", x_etude_token=server.token)[0] == 200
    stop.unlink()


def test_news_of_a_run_are_told_as_they_happen(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "first"
    run.mkdir()
    for name in ("journal.db", "events.jsonl"):
        (run / name).write_bytes((finished / name).read_bytes())
    with serving(Shelf([], tmp_path)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", f"/{server.token}/events")
        answer = connection.getresponse()
        before = json.loads(answer.readline().removeprefix(b"data: "))
        assert answer.readline() == b"\n"
        with (run / "events.jsonl").open("a") as log:
            log.write('{"at": "2026-01-01T00:00:00Z", "kind": "spend_changed"}\n')
        after = json.loads(answer.readline().removeprefix(b"data: "))
        connection.close()
    assert before.keys() == after.keys() == {"first"}
    assert before != after
