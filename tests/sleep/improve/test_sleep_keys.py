"""A key that stands in a document of the user stays there: no night writes it to its state, or takes it out."""

from pathlib import Path

import pytest
from small_night import Small

from etude.sleep.adoption.proposal import read_proposal

KEY = "abcd1234efgh5678"


def test_a_key_next_to_the_block_is_in_the_proposal_and_in_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    small = Small(tmp_path)
    small.skill.parent.mkdir(parents=True)
    small.skill.write_text(f"---\nname: learned\ndescription: Learnt rules.\n---\n\nThe service key is {KEY}.\n")
    report = small.night()
    folder = Path(report.proposal)
    files = [path for path in small.state.folder.rglob("*") if path.is_file() and folder not in path.parents]
    assert {"tasks.json", "night.json"} <= {path.name for path in files}
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    text = read_proposal(folder).documents[0].text
    assert f"The service key is {KEY}.\n" in text
    assert "Key Risks" in text
