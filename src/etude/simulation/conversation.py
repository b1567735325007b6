"""What a request without tools asks for: the task, and the instructions around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from etude.records import ChatRequest, Message
from etude.simulation.families import Families, FoundTask, find_tasks


@dataclass(frozen=True)
class Scene:
    """A request taken apart."""

    task: FoundTask
    lessons: str
    """All that may teach rules."""
    instructions: str
    """All that may say how to answer."""
    file: str | None = None
    """Where the task wants the answer, when there are tools."""
    since: tuple[Message, ...] = ()
    """What happened after the task was set, when there are tools."""


def read(request: ChatRequest, families: Families) -> Scene | None:
    """The last task in the last message that has one, user messages first; all else teaches, whoever says it. None
    when there is no task."""
    given = [message for message in request.messages if message.role != "assistant"]
    texts = [message.text for message in given]
    place = _place_of_task(given, texts, families)
    if place is None:
        return None
    task = find_tasks(texts[place], families)[-1]
    texts[place] = texts[place][: task.start] + texts[place][task.end :]
    said = "\n\n".join(texts)
    return Scene(task, said, said)


def _place_of_task(given: Sequence[Message], texts: Sequence[str], families: Families) -> int | None:
    newest_first = range(len(given) - 1, -1, -1)
    order = [place for place in newest_first if given[place].role == "user"]
    order += [place for place in newest_first if given[place].role != "user"]
    return next((place for place in order if find_tasks(texts[place], families)), None)


_TAGS = ("answer", "final_answer", "final", "output", "result", "solution", "response")
_TAG = re.compile(rf"<({'|'.join(_TAGS)})>", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\b")


def answer_frame(instructions: str) -> tuple[str, str]:
    """What to put before and after the final answer: the tag the prompt shows, `\\boxed{}`, else a line `Answer:`."""
    tag = _TAG.search(instructions)
    if tag:
        return f"<{tag[1]}>", f"</{tag[1]}>"
    return ("\\boxed{", "}") if _BOXED.search(instructions) else ("Answer: ", "")
