import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from strict_source import StrictSourceContract

from etude.sleep.transcripts.sessions import Reading, Turn
from etude.sleep.transcripts.sources.vscode_copilot import VSCodeCopilotTranscripts
from etude.testing.source import ID, OTHER, PROJECT, START, dated, turns_of

STORAGE = Path(".config", "Code", "User", "workspaceStorage")


def ms(at: datetime | None) -> int:
    return round((at or START).timestamp() * 1000)


def request(prompt: str = "Do it.", *response: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "requestId": "r",
        "message": {"text": prompt},
        "agent": {"extensionId": {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"}},
        "timestamp": ms(START),
        "response": list(response),
        "modelState": {"value": 1, "completedAt": ms(START) + 9},
        **more,
    }


def used(**more: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolId": "run", "toolCallId": "c", **more}


def write(
    home: Path, *operations: dict[str, Any], id: str = ID, workspace: Any = None, storage: Path = STORAGE
) -> Path:
    folder = home / storage / f"w-{id}"
    path = folder / "chatSessions" / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    (folder / "workspace.json").write_text(
        json.dumps({"folder": f"file://{PROJECT}"} if workspace is None else workspace)
    )
    path.write_text("".join(json.dumps(each) + "\n" for each in operations))
    return path


def start(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"kind": 0, "v": {"sessionId": ID, "creationDate": ms(START), "requests": list(requests)}}


def read(home: Path) -> Reading:
    (found,) = VSCodeCopilotTranscripts().find(home, {})
    return VSCodeCopilotTranscripts().read(found)


def turns(home: Path) -> list[tuple[str, str, bool]]:
    session = read(home).session
    return [] if session is None else [(turn.prompt, turn.answer, turn.interrupted) for turn in session.turns]


class TestVSCode(StrictSourceContract):
    def make_source(self) -> VSCodeCopilotTranscripts:
        return VSCodeCopilotTranscripts()

    def write_session(self, home: Path, turns: Sequence[Turn], *, id: str = ID, project: str = PROJECT) -> Path:
        operations: list[dict[str, Any]] = [start()]
        for number, turn in enumerate(turns):
            asked = request(turn.prompt, timestamp=ms(turn.at), modelState={"value": 0})
            response: list[dict[str, Any]] = [
                used(
                    toolId=tool.name,
                    toolCallId=f"{number}-{call}",
                    resultDetails={"input": tool.arguments, "output": [{"type": "embed", "value": tool.result}]},
                )
                for call, tool in enumerate(turn.tools)
            ]
            response.append({"value": turn.answer})
            state = {"value": 1, "completedAt": ms(turn.at) + 1}
            operations += [
                {"kind": 2, "k": ["requests"], "v": [asked]},
                {"kind": 2, "k": ["requests", number, "response"], "v": response, "i": 0},
                {"kind": 1, "k": ["requests", number, "modelState"], "v": state},
            ]
        return dated(write(home, *operations, id=id, workspace={"folder": f"file://{project}"}), turns)


def test_values_are_set_added_cut_off_and_deleted_at_their_path(tmp_path):
    write(
        tmp_path,
        start(request("One.", {"value": "old"}), request("Two."), request("Three.")),
        {"kind": 1, "k": ["requests", 0, "message", "text"], "v": "First."},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "new"}], "i": 0},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"kind": "markdownContent", "value": " text"}]},
        {"kind": 3, "k": ["requests", 1]},
        {"kind": 1, "k": ["requests", 1], "v": request("Third.")},
        {"kind": 3, "k": ["requests", 1, "modelState"]},
    )
    assert read(tmp_path).skipped == {}
    assert turns(tmp_path) == [("First.", "new text", False), ("Third.", "", True)]


@pytest.mark.parametrize(
    "operation",
    [
        {"kind": 4, "k": ["requests"], "v": 1},
        {"kind": 1, "v": 1},
        {"kind": 1, "k": ["no", "such"], "v": 1},
        {"kind": 1, "k": ["requests", 9], "v": 1},
        {"kind": 2, "k": ["sessionId"], "v": ["x"]},
        {"kind": 3, "k": ["requests", 9]},
        {},
    ],
)
def test_an_operation_that_fits_nothing_is_counted_and_changes_nothing(operation, tmp_path):
    write(tmp_path, start(request("Do it.", {"value": "Done."})), operation)
    assert read(tmp_path).skipped == {"broken line": 1}
    assert turns(tmp_path) == [("Do it.", "Done.", False)]


