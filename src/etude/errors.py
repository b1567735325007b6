"""The exception tree. Catch broadly, recover narrowly.

    EtudeError
    ├── InputError                  what the user gave is wrong; nothing was paid for        exit code 2
    │   ├── ConfigError             an unknown key, a bad value, a missing setting
    │   │   └── Missing             a program or package that is not installed
    │   ├── DataError               a broken line, a duplicate id, an empty split
    │   ├── SkillError              a missing skill file, invalid front matter
    │   ├── IdentityError           the run folder was made with other settings
    │   └── LockedError             another process works in the run folder
    ├── StopRun                     the run ends early, resumable, with what it has
    │   ├── BudgetStop              a limit of `limits` is reached                             exit code 3
    │   ├── OutageStop              an endpoint is dead, refuses the key or does not know the model   1
    │   ├── VoidStop                too many attempts errored                                  exit code 1
    │   ├── HandoffStop             questions in files wait for their answers                  exit code 3
    │   └── Interrupted             the user asked for it                                      exit code 130
    ├── ModelError                  one model request gave no usable answer
    │   ├── TransientError          temporary: rate limit, server error, timeout, dropped connection
    │   ├── RejectedRequest         this request will never pass (400, 413, 422)
    │   └── RejectedRole            no request of this role will pass (401, 403, 404)
    ├── UnusableReply               the structured-output ladder has no rung left
    ├── LostWorker                  the process that made an attempt is gone; it is made again
    └── BoundaryError               an agent, environment or scorer failed; names whose fault it is

Every message says what is wrong with the value, what is allowed, and on a line of its own `hint:` what to do.
"""

import difflib
import json
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any


