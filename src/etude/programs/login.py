"""A program's own login, lent to a fresh home: for those who have a subscription and no API key."""

import glob
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from etude.errors import Missing
from etude.files import write_atomically
from etude.programs.program import Program, read_files
from etude.secret_values import Secrets, is_key

_MOST = 1_000_000
"""Bytes of a login."""
_NAMES = ("access", "refresh", "key", "token", "secret", "password")
"""What names of tokens end with."""


@dataclass(frozen=True)
class Login:
    """What a program is logged in with."""

    variables: Mapping[str, str]
    files: Mapping[str, Path]
    """Path in its home to the person's own file."""
    renew: bool = False
    """Give a renewed login back."""
    secrets: Secrets = field(default_factory=Secrets)
    """Every token in it that was seen."""

    def __post_init__(self) -> None:
        for name, value in self.variables.items():
            self.secrets.add_address(name, value) if "://" in value else self.secrets.add(name, value)
        for real in self.files.values():
            self._read(real.read_bytes())

    @contextmanager
    def lent(self, home: Path) -> Generator[None]:
        """Have the login in `home`. A token that is renewed there goes back only with `renew`, only in place of what
        was lent, and only as a whole login."""
        before = {name: real.read_bytes() for name, real in self.files.items()}
        for name, login in before.items():
            self._read(login)
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(login)
            (home / name).chmod(0o600)
        try:
            yield
        finally:
            for name, real in self.files.items():
                # Model-written code ran next to it: a link there must not have another file copied.
                after = read_files(home, glob.escape(name), _MOST)
                login = self._read(after)
                whole = login and _keeps(_login(before[name]), login)
                if self.renew and whole and real.is_file() and real.read_bytes() == before[name]:
                    write_atomically(real, after)

    def _read(self, data: bytes) -> dict[str, Any] | None:
        """A login file, None for what is not one. Its tokens are secrets from now on."""
        login = _login(data)
        for token in _tokens(login):
            self.secrets.add("login", token)
        return login


def _login(data: bytes) -> dict[str, Any] | None:
    try:
        login = json.loads(data)
    except ValueError:
        return None
    return cast(dict[str, Any], login) if isinstance(login, dict) else None


def _tokens(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in cast(dict[str, object], value).items():
            yield from _tokens(inner, key)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from _tokens(inner, name)
    elif isinstance(value, str) and (is_key(value) or name.lower().endswith(_NAMES)):
        yield value


def _keeps(before: object, after: object) -> bool:
    """Whether all that a login had is there still, renewed or not."""
    if isinstance(before, dict):
        kept = cast(dict[str, object], after) if isinstance(after, dict) else {}
        return all(_keeps(value, kept.get(name)) for name, value in cast(dict[str, object], before).items())
    return not before or (after is not None and after != "" and isinstance(after, str) == isinstance(before, str))


def find_login(program: Program, environ: Mapping[str, str], home: Path, *, renew: bool = False) -> Login:
    """The login of the person in `home`. Raises Missing: there is none."""
    variables = {name: environ[name] for name in program.login_variables if environ.get(name)}
    files = {name: (home / name).resolve() for name in program.login_files if (home / name).is_file()}
    if not variables and not files:
        places = [*(f"~/{name}" for name in program.login_files), *program.login_variables]
        raise Missing(
            f"agent program {program.name!r} is not logged in: there is no {' or '.join(places)}",
            hint=f"log in with `{program.command}`, or give it an address and a key",
        )
    return Login(variables, files, renew)
