"""Proposals on disk."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from sleep_proposals import HAND, both, offer, project, proposed

from etude.errors import InputError
from etude.sleep.adoption.proposal import Proposal, read_proposal, readable


def test_a_proposal_holds_the_documents_and_their_rules(tmp_path: Path) -> None:
    place = project(tmp_path)
    folder = both(place)
    assert sorted(path.name for path in folder.iterdir()) == ["proposal.json"]
    proposal = read_proposal(folder)
    assert [(proposal.name(one), one.live.kind, one.live.data is None) for one in proposal.documents] == [
        ("CLAUDE.md", "memory", False),
        (".claude/skills/learned/SKILL.md", "skill", True),
    ]
    assert (proposal.night, proposal.project) == ("n1", str(place.root))
    begun = HAND + "\n<!-- etude:begin learned -->\n"
    assert proposal.documents[0].text == begun + "- Learned.\n<!-- etude:end learned -->\n"
    assert [rule.text for rule in proposal.documents[1].rules] == ["- Learned.", "- Of the skill."]


def test_the_diff_shows_the_block_and_makes_hidden_characters_visible(tmp_path: Path) -> None:
    place = project(tmp_path)
    folder = offer(place, [(place.memory, "- a\u202eb\x1b[31m\n"), (place.skill, "- c\n")])
    diff = readable(read_proposal(folder))
    assert "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n" in diff
    assert "+- a<U+202E>b<U+001B>[31m\n" in diff
    assert "--- /dev/null\n+++ b/.claude/skills/learned/SKILL.md\n" in diff


def test_a_second_proposal_of_a_night_replaces_the_first(tmp_path: Path) -> None:
    place = project(tmp_path)
    both(place)
    folder = offer(place, [(place.memory, "- Other.\n")])
    assert [one.live.path for one in read_proposal(folder).documents] == [str(place.memory)]


@pytest.mark.parametrize("night", ["", "../x", ".x", "a/b", "a" * 65, "a\n"])
def test_a_night_is_named_like_a_folder(tmp_path: Path, night: str) -> None:
    one = proposed(project(tmp_path), tmp_path / "project" / "CLAUDE.md", "- a\n")
    with pytest.raises(ValidationError, match="pattern"):
        Proposal(night=night, project=str(tmp_path), documents=(one,))


@pytest.mark.parametrize("text", ["", '{"version": 1}', '{"night": "n1", "project": "/p", "documents": []}'])
def test_a_proposal_of_another_kind_or_of_nothing_is_refused(tmp_path: Path, text: str) -> None:
    folder = both(project(tmp_path))
    (folder / "proposal.json").write_text(text)
    with pytest.raises(InputError, match=r"proposal.json' cannot be read"):
        read_proposal(folder)


def test_a_folder_without_proposal_json_is_not_a_proposal(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no proposal"):
        read_proposal(tmp_path)


def test_files_of_a_proposal_are_for_the_user_alone(tmp_path: Path) -> None:
    folder = both(project(tmp_path))
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}
