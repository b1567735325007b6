"""`init --from-skillopt` on the layouts of that project: lists of ids, monthly files, choices whose first is right,
gold lists as text, pictures counted from the repository, trained skills."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from etude.cli.main import main
from etude.cli.scaffold.skillopt.skill import converted
from etude.cli.trust import foreign
from etude.config import load_config
from etude.errors import SkillError
from etude.skill import Document

Captured = pytest.CaptureFixture[str]
PNG = b"\x89PNG\r\n\x1a\n"
SIMULATED = ["--target.model", "simulated:target", "--optimizer.model", "simulated:optimizer"]
CONFIG = """\
_base_: ../_base_/default.yaml
train: {{train_size: 0, batch_size: 4}}
env: {{name: {name}, split_mode: {mode}, split_ratio: "2:1:1", split_dir: {folder}, data_path: {path}, max_turns: 1}}
"""
BASE = """\
model: {backend: azure_openai, optimizer_backend: openai_chat, target_backend: openai_chat}
train: {num_epochs: 4, seed: 42}
env: {split_mode: ratio, split_ratio: "2:1:7", split_seed: 42, split_dir: "", data_path: ""}
human_feedback: {enabled: false}
"""


def write(path: str, data: Any) -> Path:
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(data if isinstance(data, str) else json.dumps(data))
    return place


def config(name: str, folder: str = '""', path: str = '""') -> str:
    """The settings of a benchmark as that project keeps them, next to its base."""
    write("configs/_base_/default.yaml", BASE)
    mode = "ratio" if folder == '""' else "split_dir"
    return str(write(f"configs/{name}/default.yaml", CONFIG.format(name=name, mode=mode, folder=folder, path=path)))


def found(capsys: Captured, config: str, *words: str, code: int = 0) -> dict[str, Any]:
    assert main(["init", "--from-skillopt", config, "--folder", "new", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: Captured, config: str) -> str:
    assert main(["init", "--from-skillopt", config, "--folder", "new"]) == 2
    assert not Path("new").exists()
    return capsys.readouterr().err


def doctor(capsys: Captured) -> str:
    assert main(["doctor", "new/etude.yaml", *SIMULATED]) == 0
    return capsys.readouterr().out


def theorem(number: int, month: str) -> dict[str, Any]:
    """As a monthly file of LiveMathematicianBench has it: the right choice is A, before the others."""
    wrong = [{"label": label, "text": f"The bound {number}{label} holds."} for label in "BCDE"]
    right = {"label": "A", "text": f"The sharp bound {number} holds."}
    question = {"question": f"What is the strongest statement about family {month}-{number}?"}
    return {
        "no": number,
        "month": month,
        "theorem": "Let X be.",
        "theorem_type": ["Universal"],
        "mcq": {**question, "choices": [right, *wrong], "correct_choice": right},
    }


def rows() -> list[dict[str, Any]]:
    files = sorted(Path("new/data").glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_nested_monthly_files_are_read_together_and_their_choices_are_shuffled(here: Path, capsys: Captured) -> None:
    for month in ("202511", "202512"):
        items = [theorem(number, month) for number in range(1, 13)]
        write(f"data/livemath/{month}/qa_{month}_final.json", items)
    settings = config("livemathematicianbench", path="data/livemath")
    result = found(capsys, settings)
    assert (result["scorer"], result["tasks"]) == ("choice", {"train": 12, "val": 6, "test": 6})
    assert any("another order" in note for note in result["notes"])
    tasks = rows()
    assert {task["id"] for task in tasks} == {f"{m}:{n}" for m in ("202511", "202512") for n in range(1, 13)}
    assert len({task["gold"] for task in tasks}) > 2
    for task in tasks:
        shown = task["input"].partition(f"({task['gold']}) ")[2]
        assert shown.startswith("The sharp bound")
    first = Path("new/data/tasks.jsonl").read_text()
    found(capsys, settings, "--force")
    assert Path("new/data/tasks.jsonl").read_text() == first
    assert doctor(capsys).endswith("no problems found\n")


def test_a_made_split_of_choices_reads_as_its_monthly_file(here: Path, capsys: Captured) -> None:
    for start, split in enumerate(("train", "val", "test")):
        items = [theorem(number, "202511") for number in range(8 * start, 8 * start + 8)]
        flat = [{"id": f"202511:{each['no']}", **each.pop("mcq"), **each} for each in items]
        write(f"data/live/{split}/items.json", flat)
    result = found(capsys, config("livemathematicianbench", "data/live"))
    assert result["scorer"] == "choice"
    assert len({row["gold"] for row in rows()}) > 2


def test_pictures_count_from_the_repository_and_gold_lists_are_read(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start, split in enumerate(("train", "val", "test")):
        table = Path(f"data/docvqa/splits/{split}/{split}.csv")
        table.parent.mkdir(parents=True)
        with table.open("w", newline="") as file:
            sheet = csv.writer(file)
            sheet.writerow(["questionId", "docId", "question", "answer", "image_path", "topic"])
            for number in range(10 * start, 10 * start + 4):
                image = f"data/docvqa_images/q{number}_d1.png"
                write(image, "").write_bytes(PNG + bytes([number]))
                gold = f"['{number} May 1977', 'May {number}, 1977']"
                sheet.writerow([number, 1, f"When was letter {number} sent?", gold, image, "dates"])
    settings = Path(config("docvqa", "data/docvqa/splits")).absolute()
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = found(capsys, str(settings))
    assert result["scorer"] == "anls"
    assert result["fields"]["images"] == "images"
    task = json.loads(Path("new/data/train.jsonl").read_text().splitlines()[1])
    assert task["gold"] == ["1 May 1977", "May 1, 1977"]
    assert Path("new/data", task["images"]).read_bytes() == PNG + bytes([1])
    assert doctor(capsys).endswith("no problems found\n")


LISTS = {
    "searchqa": [{"id": f"{number:032x}"} for number in range(4)],
    "livemathematicianbench": [{"id": f"202511:{number}", "month": "202511", "no": number} for number in range(4)],
    "docvqa": [
        {"id": f"q{number}", "questionId": str(number), "docId": "1", "image_path": f"data/x/q{number}.png"}
        for number in range(4)
    ],
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_ids_is_no_data_and_what_to_make_first_is_said(here: Path, capsys: Captured, name: str) -> None:
    for split in ("train", "val", "test"):
        write(f"data/{name}_id_split/{split}/items.json", LISTS[name])
    text = refused(capsys, config(name, f"data/{name}_id_split"))
    assert "the rows have ids, and neither questions nor answers" in text
    assert "make the split first" in text


def test_data_that_is_not_there_yet_is_to_be_made_first(here: Path, capsys: Captured) -> None:
    text = refused(capsys, config("searchqa", "data/searchqa_split"))
    assert "'data/searchqa_split' does not exist" in text
    assert "lists of ids" in text


@pytest.mark.parametrize("name", ["alfworld", "officeqa", "spreadsheetbench", "swebench"])
def test_a_benchmark_without_questions_is_refused_with_the_reason_before_its_data_is_looked_at(
    here: Path, capsys: Captured, name: str
) -> None:
    text = refused(capsys, config(name, "data/none"))
    assert f"env.name = '{name}'" in text
    assert "docs/" in text


def test_settings_that_name_only_usual_servers_are_not_asked_about(here: Path, capsys: Captured) -> None:
    for at, split in enumerate(("train", "val", "test")):
        write(
            f"data/qa/{split}/items.json",
            [{"id": f"{at}{n}", "question": f"q{at}{n}", "answers": [f"p{at}{n}"]} for n in range(4)],
        )
    settings = config("searchqa", "data/qa")
    found(capsys, settings)
    assert foreign(load_config("new/etude.yaml")) == []
    endpoint = BASE.replace("azure_openai,", "azure_openai, azure_openai_endpoint: 'https://lab.example/',")
    write("configs/_base_/default.yaml", endpoint)
    found(capsys, settings, "--force")
    named = {name for each in foreign(load_config("new/etude.yaml")) for name in each.settings}
    assert named == {"target.base_url", "optimizer.base_url"}


def test_a_picture_outside_of_the_repository_is_not_copied(here: Path, capsys: Captured) -> None:
    secret = write("secret.png", "")
    secret.write_bytes(PNG)
    for place in (str(secret.absolute()), "../../../../secret.png"):
        for at, split in enumerate(("train", "val", "test")):
            items = [{"question": f"q{at}{n}", "answer": f"['p{at}{n}']", "image_path": place} for n in range(4)]
            write(f"repo/data/docvqa/{split}/items.json", items)
        settings = write("repo/c.yaml", "env: {name: docvqa, split_dir: data/docvqa}\n")
        assert main(["init", "--from-skillopt", str(settings), "--folder", "new"]) == 2
        assert "secret.png" in capsys.readouterr().err
        assert not Path("new").exists()


@pytest.mark.parametrize("name", ["mmrb", "babyvision", "mathverse"])
def test_settings_that_name_no_data_are_refused(here: Path, capsys: Captured, name: str) -> None:
    assert "neither env.split_dir nor env.data_path is set" in refused(capsys, config(name))


SLOW = "# Rules\n\n- Read.\n\n<!-- SLOW_UPDATE_START -->\n{}<!-- SLOW_UPDATE_END -->\n"


def test_protected_parts_of_a_trained_skill_become_regions(here: Path, capsys: Captured) -> None:
    for at, split in enumerate(("train", "val", "test")):
        items = [{"id": f"{at}{n}", "question": f"Who is {at}{n}?", "answers": [f"p{at}{n}", "q"]} for n in range(4)]
        write(f"data/qa/{split}/items.json", items)
    settings = config("searchqa", "data/qa")
    write(settings, Path(settings).read_text().replace("env: {", "env: {skill_init: best.md, "))
    notes = "<!-- SKILL_APPENDIX_START -->\n- Remember to read.\n<!-- SKILL_APPENDIX_END -->\n"
    write("best.md", SLOW.format("Names come last.\n") + "\n- Then answer.\n\n" + notes)
    found(capsys, settings)
    skill = Document.parse(Path("new/skill/SKILL.md").read_text())
    assert (skill.region("slow_update"), skill.region("appendix")) == ("Names come last.", "- Remember to read.")
    assert "- Read." in skill.body
    assert "- Then answer." in skill.body
    assert "_START" not in skill.text
    assert yaml.safe_load(Path("new/etude.yaml").read_text())["skill"] == {"path": "skill"}


def test_an_empty_part_of_a_trained_skill_goes_and_an_open_one_is_refused() -> None:
    assert converted(SLOW.format(""), Path("best.md")) == "# Rules\n\n- Read.\n"
    assert converted("- Read.", Path("best.md")) == "- Read."
    for text in (
        SLOW.format("").replace("_END", "_START"),
        "- Read.\n<!-- SLOW_UPDATE_START -->\n",
        "<!-- SLOW_UPDATE_END -->",
    ):
        with pytest.raises(SkillError, match="SLOW_UPDATE"):
            converted(text, Path("best.md"))
