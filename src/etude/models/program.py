"""Agent programs as chat models: for those who have a subscription of one, and no API key."""

import asyncio
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRequest, RejectedRole, TransientError, did_you_mean
from etude.models.http import shown_address
from etude.models.keys import Key
from etude.models.provider_model import TextModel, refuse_beyond_text, refuse_settings
from etude.models.wrappers.schema import is_shown
from etude.programs.known import known_programs
from etude.programs.login import find_login
from etude.programs.memory import available_mb, room_for
from etude.programs.program import Order, Report, last_words, read_without
from etude.programs.trouble import after_reset, trouble
from etude.records import ChatRequest, Message, Reply, Skill, digest
from etude.sandbox import Finished, Limits, Workspace, find_sandbox, run

_WHOM = "the model of an agent program"
NO_SYSTEM = "Answer what the user asks."
"""Instructions where a request has none: programs refuse empty ones, or use their own."""
GRACE_SECONDS = 1.0
"""Time to end after a time-out: nothing is lost that is waited for."""


class ProgramModel(TextModel):
    """Asks an agent program: without tools, in an empty workspace, with the program's own login. Nothing the program
    uses is metered but what it tells, and no setting for sampling reaches its model.

    The name is that of the program, as in `codex`, and after a slash of the model, as in `claude-code/claude-opus-5`.
    With `base_url` the program asks that server, with the key of `api_key_env`. Raises ConfigError: the program is
    unknown, not installed or not logged in, or a setting does not reach it."""

    def __init__(self, name: str, settings: ModelSection) -> None:
        program, _, self._model = name.partition("/")
        known = known_programs()
        if program not in known:
            raise ConfigError(f"model 'agent:{name}' names no known agent program", hint=did_you_mean(program, known))
        if not known[program].as_model:
            raise ConfigError(
                f"model 'agent:{name}': agent program {program!r} does nothing without its tools",
                hint="name the model behind it, as in 'openai:NAME' with base_url, or set agent.name to the program",
            )
        refuse_settings(settings, _WHOM)
        super().__init__(f"agent:{name}", settings)
        self._program = known[program]
        self._installed = self._program.find()
        self._key = None if settings.base_url is None else Key(settings, needed=False)
        self._login = None
        if self._key is not None:
            self.secrets = self._secrets = self._key.secrets
        else:
            self._login = find_login(self._program, os.environ, Path.home(), renew=settings.renew_login)
            self.secrets = self._secrets = self._login.secrets
        self._version = self._program.version(self._installed)  # after the login: some take seconds to tell it
        login = f"the login of {self._program.command}"
        self.endpoint = (
            login if settings.base_url is None else f"{shown_address(settings.base_url)} (base_url, not {login})"
        )
        self._sandbox = find_sandbox(unsafe=True)  # without tools there is nothing to keep in
        self._room = asyncio.Semaphore(room_for(self._program.memory_mb, available_mb()))

    def fingerprint(self) -> str:
        """Changes with the program and its version, the model and the settings."""
        return digest([self.name, self._version, self._settings.identity()])

    async def complete(self, request: ChatRequest) -> Reply:
        """Start the program, ask, and wait for its end. Raises RejectedRequest: the request has pictures or tools, or
        is too long; RejectedRole: the login is refused or expired, what its plan allows is used up, the model is not
        served, the program is outdated; TransientError: rate limits, time-outs, and other temporary errors."""
        system, prompt = _texts(request)
        async with self._room:
            with Workspace() as workspace:
                order = self._order(system, prompt, workspace)
                launch = self._program.launch(order)
                with nullcontext() if self._login is None else self._login.lent(workspace.home):
                    finished = await run(
                        launch.argv,
                        box=workspace.box(self._installed.readable, "host"),
                        limits=Limits(seconds=self._settings.timeout, grace_seconds=GRACE_SECONDS),
                        sandbox=self._sandbox,
                        env={"LANG": "C.UTF-8", **launch.env},
                        stdin=launch.stdin,
                    )
                return self._reply(*read_without(self._secrets, self._program, finished, order))

    def _order(self, system: str, prompt: str, workspace: Workspace) -> Order:
        settings = self._settings
        return Order(
            installed=self._installed,
            prompt=prompt,
            skill=Skill(text=""),
            instructions="",
            delivery="inline",
            home=workspace.home,
            temporary=workspace.tmp,
            workspace=workspace.work,
            url=(settings.base_url or "").rstrip("/").removesuffix("/v1"),
            key="" if self._key is None else self._key.text,
            model=self._model or ("default" if settings.base_url else ""),
            seconds=settings.timeout,
            max_output_tokens=settings.max_output_tokens,
            login={} if self._login is None else self._login.variables,
            chat=system,
        )

    def _reply(self, finished: Finished, report: Report) -> Reply:
        if finished.timed_out:
            raise TransientError(f"no answer within {self._settings.timeout:g} seconds", unreachable=True)
        words = report.error
        if not words and (not report.ended or (finished.code != 0 and not report.answer)):
            words = last_words(finished) or f"{self._program.name} ended with code {finished.code} and no word"
        if not words:
            return Reply(text=report.answer.strip(), usage=report.usage)
        kind = trouble(words)
        if kind == "used up":
            raise RejectedRole(words, hint=after_reset(words))
        words += self._program.age(self._version, self._installed)
        if kind == "refused":
            raise RejectedRole(words, hint=f"look at it with `{self._program.command}`: its login, model and version")
        if kind == "rejected":
            raise RejectedRequest(words)
        raise TransientError(words, rate_limited=kind == "busy")


def _texts(request: ChatRequest) -> tuple[str, str]:
    """The instructions and the prompt of a request. Raises RejectedRequest: it has what a program does not take."""
    refuse_beyond_text(request, _WHOM)
    system = "\n\n".join(message.text for message in request.messages if message.role == "system") or NO_SYSTEM
    prompt = _conversation([message for message in request.messages if message.role != "system"])
    if request.response_schema is not None:
        schema = request.response_schema.body
        if is_shown(schema, [system]):
            prompt += "\n\nReply with one JSON object of the form that the instructions show, and nothing else."
        else:
            shown = json.dumps(schema, ensure_ascii=False)
            prompt += f"\n\nReply with one JSON object that follows this JSON schema, and nothing else:\n{shown}"
    return system, prompt


def _conversation(messages: Sequence[Message]) -> str:
    """One text: what the user said, or the whole conversation where there was one."""
    if all(message.role == "user" for message in messages):
        return "\n\n".join(message.text for message in messages)
    turns = "\n\n".join(f"<{message.role}>\n{message.text}\n</{message.role}>" for message in messages)
    return f"Here is a conversation. Give the assistant's next turn, and nothing else.\n\n{turns}"
