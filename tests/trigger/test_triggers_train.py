"""Descriptions are trained by the search that trains skills, and by nothing else."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.config import make_config
from etude.errors import DataError, SkillError
from etude.measure.triggers.catalogue import described
from etude.measure.triggers.environment import LEXICAL, Request
from etude.measure.triggers.judge import SkillsAtHand
from etude.measure.triggers.train import split, trained_descriptions, training, write_skill
from etude.records import ChatRequest, Skill
from etude.records.comparison import Settle
from etude.records.summary import Summary
from etude.skill import load_skill
from etude.testing import ScriptedModel
from etude.trainer import Trainer
from rows import rows

PUBLISHED = "Use it when the user wants to bake. It is about the kitchen."
SHELF = SkillsAtHand(
    {
        "bake": PUBLISHED,
        "sew": "Use it when the user wants to mend trousers with a needle.",
        "sail": "Use it when the user asks about the wind and the boat.",
    },
    "whole",
    "bake",
)
SKILL = Skill(
    name="bake",
    text=f"---\nname: bake\ndescription: {PUBLISHED}\nlicense: MIT\n---\n\n# Bread\n\nThe dough has to rest.\n",
)
DOUGH = [f"My dough number {number} does not rise" for number in range(24)]
REQUESTS = [
    *(Request(id=f"d{number}", text=text, needs=("bake",)) for number, text in enumerate(DOUGH)),
    *(Request(id=f"s{number}", text=f"Mend my trousers, pair {number}", needs=("sew",)) for number in range(12)),
]
KINDS = ["grey", "lumpy", "stale", "damp", "coarse", "brown", "sour", "old", "wet", "cold", "fine", "warm"]
BETTER = "Use it when the dough does not rise or rest."


def optimizer(target: str, content: str) -> ScriptedModel:
    """One that puts this in the place of a text, for all failures that it is shown."""

    def answer(request: ChatRequest) -> str:
        text = "\n".join(message.text for message in request.messages)
        cites = [part.partition('"')[0] for part in text.split('<attempt id="')[1:] if 'hard="0"' in part[:200]]
        edit = {"op": "replace", "target": target, "content": content, "reason": "r", "cites": cites}
        return json.dumps({"reasoning": "r", "edits": [edit] if cites else []})

    return ScriptedModel(answer)


def trained(folder: Path, content: str, longest: int = 1024):
    config = make_config({"run": {"folder": str(folder), "name": "t"}, "train": {"epochs": 2}})
    config, given = training(config, split(REQUESTS, "bake"), SHELF, LEXICAL, {"bake": SKILL}, longest)
    model = optimizer("It is about the kitchen.", content)
    return Trainer(config, **{**given, "optimizer": model}).train(), model


def test_a_description_that_helps_is_found_and_shipped_and_the_rest_of_the_skill_stays(tmp_path: Path) -> None:
    summary, model = trained(tmp_path, BETTER)
    found = trained_descriptions(summary, ["bake"])["bake"]
    assert found == f"Use it when the user wants to bake. {BETTER}"
    assert (summary.verdict, summary.no_skill) == ("ship", None)
    assert summary.test_gain is not None
    assert summary.test_gain.mean > 0.5
    # Words are the same in each trial, so that a repeat confirms nothing.
    assert summary.noise is None
    # The optimizer is told what the document is, and what the skill itself says.
    asked = "\n".join(message.text for message in model.requests[0].messages)
    assert "the description of each of 1 skills" in asked
    assert "The dough has to rest." in asked
    written = load_skill(write_skill(SKILL, found, tmp_path / "out"))
    assert written.text == SKILL.text.replace("It is about the kitchen.", BETTER)
    assert load_skill(write_skill(SKILL, PUBLISHED, tmp_path / "same")).text == SKILL.text


def test_what_would_settle_it_is_no_comparison_of_skills(tmp_path: Path) -> None:
    """`etude compare` refuses descriptions."""
    summary, _ = trained(tmp_path, BETTER)
    note = "on just these tasks: 4 trials would say 'ship', if each task goes on as it did; on tasks like these: more"
    for found in ({"settle": Settle(tasks=None, trials=4, note=note)}, {"withheld": "skills/0001.md"}):
        told = {line.name: line.text for line in summary.model_copy(update={"dry": False, **found}).answer.lines}
        assert told.get("to settle") == (note if "settle" in found else None)
    read = Summary.model_validate_json((tmp_path / "t/summary.json").read_bytes())
    assert (read.is_skill, summary.is_skill) == (False, False)


def test_of_several_descriptions_the_optimizer_is_told_that_all_room_is_taken() -> None:
    sew = Skill(name="sew", text=SKILL.text.replace(PUBLISHED, SHELF.catalogue["sew"]))
    for skills in ({"bake": SKILL}, {"bake": SKILL, "sew": sew}):
        _, given = training(make_config({}), split(REQUESTS, ""), SHELF, LEXICAL, skills)
        told = given["env"]._shelf.told  # pyright: ignore
        assert ("put new words in the place of old ones" in told) is (len(skills) > 1)


def test_a_description_that_mends_one_request_is_decided_on_like_any_other(tmp_path: Path) -> None:
    """Validation alone does not show it, and the requests to train on are those that validate."""
    some = [Request(id=f"f{n}", text=f"Flour turned {word}", needs=("bake",)) for n, word in enumerate(KINDS)]
    config = make_config({"run": {"folder": str(tmp_path), "name": "t"}, "train": {"epochs": 2}})
    config, given = training(config, split([*some, *REQUESTS[24:]], "bake"), SHELF, LEXICAL, {"bake": SKILL})
    found = re.findall(r"f\d+", " ".join(task.id for task in given["env"].tasks("train")))  # pyright: ignore
    words = " or ".join(KINDS[int(name[1:])] for name in found[:2])
    model = optimizer("It is about the kitchen.", f"It is about the kitchen, and what is {words}.")
    summary = Trainer(config, **{**given, "optimizer": model}).train()
    assert (summary.accepted, summary.verdict is None) == (1, False)


@pytest.mark.parametrize(
    ("content", "longest"),
    [(", ".join(["dough, yeast, bread, loaf, crust, crumb, oven"] * 3), 1024), (BETTER, len(PUBLISHED))],
    ids=["key words", "too long"],
)
def test_a_list_of_key_words_and_a_description_that_is_too_long_are_refused(
    tmp_path: Path, content: str, longest: int
) -> None:
    summary, _ = trained(tmp_path, content, longest=longest)
    assert trained_descriptions(summary, ["bake"]) == {"bake": PUBLISHED}
    assert summary.accepted == 0


def test_sixty_of_a_hundred_requests_are_trained_on_and_none_of_them_decides() -> None:
    parts = split(REQUESTS, "bake")
    assert (len(parts["train"]), len(parts["test"])) == (22, 14)
    assert parts["val"] == parts["train"]
    assert not {one.text for one in parts["train"]} & {one.text for one in parts["test"]}


def test_too_few_requests_and_a_description_against_its_own_rule_are_said_at_once() -> None:
    with pytest.raises(DataError, match="are too few"):
        split(REQUESTS[:3], "bake")
    with pytest.raises(SkillError, match="at most 20 are allowed"):
        training(make_config({}), split(REQUESTS, "bake"), SHELF, LEXICAL, {"bake": SKILL}, longest=20)


def test_the_command_says_what_it_may_take_and_where_the_description_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, description in SHELF.catalogue.items():
        (tmp_path / "skills" / name / "evals").mkdir(parents=True)
        text = SKILL.text.replace("name: bake", f"name: {name}").replace(PUBLISHED, description)
        (tmp_path / "skills" / name / "SKILL.md").write_text(text)
        rows = [{"prompt": one.text, "expectations": ["x"]} for one in REQUESTS if name in one.needs]
        (tmp_path / "skills" / name / "evals" / "evals.json").write_text(json.dumps(rows))
    (tmp_path / "etude.yaml").write_text("train: {epochs: 1}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["trigger", "skills/bake", "--lexical", "--list-as", "whole", "--train", "--json"]) == 0
    out, err = capsys.readouterr()
    assert re.search(
        r"at most [\d,]+ attempts and calls: 0 of the target, \d+ of the optimizer; as a rule \d+ to", err
    )
    found = json.loads(out)
    (row,) = found["described"]
    assert (row["published"], row["description"], found["name"]) == (PUBLISHED, PUBLISHED, "trigger-bake")
    assert Path(row["file"]).read_text() == (tmp_path / "skills" / "bake" / "SKILL.md").read_text()
    # What it trained is no skill, and would be written over the one that has this name.
    for words in (
        ["export", "trigger-bake", "--force"],
        ["export", "trigger-bake:best"],
        ["prune", "trigger-bake:0"],
        ["verify", "skills/bake", "trigger-bake"],
    ):
        assert main(words) == 2
        assert "skills with them are in runs/trigger-bake/described/bake" in capsys.readouterr().err
    # So too where no description became another one, and nothing lies in the run.
    shutil.rmtree("runs/trigger-bake/described")
    assert main(["export", "trigger-bake", "--force"]) == 2
    assert "none was changed" in capsys.readouterr().err
    main(["trigger", "skills/bake", "--lexical", "--list-as", "whole", "--train"])
    capsys.readouterr()
    assert [path.name for path in Path("runs/trigger-bake/best").iterdir()] == ["descriptions"]
    assert main(["export", str(Path(row["file"]).parent), "--to", "out"]) == 0
    assert load_skill("out/bake").text == SKILL.text
    capsys.readouterr()
    (tmp_path / "etude.yaml").write_text("train: {epochs: 1}\njudge: {model: 'simulated:judge'}\n")
    assert main(["plan", "--skills", "skills"]) == 0
    (said,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("trigger --train"))
    attempts, called = re.findall(r"([\d,]+) (?:attempts and|of the target)", said)
    assert attempts == called  # a chat model is called once for each, and a judge never
    assert "of the judge" not in said
    # A folder is one document; a skill that cannot be read is passed over.
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").write_text("---\nname: [\n---\n")
    assert main(["trigger", "skills", "--lexical", "--train"]) == 0
    out, err = capsys.readouterr()
    assert "passed over: " in err
    assert "changed      0 of 3 descriptions" in out


def test_descriptions_of_a_folder_are_one_document_and_pay_for_each_other(tmp_path: Path) -> None:
    """What `bake` needs more of is paid by `sail`, which no request needs."""
    skills = dict.fromkeys(SHELF.catalogue, SKILL)
    config = make_config({"run": {"folder": str(tmp_path), "name": "t"}, "search": {"policy": "paper"}})
    config, given = training(config, split(REQUESTS, ""), replace(SHELF, own=""), LEXICAL, skills)
    text = given["skill"].text  # pyright: ignore
    new = text.replace("It is about the kitchen.", BETTER).replace("asks about the wind and the boat", "sails")
    model = optimizer(text.strip(), new)
    summary = Trainer(config, **{**given, "optimizer": model}).train()
    found = trained_descriptions(summary, skills)
    assert found == {
        "bake": f"Use it when the user wants to bake. {BETTER}",
        "sew": SHELF.catalogue["sew"],
        "sail": "Use it when the user sails.",
    }
    asked = "\n".join(message.text for request in model.requests for message in request.messages)
    assert "What 'bake' itself says:\n# Bread\n\nThe dough has to rest." in asked


@rows(
    ("text", "fault"),
    [
        ("## bake\n\nUse it to bake.\n\n## sew\n\nUse it to sew.\n", ""),
        ("## bake\n\nUse it to bake.\n\n## mend\n\nUse it to sew.\n", "each has to stay"),
        ("## sew\n\nUse it to bake.\n\n## bake\n\nUse it to sew.\n", "each has to stay"),
        ("## bake\n\n## sew\n\nUse it to sew.\n", "bake: the description is empty"),
        ("## bake\n\nUse it to bake.\n\n## sew\n\nneedle, thread, cloth, hem\n", "sew: the description is a list"),
        (f"## bake\n\nUse it to bake.\n\n## sew\n\n{'Use it to sew. ' * 9}\n", "at most 61 are allowed"),
    ],
)
def test_what_is_wrong_with_a_document_of_descriptions_is_said(text: str, fault: str) -> None:
    rule = described({"bake": "Use it to bake, as is usual it.", "sew": "Use it to sew the old clothes."})
    found = rule.fault(rule.read(text))
    assert fault in found if fault else not found
