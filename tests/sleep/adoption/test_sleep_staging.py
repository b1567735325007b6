"""Proposals on disk."""

import json
from pathlib import Path

import pytest
from sleep_proposals import HAND, both, offer, project, proposed

from etude.errors import InputError
from etude.records import digest
from etude.sleep.adoption.proposal import (
    Proposal,
    escaped,
    outside_is_kept,
    proposed_rules,
    proposed_text,
    read_proposal,
    stage,
)
from etude.sleep.adoption.rules import Evidence
from etude.sleep.places import read_document, sha256
from rows import rows


def test_a_proposal_holds_the_new_files_a_diff_a_report_the_rules_and_a_manifest(tmp_path: Path) -> None:
    place = project(tmp_path)
    folder = both(place)
    assert sorted(path.name for path in folder.iterdir()) == [
        "0-CLAUDE.md",
        "1-SKILL.md",
        "manifest.json",
        "proposal.diff",
        "report.md",
        "rules.json",
    ]
    manifest = read_proposal(folder)
    assert [(item.name, item.kind, item.live_sha256 is None) for item in manifest.items] == [
        ("CLAUDE.md", "memory", False),
        (".claude/skills/learned/SKILL.md", "skill", True),
    ]
    assert (manifest.night, manifest.project, manifest.verdict) == ("n1", str(place.root), "ship")
    begun = HAND + "\n<!-- etude:begin learned -->\n"
    assert proposed_text(folder, manifest.items[0]) == begun + "- Learned.\n<!-- etude:end learned -->\n"
    rules = proposed_rules(folder, manifest).documents
    assert [rule.text for rule in rules[str(place.skill)]] == ["- Learned.", "- Of the skill."]


def test_nothing_of_the_project_changes_when_a_proposal_is_staged(tmp_path: Path) -> None:
    place = project(tmp_path)
    before = place.files()
    both(place)
    assert place.files() == before


def test_the_diff_shows_the_block_and_makes_hidden_characters_visible(tmp_path: Path) -> None:
    place = project(tmp_path)
    folder = offer(place, [(place.memory, "- a\u202eb\x1b[31m\n"), (place.skill, "- c\n")])
    diff = (folder / "proposal.diff").read_text()
    assert "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n" in diff
    assert "+- a<U+202E>b<U+001B>[31m\n" in diff
    assert "--- /dev/null\n+++ b/.claude/skills/learned/SKILL.md\n" in diff


def test_the_report_shows_rules_with_their_evidence_and_what_to_look_at(tmp_path: Path) -> None:
    place = project(tmp_path, HAND + "\n<!-- etude:begin learned -->\n- Old.\n<!-- etude:end learned -->\n")
    behind = Evidence(sessions=("codex:1",), tasks=("t1", "t2"), attempts=("a1",), note="It *was* forgotten.")
    folder = offer(
        place, [(place.memory, "- Read <b>x</b>\x1b[0m [a](http://e.test) first.\n")], evidence={"first": behind}
    )
    report = (folder / "report.md").read_text()
    (rule,) = [
        rule for rule in proposed_rules(folder, read_proposal(folder)).documents[str(place.memory)] if rule.night
    ]
    assert report.startswith(
        "# Night n1\n\nVerdict of fresh attempts: ship.\n\n## CLAUDE.md\n\n### New\n\n"
        rf"- \- Read \<b\>x\</b\>\[0m \[a\]\(http:\//e.test\) first. ({rule.id})"
        "\n  - tasks: t1, t2\n  - attempts: a1\n  - sessions: codex:1\n  - why: It \\*was\\* forgotten.\n"
    )
    for what in ("a character that does not show", "code", "a path", "an address"):
        assert f"  - to look at: holds {what}" in report
    assert report.endswith(
        "### Taken out\n\n"
        rf"- \- Old. ({proposed(place, place.memory, '- x', night='n2').before[0].id})"
        "\n\nSaid \\*so\\*.\n"
    )


def test_the_report_shows_all_of_a_rule_that_may_be_proposed(tmp_path: Path) -> None:
    place = project(tmp_path)
    rule = ("- " + "Keep it short. " * 150)[:1992] + " Payload"
    folder = offer(place, [(place.memory, f"{rule}\n")])
    assert f"{rule[2:]} (" in (folder / "report.md").read_text()


@rows(
    ("text", "expected"),
    [
        ("a\n# b", r"a \# b"),
        ("1. x", r"1\. x"),
        ("12.", r"12\."),
        ("2) x", r"2\) x"),
        ("2 attempts", "2 attempts"),
        ("1.5 s", "1.5 s"),
        ("- x", r"\- x"),
        ("--- x", r"\--- x"),
        ("a\u200b`b`|c", r"a\`b\`\|c"),
        ("![x](y)", r"\!\[x\]\(y\)"),
        ("a-b 1.5", "a-b 1.5"),
    ],
)
def test_untrusted_text_in_a_report_is_text_and_nothing_else(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_a_second_proposal_of_a_night_replaces_the_first(tmp_path: Path) -> None:
    place = project(tmp_path)
    both(place)
    folder = offer(place, [(place.memory, "- Other.\n")])
    assert [item.name for item in read_proposal(folder).items] == ["CLAUDE.md"]


@pytest.mark.parametrize("night", ["", "../x", ".x", "a/b", "a" * 65, "a\n"])
def test_a_night_is_named_like_a_folder(tmp_path: Path, night: str) -> None:
    with pytest.raises(InputError, match="cannot be a folder"):
        stage(tmp_path, Proposal(night=night, project=str(tmp_path), documents=()))


def test_a_proposal_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="proposes nothing"):
        stage(tmp_path, Proposal(night="n", project=str(tmp_path), documents=()))


