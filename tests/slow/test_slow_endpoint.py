"""The endpoint of the simulated models in processes of its own."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

SERVE = "import sys; from etude.simulation.endpoint import serve; serve('127.0.0.1', int(sys.argv[1]), key='k')"


def test_serve_blocks_and_answers_until_it_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(port)], env=dict(os.environ))
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=20) as response:
                    assert json.loads(response.read())["received"] == 0
                break
            except urllib.error.URLError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=20)
    finally:
        process.terminate()
        process.wait(timeout=60)
