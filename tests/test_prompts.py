"""Prompts are replaced by name."""

import pytest

from etude.errors import ConfigError
from etude.prompts import Prompts


def test_a_prompt_is_replaced_by_a_text_or_a_file(tmp_path) -> None:
    file = tmp_path / "mine.md"
    file.write_text("From a file.\n")
    prompts = Prompts({"chat": "From Python.", "select": file})
    assert (prompts["chat"], prompts["select"]) == ("From Python.", "From a file.")
    assert prompts.fingerprint() != Prompts().fingerprint()


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="'reflect_failure' is not a prompt\nhint: did you mean 'reflect_failures'"):
        Prompts({"reflect_failure": "x"})


def test_a_missing_file_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"prompts\.chat: .*none\.md' cannot be read"):
        Prompts({"chat": tmp_path / "none.md"})
