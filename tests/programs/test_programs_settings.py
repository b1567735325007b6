"""Which instructions agent programs read by their settings and by the front matter of rules."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from reading_programs import installed, read_by

from etude.programs.in_force import in_force

P, H = "top/project/", "home/"
RULES = P + ".claude/rules/"
NAMED = '{"context": {"fileName": ["%s"]}}'


def rules(folder: str, end: str, *heads: str) -> dict[str, str]:
    """Rules `a`, `b` and so on with these lines in front."""
    return {f"{folder}{'abcdefghijk'[at]}{end}": f"---\n{head}\n---\nW" for at, head in enumerate(heads)}


CASES = [
    # agent, texts of files, what is read of them, where rules go; `W` is a word of the file
    (
        "claude-code",
        rules(
            RULES,
            ".md",
            'paths: "**"',
            "paths: **/**, **",
            "paths:\n  - '**'",
            "paths: []",
            "description: it: is",
            'paths: ["**/*"]',
            "paths: **/*.ts",
            'paths: ["**", "src/*"]',
            '"paths": src/**',
            ' paths: "src/**"',
            "description: it: is\npaths: a/b",
        ),
        "a b c d e",
        "CLAUDE.md",
    ),
    (
        "qwen-code",
        rules(P + ".qwen/rules/", ".md", "paths: []", "description: a: b", 'paths: "**"', '"paths": x'),
        "a b",
        "QWEN.md",
    ),
    (
        "copilot-cli",
        rules(
            P + ".github/instructions/",
            ".instructions.md",
            'applyTo: "*"',
            "applyTo: '**/*'",
            "applyTo: **,**/*",
            'applyTo: ["**"]',
            "applyTo:",
            'applyTo: "**/**"',
            'applyTo: "**, src/**"',
            '"applyTo": "src/**"',
            "applyTo: src/**/*.{ts,tsx}",
        ),
        "a b c d e",
        ".github/copilot-instructions.md",
    ),
    (
        "copilot-cli",
        rules(RULES, ".md", 'paths: "**"', 'paths: ["**/*"]', "paths: src/**"),
        "a b",
        ".github/copilot-instructions.md",
    ),
    (
        "copilot-cli",
        {P + ".github/copilot-instructions.md": "W @../a.md @../../b.md", P + "a.md": "W", "top/b.md": "W"},
        "copilot-instructions a",
        ".github/copilot-instructions.md",
    ),
    (
        "gemini-cli",
        {
            H + ".gemini/settings.json": NAMED % "a.md",
            P + ".gemini/settings.json": NAMED % "b.md",
            **dict.fromkeys([P + "a.md", P + "b.md", H + ".gemini/a.md", H + ".gemini/b.md"], "W"),
        },
        "b b",
        "b.md",
    ),
    (
        "qwen-code",
        {
            H + ".qwen/settings.json": NAMED % "a.md",
            P + ".qwen/settings.json": NAMED % "b.md",
            **dict.fromkeys([P + "a.md", H + ".qwen/a.md", H + ".qwen/b.md", H + ".qwen/QWEN.md"], "W"),
        },
        "b",
        "b.md",
    ),
    (
        "gemini-cli",
        {
            P + ".gemini/settings.json": '{"context": {"includeDirectories": ["../other", "~/own"]}}',
            **dict.fromkeys(["top/other/GEMINI.md", "top/other/x/GEMINI.md", H + "own/GEMINI.md"], "W"),
        },
        "GEMINI GEMINI",
        "GEMINI.md",
    ),
    (
        "codex",
        {H + ".codex/AGENTS.override.md": " \n", H + ".codex/AGENTS.md": "W", P + "AGENTS.md": "\n"},
        "AGENTS",
        "AGENTS.md",
    ),
    (
        "opencode",
        {
            P + ".git": "",
            P + "opencode.json": '{"instructions": ["{a,b/{c,d}}.md", "e/**.md", "f/**", "a**b", "[g", "", "../h.md",'
            ' ".", "{/etc/,i}j.md", "~/k/*.md", "~/l*/l.md"]}',
            **{f"{P}{name}.md": "W" for name in ("a", "b/c", "b/d", "e/e", "e/x/y", "f/f", "f/x/g", "ij")},
            **dict.fromkeys(["top/h.md", H + "k/k.md", H + "lm/l.md"], "W"),
        },
        "a c d e f g h ij k",
        "AGENTS.md",
    ),
    ("claude-code", {P + "CLAUDE.md": "\ufeff@a.md\r\nW", P + "a.md": "W"}, "CLAUDE a", "CLAUDE.md"),
    (
        "claude-code",
        {P + "CLAUDE.md": "---\na: @a.md\n---\nW @b.md", P + "a.md": "W", P + "b.md": "W"},
        "CLAUDE b",
        "",
    ),
    ("gemini-cli", {P + "GEMINI.md": "\ufeff@./a.md\r\nW", P + "a.md": "W"}, "GEMINI", "GEMINI.md"),
]


def made(root: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == ".git":
            path.mkdir()
        else:
            path.write_bytes(text.replace("W", f"The word of {name} is 77.").encode())
    (root / "home").mkdir(exist_ok=True)
    (root / P).mkdir(parents=True, exist_ok=True)
    return root / P


def words(texts: Mapping[str, str], read: str) -> list[str]:
    found = (name for name in texts if f"The word of {name} is 77." in read)
    return sorted(Path(name).name.partition(".")[0] for name in found)


@pytest.mark.parametrize(("agent", "texts", "read", "goes"), CASES)
def test_settings_and_front_matter_decide_what_is_read(
    tmp_path: Path, agent: str, texts: Mapping[str, str], read: str, goes: str
) -> None:
    project = made(tmp_path, texts)
    found = in_force(agent, project, tmp_path / "home", {})
    assert words(texts, "\n".join(path.read_text() for path in found.files)) == sorted(read.split())
    assert found.memory == project / (goes or "CLAUDE.md")


def test_a_pattern_for_any_depth_is_not_looked_for_on_the_whole_disk(tmp_path: Path) -> None:
    """Outside of a repository OpenCode looks there, in minutes."""
    texts = {
        P + "opencode.json": '{"instructions": ["**/a.md", "/**/a.md", "c.md"]}',
        P + "x/a.md": "W",
        "top/y/a.md": "W",
    }
    project = made(tmp_path, texts | {"top/c.md": "W"})
    found = in_force("opencode", project, tmp_path / "home", {}).files
    assert {str(path.relative_to(tmp_path)) for path in found} == {P + "x/a.md", "top/c.md"}


@pytest.mark.parametrize(
    ("agent", "closed"),
    [("codex", H + ".codex/AGENTS.md"), ("claude-code", P + ".claude/rules/a.md"), ("claude-code", P + "CLAUDE.md")],
)
def test_a_file_that_nobody_may_read_stops_nothing(
    tmp_path: Path, agent: str, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, read = made(tmp_path, {closed: "W", P + "AGENTS.md": "W"}), Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path == tmp_path / closed:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert project / "AGENTS.md" in in_force(agent, project, tmp_path / "home", {}).files


@pytest.mark.programs
@pytest.mark.parametrize(
    ("agent", "texts", "read"),
    # A user's settings of Gemini CLI and Qwen Code are those of their launch.
    [
        (agent, texts, read)
        for agent, texts, read, _ in CASES
        if not any("home/" in at and ".json" in at for at in texts)
    ],
)
async def test_real_programs_read_by_settings_what_is_said_here(
    tmp_path: Path, agent: str, texts: Mapping[str, str], read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = installed(agent)
    if path is None:
        pytest.skip(f"no {agent} here: scripts/programs --all installs it")
    monkeypatch.setenv("PATH", f"{Path(path).parent}{os.pathsep}{os.environ['PATH']}")
    project = made(tmp_path, texts)
    assert words(texts, await read_by(agent, project, tmp_path / "home", path)) == sorted(read.split())
