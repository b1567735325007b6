import json
import socket
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.cli.simulate import read_faults
from etude.errors import InputError
from rows import rows

Captured = pytest.CaptureFixture[str]


@rows(
    ("text", "error", "hint"),
    [
        ("drop", "--fault 'drop' has no rate", "as in --fault rate_limit=0.1"),
        ("dorp=0.1", "--fault: unknown key 'dorp'", "did you mean 'drop'?"),
        ("drop=2", "--fault: drop = '2': ", "change 'drop'"),
    ],
)
def test_a_fault_that_is_not_one_is_an_error(text: str, error: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_faults([text], None)
    assert caught.value.message.startswith(error)
    assert caught.value.hint == hint


def test_a_port_that_is_taken_is_an_error(here: Path, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["simulate", "--port", str(port), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        f"error: cannot listen on 127.0.0.1:{port}: Address already in use\nhint: choose another --port\n"
    )
    assert json.loads(captured.out)["exit_code"] == 2


def test_a_host_that_is_none_is_an_error(here: Path, capsys: Captured) -> None:
    assert main(["simulate", "--host", "256.0.0.1", "--port", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: cannot listen on 256.0.0.1:0: ")
