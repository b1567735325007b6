"""Where keys come from: an environment variable, or a command that prints them."""

import asyncio
import os
import shlex
import shutil
import time
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import PurePath

from etude.config import ModelSection
from etude.errors import ConfigError, TransientError
from etude.secret_values import Secrets

_KEYLESS = ("simulated:", "handoff:")
_NO_KEY = "none"
"""Sent where there is none: some servers want any."""
KEPT_SECONDS = 240.0
"""How long a printed key is used: command lines of clouds renew their tokens five minutes before the end."""


def key_variable(settings: ModelSection) -> str:
    """The environment variable with the key: `api_key_env`, else the one that is usual for the provider."""
    usual = settings.api_key_env == type(settings).model_fields["api_key_env"].default
    return "ANTHROPIC_API_KEY" if usual and settings.model.startswith("anthropic:") else settings.api_key_env


def used_key_variable(settings: ModelSection) -> str | None:
    """That variable where the key is read from one; None for a key that a command prints, and where there is no key:
    for simulated models, for a handoff, and for agent programs with a login of their own."""
    keyless = settings.model.startswith(_KEYLESS) or settings.api_key_command is not None
    own_login = settings.model.startswith("agent:") and settings.base_url is None
    return None if keyless or own_login else key_variable(settings)


def keyless(settings: ModelSection) -> ModelSection:
    """For a model that is not asked: a key that is not there is not missed."""
    variable = used_key_variable(settings)
    missing = variable is not None and variable not in os.environ
    return settings.model_copy(update={"api_key_command": "true"}) if missing else settings


def secrets_of(settings: ModelSection) -> Secrets:
    """What the settings themselves hold: headers of credentials, and the password and the keys of the address."""
    found = Secrets()
    for name, value in settings.headers.items():
        found.add_header(name, value)
    found.add_address("base_url", settings.base_url or "")
    return found


class Key:
    """The key of a role; `needed` where the server is known to refuse requests without one. Raises ConfigError: no
    key where one is needed, one that cannot be sent, or a command that does not exist."""

    def __init__(self, settings: ModelSection, *, needed: bool) -> None:
        self.variable = key_variable(settings)
        self.command = settings.api_key_command
        self.secrets = secrets_of(settings)
        """With the key, and with each that is printed."""
        self._timeout = settings.timeout
        self.text = _NO_KEY
        """The key as it is known at the moment."""
        self._until = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        if self.command is None:
            other = "print it with api_key_command" if settings.base_url else "set base_url for a server without keys"
            self.text = _from_environment(self.variable, f", or {other}", needed=needed)
            self.secrets.add(self.variable, self.text)
        elif not (words := _words(self.command)) or shutil.which(words[0]) is None:
            raise ConfigError(
                f"api_key_command = {self.command!r}: there is no such command",
                hint="give a program on the PATH with its arguments, as in 'az account get-access-token ...'",
            )

    @property
    def advice(self) -> str:
        """What to do when the key is refused."""
        if self.command is None and self.text == _NO_KEY:
            return f"set {self.variable} to a key: it is not set"
        return f"check the key in {self.variable if self.command is None else 'api_key_command'} and its account"

    async def renewed(self) -> str:
        """The key, asked for again when its time is over. Raises TransientError: the command failed."""
        if self.command is None:
            return self.text
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._turn = loop, asyncio.Lock()
        async with self._turn:
            if time.monotonic() >= self._until:
                self.text = await self._printed(self.command)
                self._until = time.monotonic() + KEPT_SECONDS
        return self.text

    async def _printed(self, command: str) -> str:
        words = _words(command)
        # Only the program is named in messages: arguments may be secrets.
        named = f"api_key_command {PurePath(words[0]).name!r}"
        process = await asyncio.create_subprocess_exec(*words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        try:
            async with asyncio.timeout(self._timeout):
                out, errors = await process.communicate()
        except TimeoutError:
            raise TransientError(f"{named} has printed nothing in {self._timeout:g} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        key = out.decode("utf-8", "replace").strip()
        self.secrets.add("api_key_command", key)
        if process.returncode != 0:
            last = self.secrets.hide(errors.decode("utf-8", "replace").strip().rpartition("\n")[2])
            raise TransientError(f"{named} failed with exit code {process.returncode}: {last[:200]}")
        if not key or not all("!" <= sign <= "~" for sign in key):  # not repeated: it may be half of a key
            raise TransientError(
                f"{named} printed no key: allowed is one line of ASCII letters, digits and signs, without spaces",
                hint="run it in a shell: it must print the key and nothing else",
            )
        return key


def _from_environment(variable: str, other: str, *, needed: bool) -> str:
    key = os.environ.get(variable, "").strip()
    if not key and needed:
        raise ConfigError(
            f"environment variable {variable!r} is not set",
            hint=f"put the key there, name another variable in api_key_env{other}",
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"environment variable {variable!r} has characters that no key has", hint="copy it again")
    return key or _NO_KEY


def _words(command: str) -> list[str]:
    try:
        return [os.path.expanduser(word) for word in shlex.split(command)]
    except ValueError as error:
        raise ConfigError(f"api_key_command = {command!r}: {error}", hint="quote it as in a shell") from None
