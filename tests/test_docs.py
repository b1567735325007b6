"""The documentation is true: its code runs, its commands and settings are understood, its links lead somewhere."""

import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import etude
from docs_pages import DOCS, PAGES, ROOT, Block, Step, all_blocks, anchors, blocks, commands, links, name_of, steps
from etude.cli.main import main
from etude.cli.parsing.parser import GROUPS, VERBS, read_verb
from etude.cli.parsing.settings_help import settings_help
from etude.config import load_config, make_config, parse
from etude.envs.dataset import DatasetConfig
from etude.envs.scorers.answer_scorer import make_scorer
from etude.errors import ConfigError
from etude.prompts import prompt_names
from etude.records.summary import Cost, Summary
from etude.registry import BUILT_IN, find
from etude.simulation import names
from etude.simulation.service import Faults
from etude.sleep.config import SleepConfig, load_sleep_config, make_sleep_config
from rows import few
from trusting import trust

SOURCE = Path(etude.__file__).parent
NOT_ALONE = {("sleep", "skill"), ("sleep", "memory"), ("sleep", "tasks")}
"""Words that are more than settings."""
SIMULATED = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """scripts/reference.py, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "scripts"))  # it imports its neighbour
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


def test_generated_pages_are_up_to_date(reference) -> None:
    stale = [
        name for name, text in reference.pages().items() if (DOCS / "reference" / f"{name}.md").read_text() != text
    ]
    assert stale == [], "run scripts/docs"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_index() -> None:
    waiting, seen = [DOCS / "README.md"], {DOCS / "README.md"}
    while waiting:
        page = waiting.pop()
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)} & set(PAGES) - seen
        waiting += found
        seen |= found
    assert {page for page in PAGES if page.is_relative_to(DOCS)} - seen == set()


LONG = DOCS / "agent-skill.md"
TRAINING = (LONG, DOCS / "results.md", DOCS / "tasks.md", DOCS / "scale.md")
"""Pages whose sessions train, in all for minutes."""
RUN = [page for page in PAGES if page not in TRAINING and blocks(page, "python", "console")]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody in an empty folder, without settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("ETUDE_", "OPENAI_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("page", few([*RUN, *TRAINING], *RUN), ids=name_of)
def test_the_code_and_the_sessions_of_a_page_run_in_their_order(reader, monkeypatch, capsys, page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "page"}
    before = ""
    for block in blocks(page, "python", "console", "text"):
        if block.language == "python":
            capsys.readouterr()
            exec(compile(block.text, f"<{block.place}>", "exec"), namespace)
        elif block.language == "console":
            for step in steps(block):
                capsys.readouterr()
                code = carried_out(step, monkeypatch)
                out = capsys.readouterr().out
                assert code == 0, (block.place, step.words, out)
                assert prints(step.shown, out), (block.place, step.words, out)
        elif before == "python":  # then a text block is what that prints
            out = capsys.readouterr().out
            assert prints(block.text.splitlines(), out), (block.place, out)
        before = block.language


def test_the_code_of_the_longest_page_makes_a_project_that_can_be_trained(reader, capsys) -> None:
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(LONG, "python"):
        exec(compile(block.text, f"<{block.place}>", "exec"), namespace)
    trust("etude.yaml")
    assert main(["plan"]) == 0
    assert "16 train, 12 val" in capsys.readouterr().out


def carried_out(step: Step, patch: pytest.MonkeyPatch) -> int:
    """The exit code of a command that a console block shows."""
    if step.program == "cd":
        patch.chdir(*step.words)
        return 0
    if step.program == "sed":
        return subprocess.run(["sed", *step.words], check=False).returncode
    if step.program == "python":
        with patch.context() as only_now:
            only_now.setattr(sys, "argv", step.words)
            runpy.run_path(str(ROOT / step.words[0]), run_name="__main__")
        return 0
    for name in filter(os.path.exists, ("etude.yaml", "sleep.yaml")):
        trust(name)  # as a reader at a terminal answers
    return main(step.words)


def prints(shown: list[str], out: str) -> bool:
    """The shown text is the whole of what was printed, `...` standing for anything and spaces for any number:
    columns are as wide as the names of the programs that a machine has."""
    parts = re.split(r"^\.\.\.$|\.\.\.", re.sub(" +", " ", "\n".join(shown)), flags=re.MULTILINE)
    pattern = r"[\s\S]*".join(re.escape(part) for part in parts)
    text = "\n".join(re.sub(" +", " ", line).rstrip() for line in out.splitlines())
    return re.fullmatch(pattern, text.strip("\n")) is not None


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=lambda block: block.place)
def test_every_yaml_block_is_settings_that_hold(block: Block) -> None:
    data = yaml.safe_load(block.text)
    if "sleep" in data:
        make_sleep_config({**SIMULATED, **data})  # a part of a file is shown without its models
        return
    config = make_config(data)
    options = dict(config.env.model_extra or {})
    if options:
        settings = parse(find("environments", config.env.name).options_type, options, where="env")
        if isinstance(settings, DatasetConfig):
            make_scorer(settings.scorer, "env.scorer", judge=lambda: pytest.fail("the judge was asked"))
    if "test" in options and options["test"] is None:
        assert not config.test.enabled


@pytest.mark.parametrize("block", all_blocks("sh", "console"), ids=lambda block: block.place)
def test_every_command_is_understood(block: Block) -> None:
    for words in commands(block.text):
        understand(words)


def test_the_commands_between_backticks_and_in_the_readme_are_understood() -> None:
    pages = [page for page in PAGES if page != DOCS / "reference" / "cli.md"]
    found = [text for page in pages for text in re.findall(r"`(etude [^`\n]+)`", page.read_text())]
    found += re.findall(r"^    (\S*etude [^#\n]*)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(found) > 10
    for text in found:
        for words in commands(re.sub(r"<[a-z]+>", "NAME", text)):
            understand(words)


def understand(words: list[str]) -> None:
    """Parse a command with all of its settings; a bare verb, as in prose, is one of those there are."""
    if words in (["--version"], ["--help"]):
        return
    if words[:2] == ["help", "settings"]:
        assert list(settings_help(words[2:]))
        return
    if len(words) == 1:
        assert words[0] in [*(verb.name for verb in VERBS), *GROUPS], words
        return
    verb, rest = read_verb(words)
    args = verb.parse(rest)
    if words[0] in GROUPS:
        models = [(f"{role}.model", section["model"]) for role, section in SIMULATED.items()]
        load_sleep_config(None, flags=[*models, *args.flags], environ={})
    else:
        load_config(flags=args.flags, environ={})


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'train\.epoch'"):
        understand(["train", "--train.epoch", "2"])


def test_the_readme_fits_on_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 50


def page(name: str) -> str:
    return (DOCS / name).read_text()


def named(text: str) -> set[str]:
    """Everything between backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def of_settings(text: str) -> set[str]:
    """The names between backticks that look like settings, without values."""
    found = re.findall(r"`([a-z_]+\.[a-z_.]+)(?=[`:= ])", text)
    return {name for name in found if not name.endswith((".json", ".yaml"))}


