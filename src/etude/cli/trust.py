"""Trust on first use. A settings file is code: it names what is imported and run, and which key goes to which server.
Nothing of that happens before the user has seen it; the answer is remembered for these contents in this folder."""

import argparse
import hashlib
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import machinery
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, TypeVar, cast

from etude.cli.terminal import output
from etude.config import ModelSection, Section, TrainConfig
from etude.config.loading import is_path
from etude.envs.dataset import DatasetConfig
from etude.errors import InputError
from etude.files import private_folder, write_atomically
from etude.models import own_class
from etude.models.http import shown_address
from etude.models.keys import used_key_variable
from etude.records import digest
from etude.registry import BUILT_IN, Family
from etude.sleep.config import SleepConfig
from etude.user_state import user_state

C = TypeVar("C", bound=TrainConfig)

_PARTS: Sequence[tuple[str, str, Family]] = (
    *(("env", "name", "environments"), ("agent", "name", "agents")),
    *(("search", "policy", "searches"), ("executor", "name", "executors")),
)
_RUN = ("env.check", "env.grader", "env.python", "agent.arguments", "agent.command", "agent.path")
"""Options with words of a command line: the files that they name count with their content."""
_PROGRAMS = {"harbor": ("path", "train", "val", "test")}
"""Options of built-in environments that name folders with programs in them."""
_OPEN = re.compile(
    r"(agent|env)\.(network|readable|unsafe_no_sandbox)|agent\.(env|login|renew_login)"
    r"|env\.(agent|args|own_sandbox|split_args)|executor\.address"
)
"""Options of built-in environments, agents and executors that open what is closed."""
_CLOSED = (("agent.login", "gateway"), ("executor.address", "auto"))
"""What they are without the option."""
_LOOPBACK = re.compile(r"https?://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/[\w./-]*)?")
_OWN_SERVER = re.compile(r"(openai:\S+ https://api\.openai|anthropic:\S+ https://api\.anthropic)\.com(/v1)?/?")


class UntrustedError(InputError):
    """Settings name what the user has not trusted. Nothing of it was imported, run or sent."""


class Foreign(NamedTuple):
    """What settings would import, run, allow or send."""

    what: str
    settings: tuple[str, ...]
    """Where it comes from, as dotted names."""
    files: tuple[tuple[str, str], ...] = ()
    """Files and folders that it names, with digests of their content."""
    imported: bool = False

    def __str__(self) -> str:
        files = "".join(f"\n    {name!r} (SHA-256 {content[:12]}...)" for name, content in self.files)
        return f"  {', '.join(self.settings)}: {self.what}{files}"


def foreign(config: TrainConfig) -> list[Foreign]:
    """What the settings name that is not etude's own. Nothing is imported or run to find out."""
    found = [*_parts(config), *_servers(config)]
    return list(dict.fromkeys(found))


def trust_hash(found: Iterable[Foreign]) -> str:
    """Changes with the list, and with the content of the files on it."""
    return digest(sorted(map(repr, found)))


def trusted(config: C, args: argparse.Namespace, typed: Collection[str] = ()) -> C:
    """The settings, once the user trusts what they name. What the command line sets is the user's own word, and so
    are the `typed` settings; variables may come from a file of the project. Raises UntrustedError."""
    found = foreign(config)
    own = {*typed, *(key for key, _ in args.flags), *(["report_to"] if getattr(args, "report_to", None) else [])}
    own |= {f"{name}.unsafe_no_sandbox" for name in ("agent", "env") if getattr(args, "unsafe_no_sandbox", False)}
    asked = [each for each in found if not own.issuperset(each.settings)]
    if asked and not (_record(asked).is_file() or _record(found).is_file()):
        _ask(asked, getattr(args, "trust", None))
    for each in (asked, found):  # all of it: the settings that a run keeps name what was typed
        if each and not _record(each).is_file():
            remember(each)
    if any(each.imported for each in found):
        open_folder(found)
    return config


