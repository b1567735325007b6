import json
import os
import shutil
from pathlib import Path

import pytest
from skills_ref.validator import validate

from etude.cli.main import main
from rows import rows

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"
NAME = "everyday-tasks"


def test_the_best_skill_is_written_as_a_valid_folder_without_markers(small_project: Path, capsys: Captured) -> None:
    with Path(RUN, "best", NAME, "SKILL.md").open("a") as document:
        document.write("<!-- etude:begin notes -->\n- Keep this.\n<!-- etude:end notes -->\n")
    assert main(["export", RUN, "--to", "skills"]) == 0
    assert capsys.readouterr().out == f"skills/{NAME}/SKILL.md\n"
    assert validate(Path("skills", NAME)) == []
    best = Path(RUN, "best", NAME, "SKILL.md").read_text().splitlines()
    assert Path("skills", NAME, "SKILL.md").read_text().splitlines() == [
        line for line in best if "etude:" not in line
    ]
    assert any("etude:begin" in line for line in best)


def test_several_programs_get_it_at_once_and_nothing_is_overwritten_without_force(
    small_project: Path, capsys: Captured
) -> None:
    assert main(["export", RUN, "--for", "claude", "--for", "agents", "--for", "claude", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["files"] == [f".claude/skills/{NAME}/SKILL.md", f".agents/skills/{NAME}/SKILL.md"]
    assert (result["name"], result["notes"]) == (NAME, [])
    shutil.rmtree(".agents")
    path = Path(f".claude/skills/{NAME}/SKILL.md")
    path.write_text("mine")
    words = ["export", RUN, "--for", "agents", "--for", "claude"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"error: '{path}' exists and differs\nhint: give --force to replace it, or another --name\n"
    )
    assert path.read_text() == "mine"
    assert not Path(".agents").exists()
    assert main([*words, "--force"]) == 0
    assert validate(path.parent) == []


def test_nothing_is_written_through_a_link_whose_real_place_can_be_named(
    small_project: Path, capsys: Captured
) -> None:
    real = os.path.realpath("real place")
    for link, words in (
        (".claude", ["--for", "claude"]),
        (".claude/skills", ["--for", "claude"]),
        (".agents", ["--for", "claude", "--for", "agents", "--force"]),
        ("out", ["--to", "out"]),
        ("out", ["--to", "out/deep/er"]),
        ("out", ["--to", f"{Path.cwd()}/out"]),
        (NAME, []),
        ("gone", ["--to", "gone"]),
    ):
        if link != "gone":
            Path(real).mkdir(exist_ok=True)
        Path(link).parent.mkdir(exist_ok=True)
        Path(link).symlink_to(real if link != "gone" else "nowhere")
        assert main(["export", RUN, *words]) == 2, link
        if "--to" in words and link == "out":
            hint = f"hint: if that is what you want, give the real place: --to '{real}"
            assert hint in capsys.readouterr().err
        assert not any(Path(real).iterdir()), link
        assert not Path(".claude/skills", NAME).exists()
        Path(link).unlink()
        shutil.rmtree(".claude", ignore_errors=True)
    assert not Path("nowhere").exists()
    assert main(["export", RUN, "--to", real]) == 0
    assert Path(real, NAME, "SKILL.md").exists()


def test_force_replaces_a_skill_but_never_hides_or_deletes_files_that_the_new_one_does_not_have(
    here: Path, capsys: Captured
) -> None:
    for name, files in (("old", ("scripts/run.sh", "scripts/gone.sh")), ("new", ("scripts/run.sh",))):
        for file in ("SKILL.md", *files):
            Path(name, file).parent.mkdir(parents=True, exist_ok=True)
            Path(name, file).write_text(f"{name} {file}\n")
    words = ["--name", "s", "--description", "d"]
    assert main(["export", "old", *words, "--to", "skills"]) == 0
    Path("skills/s/mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in Path("skills").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["export", "new", *words, "--to", "skills", "--force"]) == 2
    assert capsys.readouterr().err == (
        "error: 'skills/s' has files that the skill to be written does not have: 'mine.txt', 'scripts/gone.sh'\n"
        "hint: remove those of the old skill and move your own away, or give another name\n"
    )
    assert {path: path.read_bytes() for path in Path("skills").rglob("*") if path.is_file()} == before
    shutil.copytree("skills", ".claude/skills")
    assert main(["export", "new", *words, "--for", "agents", "--for", "claude", "--force"]) == 2
    assert not Path(".agents").exists()
    Path("skills/s/mine.txt").unlink()
    Path("skills/s/scripts/gone.sh").unlink()
    Path("skills/s/scripts/__pycache__").mkdir()
    Path("skills/s/scripts/__pycache__/x.pyc").write_text("")
    assert main(["export", "new", *words, "--to", "skills", "--force"]) == 0
    assert Path("skills/s/scripts/run.sh").read_text() == "new scripts/run.sh\n"


def test_force_replaces_nothing_that_is_no_skill(here: Path, capsys: Captured) -> None:
    Path("rules.md").write_text("# Rules\n")
    Path("rules").mkdir()
    assert main(["export", "rules.md", "--force"]) == 0
    Path("rules/SKILL.md").unlink()
    Path("rules/table.csv").write_text("a,b\n")
    capsys.readouterr()
    assert main(["export", "rules.md", "--force"]) == 2
    assert capsys.readouterr().err == (
        f"error: 'rules' holds no skill that could be replaced: skill folder '{here}/rules' has no SKILL.md\n"
        "hint: move it away, or give another name\n"
    )
    assert not Path("rules/SKILL.md").exists()


def test_the_skill_of_a_step_and_any_skill_can_be_exported(small_project: Path, capsys: Captured) -> None:
    assert main(["export", f"{RUN}:1", "--to", "one"]) == 0
    assert Path("one", NAME, "SKILL.md").read_text() == Path(RUN, "skills/0001.md").read_text()
    Path("rules.md").write_text("# Rules for all\n\nBe kind.\n")
    capsys.readouterr()
    assert main(["export", "rules.md"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "rules/SKILL.md\n"
    assert captured.err == ("note: the skill has no description; its first heading stands in: 'Rules for all'\n")
    assert validate(Path("rules")) == []


def test_before_a_run_has_a_best_folder_name_and_files_come_from_its_settings(
    fresh_project: Path, capsys: Captured
) -> None:
    Path("demo/skills", NAME, "table.csv").write_text("a,b\n")
    assert main(["train", "demo/etude.yaml", "--limits.calls", "10"]) == 3
    shutil.rmtree(Path(RUN, "best"))
    assert main(["export", f"{RUN}:initial"]) == 0
    assert Path(NAME, "table.csv").read_text() == "a,b\n"
    Path(RUN, "config.yaml").unlink()
    assert main(["export", f"{RUN}:initial", "--to", "bare"]) == 0
    assert not Path("bare", NAME, "table.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--test.enabled", "false"], "no verdict: run 'demo' made no test, with simulated models\n"),
        ([], "verdict: "),
    ],
)
def test_an_export_says_what_the_run_found(
    words: list[str], said: str, fresh_project: Path, capsys: Captured
) -> None:
    main(["train", "demo/etude.yaml", "--train.epochs", "1", "--env.limit", "{train: 6, val: 4, test: 6}", *words])
    capsys.readouterr()
    assert main(["export", RUN]) == 0
    assert said in capsys.readouterr().err
    assert main(["export", f"{RUN}:0", "--to", "first"]) == 0
    assert capsys.readouterr().err.startswith("no verdict: this is not the best skill of run 'demo'\n")


def test_a_run_that_measured_nothing_is_exported_by_force_only(fresh_project: Path, capsys: Captured) -> None:
    main(["train", "demo/etude.yaml", "--limits.calls", "10"])
    capsys.readouterr()
    assert main(["export", RUN]) == 2
    assert "run 'demo' has measured nothing: there is no reason to use its skill\nhint: " in capsys.readouterr().err
    assert not Path(NAME).exists()
    assert main(["export", RUN, "--force"]) == 0


def test_the_prompt_is_plain_text_on_stdout_and_a_place_that_cannot_be_written_is_an_error(
    small_project: Path, capsys: Captured
) -> None:
    assert main(["export", RUN, "--prompt"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# Everyday tasks\n")
    assert "etude:" not in out
    assert not Path(NAME).exists()
    assert main(["export", RUN, "--prompt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt"] + "\n" == out
    Path("file").write_text("")
    assert main(["export", RUN, "--to", "file"]) == 2
    assert capsys.readouterr().err == (
        f"error: 'file/{NAME}' cannot be written: Not a directory\n"
        "hint: fix the permissions, or give another folder with --to\n"
    )


def test_a_prompt_says_that_it_brings_none_of_what_the_skill_has_to_be_opened(here: Path, capsys: Captured) -> None:
    Path("a", "scripts").mkdir(parents=True)
    Path("a", "scripts", "run.sh").write_text("echo 1\n")
    Path("a", "rates.md").write_text("1\n")
    front = "---\nname: a\ndescription: b\n---\n"
    Path("a", "SKILL.md").write_text(f"{front}Read rates.md, then run `scripts/run.sh`.\n")
    lost = "the prompt is the text alone, and the skill has rates.md and scripts/ to be opened"
    assert main(["export", "a", "--prompt"]) == 0
    assert f"note: {lost}\n" in capsys.readouterr().err
    trained = "<!-- etude:files -->\n<!-- etude:file scripts/run.sh -->\necho 1\n"
    Path("b").mkdir()
    Path("b", "SKILL.md").write_text(f"{front}Run `scripts/run.sh`.\n{trained}")
    assert main(["export", "b", "--prompt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == [lost.replace("rates.md and ", "")]


def test_keys_of_claude_pass_for_claude_alone(here: Path, capsys: Captured) -> None:
    Path("a").mkdir()
    Path("a/SKILL.md").write_text("---\nname: a\ndescription: b\nmodel: x\n---\nBody.\n")
    assert main(["export", "a", "--for", "claude"]) == 0
    assert capsys.readouterr().err == "note: model: is not a key of the format\n"
    for places in (["--to", "skills"], ["--for", "claude", "--for", "agents"]):
        assert main(["export", "a", *places]) == 2
        assert "  model: is not a key of the format\nhint: " in capsys.readouterr().err


@rows(
    ("words", "error"),
    [
        ([RUN, "--to", "x", "--for", "claude"], "--to and --for both say where to write\nhint: give one of them\n"),
        (
            [RUN, "--prompt", "--to", "x", "--name", "X Y"],
            "--prompt writes no folder and cannot be combined with --to, --name\nhint: give one or the other\n",
        ),
        (
            ["demo/runs/demo:latest"],
            "skill 'demo/runs/demo:latest' does not exist\nhint: give the path of a skill, or RUN:best, ",
        ),
        ([RUN, "--for", "cloud"], "--for = 'cloud' is not one of them"),
        (
            ["nope"],
            (
                "skill 'nope' does not exist\nhint: give the path of a skill, or RUN:best, RUN:initial or RUN:STEP; "
                "'runs' holds no runs\n"
            ),
        ),
    ],
)
def test_wrong_wishes_are_errors(words: list[str], error: str, small_project: Path, capsys: Captured) -> None:
    assert main(["export", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {error}")
