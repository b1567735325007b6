"""Which instructions an agent program reads before it does anything in a project, so that nobody puts one of them out
of force or says again what stands there. Seen with real programs; the tests marked `programs` hold it."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from etude.programs.imports import CLAUDE as CLAUDE_IMPORTS
from etude.programs.imports import COPILOT, GEMINI, QWEN, Imports, imported
from etude.programs.path_patterns import for_some, matching, named_in
from etude.programs.project_paths import place_of
from etude.programs.repository import repository
from etude.programs.transcripts.values import table

CLAUDE = "claude-code"
READS_AGENTS = "2.1.281"
"""The first version of Claude Code that reads AGENTS.md, where there is no CLAUDE.md."""
_CODEX_READS = 32 * 2**10
"""Bytes that Codex reads of all files of a project together, unless its settings say otherwise."""
_MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")
"""Where Claude Code reads what whoever manages the machine has for all: no setting keeps it from these files."""
_BELOW = ("*", "*/*")
"""Folders of a project in which agents are started, too."""
_UNSEEN = re.compile(r"\A\ufeff?---[ \t]*$[\s\S]*?^---[ \t]*$|<!--[\s\S]*?-->", re.MULTILINE)
"""What Claude Code takes out of a file before it looks whether there is any text."""
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*[\s\S]*?\*/')


class Reader(NamedTuple):
    """What an agent program looks for in a folder and in the folders above it."""

    kinds: tuple[tuple[str, ...], ...]
    """Names of files. Of these kinds the first that is there is read, and the others are not."""
    of_all: bool = False
    """The kind is chosen for all folders at once, not for each of them."""
    outside: bool = False
    """Folders above the repository count, or above a project that is in none."""
    blank: bool = True
    """A file without text hides others, too."""
    more: tuple[str, ...] = ()
    """Other files that are read as well."""
    rules: tuple[str, ...] = ()
    """Folders of rules, each a file."""
    imports: Imports | None = None
    """How `@path` in a file stands for what is in that one; None where it does not."""
    excluded: re.Pattern[str] | None = None
    """Paths of files that are not read, whatever their name."""
    new: str = ""
    """What a new file is called where nothing is there, if it is not called as usual (`ProjectPaths.memory`)."""

    def counts(self, path: Path) -> bool:
        """Whether a file is there and read."""
        return not self.excludes(path) and (path.is_file() if self.blank else _has_text(path))

    def excludes(self, path: Path) -> bool:
        """Whether settings keep the program from reading a file."""
        return _among(self.excluded, path)


class InForce(NamedTuple):
    """What an agent reads in each session of a project."""

    memory: Path
    """Where rules for every session belong, whether or not it is there."""
    files: tuple[Path, ...] = ()
    """All files of instructions that are there, imports and the user's own among them."""
    room: int | None = None
    """How many bytes of the memory file are read; None for all."""
    excluded: re.Pattern[str] | None = None
    """Paths of files that settings keep the agent from reading."""

    def unread(self, path: Path) -> str:
        """The setting that keeps the agent from reading a file of the project; empty where it reads it. Of the memory
        file: any that could be in its place is not read either."""
        if _among(self.excluded, path):
            return "claudeMdExcludes"
        return "project_doc_max_bytes" if self.room == 0 else ""


def in_force(
    agent: str, project: Path, home: Path, environ: Mapping[str, str], version: str | None = None
) -> InForce:
    """The instructions that are in force for an agent, by its short name or that of its source of transcripts.

    Args:
        version: of the program; the newest unless it is known.
    """
    project = Path(os.path.abspath(project))
    reader = _reader(agent, project, home, environ, version)
    folders = [project, *Path(os.path.realpath(project)).parents]
    if not reader.outside:
        root = next((folder for folder in folders if (folder / ".git").exists()), project)
        folders = folders[: folders.index(root) + 1]
    found = [
        folder / name
        for folder in reversed(folders)
        for name in (*_there(reader, folders if reader.of_all else [folder]), *reader.more)
        if reader.counts(folder / name)
    ]
    own = [path for path in _of_user(agent, reader, home, environ) if reader.counts(path)]
    rules = [
        path
        for folder in reversed(folders)
        for name in reader.rules
        for path in _rules_in(folder / name, agent)
        if reader.counts(path)
    ]
    if agent == CLAUDE:
        inside = None if _asks_no_more(project, home, environ) else project
        own = list(_with_imports(own, home, reader, lambda _: None))
        rules = [path for path in rules if inside is None or not _leads_out(path, inside)]
        rules, found = (list(_with_imports(each, home, reader, lambda _: inside)) for each in (rules, found))
        managed = [_MANAGED / "CLAUDE.md", *_rules_in(_MANAGED / ".claude" / "rules", agent)]
        always = reader._replace(excluded=None)
        own[:0] = _with_imports(filter(always.counts, managed), home, always, lambda _: inside)
    else:
        own, found = (list(_with_imports(each, home, reader, _surrounding)) for each in (own, found))
    if agent == "gemini-cli":
        found += [place / name for place in _included(project, home, environ) for name in reader.kinds[0]]
        found = [path for path in found if path.is_file()]
    if agent == "opencode":
        own += _listed(folders, home, environ)
    memory = _memory(reader, project, folders, place_of(agent).memory)
    room = None
    if agent == "codex":
        found, room = _read_by_codex(found, memory, home, environ)
    return InForce(memory, tuple(dict.fromkeys([*own, *rules, *found])), room, reader.excluded)


