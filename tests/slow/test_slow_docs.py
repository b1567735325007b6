"""The sessions of the pages that train, one of them an agent with tools over checks in sandboxes."""

from pathlib import Path

import pytest

from test_docs import TRAINING, name_of, reader, runs_in_its_order

__all__ = ["reader"]


@pytest.mark.parametrize("page", TRAINING, ids=name_of)
def test_the_code_and_the_sessions_of_a_page_run_in_their_order(
    reader: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: Path
) -> None:
    runs_in_its_order(page, monkeypatch, capsys)
