"""What a request asks for: the task, and the instructions around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from etude.records import ChatRequest, Message
from etude.simulation.families import Families, FoundTask, find_tasks


@dataclass(frozen=True)
class Conversation:
    """A request taken apart. Who says what and in which message does not matter."""

    task: FoundTask | None
    instructions: str
    """All that was said to the model, without the task."""


def read(request: ChatRequest, families: Families) -> Conversation:
    """The last task in the last message that has one, user messages first; all else is instructions."""
    given = [message for message in request.messages if message.role != "assistant"]
    texts = [message.text for message in given]
    place = _place_of_task(given, texts, families)
    if place is None:
        return Conversation(None, "\n\n".join(texts))
    task = find_tasks(texts[place], families)[-1]
    texts[place] = texts[place][: task.start] + texts[place][task.end :]
    return Conversation(task, "\n\n".join(texts))


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