def _among(paths: re.Pattern[str] | None, path: Path) -> bool:
    return paths is not None and any(map(paths.fullmatch, (os.path.abspath(path), os.path.realpath(path))))


def _read_by_codex(
    found: Sequence[Path], memory: Path, home: Path, environ: Mapping[str, str]
) -> tuple[list[Path], int]:
    """Which files Codex reads, from the highest folder on, and how many bytes they leave for the memory file."""
    named = _setting(_codex(home, environ) / "config.toml", "project_doc_max_bytes")
    read, left = list[Path](), int(named[0]) if named and named[0].isdecimal() else _CODEX_READS
    for path in found:
        read += [path] if left else []
        left = left if path == memory else max(0, left - path.stat().st_size)
    return read, left


def opening_of(path: Path) -> str:
    """What a new memory file begins with: a new CLAUDE.md would put the AGENTS.md beside it out of force, and so it
    imports that."""
    beside = path.name == "CLAUDE.md" and _has_text(path.parent / "AGENTS.md")
    return "@AGENTS.md\n\n" if beside else ""


def _memory(reader: Reader, project: Path, folders: list[Path], usual: str) -> Path:
    """The file of the project that is in force, else a new one that puts no other out of force."""
    kind = _there(reader, folders if reader.of_all else [project])
    if not kind and reader.of_all:  # in a folder below, a new file of an earlier kind would hide those of a later one
        below = [path for pattern in _BELOW for path in project.glob(pattern) if path.is_dir()]
        kind = _there(reader, below, last=True)
    shared = [name for name in kind if not name.endswith(".local.md")]
    there = (name for name in shared if reader.counts(project / name))
    other = (name for names in reader.kinds for name in names if not name.endswith(".local.md"))
    # What is in force hides files of other kinds, and nothing hides a rule.
    new = (*(shared or (reader.new or usual, *other)), *(f"{folder}/etude.md" for folder in reader.rules))
    return project / next(there, next((name for name in new if not reader.excludes(project / name)), usual))


def _there(reader: Reader, folders: Sequence[Path], *, last: bool = False) -> tuple[str, ...]:
    """The first kind of which there is a file in one of the folders, or the last one."""
    kinds = reader.kinds[::-1] if last else reader.kinds
    found = (kind for kind in kinds for name in kind for folder in folders if reader.counts(folder / name))
    return next(found, ())


def _has_text(path: Path) -> bool:
    return path.is_file() and bool(_UNSEEN.sub("", _text_of(path)).strip())


