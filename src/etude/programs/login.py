"""A program's own login, lent to a fresh home: for those who have a subscription and no API key."""

import glob
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from etude.errors import ConfigError
from etude.files import write_atomically
from etude.programs.base import Program, read_files

_MOST = 1_000_000
"""Bytes of a login."""


@dataclass(frozen=True)
class Login:
    """What a program is logged in with."""

    variables: Mapping[str, str]
    files: Mapping[str, Path]
    """Path in its home to the person's own file."""

    @contextmanager
    def lent(self, home: Path) -> Generator[None]:
        """Have the login in `home`. A token renewed there is given back: the old one is worth nothing then."""
        before = {name: real.read_bytes() for name, real in self.files.items()}
        for name, login in before.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(login)
            (home / name).chmod(0o600)
        try:
            yield
        finally:
            for name, real in self.files.items():
                # Model-written code ran next to it: a link there must not have another file copied.
                after = read_files(home, glob.escape(name), _MOST)
                if after != before[name] and _is_whole(after):
                    write_atomically(real, after, mode=0o600)


def _is_whole(login: bytes) -> bool:
    try:
        return isinstance(json.loads(login), dict)
    except ValueError:
        return False


def find_login(program: Program, environ: Mapping[str, str], home: Path) -> Login:
    """The login of the person in `home`. Raises ConfigError: there is none."""
    variables = {name: environ[name] for name in program.login_variables if environ.get(name)}
    files = {name: (home / name).resolve() for name in program.login_files if (home / name).is_file()}
    if not variables and not files:
        places = [*(f"~/{name}" for name in program.login_files), *program.login_variables]
        raise ConfigError(
            f"agent program {program.name!r} is not logged in: there is neither {' nor '.join(places)}",
            hint=f"log in with `{program.command}`, or give it an address and a key",
        )
    return Login(variables, files)
