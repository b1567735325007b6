"""A proxy before the simulated endpoint that spoils what models answer."""

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Spoil = Callable[[str, list[dict[str, Any]], str], str]
"""From a model, the messages that it was sent and its reply to the reply that comes in its place."""


@contextmanager
def spoiled(url: str, spoil: Spoil) -> Iterator[str]:
    """The address of the proxy."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(body := self.rfile.read(int(self.headers["Content-Length"])))
            address = url.removesuffix("/v1") + self.path
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = json.load(response)
            message = answer["choices"][0]["message"]
            message["content"] = spoil(asked["model"], asked["messages"], message["content"])
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
