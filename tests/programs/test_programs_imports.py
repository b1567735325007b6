"""Which imports of instructions agent programs follow, and what settings keep them from reading."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from reading_programs import installed, read_by

from etude.programs.imports import CLAUDE, imported
from etude.programs.in_force import in_force

P, H = "top/project/", "home/"
APPROVED = '{"projects": {"ROOT/%s": {"hasClaudeMdExternalIncludesApproved": true}}}'
HERE, ABOVE, MAIN = ({H + ".claude.json": APPROVED % place} for place in ("top/project", "top", "top/main"))
OUT = {
    P + "CLAUDE.md": "W @in.md @../out.md @~/mine.md @ROOT/abs/a.md",
    P + "in.md": "W @../out2.md",
    "top/out.md": "W @deep.md",
    **dict.fromkeys(["top/out2.md", "top/deep.md", H + "mine.md", "abs/a.md"], "W"),
}
EXCLUDED = '{"claudeMdExcludes": [%s]}'
NAMED = '{"context": {"fileName": %s}}'
NAMES = {P + "CLAUDE.md": "W", "top/CLAUDE.md": "W", P + "AGENTS.md": "W", P + ".claude/rules/sub/b.md": "W"}
RULES = {P + "CLAUDE.md": "W", P + "docs/in.md": "W", "top/rules/out.md": "W"}
ABOVE_RULES = {P + "CLAUDE.md": "W", "top/.claude/rules/k.md": "W", "top/r/l.md": "W", P + "m.md": "W"}
ABOVE_LINKS = {"top/.claude/rules/l.md": "top/r/l.md", "top/.claude/rules/m.md": P + "m.md"}
LINKED = {
    P + ".claude/rules/in": P + "docs",
    P + ".claude/rules/out": "top/rules",
    P + ".claude/rules/x": P + ".claude",
}
OWN = "@~/x.md @ROOT/abs/b.md @../y.md @z.md"
OWN_TEXTS = {H + "x.md": "W @more.md", **dict.fromkeys([H + "more.md", "abs/b.md", H + "y.md"], "W")}
FORMS = (
    "@./a.md see @./b.md, (@./c.md) **@./d.md** @./e.md#part @./f\\ f.md <!-- @./g.md -->\n\n`@./h.md`\n\n"
    "<div>\n@./i.md\n</div>\n\n~~~\n@./j.md\n~~~\n\n- [ ] @./k.md\n"
)
FILES = [*"abcdeghijk", "f f"]
INDENTED = (
    "W\n\nText:\n\n    @./a.md\n\n\t@./b.md\n\n- item\n\n    @./c.md\n\n1. one\n\n       @./d.md\nend\n    @./e.md\n"
    "\n> quote @./f.md\n\n>     @./g.md\n\n# H\n    @./h.md\n\n***\n    @./i.md\r\n\r\n-     @./j.md\n\n"
    "- a\n\n  - b\n\n      @./k.md\n\n        @./l.md\n\n  @./m.md\n\n* b\nstill b\n\n    @./n.md\n"
)
SPANS = (
    "W\n\nIt is ` a tick.\n\n@./a.md\n\nAnd ` another.\n\n`` @./b.md ` x ``\n\n`z`@./c.md and `z` @./d.md\n\n"
    "wrap `code\n@./e.md` end\n\n`y`   @./f.md\n"
)
EVERYWHERE = [P + "CLAUDE.md", P + "CLAUDE.local.md", P + ".claude/rules/a.md", "top/CLAUDE.md"]
PATTERNS = {
    "**/{CLAUDE*,b}.md": "a.md",
    "**/[Cc]LAUDE.md": "CLAUDE.local.md a.md",
    "**/[!C]*.md": "a.md",
    "**/[^C]*.md": "CLAUDE.md CLAUDE.md CLAUDE.local.md",
    "**/CLAUDE?(.local).md": "a.md",
    "**/CLAUDE(.local|).md": "a.md",
    "**/+([A-Z]|x).md": "CLAUDE.local.md a.md",
    "!**/CLAUDE.md": "CLAUDE.md CLAUDE.md",
    "**/{rules/{a,b},CLAUDE}.md": "CLAUDE.local.md",
    "**/{a..c}.md": "CLAUDE.md CLAUDE.md CLAUDE.local.md",
    **dict.fromkeys(
        ["**CLAUDE.md", "**/{CLAUDE}.md", "**/CLAUDE.{md", "**/[z-a]*", "CLAUDE*", "\\\\*"],
        "CLAUDE.md CLAUDE.md CLAUDE.local.md a.md",
    ),
}


def chain(first: str, last: int) -> dict[str, str]:
    folder = first.rpartition("/")[0]
    return {first: "W @./1.md", **{f"{folder}/{at}.md": f"W\n@./{at + 1}.md" for at in range(1, last + 1)}}


def chained(first: str, last: int) -> list[str]:
    return [first.rpartition("/")[2], *(f"{at}.md" for at in range(1, last + 1))]


CASES = [
    # agent, texts of files, links, what is read; `W` is a word of the file, ROOT the folder of all, 2 one twice
    ("claude-code", OUT, {}, "CLAUDE.md in.md"),
    ("claude-code", OUT | HERE, {}, "CLAUDE.md in.md out.md out2.md deep.md mine.md a.md"),
    ("claude-code", OUT | ABOVE, {}, "CLAUDE.md in.md"),
    ("claude-code", OUT | ABOVE | {"top/.git": ""}, {}, "CLAUDE.md in.md out.md out2.md deep.md mine.md a.md"),
    ("claude-code", OUT | HERE | {"top/.git": ""}, {}, "CLAUDE.md in.md"),
    (
        "claude-code",
        OUT | MAIN | {"top/main/.git": "tree"},
        {},
        "CLAUDE.md in.md out.md out2.md deep.md mine.md a.md",
    ),
    ("claude-code", OUT | HERE | {"top/main/.git": "tree"}, {}, "CLAUDE.md in.md"),
    (
        "claude-code",
        {"top/CLAUDE.md": "W @o.md @project/i.md", "top/o.md": "W", P + "i.md": "W"},
        {},
        "CLAUDE.md i.md",
    ),
    (
        "claude-code",
        {"top/CLAUDE.md": "W @o.md @project/i.md", "top/o.md": "W", P + "i.md": "W"} | HERE,
        {},
        "CLAUDE.md o.md i.md",
    ),
    (
        "claude-code",
        {P + ".claude/rules/r.md": "W @~/x.md @../../in.md", H + "x.md": "W", P + "in.md": "W"},
        {},
        "r.md in.md",
    ),
    (
        "claude-code",
        {P + ".claude/rules/r.md": "W @~/x.md @../../in.md", H + "x.md": "W", P + "in.md": "W"} | HERE,
        {},
        "r.md in.md x.md",
    ),
    ("claude-code", {H + ".claude/CLAUDE.md": "W " + OWN, **OWN_TEXTS}, {}, "CLAUDE.md x.md more.md b.md y.md"),
    ("claude-code", {H + ".claude/rules/r.md": "W @~/x.md", H + "x.md": "W"}, {}, "r.md x.md"),
    ("claude-code", RULES, LINKED, "CLAUDE.md in.md"),
    ("claude-code", RULES | HERE, LINKED, "CLAUDE.md in.md out.md"),
    ("claude-code", ABOVE_RULES, ABOVE_LINKS, "CLAUDE.md k.md m.md"),
    ("claude-code", ABOVE_RULES | HERE, ABOVE_LINKS, "CLAUDE.md k.md m.md l.md"),
    (
        "claude-code",
        {"top/shared.md": "W @beside.md", "top/beside.md": "W", P + "beside.md": "no"} | HERE,
        {P + "CLAUDE.md": "top/shared.md"},
        "shared.md beside.md",
    ),
    ("claude-code", {P + "CLAUDE.md": "W @in.md", "top/out.md": "W"}, {P + "in.md": "top/out.md"}, "CLAUDE.md"),
    (
        "claude-code",
        {P + "CLAUDE.md": f"W\n{FORMS}", **{f"{P}{at}.md": "W" for at in FILES}},
        {},
        "CLAUDE.md a d e f+f k",
    ),
    ("claude-code", NAMES | {P + ".claude/settings.json": EXCLUDED % '"**/top/CLAUDE.md"'}, {}, "CLAUDE.md b.md"),
    ("claude-code", NAMES | {H + ".claude/settings.json": EXCLUDED % '"**/CLAUDE*"'}, {}, "AGENTS.md b.md"),
    ("claude-code", NAMES | {P + ".claude/settings.local.json": EXCLUDED % '"ROOT/top/**"'}, {}, ""),
    (
        "claude-code",
        dict.fromkeys([P + "CLAUDE.md", P + "CLAUDE.local.md", P + "AGENTS.md", P + ".claude/rules/etude.md"], "W")
        | {P + ".claude/settings.json": EXCLUDED % '"**/CLAUDE.md"'},
        {},
        "CLAUDE.local.md etude.md",
    ),
    (
        "claude-code",
        NAMES | {P + ".claude/settings.json": EXCLUDED % '"**/{rules,r}/*/*.md", "x?"'},
        {},
        "CLAUDE.md 2",
    ),
    ("claude-code", NAMES | {P + ".claude/settings.json": EXCLUDED % '"CLAUDE.md", "*.md"'}, {}, "CLAUDE.md 2 b.md"),
    *(
        (
            "claude-code",
            dict.fromkeys(EVERYWHERE, "W") | {P + ".claude/settings.json": EXCLUDED % f'"{one}"'},
            {},
            read,
        )
        for one, read in PATTERNS.items()
    ),
    *(
        (agent, {P + file: text, **{f"{P}{at}.md": "W" for at in "abcdefghijklmn"}}, {}, read)
        for agent, file, text, read in (
            ("claude-code", "CLAUDE.md", INDENTED, "CLAUDE.md c e f k m n"),
            ("qwen-code", "QWEN.md", INDENTED, "QWEN.md c d e f j k l m n"),
            ("gemini-cli", "GEMINI.md", INDENTED, "GEMINI.md a b c d e f g h i j k l m n"),
            ("claude-code", "CLAUDE.md", SPANS, "CLAUDE.md a c d f"),
            ("qwen-code", "QWEN.md", SPANS, "QWEN.md a d f"),
            ("gemini-cli", "GEMINI.md", SPANS, "GEMINI.md d f"),
            ("copilot-cli", "AGENTS.md", SPANS, "AGENTS.md a c d e f"),
        )
    ),
    *(
        (
            "gemini-cli",
            {H + ".gemini/settings.json": NAMED % '"a.md"', P + ".gemini/settings.json": NAMED % named}
            | {P + "GEMINI.md": "W", P + "a.md": "W"},
            {},
            "GEMINI.md",
        )
        for named in ("[]", '""', "null")
    ),
    ("gemini-cli", chain(P + "GEMINI.md", 12), {}, " ".join(chained(P + "GEMINI.md", 12))),
    (
        "gemini-cli",
        {P + "GEMINI.md": f"W\n{FORMS}", **{f"{P}{at}.md": "W" for at in FILES}},
        {},
        "GEMINI.md a g i j k",
    ),
    ("gemini-cli", {P + "GEMINI.md": "W @../out.md", "top/out.md": "W"}, {}, "GEMINI.md"),
    ("gemini-cli", {P + "GEMINI.md": "W @../out.md", "top/out.md": "W", "top/.git": ""}, {}, "GEMINI.md out.md"),
    ("gemini-cli", {H + ".gemini/GEMINI.md": "W " + OWN, H + ".gemini/z.md": "W", **OWN_TEXTS}, {}, "GEMINI.md z.md"),
    ("qwen-code", chain(P + "QWEN.md", 7), {}, " ".join(chained(P + "QWEN.md", 5))),
    ("qwen-code", {P + "QWEN.md": "W @../out.md", "top/out.md": "W", "top/.git": ""}, {}, "QWEN.md out.md"),
    ("qwen-code", {H + ".qwen/QWEN.md": "W " + OWN, H + ".qwen/z.md": "W", **OWN_TEXTS}, {}, "QWEN.md z.md"),
    ("qwen-code", {P + ".qwen/rules/k.md": "W @../../t.md", P + "t.md": "W"}, {}, "k.md"),
    ("copilot-cli", chain(P + "AGENTS.md", 10), {}, " ".join(chained(P + "AGENTS.md", 8))),
    (
        "copilot-cli",
        {P + "AGENTS.md": f"W\n{FORMS}", **{f"{P}{at}.md": "W" for at in FILES}},
        {},
        "AGENTS.md a b c g i k",
    ),
    ("copilot-cli", {P + "AGENTS.md": "W @../out.md", "top/out.md": "W", "top/.git": ""}, {}, "AGENTS.md out.md"),
    (
        "copilot-cli",
        {P + ".github/instructions/k.instructions.md": "W @./j.md", P + ".github/instructions/j.md": "W"},
        {},
        "k.instructions.md",
    ),
]


def made(root: Path, texts: Mapping[str, str], links: Mapping[str, str]) -> Path:
    """A project with these files in it and around it."""
    (root / "home").mkdir()
    (root / P).mkdir(parents=True)
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name != ".git":
            path.write_text(text.replace("W", f"The word of {name} is 77.").replace("ROOT", str(root)))
            continue
        git = ["git", "-C", str(path.parent), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "--quiet"], check=True)
        if text == "tree":  # the project is another worktree of this repository
            subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=a"], check=True)
            shutil.move(root / P, root / "aside")
            subprocess.run([*git, "worktree", "add", "--quiet", str(root / P)], check=True)
            shutil.copytree(root / "aside", root / P, dirs_exist_ok=True)
    for name, leads in links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(root / leads)
    return root / P


def words(texts: Mapping[str, str], read: str) -> set[str]:
    return {name for name in texts if f"The word of {name} is 77." in read}


@pytest.mark.parametrize(("agent", "texts", "links", "read"), CASES)
def test_what_a_file_imports_is_in_force_where_the_program_reads_it(
    tmp_path: Path, agent: str, texts: Mapping[str, str], links: Mapping[str, str], read: str
) -> None:
    project = made(tmp_path, texts, links)
    files = in_force(agent, project, tmp_path / "home", {}).files
    found = sorted(Path(name).name for name in words(texts, "\n".join(path.read_text() for path in files)))
    wanted = [name.replace("+", " ") for name in read.split()]
    wanted = [wanted[at - 1] if name == "2" else name for at, name in enumerate(wanted)]
    assert found == sorted(name if name.endswith(".md") else f"{name}.md" for name in wanted)


def test_the_users_word_for_imports_is_where_claude_code_keeps_its_settings(tmp_path: Path) -> None:
    moved = {H + "moved/.claude.json": APPROVED % "top/project", H + "moved/CLAUDE.md": "W"}
    project, environ = made(tmp_path, OUT | moved, {}), {"CLAUDE_CONFIG_DIR": str(tmp_path / "home/moved")}
    names = {path.name for path in in_force("claude-code", project, tmp_path / "home", environ).files}
    assert {"mine.md", "out.md"} <= names
    history = '{"projects": {"/other": {"history": ["%s"]}, ' % ("x" * 300_000)
    (tmp_path / "home/moved/.claude.json").write_text("not JSON")
    assert "mine.md" not in {path.name for path in in_force("claude-code", project, tmp_path / "home", environ).files}
    large = (APPROVED % "top/project").replace("ROOT", str(tmp_path)).replace('{"projects": {', history)
    (tmp_path / "home/moved/.claude.json").write_text(large)
    assert "mine.md" in {path.name for path in in_force("claude-code", project, tmp_path / "home", environ).files}


@pytest.mark.parametrize(
    ("excluded", "there", "memory"),
    [
        ("**/CLAUDE.md", [], "AGENTS.md"),
        ("**/project/CLAUDE.md", [P + "CLAUDE.local.md", P + "AGENTS.md"], ".claude/CLAUDE.md"),
        ("**/CLAUDE.md", [P + "CLAUDE.local.md", P + "AGENTS.md"], ".claude/rules/etude.md"),
        ("**/CLAUDE.md", [P + "CLAUDE.local.md"], ".claude/rules/etude.md"),
        ("**/CLAUDE.md", ["top/CLAUDE.local.md", P + "AGENTS.md"], ".claude/rules/etude.md"),
        ("**/AGENTS.md", [P + "AGENTS.md"], "CLAUDE.md"),
    ],
)
def test_a_new_file_is_one_that_is_read(tmp_path: Path, excluded: str, there: list[str], memory: str) -> None:
    settings = {P + ".claude/settings.json": EXCLUDED % json.dumps(excluded)}
    project = made(tmp_path, settings | dict.fromkeys(there, "W"), {})
    before = in_force("claude-code", project, tmp_path / "home", {})
    assert before.memory == project / memory
    before.memory.parent.mkdir(parents=True, exist_ok=True)
    before.memory.write_text("- A rule.\n")
    after = in_force("claude-code", project, tmp_path / "home", {})
    assert (after.memory, set(after.files)) == (before.memory, {before.memory, *before.files})


def test_what_the_manager_of_a_machine_has_for_all_is_read_whatever_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etude.programs.in_force._MANAGED", tmp_path / "managed")
    texts = {
        "managed/CLAUDE.md": "W @out.md @ROOT/top/project/in.md",
        "managed/.claude/rules/k.md": "W",
        **dict.fromkeys(["managed/out.md", P + "in.md", P + "CLAUDE.md", H + ".claude/CLAUDE.md"], "W"),
    }
    managed = ["managed/CLAUDE.md", P + "in.md", "managed/.claude/rules/k.md"]
    project = made(tmp_path, texts | {P + ".claude/settings.json": EXCLUDED % '"**/*.md"'}, {})
    assert [
        str(path.relative_to(tmp_path)) for path in in_force("claude-code", project, tmp_path / "home", {}).files
    ] == managed
    (project / ".claude" / "settings.json").unlink()
    for name, pattern in (
        ("managed-settings.json", "**/project/CLAUDE.md"),
        ("managed-settings.d/a.json", "**/home/**"),
    ):
        path = tmp_path / "managed" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(EXCLUDED % json.dumps(pattern))
    assert [
        str(path.relative_to(tmp_path)) for path in in_force("claude-code", project, tmp_path / "home", {}).files
    ] == managed


def test_a_linked_project_is_read_with_the_folders_above_the_one_it_leads_to(tmp_path: Path) -> None:
    made(tmp_path, {P + "CLAUDE.md": "W", "top/CLAUDE.md": "W", H + "CLAUDE.md": "W"}, {H + "link": P})
    found = in_force("claude-code", tmp_path / "home/link", tmp_path / "home", {})
    assert found.memory == tmp_path / "home/link/CLAUDE.md"
    assert set(found.files) == {tmp_path / "home/link/CLAUDE.md", tmp_path / "top/CLAUDE.md"}


@pytest.mark.programs
@pytest.mark.parametrize(("agent", "texts", "links", "read"), CASES)
async def test_real_programs_import_what_is_said_here(
    tmp_path: Path,
    agent: str,
    texts: Mapping[str, str],
    links: Mapping[str, str],
    read: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = installed(agent)
    if path is None:
        pytest.skip(f"no {agent} here: scripts/programs --all installs it")
    monkeypatch.setenv("PATH", f"{Path(path).parent}{os.pathsep}{os.environ['PATH']}")
    project = made(tmp_path, texts, links)
    files = in_force(agent, project, tmp_path / "home", {}).files
    told = words(texts, await read_by(agent, project, tmp_path / "home", path))
    assert told == words(texts, "\n".join(path.read_text() for path in files))


def test_comments_that_never_end_hide_nothing(tmp_path: Path) -> None:
    """So many of them are read at once: none is looked for behind each."""
    (tmp_path / "in.md").write_text("W")
    file = tmp_path / "CLAUDE.md"
    file.write_text("<!--" * 45_000 + " @in.md")
    assert list(imported(file, tmp_path, CLAUDE, Path.is_file, None)) == [file, tmp_path / "in.md"]
