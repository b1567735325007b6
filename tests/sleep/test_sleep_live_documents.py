"""Where the documents of a project are."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_night import run_night

from etude.errors import SkillError
from etude.records import Skill
from etude.skill import Document, validate_skill
from etude.sleep.config import SleepSection, make_sleep_config
from etude.sleep.live_documents import check_writable, documents_of, located, read_document, skill_paths
from etude.sleep.state import Surroundings
from rows import rows


@rows(
    ("agent", "memory", "skill"),
    [
        ("claude-code", "CLAUDE.md", ".claude/skills/s/SKILL.md"),
        ("codex", "AGENTS.md", ".codex/skills/s/SKILL.md"),
        ("opencode", "AGENTS.md", ".opencode/skills/s/SKILL.md"),
        ("pi", "AGENTS.md", ".pi/skills/s/SKILL.md"),
        ("gemini-cli", "GEMINI.md", ".gemini/skills/s/SKILL.md"),
        ("qwen-code", "QWEN.md", ".qwen/skills/s/SKILL.md"),
        ("copilot-cli", ".github/copilot-instructions.md", ".github/skills/s/SKILL.md"),
        ("copilot", ".github/copilot-instructions.md", ".github/skills/s/SKILL.md"),
        ("cursor", ".cursor/rules/etude.mdc", ".agents/skills/s/SKILL.md"),
    ],
)
def test_each_agent_has_its_own_memory_file_and_folder_of_skills(agent: str, memory: str, skill: str) -> None:
    around = Surroundings(home=Path("/nobody"), environ={})
    found = documents_of(SleepSection(project="/p", agent=agent, skill="s"), around)
    assert (found.skill.path, found.memory.path) == (f"/p/{skill}", f"/p/{memory}")


def test_what_a_new_file_is_to_import_is_known_as_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("- Always use deno.\n")
    (tmp_path / "CLAUDE.local.md").write_text("- Mine.\n")  # for which no AGENTS.md is read today
    around = Surroundings(home=tmp_path / "home", environ={})
    found = documents_of(SleepSection(project=str(tmp_path), agent="claude-code", skill="s"), around)
    assert found.memory.begins == "@AGENTS.md\n\n"
    assert "- Always use deno.\n" in found.others


def test_the_skills_of_a_project_are_found_by_their_folders(tmp_path: Path) -> None:
    paths = {name: tmp_path / ".codex/skills" / name / "SKILL.md" for name in ("a", "b")}
    for path in reversed(paths.values()):
        path.parent.mkdir(parents=True)
        path.write_text("x")
    (tmp_path / ".codex/skills/empty").mkdir()
    assert list(skill_paths(tmp_path, "codex").items()) == list(paths.items())
    assert skill_paths(tmp_path, "claude-code") == {}


def test_a_document_is_read_with_its_bytes_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_bytes("\ufeffa\r\n".encode())
    path.chmod(0o604)
    live = read_document(path, "memory", tmp_path)
    assert (live.data, live.mode, live.text, live.opening) == ("\ufeffa\r\n".encode(), 0o604, *["\ufeffa\r\n"] * 2)
    assert live.path == live.real == str(path)


@contextmanager
def a_folder_that_belongs_to_others() -> Generator[Path]:
    """As a user who may read it. Only root can be told nothing by rights, and becomes somebody else here."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        (folder / "CLAUDE.md").write_text("Use tabs.\n")
        (folder / "own").mkdir()
        (folder / "own").chmod(0o777)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_a_document_that_cannot_be_written_is_refused() -> None:
    with a_folder_that_belongs_to_others() as folder:
        for name, kind in (("CLAUDE.md", "memory"), (".claude/skills/learned/SKILL.md", "skill")):
            with pytest.raises(SkillError) as error:
                check_writable(read_document(folder / name, kind, folder))
            assert str(error.value) == (
                f"'{folder / name}' could not be changed: '{folder}' is read-only for this user\n"
                f"hint: allow it, or set `sleep.{kind}` to another file, or to false"
            )
        check_writable(read_document(folder / "own" / "deep" / "CLAUDE.md", "memory", folder))
        model, state = {"model": "simulated:target"}, folder / "own" / "state"
        sleep = {"project": str(folder), "skill": False}
        config = make_sleep_config({"target": model, "optimizer": model, "sleep": sleep})
        with pytest.raises(SkillError, match="read-only"):
            run_night(config, Surroundings(home=folder, environ={"XDG_STATE_HOME": str(state)}))
        assert not state.exists()  # so nothing was paid for