class EtudeError(Exception):
    """Base of all errors that etude raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class InputError(EtudeError):
    """Something the user gave is wrong. Raised before the first paid call."""

    exit_code = 2


class ConfigError(InputError):
    """A setting is unknown, missing or out of range.

    Args:
        what: what is wrong.
        key: dotted name of the setting; empty when it is not about a single one.
        where: the file, flag or environment variable that it comes from; begins the message.
    """

    def __init__(self, what: str, *, key: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what, hint=hint)
        self.what = what
        self.key = key
        self.where = where


class Missing(ConfigError):
    """The settings name something that is not on this machine."""


class DataError(InputError):
    """The tasks cannot be used as they are."""


class SkillError(InputError):
    """The skill cannot be read."""


class IdentityError(InputError):
    """The run folder holds a run with other identity settings."""


class LockedError(InputError):
    """Another process is working in the run folder."""


class StopRun(EtudeError):
    """The run stops here. What is in the journal stays; the same command resumes from there."""

    summary: Any = None
    """What the run has, when it had begun."""


class BudgetStop(StopRun):
    """A budget is used up: the `limit` of `calls`, `tokens` or `usd`, empty for another reason. Resumes with a larger
    one."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", limit: str = "") -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class OutageStop(StopRun):
    """A model endpoint cannot be used. Resumes once it answers, or with the right name of the model (`no_model`)."""

    def __init__(self, message: str, *, hint: str = "", no_model: bool = False, silent: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.no_model = no_model
        self.silent = silent
        """It does not answer, or only that it is busy: the same may work later."""


class VoidStop(StopRun):
    """More attempts ended without a score than `limits` allows. Resumes by trying them again."""


class HandoffStop(StopRun):
    """Questions were written for a person to answer, in files of `folder`. Resumes once the answers are there."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", folder: str = "") -> None:
        super().__init__(message, hint=hint)
        self.folder = folder


class Interrupted(StopRun):
    """The user stopped the run. Resumes with the same command."""

    exit_code = 130


class ModelError(EtudeError):
    """A model request failed. Never a score."""


class TransientError(ModelError):
    """The same request may succeed later."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        rate_limited: bool = False,
        unreachable: bool = False,
        usage: Any = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        """Seconds the server asked to wait, None when it did not say."""
        self.rate_limited = rate_limited
        """The server is up and asks for fewer requests (429)."""
        self.unreachable = unreachable
        """No answer came from a server at all: connection refused, unknown host, time-out."""
        self.usage = usage
        """The `Usage` that was billed for what came; None when nothing is known of that."""


class RejectedRequest(ModelError):
    """The server will never accept this request."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        failing: bool = False,
        parameters: tuple[str, ...] = (),
        curable: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.failing = failing
        """The server failed instead of saying so (500): it may be down."""
        self.parameters = parameters
        """What the server complains of by name, as `ChatModel.leave_out` knows it: not of the form of an answer."""
        self.curable = curable
        """It may take the same request without them."""


class RejectedRole(ModelError):
    """The server will accept no request of this role: wrong key, unknown model (`no_model`), wrong address."""

    def __init__(self, message: str, *, hint: str = "", no_model: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.no_model = no_model


class UnusableReply(EtudeError):
    """Answers came, none had the required structure."""


class LostWorker(EtudeError):
    """The process in which an attempt was made or scored is gone. That says nothing about the attempt."""


class BoundaryError(EtudeError):
    """User code failed. `where` names the part: an agent, an environment or a scorer; `cause` is what it raised."""

    def __init__(self, where: str, cause: BaseException) -> None:
        super().__init__(f"{where}: {type(cause).__name__}: {cause}")
        self.where = where
        self.cause = cause


_WITH_ANNEXES = frozenset({"annexes", "spreadsheet", "ray", "trackio", "wandb", "mlflow", "opentelemetry"})
"""Extras that bring the annexes, which in a checkout lie beside."""


def not_installed(what: str, package: str, extra: str) -> Missing:
    """For something that needs a package that an extra of etude brings."""
    return Missing(f"{what} needs {package}, which is not installed", hint=install_command(extra))


def install_command(extras: str) -> str:
    """What to type for extras, as in `serve,parquet`; from a checkout with its folder."""
    from importlib.metadata import PackageNotFoundError, distribution  # only here: help has to be instant
    from urllib.parse import unquote, urlsplit

    try:
        origin: dict[str, Any] = json.loads(distribution("etude").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # it runs from a folder that is only on the path
        origin = {}
    folder = origin.get("dir_info")
    if folder is None:
        return f"pip install 'etude[{extras}]'"
    path = unquote(urlsplit(str(origin["url"])).path)
    shown = "." if os.path.realpath(path) == os.path.realpath(os.curdir) else path
    mode = "-e " if folder.get("editable") else ""
    beside = f" {mode}'{os.path.join(shown, 'annexes')}'" if _WITH_ANNEXES & set(extras.split(",")) else ""
    return f"pip install {mode}'{shown}[{extras}]'{beside}"


@contextmanager
def raising(kind: type[InputError], what: str, hint: str) -> Generator[None]:
    """Raises `kind` where the system refuses what is done within, or a file is not UTF-8; `what` is said first, as in
    `'a.md' cannot be read`."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise kind(f"{what}: {getattr(error, 'strerror', None) or error}", hint=hint) from None


def in_plain_words(message: str) -> str:
    """What pydantic says of a value, in the words of the files that people write."""
    message = (
        message.removeprefix("Value error, ").replace("a valid tuple", "a list").replace("a valid list", "a list")
    )
    message = message.partition(", unable to parse")[0].replace("Input should be ", "must be ", 1)
    for long, short in _WORDS.items():
        message = message.replace(long, short)
    return message


_WORDS = {
    "a valid number": "a number",
    "a valid integer": "a whole number",
    "a valid string": "text",
    "a valid boolean": "true or false",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "above",
    "less than": "below",
}


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """A hint that names the nearest allowed value, else all of them; what to do where there is none.

    >>> did_you_mean("epoch", ["epochs", "seed"])
    "did you mean 'epochs'?"
    """
    options = sorted(allowed)
    if not options:
        return "leave it out: nothing else can be set here"
    near = difflib.get_close_matches(value, options, n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else f"allowed: {', '.join(options)}"
