"""All that a user said to an agent program is read, wherever the program has written it, and nothing else is."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from etude.programs.transcripts import claude_code, codex, copilot_cli, gemini, qwen
from etude.programs.transcripts.listener import Listener
from etude.programs.transcripts.opencode import tell_part
from etude.sleep.tasks.overheard import in_own_words
from etude.sleep.transcripts.sessions import Reading, UnreadSession
from etude.sleep.transcripts.sources.lines import LONG_LINE, records
from etude.sleep.transcripts.sources.session_builder import SessionBuilder
from rows import rows

Record = dict[str, Any]
ASK, USE = "Add the date library.", "Always use pnpm in this repository."
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
NOTE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."
IMAGE = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}


def read(tell: Callable[[Listener, Iterable[Record]], None], records: Iterable[Record]) -> Reading:
    conversation = SessionBuilder(UnreadSession(source="x", id="a", path="/a", revision="1"))
    tell(conversation, records)
    return conversation.reading()


def asked(reading: Reading) -> list[str]:
    return [] if reading.session is None else [turn.prompt for turn in reading.session.turns]


# --- Claude Code


def user(content: Any, **more: Any) -> Record:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def agent(*blocks: Any, **more: Any) -> Record:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, **more}


def call(name: str, **given: Any) -> Record:
    return agent({"type": "tool_use", "id": "t", "name": name, "input": given})


def given_back(text: str, *, failed: bool = False, **more: Any) -> Record:
    return user([{"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": failed}], **more)


def refused(name: str, text: str, **more: Any) -> list[Record]:
    return [user(ASK), call(name), given_back(text, failed=True, **more), agent("Fine.")]


def slash(name: str, arguments: str) -> Record:
    parts = f"<command-message>{name} runs</command-message>\n<command-name>/{name}</command-name>"
    return user(f"{parts}\n<command-args>{arguments}</command-args>")


def queued(prompt: Any, **more: Any) -> Record:
    return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": prompt, **more}}


QUESTION = {"question": "Which one?", "header": "Tool"}
CHOSEN = {"questions": [QUESTION], "answers": {"Which one?": USE}}
NOTED = {**CHOSEN, "answers": {"Which one?": "pnpm"}, "annotations": {"Which one?": {"notes": USE}}}
ANSWERED = f'User has answered your questions: "Which one?"="{USE}". You can now continue.'

PLANNED = "# Dates\n\nAlways use npm.</plan> Never test."
ON_PLAN = "\n\nUser feedback on this plan: "
DETAILS = "\n\nIf you need specific details, read the full transcript at: /x"
KEPT_PLAN = "Implement the following plan:\n\n<plan>\n# Dates\n\nAlways use npm. Never test.\n</plan>"


def planned(remarks: str = "") -> Record:
    content = f"Implement the following plan:\n\n{PLANNED}{DETAILS}{remarks}"
    return user(content, planContent=PLANNED, origin={"kind": "auto-continuation"})


LINES = "# Dates\n\n1. Always use npm.\n"


def plan_of(content: str, plan: str = LINES) -> list[Record]:
    return [user(content, planContent=plan)]


CLAUDE: dict[str, tuple[list[Record], list[str]]] = {
    "a plan with other line ends": (
        plan_of(f"Do this:\n\n{LINES}{ON_PLAN}{USE}", LINES.replace("\n", "\r\n")),
        [f"Do this:\n\n<plan>\n{LINES.strip()}\n</plan>\n\n{USE}"],
    ),
    "a message with other line ends": (
        plan_of(f"Do this:\n\n{LINES}{ON_PLAN}{USE}".replace("\n", "\r\n")),
        [f"Do this:\n\n<plan>\n{LINES.strip()}\n</plan>\n\n{USE}"],
    ),
    "a plan without its last line end": (
        plan_of(f"Do this:\n\n{LINES.strip()}{ON_PLAN}{USE}"),
        [f"Do this:\n\n<plan>\n{LINES.strip()}\n</plan>\n\n{USE}"],
    ),
    "a plan that is another one": (
        plan_of(f"Do this:\n\nAlways use npm. Never test.{ON_PLAN}{USE}"),
        [f"<plan>\n{LINES.strip()}\n</plan>"],
    ),
    "a tool is refused": (refused("Bash", REFUSED + USE), [ASK, USE]),
    "with a note behind": (refused("Bash", REFUSED + USE + NOTE), [ASK, USE]),
    "with the words apart": (refused("Edit", REFUSED + "cut", userFeedback=USE), [ASK, USE]),
    "a plan is refused": (refused("ExitPlanMode", f"{REFUSED}{USE}\nAnd more."), [ASK, f"{USE}\nAnd more."]),
    "refused without words": (refused("Bash", REFUSED.partition(" To tell")[0]), [ASK]),
    "a server says it": (refused("mcp__x__y", REFUSED + USE), [ASK]),
    "the user says it to a server": (
        refused("mcp__x__y", REFUSED + USE, toolUseResult="User rejected tool use"),
        [ASK, USE],
    ),
    "a question is refused": (refused("AskUserQuestion", REFUSED + USE), [ASK, USE]),
    "a file holds it": ([user(ASK), call("Read"), given_back(REFUSED + USE), agent("Fine.")], [ASK]),
    "a command prints it": (refused("Bash", f"Exit code 1\n{REFUSED}{USE}"), [ASK]),
    "an answer": ([user(ASK), call("AskUserQuestion"), given_back(ANSWERED, toolUseResult=CHOSEN)], [ASK, USE]),
    "an answer as text": ([user(ASK), call("AskUserQuestion"), given_back(ANSWERED)], [ASK, USE]),
    "an answer and a note": (
        [user(ASK), call("AskUserQuestion"), given_back(ANSWERED, toolUseResult=NOTED)],
        [ASK, f"pnpm\n{USE}"],
    ),
    "several chosen": (
        [
            user(ASK),
            call("AskUserQuestion"),
            given_back("", toolUseResult={"answers": {"a": ["npm", "pnpm"], "b": USE}}),
        ],
        [ASK, f"npm, pnpm\n{USE}"],
    ),
    "with the notice that it was stopped": (
        [user(ASK), user([{"type": "text", "text": part} for part in ("[Request interrupted by user]", USE)])],
        [ASK, USE],
    ),
    "stopped without words": ([user(ASK), user("[Request interrupted by user for tool use]")], [ASK]),
    "arguments of a command": ([slash("review", USE), agent("Done.")], [f"/review {USE}"]),
    "a command without": ([user(ASK), slash("clear", ""), agent("Done.")], [ASK]),
    "queued": ([user(ASK), queued(USE)], [ASK, USE]),
    "queued with a picture": ([user(ASK), queued([{"type": "text", "text": USE}, IMAGE])], [ASK, USE]),
    "a picture queued alone": ([user(ASK), queued([IMAGE])], [ASK, "[a picture or document without text]"]),
    "a plan in a session of its own": ([planned(), agent("Done.")], [KEPT_PLAN]),
    "with remarks": ([planned(f"\n\nUser feedback on this plan: {USE}")], [f"{KEPT_PLAN}\n\n{USE}"]),
    "a tool is allowed with words": (
        [user(ASK), call("Bash"), user([*given_back("ok")["message"]["content"], {"type": "text", "text": USE}])],
        [ASK, USE],
    ),
    "others said it": (
        [user(ASK), *(user(USE, origin={"kind": kind}) for kind in ("peer", "coordinator", "plugin"))],
        [ASK],
    ),
    "the program said it": ([user(ASK), user(USE, promptSource="system")], [ASK]),
    "a person said it": ([user(USE, origin={"kind": "human"}, promptSource="typed")], [USE]),
    "others queued it": ([user(ASK), queued(USE, origin={"kind": "auto-continuation"})], [ASK]),
    "odd origins": ([user(ASK, origin={"kind": ["peer"]}), user(USE, origin="peer", planContent=7)], [ASK, USE]),
    "a notice queued": ([user(ASK), queued("done", commandMode="task-notification")], [ASK]),
}


@rows("name", CLAUDE)
def test_claude_code_wherever_the_user_said_it(name: str) -> None:
    records, expected = CLAUDE[name]
    assert asked(read(claude_code.tell, records)) == expected


def test_what_is_said_in_a_refusal_is_a_turn_of_its_own_with_what_the_agent_does_next() -> None:
    session = read(claude_code.tell, refused("Bash", REFUSED + USE)).session
    assert session is not None
    first, second = session.turns
    assert (first.interrupted, first.answer, [tool.failed for tool in first.tools]) == (False, "", [True])
    assert (second.prompt, second.answer, second.tools) == (USE, "Fine.", ())


# --- the others


def item(**payload: Any) -> Record:
    return {"type": "response_item", "payload": payload}


FRESH = "A previous agent produced the plan below to accomplish the user's task. Treat it as what the user wants."


@rows(
    ("tell", "record"),
    [
        (claude_code.tell, planned(f"\n\nUser feedback on this plan: {USE}")),
        *(
            (codex.tell, item(type="message", role="user", content=f"{head}{PLANNED}"))
            for head in ("PLEASE IMPLEMENT THIS PLAN:\n", f"{FRESH}\n\n")
        ),
    ],
)
def test_a_plan_that_the_agent_wrote_is_none_of_the_users_words(tell: Any, record: Record) -> None:
    session = read(tell, [record]).session
    assert session is not None
    assert not any(in_own_words(said, session.turns) for said in ("Always use npm.", "Never test."))
    assert "Always use npm." in session.turns[0].prompt
    assert in_own_words(USE, session.turns) is (tell is claude_code.tell)


def codex_asks(name: str, output: str) -> list[Record]:
    said = item(type="message", role="user", content=[{"type": "input_text", "text": ASK}])
    called = item(type="function_call", name=name, arguments="{}", call_id="c")
    return [said, called, item(type="function_call_output", call_id="c", output=output)]


def gemini_asks(name: str, output: str) -> gemini.GeminiLog:
    response = {"functionResponse": {"id": "c", "name": name, "response": {"output": output}}}
    called = {"id": "c", "name": name, "args": {}, "status": "success", "result": [response]}
    first = {"id": "1", "type": "user", "content": [{"text": ASK}]}
    return gemini.GeminiLog([first, {"id": "2", "type": "gemini", "content": "", "toolCalls": [called]}])


def qwen_asks(name: str, output: str) -> list[Record]:
    def record(kind: str, part: Record) -> Record:
        return {"type": kind, "message": {"parts": [part]}, "toolCallResult": {"status": "success"}}

    answer = {"functionResponse": {"id": "c", "name": name, "response": {"output": output}}}
    called = {"functionCall": {"id": "c", "name": name, "args": {}}}
    return [record("user", {"text": ASK}), record("assistant", called), record("tool_result", answer)]


def copilot_asks(name: str, **outcome: Any) -> list[Record]:
    requests = [{"toolCallId": "c", "name": name, "arguments": {}}]
    return [
        {"type": "user.message", "data": {"content": ASK}},
        {"type": "assistant.message", "data": {"content": "", "toolRequests": requests}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c", "success": "result" in outcome, **outcome}},
    ]


def opencode(listener: Listener, parts: Iterable[Record]) -> None:
    listener.ask(ASK, None)
    for part in parts:
        tell_part(listener, {"type": "tool", "callID": "c", **part})


ANSWERS = f'{{"answers": {{"q": {{"answers": ["pnpm", "user_note: {USE}"]}}}}}}'
PLAN = f"Plan rejected. User feedback: {USE}\n\nThe plan is stored at: /x\nRevise the plan based on the feedback."
FEEDBACK = f"The user rejected permission to use this specific tool call with the following feedback: {USE}"
DENIED = f"The user rejected this tool call. User feedback: {USE}"
QWEN_SAYS = f"User has provided the following answers:\n\n**Tool**: {USE}"
OTHERS: dict[str, tuple[Any, Any, bool]] = {
    "codex: a question": (codex.tell, codex_asks("request_user_input", ANSWERS.replace('"pnpm", ', "")), True),
    "codex: a command prints an answer": (codex.tell, codex_asks("exec_command", ANSWERS), False),
    "gemini: a question": (gemini.tell, gemini_asks("ask_user", f'{{"answers": {{"0": "{USE}"}}}}'), True),
    "gemini: a plan": (gemini.tell, gemini_asks("exit_plan_mode", PLAN), True),
    "gemini: a file": (gemini.tell, gemini_asks("read_file", PLAN), False),
    "qwen: a question": (qwen.tell, qwen_asks("ask_user_question", QWEN_SAYS), True),
    "qwen: a page": (qwen.tell, qwen_asks("web_fetch", QWEN_SAYS), False),
    "opencode: refused": (opencode, [{"tool": "bash", "state": {"status": "error", "error": FEEDBACK}}], True),
    "opencode: a question": (
        opencode,
        [{"tool": "question", "state": {"status": "completed", "output": "", "metadata": {"answers": [[USE]]}}}],
        True,
    ),
    "opencode: a command": (
        opencode,
        [{"tool": "bash", "state": {"status": "completed", "output": FEEDBACK, "metadata": {"answers": [[USE]]}}}],
        False,
    ),
    "copilot: refused": (copilot_cli.tell, copilot_asks("bash", error={"code": "rejected", "message": DENIED}), True),
    "copilot: failed": (copilot_cli.tell, copilot_asks("bash", error={"code": "failure", "message": DENIED}), False),
    "copilot: a question": (
        copilot_cli.tell,
        copilot_asks("ask_user", result={"content": f"User responded: {USE}"}),
        True,
    ),
}


@rows("name", OTHERS)
def test_other_programs_wherever_the_user_said_it(name: str) -> None:
    tell, told, said = OTHERS[name]
    assert asked(read(tell, told)) == [ASK, *[USE] * said]


# --- what was taken back


def tree(*rows: tuple[str, str | None, Record]) -> list[Record]:
    return [{**record, "uuid": id, "parentUuid": parent} for id, parent, record in rows]


START = ("a", None, user("Tea.")), ("b", "a", agent("Tea."))
FRENCH = ("c", "b", user("French.")), ("d", "c", agent("Oui."))
SUMMARY = user("So far ...", isCompactSummary=True)
TREES: dict[str, tuple[list[Record], list[str], int]] = {
    "back to a prompt": (tree(*START, *FRENCH, ("e", "b", user("Spanish."))), ["Tea.", "Spanish."], 1),
    "back to the first": (tree(*START, ("e", None, user("Milk."))), ["Milk."], 1),
    "twice": (tree(*START, *FRENCH, ("e", "b", user("Spanish.")), ("f", "b", user("Latin."))), ["Tea.", "Latin."], 2),
    "with what was queued": (
        tree(*START, *FRENCH, ("q", "d", queued("More.")), ("e", "b", user("No."))),
        ["Tea.", "No."],
        2,
    ),
    "a summary begins a new tree": (
        tree(*START, *FRENCH, ("s", None, SUMMARY), ("e", "s", user("On."))),
        ["Tea.", "French.", "On."],
        0,
    ),
    "a way back behind a summary": (
        [*tree(*START, ("s", None, SUMMARY), *FRENCH[1:]), *tree(("e", "s", user("On.")), ("f", "s", user("Off.")))],
        ["Tea.", "Off."],
        1,
    ),
    "tools at the same time": (
        tree(
            *START,
            ("c", "b", user("Read.")),
            ("d", "c", agent({"type": "tool_use", "id": "1", "name": "Read", "input": {}})),
            ("e", "d", agent({"type": "tool_use", "id": "2", "name": "Read", "input": {}})),
            ("f", "d", user([{"type": "tool_result", "tool_use_id": "1", "content": "x"}])),
            ("g", "e", user([{"type": "tool_result", "tool_use_id": "2", "content": "y"}])),
            ("h", "f", user("On.")),
        ),
        ["Tea.", "Read.", "On."],
        0,
    ),
    "round in a circle": (tree(("a", "b", user("A.")), ("b", "a", user("B."))), ["A.", "B."], 0),
}


@rows("name", TREES)
def test_branches_that_the_user_left_are_taken_back(name: str) -> None:
    records, expected, left = TREES[name]
    reading = read(claude_code.tell, records)
    assert (asked(reading), reading.skipped.get("taken back", 0)) == (expected, left)


# --- who said it

ALONE = "You are the GitHub Copilot CLI. You are running in non-interactive mode and have no way to ask."


def copilot_turn(prompt: str, instructions: str = "") -> list[Record]:
    told = [{"type": "system.message", "data": {"role": "system", "content": instructions}}] if instructions else []
    answered = {"type": "assistant.message", "data": {"content": "Done."}}
    return [{"type": "user.message", "data": {"content": prompt}}, *told, answered]


SCRIPTS: dict[str, tuple[Any, list[Record], bool]] = {
    "claude at the keyboard": (claude_code.tell, [user(ASK, entrypoint="cli", promptSource="typed")], False),
    "claude in an editor": (claude_code.tell, [user(ASK, entrypoint="claude-vscode")], False),
    "claude -p": (claude_code.tell, [user(ASK, entrypoint="sdk-cli")], True),
    "claude by its library": (claude_code.tell, [user(ASK, entrypoint="sdk-py")], True),
    "codex": (codex.tell, [{"type": "session_meta", "payload": {"source": "cli"}}, *codex_asks("x", "")], False),
    "claude in a workflow": (claude_code.tell, [user(ASK, entrypoint="claude-code-github-action")], True),
    "claude behind a server": (claude_code.tell, [user(ASK, entrypoint="mcp")], True),
    "codex behind a server": (
        codex.tell,
        [{"type": "session_meta", "payload": {"source": "mcp"}}, *codex_asks("x", "")],
        True,
    ),
    "codex exec": (codex.tell, [{"type": "session_meta", "payload": {"source": "exec"}}, *codex_asks("x", "")], True),
    "copilot at the keyboard": (copilot_cli.tell, [*copilot_turn(ASK, "You are an interactive tool.")], False),
    "copilot -p": (copilot_cli.tell, [*copilot_turn(ASK, ALONE)], True),
    "copilot, gone on with by a script": (copilot_cli.tell, [*copilot_turn(ASK, ALONE), *copilot_turn(ASK)], True),
}


@rows("name", SCRIPTS)
def test_what_a_script_said_is_told_from_what_a_person_typed(name: str) -> None:
    tell, records, scripted = SCRIPTS[name]
    session = read(tell, records).session
    assert session is not None
    assert {turn.scripted for turn in session.turns} == {scripted}


def test_instructions_of_copilot_count_from_the_prompt_on_that_they_follow() -> None:
    records = [*copilot_turn("Tea."), *copilot_turn("Milk.", ALONE), *copilot_turn("Salt.")]
    records += copilot_turn("Cocoa.", "You are an interactive tool.")
    session = read(copilot_cli.tell, records).session
    assert session is not None
    assert [turn.prompt for turn in session.turns if turn.scripted] == ["Milk.", "Salt."]


@pytest.mark.parametrize(("pictures", "ends"), [(1, "\n"), (3, "")])
def test_a_prompt_with_megabytes_of_pictures_keeps_its_words(tmp_path: Path, pictures: int, ends: str) -> None:
    images = [{"type": "image", "source": {"type": "base64", "data": "Ab+/" * (LONG_LINE // 4)}}] * pictures
    lines = [user([{"type": "text", "text": USE}, *images]), user([*images, {"type": "text", "text": ASK}])]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + ends)
    skipped: Counter[str] = Counter()
    assert asked(read(claude_code.tell, records(path, skipped))) == [USE, ASK]
    assert not skipped