def _reader(agent: str, project: Path, home: Path, environ: Mapping[str, str], version: str | None) -> Reader:
    if agent == CLAUDE:
        kinds: tuple[tuple[str, ...], ...] = (("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"), ("AGENTS.md",))
        kinds = kinds[:1] if version is not None and _numbers(version) < _numbers(READS_AGENTS) else kinds
        excluded = _excluded(project, home, environ)
        rules = (".claude/rules",)
        return Reader(kinds, True, True, False, rules=rules, imports=CLAUDE_IMPORTS, excluded=excluded)
    if agent == "opencode":
        return Reader((("AGENTS.md",), ("CLAUDE.md",), ("CONTEXT.md",)), True, repository(project) is None)
    if agent == "codex":
        more = _setting(_codex(home, environ) / "config.toml", "project_doc_fallback_filenames")
        return Reader((("AGENTS.override.md",), ("AGENTS.md",), *((name,) for name in more)))
    if agent == "gemini-cli":
        names = (*_of_gemini(_gemini(home, environ), project / ".gemini"), "GEMINI.md")
        return Reader((tuple(dict.fromkeys(names)),), imports=GEMINI, new=names[0])
    if agent == "qwen-code":
        names = _of_gemini(_qwen(home, environ), project / ".qwen") or ("QWEN.md", "AGENTS.md")
        return Reader((names,), outside=True, rules=(".qwen/rules",), imports=QWEN, new=names[0])
    if agent == "copilot-cli":
        kinds = ((place_of(agent).memory, "AGENTS.md"),)
        rules = (".github/instructions", ".claude/rules")
        return Reader(kinds, more=("CLAUDE.md", "GEMINI.md"), rules=rules, imports=COPILOT)
    if agent == "pi":
        return Reader((("AGENTS.md",), ("CLAUDE.md",)), outside=True)
    return Reader((tuple(dict.fromkeys((place_of(agent).memory, "AGENTS.md"))),))