def remember(found: Sequence[Foreign]) -> None:
    """Trust what settings name from now on, in the current folder."""
    path = _record(found)
    try:
        private_folder(path.parent)
        text = "\n".join([os.path.realpath(os.curdir), *map(str, found)])
        write_atomically(path, text.encode("utf-8", "backslashreplace"), mode=0o600)
    except OSError as error:
        output.note(f"note: trust cannot be remembered in {str(path.parent)!r}: {error.strerror}")


def open_folder(found: Iterable[Foreign] = ()) -> None:
    """Let modules be imported from the current folder, after all others: from their source, not from compiled files
    that came with it."""
    here = os.getcwd()
    extensions = (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES)
    for name in ["here", *(name for each in found if each.imported for name, _ in each.files)]:
        folder = os.path.dirname(os.path.join(here, name))
        finder = machinery.FileFinder(folder, extensions, (_FromSource, machinery.SOURCE_SUFFIXES))
        sys.path_importer_cache[folder] = finder
    if here not in sys.path:
        sys.path.append(here)


class _FromSource(machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _ask(found: Sequence[Foreign], given: str | None) -> None:
    expected = trust_hash(found)
    if given == expected:
        return
    listed = "\n".join(map(str, found))
    text = f"the settings name what is not etude's own, and you have not trusted it in this folder yet:\n{listed}"
    if given is not None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        other = "" if given is None else "the list of --trust was another one, or a file has changed; "
        hint = f"{other}look at it, then answer yes at a terminal, or give --trust {expected}"
        raise UntrustedError(f"{text}\nnothing was imported, run or sent", hint=hint)
    output.note(f"{text}\nWhat is imported or run can do whatever you can. Trust all of it? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UntrustedError("not trusted: nothing was imported, run or sent")


def _record(found: Iterable[Foreign]) -> Path:
    name = digest([os.path.realpath(os.curdir), trust_hash(found)])
    return user_state(os.environ, Path.home()) / "trusted" / name


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _within(setting: str, value: object) -> Iterator[str]:
    """The names of all that a setting holds: one of them, set by hand, leaves the others as they are in the file."""
    below = _mapping(value)
    for key in below:
        yield from _within(f"{setting}.{key}", below[key])
    if not below:
        yield setting


def _import(family: Family, setting: str, name: object) -> Iterator[Foreign]:
    if isinstance(name, str) and ":" in name and name not in BUILT_IN[family]:
        yield Foreign(f"import {name!r}", (setting,), _modules(name.partition(":")[0]), imported=True)


def _parts(config: TrainConfig) -> Iterator[Foreign]:
    """Classes and their options: some of what is built in, else all but numbers and the usual ones of tasks."""
    options = _mapping(config.env.model_extra)
    folders = [*(Path(str(options[key])).parent for key in ("path", "train") if options.get(key)), Path()]
    parts: list[tuple[str, str, Family, Section]] = [(*part, getattr(config, part[0])) for part in _PARTS]
    for number, target in enumerate(config.targets):
        if target.agent is not None:
            parts.append((f"targets.{number}.agent", "name", "agents", target.agent))
    for where, named, family, given in parts:
        section = where.rpartition(".")[2]
        yield from _import(family, f"{where}.{named}", getattr(given, named))
        built_in = getattr(given, named) in BUILT_IN[family]
        programs = _PROGRAMS.get(getattr(given, named), ()) if section == "env" else ()
        for key, value in _mapping(given.model_extra).items():
            name = f"{section}.{key}"
            if name == "env.task" and built_in:
                yield Foreign(f"run {value!r}", (name,), _task_files(str(value)))
            if key in programs and value:
                yield Foreign(f"run what is in {value!r}", (name,), _files([value], folders))
            usual = type(value) in (int, float) or (section == "env" and key in DatasetConfig.model_fields)
            asked = name in _RUN or _OPEN.fullmatch(name) if built_in else not usual
            if value and asked and (name, value) not in _CLOSED:
                files = _files(value, folders) if name in _RUN else ()
                there = f"{where}.{key}"
                yield Foreign(f"{'run' if name in _RUN else 'set'} {value!r}", tuple(_within(there, value)), files)
    scorer = options.get("scorer")
    yield from _import("scorers", "env.scorer", scorer)
    yield from _import("scorers", "env.scorer.name", _mapping(scorer).get("name"))
    for name in config.report_to:
        yield from _import("trackers", "report_to", name)
    for name in config.sleep.sources if isinstance(config, SleepConfig) else ():
        yield from () if is_path(name) else _import("sources", "sleep.sources", name)


def _servers(config: TrainConfig) -> Iterator[Foreign]:
    """Models of one's own, and the keys of all roles but the usual ones for the providers' own servers."""
    for role, section in config.models.items():
        yield from _import("models", f"{role}.model", own_class(section.model))
        url, command = section.base_url, section.api_key_command
        plain = section.model_copy(update={"api_key_command": None})
        default = plain.model_copy(update={"api_key_env": ModelSection.model_fields["api_key_env"].default})
        variable, usual = used_key_variable(plain), used_key_variable(default)
        own = url is None or _OWN_SERVER.fullmatch(f"{section.model} {url}") is not None
        silent = url and _LOOPBACK.fullmatch(url) and not os.environ.get(variable or "")
        if section.renew_login:
            yield Foreign("set True", (f"{role}.renew_login",))
        if variable is None or (command is None and ((own and variable == usual) or silent)):
            continue
        given = {"api_key_command": command, "base_url": url, "api_key_env": variable != usual}
        what = f"send {variable!r}" if command is None else f"send what {command!r} prints"
        where = shown_address(url) if url is not None else f"provider of {section.model}"
        settings = tuple(f"{role}.{name}" for name, there in given.items() if there)
        yield Foreign(f"{what} to {where!r}", settings, () if command is None else _files(command, [Path()]))


def _files(value: object, folders: Sequence[Path]) -> tuple[tuple[str, str], ...]:
    """Files that the words of a command line name, and folders within `folders`."""
    words = [str(each) for each in cast(list[object], value)] if isinstance(value, list) else [str(value)]
    with suppress(ValueError):
        words += shlex.split(value) if isinstance(value, str) else []
    found: dict[str, str] = {}
    for word in filter(None, words):
        places = [folder / os.path.expanduser(word) for folder in folders]
        path = next(filter(os.path.exists, places), None)
        if path is not None and path.is_file():
            found[word] = _content(path)
        elif path is not None and any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
            inside = sorted(each for each in path.rglob("*") if each.is_file())
            found[word] = digest([[str(each.relative_to(path)), _content(each)] for each in inside])
    return tuple(found.items())


def _task_files(task: str) -> tuple[tuple[str, str], ...]:
    """The file of a task of another maker, and those next to it, which it may import; none for a name."""
    path = Path(os.path.expanduser(task.partition("@")[0]))
    beside = sorted(path.parent.glob("*.py")) if path.suffix == ".py" else []
    return tuple((str(file), _content(file)) for file in beside)


def _content(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return "unreadable"


def _modules(module: str) -> tuple[tuple[str, str], ...]:
    """The files of a module of the current folder, and the Python files next to it, which it may import; none for
    one that is installed."""
    top, suffixes = module.partition(".")[0], (*machinery.SOURCE_SUFFIXES, *machinery.EXTENSION_SUFFIXES)
    here = {path for suffix in suffixes for path in Path().glob(f"*{suffix}")}
    inside = {path for suffix in suffixes if top.isidentifier() for path in Path(top).rglob(f"*{suffix}")}
    known = inside or top in {path.name.partition(".")[0] for path in here}
    return tuple((str(path), _content(path)) for path in sorted(here | inside)) if known else ()