def test_a_new_skill_begins_with_the_front_matter_that_skills_need(tmp_path: Path) -> None:
    assert read_document(tmp_path / "sub" / "AGENTS.md", "memory", tmp_path).opening == ""
    live = read_document(tmp_path / "learned" / "SKILL.md", "skill", tmp_path)
    assert (live.data, live.mode, live.text) == (None, None, "")
    assert validate_skill(Skill(name="learned", text=live.opening), strict=True) == []


def test_a_new_rule_file_of_cursor_is_always_applied(tmp_path: Path) -> None:
    live = read_document(tmp_path / ".cursor/rules/etude.mdc", "memory", tmp_path)
    assert Document.parse(live.opening).meta["alwaysApply"] is True


def test_a_link_is_followed_to_the_file_that_holds_the_text(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("a\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    live = read_document(tmp_path / "CLAUDE.md", "memory", tmp_path)
    assert (live.path, live.real) == (str(tmp_path / "CLAUDE.md"), str(tmp_path / "AGENTS.md"))


def test_a_project_reached_through_a_link_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "CLAUDE.md").write_text("a\n")
    live = read_document(tmp_path / "link" / "CLAUDE.md", "memory", tmp_path / "link")
    assert live.real == str(tmp_path / "real" / "CLAUDE.md")


def test_a_file_outside_of_the_project_has_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "shared.md").write_text("a\n")
    (tmp_path / "p" / "CLAUDE.md").symlink_to("../shared.md")
    with pytest.raises(SkillError, match=r"CLAUDE.md' is at '.*shared.md', outside of the project"):
        read_document(tmp_path / "p" / "CLAUDE.md", "memory", tmp_path / "p")
    live = read_document(tmp_path / "p" / "CLAUDE.md", "memory", tmp_path / "p", [tmp_path / "shared.md"])
    assert live.real == str(tmp_path / "shared.md")


@pytest.mark.parametrize("name", ["a.txt", ".git/a.md", "Makefile"])
def test_only_markdown_outside_of_version_control_is_a_document(tmp_path: Path, name: str) -> None:
    with pytest.raises(SkillError, match="is not a Markdown document"):
        located(tmp_path / name, tmp_path)


def test_a_link_to_nothing_or_to_what_is_no_markdown_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("x")
    for target, why in (("a.sh", "is not a Markdown document"), ("b.md", "is a link to nothing")):
        (tmp_path / f"{target}.md").symlink_to(target)
        with pytest.raises(SkillError, match=why):
            located(tmp_path / f"{target}.md", tmp_path)


def test_a_folder_a_pipe_and_a_file_in_place_of_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    os.mkfifo(tmp_path / "b.md")
    (tmp_path / "c").write_text("x")
    for name in ("a.md", "b.md", "c/d.md"):
        with pytest.raises(SkillError, match="is not a regular file in a folder"):
            located(tmp_path / name, tmp_path)


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"a\xff", "is not UTF-8: byte 1 is 0xff"), (b"<!-- etude:begin learned -->\n", "line 1: .* is not closed")],
)
def test_a_file_that_is_no_document_is_an_error_that_names_it(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a.md").write_bytes(data)
    with pytest.raises(SkillError, match=f"a.md'.*{why}"):
        read_document(tmp_path / "a.md", "memory", tmp_path)


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match=r"a.md' cannot be read: .*too long"):
        read_document(tmp_path / f"{'a' * 300}.md", "memory", tmp_path)
