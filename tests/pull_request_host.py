"""A loopback stand-in for the host of a pull request: its API for comments."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Host(ThreadingHTTPServer):
    """The comments of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, str]] = []
        self.refuses = 0
        """The status of every answer, when it is not 0."""


class Api(BaseHTTPRequestHandler):
    server: Host

    def do_GET(self) -> None:
        page = int(re.search(r"&page=(\d+)", self.path)[1])  # type: ignore[index]
        self.answered(self.server.comments[100 * page - 100 : 100 * page])

    def do_POST(self) -> None:
        self.server.comments.append({"id": len(self.server.comments), "user": {"type": "Bot"}, **self.body()})
        self.answered({})

    def do_PATCH(self) -> None:
        self.server.comments[int(self.path.rsplit("/", 1)[1])].update(self.body())
        self.answered({})

    def body(self) -> dict[str, str]:
        return {} if self.server.refuses else json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answered(self, value: object) -> None:
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        self.send_response(self.server.refuses or 200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def open_host() -> Iterator[Host]:
    """Serve one while the block runs."""
    with Host() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