def test_every_setting_that_a_page_names_exists() -> None:
    settings = of_settings(page("reference/config.md"))
    settings |= {name.replace("target.", f"{role}.") for name in settings for role in ("optimizer", "judge")}
    sections = {name.partition(".")[0] for name in settings}
    for path in PAGES:
        named_here = {name for name in of_settings(path.read_text()) if name.partition(".")[0] in sections}
        assert named_here - settings == set(), path


def test_every_public_name_is_in_the_reference() -> None:
    assert set(etude.__all__) - named(page("reference/python.md")) == set()


def test_every_field_of_the_summary_is_in_the_reference() -> None:
    fields = {*Summary.model_fields, *Cost.model_fields}
    assert fields - named(page("reference/run-folder.md")) == set()


def test_every_scorer_is_in_its_guide() -> None:
    assert set(BUILT_IN["scorers"]) - named(page("scorers.md")) == set()


def test_the_guide_to_sleep_has_every_source() -> None:
    assert {*BUILT_IN["sources"], "jsonl"} <= set(re.findall(r"^\| `([a-z-]+)` \|", page("nights.md"), re.MULTILINE))


def test_the_guide_to_sleep_names_ten_settings_at_most() -> None:
    text = page("nights.md")
    sections = {
        name: getattr(field.annotation, "model_fields", {}) for name, field in SleepConfig.model_fields.items()
    }
    named = {
        found for found in re.findall(r"\b([a-z_]+)\.([a-z_]+)\b", text) if found[1] in sections.get(found[0], {})
    }
    named |= {
        ("sleep", found) for found in re.findall(r"`([a-z_]+)`", text) if found in sections["sleep"]
    } - NOT_ALONE
    for found in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        data = yaml.safe_load(found)
        named |= {(section, key) for section, keys in data.items() for key in keys}
    assert len(named) <= 10, sorted(named)


def test_the_reasons_in_the_guide_to_sleep_are_given_by_nights() -> None:
    _, _, rows = page("nights.md").partition("| it says | cause |")
    reported = re.findall(r"`([a-z ]{20,})`", rows.partition("## ")[0])
    source = "".join(path.read_text() for name in ("sleep", "stages") for path in (SOURCE / name).rglob("*.py"))
    assert len(reported) > 5
    assert [reason for reason in reported if reason not in source] == []


def test_every_simulated_model_and_fault_is_in_its_guide() -> None:
    text = named(page("models-and-agents.md"))
    assert {f"simulated:{name}" for name in names()} - text == set()
    settings = {"outage_after", "retry_after", "seed"}
    assert set(Faults.model_fields) - settings - text == set()


def test_no_prompt_is_named_that_does_not_exist() -> None:
    _, _, block = page("models-and-agents.md").partition("```yaml\nprompts:\n")
    named_here = set(yaml.safe_load(block.partition("```")[0]))
    assert named_here
    assert named_here <= set(prompt_names())


def test_every_file_of_a_run_and_every_field_in_it_is_in_the_reference(tmp_path) -> None:
    small = ["--train.epochs", "2", "--env.limit={train: 16, val: 8, test: 4}"]
    assert main(["demo", "--folder", str(tmp_path), *small]) == 0
    run = tmp_path / "runs" / "demo"
    reported = named(page("reference/run-folder.md"))
    for path in sorted(run.rglob("*")):
        if path.is_dir() or path.parts[-3] in ("best", "initial"):
            continue
        shown = re.sub(r"\d{4}", "NNNN", path.name)
        assert {shown, f"{path.parent.name}/{shown}"} & reported, path
        if path.suffix == ".json" and path.name != "summary.json":
            data = json.loads(path.read_text())
            for key in keys(data):
                assert key in reported, (path, key)
    kinds = {json.loads(line)["kind"] for line in (run / "events.jsonl").read_text().splitlines()}
    assert kinds - named(page("reference/python.md")) == set()


def keys(data: object, depth: int = 2) -> set[str]:
    """The names of the fields in a view, as deep as they belong to it and not to a message or a bill."""
    if isinstance(data, list):
        return {key for item in data for key in keys(item, depth)}
    if not isinstance(data, dict) or depth == 0:
        return set()
    return set(data) | {key for item in data.values() for key in keys(item, depth - 1)}
