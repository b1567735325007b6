"""Real agent programs as judges: which of the skills in its workspace did the program open?"""

import json
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

from etude.agents.program import ProgramAgent
from etude.agents.verdict import LATE, ProgramFailed
from etude.measure.triggers.catalogue import Catalogue
from etude.measure.triggers.judge import SkillsAtHand, TriggerJudge
from etude.programs.project_paths import place_of
from etude.records import File, Message, Skill, Task, ToolCall, Trajectory, digest
from etude.skill.folder import DOCUMENT

STEPS = 4
"""Model requests that a program gets for a request, unless the settings say otherwise: programs open skills before
they begin to work, and what comes later is paid for and says nothing."""
_OPENED = "This copy of the skill {name} is here for a measurement: answer with the word done, and do nothing else."
"""The body of every skill: a program that reads it is done."""


class ProgramTriggerJudge(TriggerJudge):
    """Runs an agent program on the request, with the skills in the folder where it looks for them."""

    name = "program"

    def __init__(self, shelf: SkillsAtHand, agent: ProgramAgent) -> None:
        super().__init__(shelf)
        self._agent = agent
        self._folder = place_of(agent.name).skills

    async def opened(self, task: Task, catalogue: Catalogue, trial: int) -> Trajectory:
        files = {f"{self._folder}/{name}/{DOCUMENT}": _copy(name, text) for name, text in catalogue.items()}
        asked = task.model_copy(update={"files": files})
        found = await self._agent.attempt(asked, Skill(text=""), trial)
        opened = first_opened(found.messages, catalogue)
        if not opened and found.failure.startswith(LATE):
            raise ProgramFailed(f"{found.failure}, and no skill was opened by then")
        # Else whether it got anywhere with the request is not the question: not within its steps says that none was.
        return found.model_copy(update={"answer": opened, "failure": "", "files": {}, "ended": None})

    def fingerprint(self) -> str:
        return digest([super().fingerprint(), self._agent.fingerprint(), _OPENED])

    def check_task(self, task: Task) -> None:
        self._agent.check_task(task)

    def room(self) -> AbstractAsyncContextManager[object]:
        return self._agent.room()

    @property
    def metered(self) -> bool:
        return self._agent.metered

    async def aclose(self) -> None:
        await self._agent.aclose()


def first_opened(messages: Sequence[Message], catalogue: Catalogue) -> str:
    """The first skill that was opened in a conversation; empty for none.

    Programs with a tool for skills name it in the call; others read its document, which says which one it is.
    """
    marks = {_OPENED.format(name=name): name for name in catalogue}
    pattern = re.compile("|".join(map(re.escape, marks)) or r"(?!)")
    for message in messages:
        for call in message.tool_calls:
            if name := _called(call, catalogue):
                return name
        if message.role == "tool" and (read := pattern.search(message.text)):
            return marks[read[0]]
    return ""


def _called(call: ToolCall, catalogue: Catalogue) -> str:
    if "skill" not in call.name.casefold():
        return ""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return ""
    values = cast("dict[str, Any]", arguments).values() if isinstance(arguments, dict) else ()
    return next((value for value in values if isinstance(value, str) and value in catalogue), "")


def _copy(name: str, description: str) -> File:
    front = f"---\nname: {name}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n"  # JSON is YAML
    return File(data=f"{front}\n{_OPENED.format(name=name)}\n".encode())