def test_other_agents_prompts_of_the_program_and_empty_ones_are_left_out_and_counted(tmp_path):
    write(
        tmp_path,
        start(
            request("Not for it.", agent={"extensionId": "someone.else"}),
            request("Nobody's.", agent=None),
            request("By itself.", isSystemInitiated=True),
            request(""),
            request("Mine.", {"value": "Done."}, agent={"extensionId": "GitHub.copilot-chat"}),
        ),
    )
    assert read(tmp_path).skipped == {"empty": 1, "meta": 1, "other agent": 2}
    assert turns(tmp_path) == [("Mine.", "Done.", False)]


def test_tools_are_reported_between_the_texts(tmp_path):
    details = {"input": '{"a": 1}', "output": [{"value": "one"}, {"value": "two"}], "isError": True}
    write(
        tmp_path,
        start(
            request(
                "Do it.",
                {"value": "I will"},
                {"value": " look."},
                {"kind": "progressTask", "value": "not said"},
                used(resultDetails=details),
                used(toolCallId="d", toolSpecificData={"kind": "input", "rawInput": {"b": 2}}),
            )
        ),
    )
    session = read(tmp_path).session
    assert session is not None
    (turn,) = session.turns
    assert [(tool.name, tool.arguments, tool.result, tool.failed) for tool in turn.tools] == [
        ("run", '{"a": 1}', "one\ntwo", True),
        ("run", '{"b": 2}', "", None),
    ]
    assert (turn.answer, turn.interrupted) == ("I will look.", False)


@pytest.mark.parametrize(
    "end",
    [{"modelState": {"value": 2}}, {"modelState": {"value": 3}}, {"result": {"errorDetails": {"message": "no"}}}],
)
def test_a_request_that_was_cancelled_or_failed_is_interrupted(end, tmp_path):
    write(tmp_path, start(request("Do it.", {"value": "I will"}, **end)))
    assert turns(tmp_path) == [("Do it.", "I will", True)]


@pytest.mark.parametrize(
    ("workspace", "project"),
    [
        ({"folder": "file:///home/user/my%20%C3%BC"}, "/home/user/my ü"),
        ({"workspace": "file:///home/user/all.code-workspace"}, "/home/user"),
        ({"folder": "vscode-remote://ssh/home/user/demo"}, ""),
        ({"folder": "file://host/share"}, ""),
        ({"folder": "file://[broken"}, ""),
        ({"folder": 5}, ""),
        ([], ""),
    ],
)
def test_the_project_is_the_folder_of_the_workspace(workspace, project, tmp_path):
    write(tmp_path, start(request("Do it.")), workspace=workspace)
    session = read(tmp_path).session
    assert session is not None
    assert session.project == project


def test_a_session_without_a_workspace_is_read_without_a_project(tmp_path):
    path = write(tmp_path, start(request("Do it.")))
    (path.parents[1] / "workspace.json").unlink()
    session = read(tmp_path).session
    assert session is not None
    assert (session.project, session.started) == ("", datetime(2026, 5, 4, 10, tzinfo=UTC))


def test_every_edition_and_place_is_looked_at(tmp_path):
    below = Path("User", "workspaceStorage")
    places = {
        OTHER: Path("moved", "Code - Insiders") / below,
        ID: Path("Library", "Application Support", "Code") / below,
        "portable": Path("stick", "user-data") / below,
    }
    for id, storage in places.items():
        write(tmp_path, start(request("Do it.")), id=id, storage=storage)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "moved"), "VSCODE_PORTABLE": str(tmp_path / "stick")}
    assert {found.id for found in VSCodeCopilotTranscripts().find(tmp_path, environ)} == set(places)
    path = TestVSCode().write_session(tmp_path, turns_of("Do it."), id="beside")
    path.rename(path.parents[1] / path.name)
    assert list(VSCodeCopilotTranscripts().find(tmp_path, {})) == [
        found for found in VSCodeCopilotTranscripts().find(tmp_path, {}) if found.id == ID
    ]
