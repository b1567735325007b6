"""Files of a skill that are trained, in a world whose tasks need a script and a reference."""

import json
from pathlib import Path
from typing import Any

import pytest
from folder_world import (
    BODY,
    OPENS_SCRIPT,
    OPENS_TABLE,
    RUN_IT,
    SCRIPT,
    SKILL,
    TABLE,
    USELESS,
    Clerk,
    parcel_optimizer,
    parcel_target,
    settings,
    tasks,
    world,
)

from etude import Trainer, load_skill
from etude.cli.lookup import find_skill
from etude.cli.main import main
from etude.config import make_config
from etude.errors import BudgetStop, InputError
from etude.measure.plan import plan
from etude.measure.verify import verify_skill
from etude.records import Edit, File, LedgerEntry, Skill, TrainState
from etude.skill import apply_edits
from etude.skill.parts import gathered, laid_out
from etude.stages.shared.jury import added

LEAK = "<!-- etude:file references/answers.md -->\n" + "".join(f"- {one.gold}\n" for one in tasks(0, 16)[1::2])


def train(folder: Path, *more: str, skill: Skill = SKILL, files: bool = True, proposes: Any = None, **config: Any):
    config = {"skill": {"files": files}, **config}
    given: Any = {"env": world(), "skill": skill, "agent": Clerk(), "target": parcel_target()}
    given["optimizer"] = parcel_optimizer(*more, **(proposes or {}))
    return Trainer(settings(str(folder), **config), **given).train(), given["optimizer"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("trained")
    return folder, *train(folder, USELESS)


def test_what_tasks_need_is_learnt_and_proven_and_nothing_else(trained) -> None:
    folder, summary, _ = trained
    assert summary.test_gain is not None
    assert (summary.test_gain.mean, summary.verdict) == (1, "ship")
    (document,) = (folder / "run/best").glob("*/SKILL.md")
    assert document.read_text() == f"{BODY}\n{RUN_IT}\n"
    files = {path.relative_to(document.parent).as_posix() for path in document.parent.rglob("*.*")} - {"SKILL.md"}
    assert files == {"references/rates.md", "scripts/check.py"}
    assert (document.parent / "scripts/check.py").read_text() == SCRIPT
    assert (document.parent / "references/rates.md").read_text() == f"# Rates\n\n{TABLE}"
    told = json.loads((folder / "run/steps/0001/proof.json").read_text())["edits"]
    kept = {row["edit"]["content"][:30]: row["kept"] for row in told}
    assert [kept[text[:30]] for text in (OPENS_TABLE, RUN_IT, USELESS)] == [True, True, False]


def test_the_plan_allows_for_what_the_run_used_and_a_second_run_asks_nothing(trained) -> None:
    folder, summary, optimizer = trained
    most = plan(settings(str(folder)), env=world(), skill=SKILL, agent=Clerk(), target=parcel_target()).forecast
    asked = most.roles["optimizer"].calls
    assert asked is not None
    assert summary.cost.optimizer_calls == len(optimizer.requests) <= asked
    assert most.attempts >= (folder / "run/events.jsonl").read_text().count("attempt_finished")
    again, silent = train(folder, USELESS)
    assert again.best == summary.best
    assert silent.requests == []


def test_the_optimizer_is_told_of_files_only_where_they_are_trained(trained, tmp_path) -> None:
    _, _, optimizer = trained
    assert "etude:file references/NAME.md" in optimizer.requests[0].messages[-1].text
    summary, plain = train(tmp_path, files=False, train={"epochs": 1})
    assert "etude:file" not in plain.requests[0].messages[-1].text
    assert summary.accepted == 0  # a file that is proposed all the same is refused
    left = json.loads((tmp_path / "run/steps/0001/selected.json").read_text())["left_out"]
    assert {row["why"] for row in left} == {"protected: the content holds a region marker"}


def test_an_exported_skill_is_a_folder_whose_lines_can_be_verified(trained, tmp_path, monkeypatch, capsys) -> None:
    folder, _, _ = trained
    monkeypatch.chdir(folder)
    assert main(["export", "run", "--to", str(tmp_path)]) == 0
    place = tmp_path / "parcels"
    assert load_skill(place) == load_skill(next((folder / "run/best").glob("*")))
    said = json.loads((place / "provenance.json").read_text())["lines"]
    origins = {line["text"]: line["origin"] for line in said}
    assert origins["# Parcels"] == "initial"
    assert {origins[line] for line in (RUN_IT, "print((number * 7919 + 104729) % 99991)", "| amber | 31 |")} == {
        "step"
    }
    # The reasons go along when the skill is exported again, and stay behind when it has changed.
    assert main(["export", str(place), "--to", "copy"]) == 0
    assert Path("copy/parcels/provenance.json").read_text() == (place / "provenance.json").read_text()
    Path("copy/parcels/references/rates.md").write_text("changed\n")
    assert main(["export", "copy/parcels", "--to", "other"]) == 0
    assert [path.name for path in Path("other/parcels").iterdir() if path.is_file()] == ["SKILL.md"]

    given: Any = {"env": world(), "agent": Clerk(), "target": parcel_target(), "optimizer": parcel_optimizer()}
    config = make_config(settings(str(folder)))
    assert verify_skill(config, load_skill(place), **given).agrees
    (place / "scripts/check.py").write_text(SCRIPT.replace("7919", "7901"))
    result = verify_skill(config, load_skill(place), **given)
    assert {problem.what for problem in result.problems} >= {"the run did not write it so"}


def test_a_run_that_was_stopped_ends_like_one_that_was_not(trained, tmp_path) -> None:
    _, summary, _ = trained
    with pytest.raises(BudgetStop):
        train(tmp_path, USELESS, limits={"calls": 1})
    again, optimizer = train(tmp_path, USELESS)
    assert (again.best.hash, again.accepted, len(optimizer.requests)) == (summary.best.hash, summary.accepted, 1)


def test_a_file_that_entered_is_taken_back_as_one() -> None:
    edit = Edit(op="append", content=OPENS_SCRIPT)
    skill = SKILL.with_text(apply_edits(gathered(SKILL).text, [Edit(op="append", content=OPENS_TABLE), edit])[0])
    entry = LedgerEntry(step=1, edit=edit, fate="applied", accepted=True)
    (removal,) = added(TrainState(current=skill, best=skill, ledger=(entry,)))
    left = laid_out(skill.with_text(apply_edits(skill.text, [removal.edit])[0]))
    assert list(left.files) == ["references/rates.md"]


def test_a_skill_of_the_run_is_what_its_attempts_were_made_with(trained, monkeypatch) -> None:
    folder, summary, _ = trained
    monkeypatch.chdir(folder)
    monkeypatch.setattr("etude.cli.lookup.RUNS", folder)
    assert find_skill("run:best").skill.hash == summary.best.hash
    assert find_skill("run:initial").skill.hash == summary.initial.hash


def test_files_that_copy_answers_are_left_out(tmp_path) -> None:
    train(tmp_path, LEAK, proposes={"cites": "check"}, train={"epochs": 1})
    left = json.loads((tmp_path / "run/steps/0001/selected.json").read_text())["left_out"]
    assert [row["edit"]["content"] for row in left] == [LEAK]
    assert left[0]["why"].startswith("it copies the gold answer")


def test_files_that_a_skill_brings_stay_as_they_are_where_nothing_changes_them(tmp_path) -> None:
    """One can be run, and two cannot stand in the text that is trained, which is said."""
    script = File(data=SCRIPT.replace("7919", "7901").encode(), executable=True)
    files = {"scripts/check.py": script, "references/old.md": File(data=b"a\r\n")}
    files |= {"references/ä b.md": File(data=b"a\n"), "assets/a b.txt": File(data=b"a\n")}
    skill = Skill(name="parcels", text=f"{BODY}\n{RUN_IT}\n", files=files)
    summary, _ = train(tmp_path, skill=skill, train={"epochs": 1})
    assert summary.test_gain is not None
    assert summary.test_gain.mean > 0
    best = load_skill(next((tmp_path / "run/best").glob("*")))
    assert files.items() <= best.files.items()
    assert (
        "skill.files leaves references/old.md, references/ä b.md as it is"
        in (tmp_path / "run/events.jsonl").read_text()
    )


def test_a_line_of_a_script_is_mended(tmp_path) -> None:
    wrong = File(data=SCRIPT.replace("7919", "7901").encode(), executable=True)
    skill = Skill(name="parcels", text=f"{BODY}\n{RUN_IT}\n", files={"scripts/check.py": wrong})
    line = SCRIPT.splitlines()[-1]
    mends = {"mends": (line.replace("7919", "7901"), line)}
    summary, _ = train(tmp_path, skill=skill, proposes=mends, train={"epochs": 1})
    best = load_skill(next((tmp_path / "run/best").glob("*")))
    assert best.files["scripts/check.py"] == File(data=SCRIPT.encode(), executable=True)
    assert summary.test_gain is not None
    assert summary.test_gain.mean == 1


REFUSED = {
    "chat": ({"agent": {"name": "chat"}}, "'chat' opens no files of a skill"),
    "no sandbox": ({"agent": {"name": "tools", "unsafe_no_sandbox": True}}, "without a sandbox"),
    "another policy": ({"search": {"policy": "paper"}}, "'paper' edits the text of a skill only"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_where_files_cannot_be_trained_that_is_said_before_anything_is_sent(tmp_path, case: str) -> None:
    config, said = REFUSED[case]
    target, optimizer = parcel_target(), parcel_optimizer()
    with pytest.raises(InputError, match=said) as caught:
        Trainer(settings(str(tmp_path), **config), env=world(), target=target, optimizer=optimizer).train()
    assert "skill.files" in caught.value.hint
    assert (target.requests, optimizer.requests, list(tmp_path.iterdir())) == ([], [], [])


def test_a_learned_block_and_files_do_not_go_together(tmp_path) -> None:
    skill = Skill(text="<!-- etude:begin learned -->\n<!-- etude:end learned -->\n")
    with pytest.raises(InputError, match="learned block"):
        train(tmp_path, skill=skill)
