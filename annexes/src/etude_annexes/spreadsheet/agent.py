"""The agent that changes workbooks by writing Python."""

from pathlib import Path
from typing import ClassVar

from etude.envs.scorers.answer_scorer import shorten
from etude.protocols import Agent, ChatModel
from etude.records import ChatRequest, File, Message, Skill, Task, Trajectory, Usage, assistant, digest, system, user
from etude.records.said import cut_off_at, said_in
from etude.sandbox import NotKept, Workspace
from etude.skill import Document
from etude_annexes.spreadsheet.data import INPUT, OUTPUT
from etude_annexes.spreadsheet.python import CodeResult, Python

_LANGUAGES = frozenset({"", "python", "python3", "py"})
_NO_CODE = "The reply has no code block in Python."
_CUT_OFF = "The reply was cut off before its end."
_MOST_CUTS = 2
"""Replies without code that are cut off at the token limit: a third one would be, too."""


class CodeAgent(Agent):
    """Asks for code and runs it next to a copy of the workbook, until it ends without an error and has saved the
    result, at most `turns` times.

    What the model reads about its code is what the code printed and how it ended, in training and in evaluation.
    Attempts are facts: the code decides what is asked next, and may do something else when it is run again.
    """

    name = "spreadsheet"
    journals_calls: ClassVar[bool] = False

    def __init__(self, target: ChatModel, prompt: str, python: Python, *, turns: int) -> None:
        self._target = target
        self.told = self._prompt = prompt
        self._python = python
        self._turns = turns

    def fingerprint(self) -> str:
        """Changes with the model, its settings, the prompt, the turns and what code may use."""
        return digest([self.name, self._target.fingerprint(), self._prompt, self._turns, self._python.fingerprint()])

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """Write and run code. The answer is what the last piece printed; the workbook is among the files."""
        body = Document.parse(skill.text).body.strip()
        start = system(f"{self._prompt}\n\n# Skill\n\n{body}" if body else self._prompt)
        talk: list[Message] = [user(task.input)]
        usage, simulated, feedback, limit, cuts = Usage(), False, "", self._target.max_output_tokens, 0
        problem, ended = "", None
        ran: CodeResult | None = None
        with Workspace() as workspace:
            workspace.fill(task.files)
            for turn in range(1, self._turns + 1):
                reply = await self._target.complete(ChatRequest(messages=(start, *talk), seed=task.seed(trial)))
                usage, simulated = usage + reply.usage, simulated or reply.simulated
                talk.append(assistant(reply.text))
                text, problem, ended = said_in(reply, limit)
                code, cut = last_code(text), ended == "cut off"
                cuts += cut and code is None
                if problem or cuts == _MOST_CUTS:
                    problem = problem or f"{cut_off_at(limit)}, {_MOST_CUTS} times"
                    break
                ran = None if code is None else await self._python.execute(code, turn, workspace)
                feedback = ran.feedback if ran is not None else _CUT_OFF if cut else _NO_CODE
                saved = _is_file(workspace.work / OUTPUT)
                talk.append(user(f"{feedback}\n\n{OUTPUT} {'is there' if saved else 'is not there yet'}."))
                if ran is not None and ran.ok and saved:
                    break
            files, not_kept = _files(workspace)
        if not problem:
            problem = not_kept or _missing(files, feedback, self._turns)
        return Trajectory(
            answer=ran.printed if ran is not None else "",
            messages=tuple(talk),
            failure=problem,
            ended=ended,
            usage=usage,
            simulated=simulated,
            files=files,
        )


def last_code(text: str) -> str | None:
    """The last code block of a reply that is, or can be, Python; None when there is none."""
    found: str | None = None
    lines: list[str] | None = None
    language = ""
    for line in text.splitlines():
        fence = line.strip()
        if lines is None and fence.startswith("```"):
            lines, language = [], fence.strip("`").strip().lower()
        elif lines is not None and fence == "```":
            found = "\n".join(lines) + "\n" if language in _LANGUAGES else found
            lines = None
        elif lines is not None:
            lines.append(line)
    return found


def _is_file(path: Path) -> bool:
    """A link is not a file that can be handed in."""
    return path.is_file() and not path.is_symlink()


def _files(workspace: Workspace) -> tuple[dict[str, File | None], str]:
    """The workbooks that are left, and why they cannot be taken."""
    try:
        changes = workspace.changes()
    except NotKept as error:
        return {}, str(error)
    return {name: file for name, file in changes.items() if name in (INPUT, OUTPUT)}, ""


def _missing(files: dict[str, File | None], feedback: str, turns: int) -> str:
    """Why there is no workbook to score; empty when there is one."""
    if any(file is not None for file in files.values()):
        return ""
    after = f" after {turns} turns" if turns > 1 else ""
    return f"there is no {OUTPUT}{after}. {shorten(feedback)}"
