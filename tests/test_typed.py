"""Programs written against the package, and what a type checker and a notebook can know about it."""

import ast
import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import etude
from etude.records import Attempt, File, Skill, Task, Trajectory
from etude.records.summary import SkillScores, Summary
from etude.testing import ScriptedModel
from etude.workbench import Given
from two_skills import World

PROGRAMS = sorted((Path(__file__).parent / "typed").glob("*.py"))


def misspelt(program: Path) -> dict[str, str]:
    """The program with one keyword misspelt, for each of its keywords in turn: by line and wrong name."""
    lines = program.read_text().splitlines(keepends=True)
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.keyword) and node.arg is not None:
            line, wrong = lines[node.lineno - 1], f"{node.arg}z"
            changed = f"{line[: node.col_offset]}{wrong}{line[node.col_offset + len(node.arg) :]}"
            found[f"{node.lineno}_{wrong}"] = "".join([*lines[: node.lineno - 1], changed, *lines[node.lineno :]])
    return found


@pytest.mark.slow
def test_a_type_checker_passes_right_programs_and_finds_every_misspelt_keyword(tmp_path: Path) -> None:
    assert (Path(etude.__file__).parent / "py.typed").exists()
    wrong: dict[str, str] = {}
    for program in PROGRAMS:
        shutil.copy(program, tmp_path)
        for place, text in misspelt(program).items():
            name = f"{program.stem}_{place}.py"
            (tmp_path / name).write_text(text)
            wrong[name] = place
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    words = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(tmp_path)]
    report = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=300).stdout)
    assert report["summary"]["filesAnalyzed"] == len(wrong) + len(PROGRAMS)
    told: dict[str, str] = {}
    for each in report["generalDiagnostics"]:
        told[Path(each["file"]).name] = told.get(Path(each["file"]).name, "") + each["message"]
    assert [f"{program.name}: {told[program.name]}" for program in PROGRAMS if program.name in told] == []
    assert len(wrong) > 40
    missed = [name for name, place in wrong.items() if f'"{place.partition("_")[2]}"' not in told.get(name, "")]
    assert missed == []


def test_signatures_name_every_keyword() -> None:
    for door in (etude.Trainer, etude.evaluate_skill, etude.acompare_skills, etude.train_seeds):
        keywords = inspect.signature(door).parameters
        assert Given.__annotations__.keys() <= keywords.keys()
        assert all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in keywords.values())


def test_names_that_are_imported_when_used_are_listed() -> None:
    assert set(etude.__all__) <= set(dir(etude))
    assert "import_module" not in dir(etude)


def test_a_repr_is_one_short_line(tmp_path: Path) -> None:
    long = "x \n" * 500
    skill, task = Skill(name=long, text=long, files={"a": File(data=b"b")}), Task(id=long, input=long)
    attempt = Attempt(id="a1", task=task, skill_hash=skill.hash, outcome="void", reason=long)
    found = World(tmp_path, {"A0": "nnnnnnyy", "B0": "yyyyyyny"}).compare()
    scores = SkillScores(skill="SKILL.md", hash=skill.hash, test=found.a.score)
    summary = Summary.model_construct(name=long, initial=scores, best=scores, stopped=None, verdict="ship")
    config = etude.make_config({"run": {"name": "first"}})
    records = skill, task, attempt, found, summary, config, Trajectory(answer=long, failure=long)
    shown = [repr(one) for one in (*records, etude.Trainer(config, skill=skill))]
    assert [line for line in shown if len(line) > 118 or "\n" in line] == []
    assert shown[3:7] == [
        "<Comparison 'a' -> 'b' on test: +0.62 [-0.11, +1.00], ship, on tasks like these>",
        f"<Summary '{'x ' * 13}x...': test 0.25 -> 0.25, ship, on tasks like these>",
        "<TrainConfig 'first': target 'simulated:target', optimizer 'simulated:optimizer'>",
        f"<Trajectory '{'x ' * 18}x...': 0 messages, failed: '{'x ' * 8}x...'>",
    ]
    assert str(task) == repr(task)
    given = etude.Trainer(config, target=ScriptedModel([], name="own:m"))
    assert repr(given) == "<Trainer 'first': target 'own:m', optimizer 'simulated:optimizer'>"
