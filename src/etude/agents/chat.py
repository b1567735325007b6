"""The chat agent: the skill in the system prompt, one question, one answer."""

from typing import ClassVar

from etude.agents.answers import AnsweringAgent, AnswerOptions, question, with_skill
from etude.errors import DataError
from etude.records import ChatRequest, Skill, Task, Trajectory, assistant, digest, system

_MOST_CHARS = 100_000
"""Of the files of a task, which are shown in the question."""


class ChatAgent(AnsweringAgent[AnswerOptions]):
    """Asks a chat model once. Its model calls are facts, so its attempts need not be."""

    name = prompt = "chat"
    options_type = AnswerOptions
    journals_calls: ClassVar[bool] = True

    def fingerprint(self) -> str:
        """Changes with the model, its settings, the prompt and the options."""
        return digest([self.name, self._target.fingerprint(), self._prompt, self._options.model_dump()])

    def check_task(self, task: Task) -> None:
        """Refuse a task with files that are no text, as no model would see them, or with a place of its own."""
        _with_files(task)

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        """One request: prompt and body of the skill as system message, the task and its files as user message.

        Raises:
            BoundaryError: the search for the answer took too long.
            DataError: as `check_task`. Nothing was asked.
        """
        asked = question(_with_files(task))
        messages = (system(with_skill(self._prompt, skill.text)), asked)
        reply = await self._target.complete(ChatRequest(messages=messages, seed=task.seed(trial)))
        answered = await self._answers.read(reply)
        return Trajectory(
            answer=answered.answer,
            messages=(asked, assistant(reply.text)),
            failure=answered.failure,
            ended=answered.ended,
            usage=reply.usage,
            simulated=reply.simulated,
        )


def _with_files(task: Task) -> Task:
    """The task with the text of its files below the input. Raises DataError: one of them is no text, or they are too
    long to be shown, or the task is to be done in a workspace."""
    if task.place is not None:
        raise DataError(
            f"task {task.id!r} is to be done in a workspace, and agent 'chat' has none",
            hint="set agent.name to 'tools' or to an agent program",
        )
    parts = [task.input]
    for name, file in task.files.items():
        try:
            text = file.data.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise DataError(
                f"task {task.id!r}: file {name!r} is not text, and agent 'chat' has no workspace for it",
                hint="set agent.name to 'tools' or to an agent program",
            )
        parts.append(f"<file name={name!r}>\n{text}\n</file>")
    if (size := sum(map(len, parts[1:]))) > _MOST_CHARS:
        raise DataError(
            f"task {task.id!r} has files of {size:,} characters; agent 'chat' shows at most {_MOST_CHARS:,}",
            hint="set agent.name to 'tools' or to an agent program, which have a workspace",
        )
    return task.model_copy(update={"input": "\n\n".join(parts)}) if task.files else task
