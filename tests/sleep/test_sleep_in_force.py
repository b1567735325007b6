"""What agent programs read, and where rules go so that nothing of it is out of force afterwards."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from reading_programs import installed, read_by
from sleep_proposals import Project, proposed

from etude.config.sections import AgentSection
from etude.errors import InputError, SkillError
from etude.programs.in_force import InForce, in_force
from etude.prompts import Prompts
from etude.records import Skill, Task
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.proposal import Proposal, stage
from etude.sleep.config import SleepSection
from etude.sleep.improve.context import Documents, InContext
from etude.sleep.live_documents import documents_of
from etude.sleep.page import rule_lines
from etude.sleep.state import Surroundings
from etude.sleep.tasks.environment import NightEnvironment
from etude.testing import ScriptedModel

P, H = "top/project/", "home/"
COPILOT = ".github/copilot-instructions.md"

PLACES = [
    # agent, what is there, what is read of it, where rules go; `.git` makes a repository
    ("claude-code", [], "", "CLAUDE.md"),
    ("claude-code", [P + "AGENTS.md"], "all", "AGENTS.md"),
    ("claude-code", ["top/AGENTS.md"], "all", "AGENTS.md"),
    ("claude-code", [P + "AGENTS.md", P + "CLAUDE.md"], P + "CLAUDE.md", "CLAUDE.md"),
    ("claude-code", [P + "AGENTS.md", "top/CLAUDE.md"], "top/CLAUDE.md", "CLAUDE.md"),
    ("claude-code", [P + "AGENTS.md", P + "CLAUDE.local.md"], P + "CLAUDE.local.md", "CLAUDE.md"),
    ("claude-code", [P + "AGENTS.md", P + ".claude/CLAUDE.md"], P + ".claude/CLAUDE.md", ".claude/CLAUDE.md"),
    ("claude-code", [P + "AGENTS.md", H + ".claude/CLAUDE.md", P + ".claude/rules/sub/a.md"], "all", "AGENTS.md"),
    ("claude-code", [H + ".claude/CLAUDE.md", H + ".claude/rules/a.md", P + "CLAUDE.md"], "all", "CLAUDE.md"),
    ("opencode", [], "", "AGENTS.md"),
    ("opencode", [P + "CLAUDE.md"], "all", "CLAUDE.md"),
    ("opencode", ["top/CLAUDE.md"], "all", "CLAUDE.md"),
    ("opencode", [P + "CLAUDE.md", P + "AGENTS.md"], P + "AGENTS.md", "AGENTS.md"),
    ("opencode", [P + "CLAUDE.md", "top/AGENTS.md"], "top/AGENTS.md", "AGENTS.md"),
    ("opencode", [P + ".git", P + "CLAUDE.md", "top/AGENTS.md"], P + "CLAUDE.md", "CLAUDE.md"),
    ("opencode", [P + "CONTEXT.md"], "all", "CONTEXT.md"),
    (
        "opencode",
        [H + ".config/opencode/AGENTS.md", H + ".claude/CLAUDE.md"],
        H + ".config/opencode/AGENTS.md",
        "AGENTS.md",
    ),
    ("opencode", [H + ".claude/CLAUDE.md"], "all", "AGENTS.md"),
    ("codex", [], "", "AGENTS.md"),
    (
        "codex",
        [P + "AGENTS.md", "top/AGENTS.md", H + ".codex/AGENTS.md"],
        f"{P}AGENTS.md {H}.codex/AGENTS.md",
        "AGENTS.md",
    ),
    ("codex", ["top/.git", "top/AGENTS.md", P + "CLAUDE.md"], "top/AGENTS.md", "AGENTS.md"),
    ("codex", [P + "AGENTS.md", P + "AGENTS.override.md"], P + "AGENTS.override.md", "AGENTS.override.md"),
    ("gemini-cli", [], "", "GEMINI.md"),
    (
        "gemini-cli",
        [P + "AGENTS.md", P + "GEMINI.md", H + ".gemini/GEMINI.md"],
        f"{P}GEMINI.md {H}.gemini/GEMINI.md",
        "GEMINI.md",
    ),
    ("gemini-cli", ["top/.git", "top/GEMINI.md"], "all", "GEMINI.md"),
    ("qwen-code", [H + ".qwen/QWEN.md", H + ".qwen/AGENTS.md", H + ".qwen/rules/a.md"], "all", "QWEN.md"),
    (
        "qwen-code",
        ["top/QWEN.md", P + "AGENTS.md", P + ".qwen/rules/sub/a.md", P + "CLAUDE.md"],
        f"top/QWEN.md {P}AGENTS.md {P}.qwen/rules/sub/a.md",
        "AGENTS.md",
    ),
    (
        "copilot-cli",
        [H + ".copilot/copilot-instructions.md", H + ".copilot/instructions/a.instructions.md"],
        "all",
        COPILOT,
    ),
    (
        "copilot-cli",
        [P + "AGENTS.md", P + "CLAUDE.md", P + "GEMINI.md", P + ".claude/rules/a.md"],
        "all",
        "AGENTS.md",
    ),
    ("copilot-cli", ["top/.git", "top/AGENTS.md", "top/" + COPILOT, P + "CLAUDE.md"], "all", COPILOT),
]

CHAIN = {P + "CLAUDE.md": "W @1.md\n", **{f"{P}{at}.md": f"W\n@{at + 1}.md\n" for at in range(1, 6)}}
TEXTS = [
    # agent, texts of files, where rules go, what is read of the files; `W` is a word of the file
    (
        "claude-code",
        {
            P + "CLAUDE.md": "W @AGENTS.md\n`@no.md`\n@../AGENTS.md (@no.md) @no.md.\n",
            P + "AGENTS.md": "W",
            P + "no.md": "W",
            "top/AGENTS.md": "W",
        },
        "CLAUDE.md",
        "CLAUDE.md AGENTS.md",
    ),
    ("claude-code", CHAIN, "CLAUDE.md", "CLAUDE.md 1.md 2.md 3.md 4.md"),
    ("claude-code", {P + "CLAUDE.md": "", P + "AGENTS.md": "W"}, "AGENTS.md", "AGENTS.md"),
    ("claude-code", {P + "CLAUDE.md": "<!-- W -->\n", P + "AGENTS.md": "W"}, "AGENTS.md", "AGENTS.md"),
    ("claude-code", {P + "CLAUDE.md": "---\r\na: 1\r\n---\r\n", P + "AGENTS.md": "W"}, "AGENTS.md", "AGENTS.md"),
    (
        "claude-code",
        {
            P + "CLAUDE.md": "W",
            P + ".claude/rules/a.md": "W",
            P + ".claude/rules/b.md": "---\npaths:\n  - 'src/**'\n---\nW",
        },
        "CLAUDE.md",
        "CLAUDE.md .claude/rules/a.md",
    ),
    (
        "claude-code",
        {
            H + ".claude/CLAUDE.md": "W See @~/.claude/more.md and @extra.md",
            H + ".claude/more.md": "W",
            H + ".claude/extra.md": "W",
        },
        "CLAUDE.md",
        "~/.claude/CLAUDE.md ~/.claude/more.md ~/.claude/extra.md",
    ),
    (
        "opencode",
        {P + "opencode.json": '{"instructions": ["docs/*.md", "~/x.md"]}', P + "docs/a.md": "W", H + "x.md": "W"},
        "AGENTS.md",
        "docs/a.md ~/x.md",
    ),
    (
        "opencode",
        {P + "opencode.jsonc": '{\n// mine: "x"\n"instructions": ["docs/*.md",],\n}', P + "docs/a.md": "W"},
        "AGENTS.md",
        "docs/a.md",
    ),
    ("opencode", {P + "AGENTS.md": "", P + "CLAUDE.md": "W"}, "AGENTS.md", "AGENTS.md"),
    (
        "opencode",
        {"top/.git": "", "top/opencode.json": '{"instructions": ["a.md"]}', P + "a.md": "W", "top/a.md": "W"},
        "AGENTS.md",
        "a.md ../a.md",
    ),
    ("codex", {P + "AGENTS.md": "W @x.md", P + "x.md": "W"}, "AGENTS.md", "AGENTS.md"),
    ("codex", {P + "AGENTS.override.md": "", P + "AGENTS.md": "W"}, "AGENTS.override.md", "AGENTS.override.md"),
    (
        "codex",
        {H + ".codex/config.toml": 'project_doc_fallback_filenames = ["CLAUDE.md"]', P + "CLAUDE.md": "W"},
        "CLAUDE.md",
        "CLAUDE.md",
    ),
    (
        "codex",
        {H + ".codex/config.toml": "project_doc_max_bytes = 0", P + "AGENTS.md": "W", H + ".codex/AGENTS.md": "W"},
        "AGENTS.md",
        "~/.codex/AGENTS.md",
    ),
    ("gemini-cli", {P + "GEMINI.md": "W @./x.md", P + "x.md": "W"}, "GEMINI.md", "GEMINI.md x.md"),
    ("qwen-code", {P + "QWEN.md": "W @./x.md", P + "x.md": "W"}, "QWEN.md", "QWEN.md x.md"),
    (
        "qwen-code",
        {
            P + ".qwen/settings.json": '{"context": {"fileName": "RULES.md"}}',
            P + "RULES.md": "W",
            P + "QWEN.md": "W",
            P + ".qwen/rules/b.md": "---\npaths:\n  - 'src/**'\n---\nW",
        },
        "RULES.md",
        "RULES.md",
    ),
    (
        "copilot-cli",
        {
            P + "AGENTS.md": "W @x.md",
            P + "x.md": "W",
            P + ".github/instructions/a.instructions.md": "---\napplyTo: '**'\n---\nW",
            P + ".github/instructions/b.instructions.md": "---\napplyTo: 'src/**'\n---\nW",
        },
        "AGENTS.md",
        "AGENTS.md x.md .github/instructions/a.instructions.md",
    ),
    (
        "gemini-cli",
        {
            P + ".gemini/settings.json": '{/* mine */ "context": {"fileName": "AGENTS.md"}}',
            P + "GEMINI.md": "W",
            P + "AGENTS.md": "W",
        },
        "AGENTS.md",
        "AGENTS.md GEMINI.md",
    ),
]


def made(root: Path, texts: Mapping[str, str]) -> Path:
    """A project with these files in it and around it."""
    (root / "home").mkdir()
    (root / P).mkdir(parents=True)
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == ".git":
            subprocess.run(["git", "init", "--quiet", str(path.parent)], check=True)
        else:
            path.write_bytes(text.replace("W", f"The word of {name} is 77.").encode())
    return root / P


def marked(names: list[str]) -> dict[str, str]:
    return dict.fromkeys(names, "W\n")


def found(root: Path, agent: str, project: Path, version: str | None = None) -> tuple[str, list[str]]:
    """Where rules go, and what is read."""
    there: InForce = in_force(agent, project, root / "home", {}, version)
    return str(there.memory.relative_to(project)), [str(path.relative_to(root)) for path in there.files]


@pytest.mark.parametrize(("agent", "there", "read", "goes"), PLACES)
def test_rules_go_where_they_are_read_and_hide_nothing(
    tmp_path: Path, agent: str, there: list[str], read: str, goes: str
) -> None:
    project = made(tmp_path, marked(there))
    wanted = sorted(name for name in there if not name.endswith(".git")) if read == "all" else sorted(read.split())
    memory, files = found(tmp_path, agent, project)
    assert (memory, sorted(files)) == (goes, wanted)
    (project / goes).parent.mkdir(exist_ok=True)
    with (project / goes).open("a") as file:
        file.write("A rule.\n")
    assert set(found(tmp_path, agent, project)[1]) == {*wanted, P + goes}


@pytest.mark.parametrize(("agent", "texts", "goes", "read"), TEXTS)
def test_imports_settings_and_empty_files_count_as_programs_have_it(
    tmp_path: Path, agent: str, texts: Mapping[str, str], goes: str, read: str
) -> None:
    project = made(tmp_path, texts)
    memory, files = found(tmp_path, agent, project)
    wanted = [H + name[2:] if name.startswith("~/") else P + name for name in read.split()]
    wanted = [name.replace("project/../", "") for name in wanted]
    assert (memory, sorted(files)) == (goes, sorted(wanted))


@pytest.mark.parametrize(
    ("agent", "below", "goes"),
    [
        ("claude-code", "AGENTS.md", "AGENTS.md"),
        ("opencode", "CLAUDE.md", "CLAUDE.md"),
        ("codex", "x.md", "AGENTS.md"),
    ],
)
def test_what_is_read_in_a_folder_below_stays_in_force_too(tmp_path: Path, agent: str, below: str, goes: str) -> None:
    project = made(tmp_path, {P + "sub/" + below: "a"})
    assert found(tmp_path, agent, project)[0] == goes


def test_an_earlier_version_that_reads_no_agents_file_gets_one_that_imports_it(tmp_path: Path) -> None:
    project = made(tmp_path, {P + "AGENTS.md": "Be kind.\n"})
    assert found(tmp_path, "claude-code", project, "2.1.280") == ("CLAUDE.md", [])
    assert found(tmp_path, "claude-code", project, "2.1.281 (Claude Code)")[0] == "AGENTS.md"
    place = Project(project, tmp_path / "state")
    change = proposed(place, place.memory, "- Learned.\n")
    offer = Proposal(night="n1", project=str(project), documents=(change,))
    adopt(stage(tmp_path / "state" / "nights" / "n1", offer), project, tmp_path / "state")
    assert place.memory.read_text().startswith("@AGENTS.md\n\n<!-- etude:begin learned -->\n- Learned.\n")


@pytest.mark.parametrize(
    ("agent", "goes", "there", "since"),
    [
        ("opencode", "AGENTS.md", "", "CLAUDE.md"),
        ("opencode", "CLAUDE.md", "Be kind.\n", "AGENTS.md"),
        ("claude-code", "AGENTS.md", "Be kind.\n", "CLAUDE.md"),
        ("claude-code", "CLAUDE.md", "Be kind.\n", ".claude/settings.json"),
    ],
)
def test_what_an_agent_does_not_read_since_the_night_is_left_as_it_is(
    tmp_path: Path, agent: str, goes: str, there: str, since: str
) -> None:
    place = Project(made(tmp_path, {P + goes: there} if there else {}), tmp_path / "state")
    change = proposed(place, place.root / goes, "- Learned.\n")
    offer = Proposal(night="n1", project=str(place.root), agent=agent, documents=(change,))
    staged = stage(tmp_path / "state" / "nights" / "n1", offer)
    (place.root / since).parent.mkdir(exist_ok=True)
    (place.root / since).write_text('{"claudeMdExcludes": ["**/CLAUDE.md"]}')
    before = place.files()
    with pytest.raises(InputError, match=rf"{agent} does not read '.*{goes}' as things are since night"):
        adopt(staged, place.root, place.state)
    assert place.files() == before


@pytest.mark.parametrize("pattern", ["**/*.md", "**", "**/{CLAUDE*,AGENTS,.claude/rules/*}.md"])
def test_where_settings_exclude_every_file_for_rules_a_night_says_so_and_writes_none(
    tmp_path: Path, pattern: str
) -> None:
    settings = {P + ".claude/settings.json": f'{{"claudeMdExcludes": ["{pattern}"]}}'}
    project = made(tmp_path, settings | {P + "CLAUDE.md": "W"})
    around, asked = Surroundings(home=tmp_path / "home", environ={}), SleepSection(project=str(project))
    for memory in (True, str(project / "CLAUDE.md")):
        with pytest.raises(
            SkillError, match=r"claude-code would not read .*CLAUDE.md': its setting claudeMdExcludes"
        ):
            documents_of(asked.model_copy(update={"memory": memory}), around)
    assert documents_of(asked.model_copy(update={"memory": False}), around).shared == ()


@pytest.mark.parametrize(
    ("above", "size", "settings", "room"),
    [
        ("", 32_760, "", 32_768),
        ("", 32_700, "", 0),
        ("x" * 768, 31_990, "", 32_000),
        ("", 90, "project_doc_max_bytes = 100", 100),
        ("", 40_000, "project_doc_max_bytes = 65_536", 0),
    ],
)
def test_a_rule_that_stands_behind_what_codex_reads_is_marked(
    tmp_path: Path, above: str, size: int, settings: str, room: int
) -> None:
    texts = {"top/.git": "", "top/AGENTS.md": above, H + ".codex/config.toml": settings, P + "AGENTS.md": "x" * size}
    place = Project(made(tmp_path, texts), tmp_path / "state")
    around = Surroundings(home=tmp_path / "home", environ={})
    live = documents_of(SleepSection(project=str(place.root), agent="codex"), around).memory
    change = proposed(place, place.root / "AGENTS.md", "- Be kind.\n").model_copy(update={"live": live})
    lines = list(rule_lines(change.added[0], change, "AGENTS.md", 1))
    mark = f"Your agent reads only the first {room:,} bytes of AGENTS.md, and so not this rule."
    assert [line for line in lines if "bytes" in line] == ([mark] if room else [])


@pytest.mark.programs
async def test_codex_reads_no_further_than_is_said_here(tmp_path: Path) -> None:
    path = installed("codex")
    if path is None:
        pytest.skip("no codex here: scripts/programs installs it")
    project = made(tmp_path, {P + "AGENTS.md": ""})
    room = in_force("codex", project, tmp_path / "home", {}).room
    assert room is not None
    (project / "AGENTS.md").write_text(
        "\n".join(["The first is 77.", "x" * (room - 40), "The last is 88."]) + " Beyond is 99."
    )
    read = await read_by("codex", project, tmp_path / "home", path)
    assert [word in read for word in ("77.", "88.", "99.")] == [True, True, False]


@pytest.mark.programs
@pytest.mark.parametrize(
    ("agent", "texts", "goes"),
    [
        *((agent, marked(there), goes) for agent, there, _, goes in PLACES if there),
        # Settings of Codex are those of its launch.
        *((agent, texts, goes) for agent, texts, goes, _ in TEXTS if H + ".codex/config.toml" not in texts),
    ],
)
async def test_real_programs_read_what_is_said_here_also_after_an_adoption(
    tmp_path: Path, agent: str, texts: Mapping[str, str], goes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = installed(agent)
    if path is None:
        pytest.skip(f"no {agent} here: scripts/programs --all installs it")
    monkeypatch.setenv("PATH", f"{Path(path).parent}{os.pathsep}{os.environ['PATH']}")
    project = made(tmp_path, texts)
    before = await read_by(agent, project, tmp_path / "home", path)
    told = {name for name in texts if f"The word of {name} is 77." in before}
    assert told == {name for name in found(tmp_path, agent, project)[1] if "W" in texts[name]}
    place = Project(project, tmp_path / "state")
    change = proposed(place, project / goes, "- Learn the word 88.\n")
    offer = Proposal(night="n1", project=str(project), agent=agent, documents=(change,))
    adopt(stage(tmp_path / "state" / "nights" / "n1", offer), project, tmp_path / "state")
    after = await read_by(agent, project, tmp_path / "home", path)
    assert told <= {name for name in texts if f"The word of {name} is 77." in after}
    assert "Learn the word 88." in after


@pytest.mark.programs
async def test_a_night_tries_rules_where_the_agent_will_have_them() -> None:
    path = installed("claude-code")
    if path is None:
        pytest.skip("no claude-code here: scripts/programs installs it")
    model = ScriptedModel(lambda request: "Done.", name="x:target")
    skill = Skill(name="s", text="---\nname: s\ndescription: Rules of 7713.\n---\n\nThe body is 7714.\n")
    documents = Documents(skill=skill, memory=Skill(text="# House\n\nThe memory is 7715.\n"), others=("More: 7716.",))
    section = AgentSection.model_validate({"name": "claude-code", "path": path, "delivery": "install"})
    env = InContext(NightEnvironment(()), documents, "skill", section)
    agent = env.agent(model, Prompts())
    await agent.attempt(Task(id="t", input="Do it."), skill, 0)
    await agent.aclose()
    sent = "\n".join(message.text for message in model.requests[0].messages)
    assert all(word in sent for word in ("7713", "7715", "7716"))
    assert "7714" not in sent