def test_a_document_that_changed_during_the_night_is_refused(tmp_path: Path) -> None:
    place = project(tmp_path)
    one = proposed(place, place.memory, "- a\n")
    place.memory.write_text("other\n")
    with pytest.raises(InputError, match=r"CLAUDE.md' changed during the night"):
        stage(tmp_path / "night", Proposal(night="n", project=str(place.root), documents=(one,)))
    assert not (tmp_path / "night").exists()


def test_a_text_that_differs_outside_of_the_block_is_refused(tmp_path: Path) -> None:
    place = project(tmp_path)
    one = proposed(place, place.memory, "- a\n")
    wrong = one.model_copy(update={"text": one.text.replace("by hand", "by me")})
    with pytest.raises(InputError, match="differs outside of its learned block"):
        stage(tmp_path / "night", Proposal(night="n", project=str(place.root), documents=(wrong,)))


def test_what_counts_as_the_same_document_with_another_block(tmp_path: Path) -> None:
    place = project(tmp_path, "x\n")
    live = read_document(place.memory, "memory", place.root)
    block = "<!-- etude:begin learned -->\n- a\n<!-- etude:end learned -->\n"
    assert outside_is_kept(live, f"x\n\n{block}")
    assert not outside_is_kept(live, "x\n")
    assert not outside_is_kept(live, f"x\n\n\n{block}")
    assert not outside_is_kept(live, f"x\n\n{block}y\n")
    assert not outside_is_kept(live, "<!-- etude:begin learned -->\n")


def sealed(folder: Path, **changes: object) -> None:
    """Change the manifest and leave its seal."""
    place = folder / "manifest.json"
    data = json.loads(place.read_text())
    data["manifest"] |= changes
    place.write_text(json.dumps(data))


def test_a_manifest_that_somebody_changed_is_refused(tmp_path: Path) -> None:
    folder = both(project(tmp_path))
    sealed(folder, night="n2")
    with pytest.raises(InputError, match="was changed after it was written"):
        read_proposal(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"manifest": {"version": 2}, "sha256": ""}'])
def test_a_manifest_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    folder = both(project(tmp_path))
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InputError, match="not a manifest that this version can read"):
        read_proposal(folder)


def test_a_folder_without_a_manifest_is_no_proposal(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no proposal"):
        read_proposal(tmp_path)


def reseal(folder: Path, **changes: object) -> None:
    """Change the manifest and make its seal anew, as somebody would who means it."""
    sealed(folder, **changes)
    place = folder / "manifest.json"
    data = json.loads(place.read_text())
    data["sha256"] = digest(data["manifest"])
    place.write_text(json.dumps(data))


def test_a_manifest_that_names_no_document_or_one_twice_is_refused(tmp_path: Path) -> None:
    folder = both(project(tmp_path))
    items = json.loads((folder / "manifest.json").read_text())["manifest"]["items"]
    for wrong in ([], [items[0], items[0]]):
        reseal(folder, items=wrong)
        with pytest.raises(InputError, match="names no document, or one twice"):
            read_proposal(folder)


def test_a_proposed_file_that_is_not_the_one_of_the_night_is_refused(tmp_path: Path) -> None:
    folder = both(project(tmp_path))
    item = read_proposal(folder).items[0]
    for name in ("../x", "absent"):
        with pytest.raises(InputError, match="is not a file in"):
            proposed_text(folder, item.model_copy(update={"file": name}))
    (folder / "0-CLAUDE.md").write_bytes(b"\xff")
    with pytest.raises(InputError, match="was changed after it was proposed"):
        proposed_text(folder, item)
    with pytest.raises(InputError, match="is not UTF-8"):
        proposed_text(folder, item.model_copy(update={"sha256": sha256(b"\xff")}))
    (folder / "0-CLAUDE.md").unlink()
    (folder / "0-CLAUDE.md").symlink_to("1-SKILL.md")
    with pytest.raises(InputError, match="is not a file in"):
        proposed_text(folder, item)


def test_rules_of_another_version_are_refused(tmp_path: Path) -> None:
    folder = both(project(tmp_path))
    (folder / "rules.json").write_bytes(b"{}x")
    with pytest.raises(InputError, match="was changed after it was proposed"):
        proposed_rules(folder, read_proposal(folder))
    reseal(folder, rules_sha256=sha256(b"{}x"))
    with pytest.raises(InputError, match=r"rules.json' .* cannot be read"):
        proposed_rules(folder, read_proposal(folder))


def test_files_of_a_proposal_are_for_the_user_alone(tmp_path: Path) -> None:
    folder = both(project(tmp_path))
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}
