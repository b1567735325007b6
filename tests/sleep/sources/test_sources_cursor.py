import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strict_source import StrictSourceContract

from etude.sleep.transcripts.sessions import Turn
from etude.sleep.transcripts.sources.cursor import CursorTranscripts
from etude.testing.source import ID, OTHER, PROJECT, dated, turns_of


def line(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "message": {"role": role, "content": content}}


def write(home: Path, *lines: dict[str, Any], id: str = ID, project: str = PROJECT) -> Path:
    workspace = home / ".cursor" / "projects" / project.strip("/").replace("/", "-")
    path = workspace / "agent-transcripts" / id / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    (workspace / ".workspace-trusted").write_text(json.dumps({"workspacePath": project}))
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


class TestCursor(StrictSourceContract):
    has_times = False
    has_results = False

    def make_source(self) -> CursorTranscripts:
        return CursorTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        lines: list[dict[str, Any]] = []
        for turn in turns:
            said = f"<timestamp>today</timestamp>\n<user_query>\n{turn.prompt}\n</user_query>"
            lines.append(line("user", [{"type": "text", "text": said}]))
            calls = [
                {"type": "tool_use", "name": tool.name, "input": json.loads(tool.arguments)} for tool in turn.tools
            ]
            lines += [line("assistant", calls), line("assistant", [{"type": "text", "text": turn.answer}])]
            lines.append({"type": "turn_ended", "status": "success"})
        return dated(write(home, *lines, id=id, project=project), turns)


def test_texts_without_a_frame_are_prompts(tmp_path):
    calls = [{"type": "tool_use", "name": "write", "input": {"path": "/p/a.md"}}]
    write(
        tmp_path,
        line("user", "Do it."),
        line("assistant", "Done."),
        {"type": "turn_ended", "status": "success"},
        line("user", "<user_query> never closed"),
        line("user", [{"type": "tool_result", "content": "no words of the user"}]),
        line("assistant", calls),
        {"type": "turn_ended", "status": "success"},
    )
    (found,) = CursorTranscripts().find(tmp_path, {})
    session = CursorTranscripts().read(found).session
    assert session is not None
    assert [(turn.prompt, turn.answer, turn.interrupted) for turn in session.turns] == [
        ("Do it.", "Done.", False),
        ("<user_query> never closed", "", False),
    ]
    assert (session.started, session.ended) == (None, found.changed)


def test_a_turn_that_ended_with_an_error_is_interrupted(tmp_path):
    write(tmp_path, line("user", "Do it."), line("assistant", "I will"), {"type": "turn_ended", "status": "error"})
    (found,) = CursorTranscripts().find(tmp_path, {})
    session = CursorTranscripts().read(found).session
    assert session is not None
    assert session.turns[0].interrupted


def test_transcripts_of_sub_agents_and_other_files_are_not_found(tmp_path):
    path = TestCursor().write_session(tmp_path, turns_of("Do it."))
    for other in (path.parent / "subagents" / "a.jsonl", path.parents[2] / "terminals" / "b" / f"{OTHER}.jsonl"):
        other.parent.mkdir(parents=True)
        other.write_bytes(path.read_bytes())
    assert [found.id for found in CursorTranscripts().find(tmp_path, {})] == [ID]


def unwritten_project(home: Path, project: str) -> str:
    """The project of a session whose workspace has nothing but its name to tell it by."""
    path = write(home, line("user", "Do it."), project=re.sub("[^A-Za-z0-9]", "-", project))
    (path.parents[2] / ".workspace-trusted").unlink()
    (found,) = CursorTranscripts().find(home, {})
    session = CursorTranscripts().read(found).session
    assert session is not None
    return session.project


def test_where_the_folder_is_not_written_down_it_is_the_one_that_the_workspace_is_named_after(tmp_path):
    project = tmp_path / "my" / "new.app_2" / "über-x"
    project.mkdir(parents=True)
    (tmp_path / "my" / "new").mkdir()
    (tmp_path / "my-new").write_text("a file")
    assert unwritten_project(tmp_path / "home", str(project)) == str(project)


def test_a_workspace_whose_folder_is_gone_has_no_project(tmp_path):
    assert unwritten_project(tmp_path, str(tmp_path / "gone")) == ""
