"""`etude init --make-tasks`: tasks that the optimizer drafts from a skill."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from small_night import Small

from etude.cli.main import main
from etude.cli.scaffold.drafts import COPIES, EMPTY, REPEATS, UNJUDGED, UNUSABLE, draft_tasks, heard_with, settings_of
from etude.records import Reply, Usage
from etude.simulation import SEED_SKILL
from etude.skill import load_skill
from etude.testing import ScriptedModel

Captured = pytest.CaptureFixture[str]
INIT = ["init", "--skill", "small", "--target", "simulated:target", "--optimizer", "simulated:optimizer"]
TRAIN = ["train", "--train.epochs", "1"]
SECRET = "sk-proj-" + "a1B2" * 12
LINE = "Write every amount with two digits after the point and the currency behind it."


def skill(text: str = SEED_SKILL) -> None:
    Path("small").mkdir()
    Path("small/SKILL.md").write_text(text)


def test_drafts_are_trained_on_once_a_person_has_reviewed_them(here: Path, capsys: Captured) -> None:
    skill()
    assert main([*INIT, "--make-tasks", "12", "--json"]) == 0
    told = capsys.readouterr()
    assert "asks simulated:optimizer at most 6 questions for drafts" in told.err
    assert sum(json.loads(told.out)["tasks"].values()) == 12
    for verb in (TRAIN, ["evaluate"], ["plan"]):
        assert main(verb) == 2
        assert "tasks.json: no person has reviewed these tasks (reviewed: false)\nhint: " in capsys.readouterr().err
    drafts = Path("tasks.json")
    drafts.write_text(drafts.read_text().replace('"reviewed": false', '"reviewed": true'))
    assert main(TRAIN) == 0
    kept = drafts.read_text()
    capsys.readouterr()
    assert main([*INIT, "--make-tasks", "12", "--force"]) == 2  # what a person has corrected stays
    assert "'tasks.json' exists already\nhint: move it away" in capsys.readouterr().err
    assert drafts.read_text() == kept
    drafts.unlink()
    assert main([*INIT, "--make-tasks", "12", "--force", "--json"]) == 0  # nothing is asked twice
    assert json.loads(kept)["tasks"] == json.loads(drafts.read_text())["tasks"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--make-tasks", "5"], "--make-tasks drafts tasks from a skill"),
        (["--skill", "small", "--make-tasks", "0"], "'0' is not a whole number from 1 to 200"),
        (["--skill", "small", "--make-tasks", "5", "--gold", "x"], "makes the data, and --gold was given"),
        (["x.csv", "--skill", "small", "--make-tasks", "5"], "makes the data, and DATA was given"),
        (["--skill", "small", "--make-tasks", "5"], "skill 'small' is empty, or has headings only"),
    ],
)
def test_wrong_wishes_are_refused_before_anything_is_asked(
    words: list[str], says: str, here: Path, capsys: Captured
) -> None:
    skill("---\nname: small\ndescription: Nothing yet.\n---\n\n# Small\n")
    assert main(["init", *words]) == 2
    assert says in capsys.readouterr().err
    assert not Path("runs").exists()


def test_where_no_draft_can_be_used_nothing_is_written(here: Path, capsys: Captured) -> None:
    skill("---\nname: small\ndescription: Cooks soups.\n---\n\nBoil the water.\n")
    assert main([*INIT, "--make-tasks", "5"]) == 1
    assert "none of the drafts of 'simulated:optimizer' can be used (it gave none)" in capsys.readouterr().err
    assert not Path("tasks.json").exists()


def asked(request: str, rubric: str = "", **check: str) -> Mapping[str, object]:
    checks = [{"op": "contains", "arg": "", "requirement": "is there", **check}] if check else []
    return {"request": request, "kind": "sum", "checks": checks, "rubric": rubric}


def said(value: object) -> Reply:
    return Reply(text=json.dumps(value), usage=Usage())


async def test_code_leaves_out_what_would_show_nothing(here: Path) -> None:
    skill(f"---\nname: small\ndescription: Writes invoices.\n---\n\n{LINE}\n")
    drafts = [
        asked("What do three lamps at 12.50 euros cost?", op="contains", arg="37.50"),
        asked("What do 3 lamps at 12.50 euros cost?", op="contains", arg="37.50"),
        asked(f"Add four euros and five. {LINE}", op="contains", arg="9.00"),
        asked("Write a reminder to a late customer.", op="max_chars", arg="900"),
        asked("Say hello to Berlin in a letter.", op="contains", arg="Berlin"),
        asked("Write an offer for ten chairs.", rubric="It is polite."),
        asked("Write a bill for one table.", rubric="It has a total."),
        asked("Thank a supplier for wood.", rubric="It is warm."),
        asked("Divide a bill of 90 euros among four.", op="regex", arg="("),
        asked("List what was bought in May."),
    ]
    judged = [{"score": 1.0, "reason": "It is."}, {"score": 0.1, "reason": "There is no total."}]
    model = ScriptedModel([said({"drafts": drafts}), said({"drafts": []})])
    judge = ScriptedModel([*(said(each) for each in judged), *["I would rather not say."] * 3])
    config = settings_of("simulated:optimizer", here)
    found = await draft_tasks(config, load_skill("small"), 10, {"optimizer": model, "judge": judge})
    assert [task.intent for task in found.tasks] == [drafts[0]["request"], "Write a bill for one table."]
    assert found.left_out == {REPEATS: 1, COPIES: 1, EMPTY: 3, UNUSABLE: 2, UNJUDGED: 1}


def test_what_users_typed_in_sessions_that_opened_the_skill_is_shown(sleeper: Small, capsys: Captured) -> None:
    skill()
    (opened, *_) = sorted((sleeper.home / ".claude").rglob("*.jsonl"))
    told = [json.loads(line) for line in opened.read_text().splitlines()]
    typed = next(each["message"]["content"] for each in told if each["type"] == "user")
    shown = [{**each, "attributionSkill": f"plugin:{load_skill('small').name}"} for each in told]
    lunch = {**shown[0], "uuid": "u0", "type": "user", "message": {"role": "user", "content": "What is for lunch?"}}
    lines = "".join(f"{json.dumps(each)}\n" for each in [lunch, *shown])
    opened.write_text(lines.replace(typed, f"{typed}, as small does, key {SECRET}"))
    heard = heard_with(load_skill("small"), sleeper.around)
    assert len(heard) == 1
    model = ScriptedModel([said({"drafts": [asked("Add 4 and 5.", op="contains", arg="9")]})])
    drafting = draft_tasks(
        settings_of("simulated:optimizer", sleeper.project), load_skill("small"), 1, {"optimizer": model}, heard
    )
    asyncio.run(drafting)
    (question,) = ("\n".join(message.text for message in request.messages) for request in model.requests)
    assert " ".join(typed.split())[:40] in question
    assert SECRET not in question
    assert "lunch" not in question  # it was asked before the skill was opened
    asyncio.run(  # the session went on meanwhile
        draft_tasks(
            settings_of("simulated:optimizer", sleeper.project),
            load_skill("small"),
            1,
            {"optimizer": ScriptedModel([])},
            [*heard, "- And this."],
        )
    )
    assert main([*INIT, "--make-tasks", "2", "--json"]) == 0
    assert "shows it what was typed in 1 session here that opened the skill" in capsys.readouterr().err
