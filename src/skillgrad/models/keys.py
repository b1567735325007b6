"""Where keys come from: an environment variable, or a command that prints them."""

import asyncio
import os
import shlex
import shutil
import time
from asyncio.subprocess import DEVNULL, PIPE

from skillgrad.config import ModelSection
from skillgrad.errors import ConfigError, TransientError

__all__ = ["Key", "key_variable"]

_VARIABLES = (("anthropic:", "ANTHROPIC_API_KEY"), ("azure:", "AZURE_OPENAI_API_KEY"))
KEPT_SECONDS = 240.0
"""How long a printed key is used: command lines of clouds renew their tokens five minutes before the end."""


def key_variable(settings: ModelSection) -> str:
    """The environment variable with the key: `api_key_env`, else the one that is usual for the provider."""
    if settings.api_key_env != type(settings).model_fields["api_key_env"].default:
        return settings.api_key_env
    return next((name for prefix, name in _VARIABLES if settings.model.startswith(prefix)), settings.api_key_env)


class Key:
    """The key of a role.

    Args:
        needed: the server is known to refuse requests without one.

    Raises:
        ConfigError: no key where one is needed, one that cannot be sent, or a command that does not exist.
    """

    def __init__(self, settings: ModelSection, *, needed: bool) -> None:
        self.variable = key_variable(settings)
        self.command = settings.api_key_command
        self._timeout = settings.timeout
        self.text = "none"
        """The key as it is known at the moment."""
        self._until = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        if self.command is None:
            other = "print it with api_key_command" if settings.base_url else "set base_url for a server without keys"
            self.text = _from_environment(self.variable, f", or {other}", needed=needed)
        elif not (words := _words(self.command)) or shutil.which(words[0]) is None:
            raise ConfigError(
                f"api_key_command = {self.command!r}: there is no such command",
                hint="give a program on the PATH with its arguments, as in 'az account get-access-token ...'",
            )

    @property
    def source(self) -> str:
        """What to look at when the key is refused."""
        return self.variable if self.command is None else "api_key_command"

    async def renewed(self) -> str:
        """The key, asked for anew when its time is over.

        Raises:
            TransientError: the command failed.
        """
        if self.command is None:
            return self.text
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._turn = loop, asyncio.Lock()
        async with self._turn:
            if time.monotonic() >= self._until:
                self.text = await _printed(self.command, self._timeout)
                self._until = time.monotonic() + KEPT_SECONDS
        return self.text

    def hide(self, message: str) -> str:
        """The message without the key, should somebody have repeated it."""
        return message.replace(self.text, "[key]") if len(self.text) > 7 else message


def _from_environment(variable: str, other: str, *, needed: bool) -> str:
    key = os.environ.get(variable, "").strip()
    if not key and needed:
        raise ConfigError(
            f"environment variable {variable!r} is not set",
            hint=f"put the key there, name another variable in api_key_env{other}",
        )
    if not key.isascii():
        raise ConfigError(f"environment variable {variable!r} has characters that no key has", hint="copy it again")
    return key or "none"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"api_key_command = {command!r}: {error}", hint="quote it as in a shell") from None


async def _printed(command: str, seconds: float) -> str:
    process = await asyncio.create_subprocess_exec(*_words(command), stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(seconds):
            out, errors = await process.communicate()
    except TimeoutError:
        raise TransientError(f"api_key_command has printed nothing in {seconds:g} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    key = out.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise TransientError(f"api_key_command failed with exit code {process.returncode}: {last[:200]}")
    if not key or not key.isascii() or "\n" in key:
        raise TransientError("api_key_command printed no key", hint="it must print the key and nothing else")
    return key
