"""The session of the longest page, which trains an agent with tools over checks in sandboxes."""

import pytest

from test_docs import LONG, reader, runs_in_its_order

__all__ = ["reader"]


def test_the_code_and_the_session_of_the_page_run_in_their_order(
    reader: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs_in_its_order(LONG, monkeypatch, capsys)