def _of_user(agent: str, reader: Reader, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """The user's own instructions, for all projects."""
    if agent == CLAUDE:
        claude = _claude(home, environ)
        return [claude / "CLAUDE.md", *_rules_in(claude / "rules", agent)]
    if agent in ("gemini-cli", "qwen-code", "copilot-cli"):
        if agent == "copilot-cli":
            folder, names = _folder(environ, "COPILOT_HOME", home / ".copilot"), ("copilot-instructions.md",)
        elif agent == "qwen-code":
            folder, names = _qwen(home, environ), reader.kinds[0]
        else:
            folder, names = _gemini(home, environ), reader.kinds[0]
        rules = {"qwen-code": "rules", "copilot-cli": "instructions"}
        more = _rules_in(folder / rules[agent], agent) if agent in rules else []
        return [folder / name for name in names if (folder / name).is_file()] + more
    if agent == "codex":
        wanted = [_codex(home, environ) / name for name in ("AGENTS.override.md", "AGENTS.md")]
        wanted = [path for path in wanted if path.is_file() and _text_of(path).strip()]
    elif agent == "opencode":
        wanted = [_opencode(home, environ) / "AGENTS.md", home / ".claude" / "CLAUDE.md"]
    else:
        wanted = [home / ".pi" / "agent" / "AGENTS.md"] if agent == "pi" else []
    return [path for path in wanted if path.is_file()][:1]


def _rules_in(folder: Path, agent: str) -> list[Path]:
    """The files of a folder of rules that are read in every session. Claude Code follows links to folders."""
    end = ".instructions.md" if folder.name == "instructions" else ".md"
    seen, found = set[str](), list[Path]()
    for at, inner, names in os.walk(folder, followlinks=agent == "claude-code"):
        if (real := os.path.realpath(at)) in seen:
            inner.clear()
            continue
        seen.add(real)
        found += [Path(at, name) for name in names if name.endswith(end)]
    return [path for path in sorted(found) if path.is_file() and not for_some(_text_of(path), agent)]


def _text_of(path: Path) -> str:
    """A file as text, whatever its bytes and line ends are; empty where it cannot be read."""
    with suppress(OSError):
        return path.read_bytes().decode(errors="replace").replace("\r\n", "\n")
    return ""


def _with_imports(
    files: Iterable[Path], home: Path, reader: Reader, within: Callable[[Path], Path | None]
) -> Iterator[Path]:
    """The files, each with what it imports from the folder that `within` has for it, or from anywhere."""
    for path in files:
        yield from imported(path, home, reader.imports, reader.counts, within(path)) if reader.imports else [path]


def _surrounding(path: Path) -> Path:
    """From where most programs take what a file imports: its repository, or its folder, `.github` apart."""
    folder = path.parent.parent if path.parent.name == ".github" else path.parent
    found = repository(folder)
    return folder if found is None else found.root


def _leads_out(rule: Path, project: Path) -> bool:
    """Whether a rule is a link out of the project, or in a linked folder of rules there."""
    real, above = Path(os.path.realpath(rule)), next(each.parent for each in rule.parents if each.name == ".claude")
    return not real.is_relative_to(os.path.realpath(project)) and real != above.resolve() / rule.relative_to(above)


def _asks_no_more(project: Path, home: Path, environ: Mapping[str, str]) -> bool:
    """Whether the user has let Claude Code read what files of the project import from elsewhere. It keeps that for a
    repository with all of its worktrees."""
    real = Path(os.path.realpath(project))
    found = repository(real)
    root = real if found is None else found.git.parent if found.git.name == ".git" else found.root
    kept = _folder(environ, "CLAUDE_CONFIG_DIR", home) / ".claude.json"
    return bool(_setting(kept, "projects", str(root), "hasClaudeMdExternalIncludesApproved"))


def _excluded(project: Path, home: Path, environ: Mapping[str, str]) -> re.Pattern[str] | None:
    """The files that settings keep Claude Code from reading."""
    own = project / ".claude"
    places = [_claude(home, environ) / "settings.json", own / "settings.json", own / "settings.local.json"]
    places += [_MANAGED / "managed-settings.json", *(_MANAGED / "managed-settings.d").glob("*.json")]
    return matching(pattern for place in places for pattern in _setting(place, "claudeMdExcludes"))


def _claude(home: Path, environ: Mapping[str, str]) -> Path:
    return _folder(environ, "CLAUDE_CONFIG_DIR", home / ".claude")


def _folder(environ: Mapping[str, str], variable: str, usual: Path) -> Path:
    return Path(environ[variable]) if environ.get(variable) else usual


def _codex(home: Path, environ: Mapping[str, str]) -> Path:
    return _folder(environ, "CODEX_HOME", home / ".codex")


def _opencode(home: Path, environ: Mapping[str, str]) -> Path:
    return _folder(environ, "XDG_CONFIG_HOME", home / ".config") / "opencode"


def _listed(folders: Sequence[Path], home: Path, environ: Mapping[str, str]) -> list[Path]:
    """What settings of OpenCode name as instructions: paths and patterns."""
    found: list[Path] = []
    places = (_opencode(home, environ), *folders, *(folder / ".opencode" for folder in folders))
    for settings in (folder / f"opencode.{end}" for folder in places for end in ("json", "jsonc")):
        for pattern in _setting(settings, "instructions"):
            at = pattern.replace("~", str(home), 1) if pattern.startswith("~/") else pattern
            if at.startswith("/"):  # only its last part is a pattern
                found += named_in(Path(at).parent, Path(at).name)
            elif "://" not in at:
                # Nobody waits until a whole disk is looked through.
                disk = "**" in at and folders[-1] == Path(folders[-1].anchor)
                found += [path for root in (folders[:1] if disk else folders) for path in named_in(root, at)]
    return [path for path in found if path.is_file()]


def _gemini(home: Path, environ: Mapping[str, str]) -> Path:
    return _folder(environ, "GEMINI_CLI_HOME", home) / ".gemini"


def _qwen(home: Path, environ: Mapping[str, str]) -> Path:
    return _folder(environ, "QWEN_HOME", home / ".qwen")


def _of_gemini(*folders: Path) -> tuple[str, ...]:
    """What the settings in these folders, of which the last counts that says anything of it, call the files of Gemini
    CLI, or of Qwen Code."""
    said = (_read_settings(folder / "settings.json", "context") for folder in reversed(folders))
    named = next((table(each)["fileName"] for each in said if "fileName" in table(each)), None)
    return tuple(dict.fromkeys(_named(named)))


def _included(project: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Folders of which Gemini CLI reads the files as well."""
    places = (_gemini(home, environ), project / ".gemini")
    named = (one for place in places for one in _setting(place / "settings.json", "context", "includeDirectories"))
    return [project / re.sub("^~(?=/)", lambda _: str(home), one) for one in named]


def _setting(path: Path, *keys: str) -> list[str]:
    """The texts and numbers of a setting; none where there is no such file, or it cannot be read."""
    return _named(_read_settings(path, *keys))


def _named(value: JsonValue) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [str(one) for one in values if isinstance(one, str | int) and one is not False and one != ""]


def _read_settings(path: Path, *keys: str) -> JsonValue:
    """What settings have under these keys; None where there is no such file, or it cannot be read."""
    try:
        text = path.read_bytes().decode()
        value: JsonValue = tomllib.loads(text) if path.suffix == ".toml" else json.loads(_bare(text) or "null")
    except (OSError, ValueError):
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _bare(text: str) -> str:
    """JSON without comments, and without commas before an end."""
    plain = _COMMENT.sub(lambda found: found[1] or "", text)
    return re.sub(r",(\s*[}\]])", r"\1", plain).strip()


def _numbers(version: str) -> list[int]:
    found = re.search(r"\d+(?:\.\d+)+", version)
    return [int(part) for part in found[0].split(".")] if found else []
