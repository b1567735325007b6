import json
import shutil
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.config import RunSection
from etude.store import RunFolder

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"


def text(name: str) -> str:
    return Path(RUN, name).read_text()


def best() -> str:
    return text("best/everyday-tasks/SKILL.md")


def skills() -> list[str]:
    """The skill after each step, the initial one first."""
    return [path.read_text() for path in sorted(Path(RUN, "skills").iterdir())]


def best_step() -> int:
    """The first step after which the best skill was the current one."""
    return skills().index(best())


def patched(diff: str, before: str) -> str:
    """What the additions and context of a diff of one hunk make of a text."""
    removed = [line[1:] for line in diff.splitlines() if line[:1] in "- " and line[:3] != "---"]
    added = [line[1:] for line in diff.splitlines() if line[:1] in "+ " and line[:3] != "+++"]
    return before.replace("\n".join(removed), "\n".join(added))


def test_the_initial_skill_is_compared_with_the_best_and_verdicts_between_are_named(
    demo_project: Path, capsys: Captured
) -> None:
    assert main(["diff", RUN]) == 0
    about, diff = capsys.readouterr().out.split("\n\n", 1)
    lines = about.splitlines()
    assert lines[0] == f"run demo: initial -> best (step {best_step()})"
    gate = json.loads(text("steps/0001/gate.json"))
    assert lines[1].startswith(f"step 1 {gate['action']}")
    assert lines[1].endswith(f": {gate['reason']}")
    steps = [line for line in lines if line.startswith("step ")]
    assert len(steps) == best_step()
    assert any("accepted, became the best skill: " in line for line in lines)
    assert diff.startswith(f"--- initial\n+++ best (step {best_step()})\n@@ ")
    assert patched(diff, text("skills/0000.md")) == best()


def test_one_skill_is_compared_with_the_best(demo_project: Path, capsys: Captured) -> None:
    main(["diff", RUN, "0", "--json"])
    from_zero = json.loads(capsys.readouterr().out)
    main(["diff", RUN, "--json"])
    assert from_zero == json.loads(capsys.readouterr().out)


def test_a_path_is_compared_without_verdicts_and_other_files_are_named(demo_project: Path, capsys: Captured) -> None:
    shutil.copytree(f"{RUN}/best/everyday-tasks", "mine")
    Path("mine/extra.txt").write_text("x")
    assert main(["diff", RUN, "best", "mine"]) == 0
    assert capsys.readouterr().out == (
        f"run demo: best (step {best_step()}) -> mine\nfile 'extra.txt' differs\n\nthe texts are equal\n"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            [RUN, "99"],
            "error: run 'demo' has no skill of step 99\nhint: its last step so far is {last}; 0 is the initial",
        ),
        (
            [RUN, "nope.md"],
            (
                "error: run 'demo' has no skill 'nope.md'\nhint: give initial, best, the number of a step, or the "
                "path of a skill; its last step so far is {last}\n"
            ),
        ),
        (
            [f"{RUN}:3", f"{RUN}:best"],
            (
                "error: 'demo/runs/demo:3' is a skill of a run, not a run\nhint: give 'demo/runs/demo' alone; "
                "`etude diff demo/runs/demo` compares two of its skills\n"
            ),
        ),
        (["demo/runs/dmeo"], "error: there is no run in 'demo/runs/dmeo'\nhint: runs in 'demo/runs': demo"),
    ],
)
def test_what_is_not_there_is_an_error(words: list[str], error: str, demo_project: Path, capsys: Captured) -> None:
    assert main(["diff", *words]) == 2
    assert capsys.readouterr().err.startswith(error.format(last=len(skills()) - 1))


def test_while_a_run_goes_on_its_best_skill_is_that_of_the_steps_so_far(demo_project: Path, capsys: Captured) -> None:
    """`best/` is from when it was last stopped."""
    expected = best()
    Path(RUN, "best/everyday-tasks/SKILL.md").write_text("Old.\n")
    with RunFolder.open(RunSection(folder="demo/runs", name="demo")):
        assert main(["diff", RUN, "--json"]) == 0
    running = json.loads(capsys.readouterr().out)
    assert patched(running["diff"], text("skills/0000.md")) == expected


def test_before_anything_was_accepted_the_best_skill_is_the_initial_one(demo_project: Path, capsys: Captured) -> None:
    for name in ("steps", "epochs", "best", "summary.json"):
        path = Path(RUN, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    assert main(["diff", RUN]) == 0
    assert capsys.readouterr().out == "run demo: initial -> best (step 0)\n\nthe texts are equal\n"


def test_a_skill_that_is_no_text_is_no_empty_skill(demo_project: Path, capsys: Captured) -> None:
    file = Path(RUN, "skills/0001.md")
    file.write_bytes(b"\xff\xfe")
    for words in (["diff", RUN, "1"], ["verify", f"{RUN}:1", RUN], ["compare", f"{RUN}:1", f"{RUN}:initial"]):
        assert main(words) in (1, 2)
        assert f"{str(file)!r} cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["skills/0000.md", "best/everyday-tasks/SKILL.md"])
@pytest.mark.parametrize(
    "words", ["diff {}", "export {}:best --to out --force", "export {}:initial --to out --force"]
)
def test_a_damaged_skill_of_a_run_is_an_error_as_others_are(
    small_project: Path, capsys: Captured, name: str, words: str
) -> None:
    place = small_project / "runs/demo" / name
    place.write_bytes(place.read_bytes() + b"\xbe")
    code, said = main(words.format(small_project / "runs/demo").split()), capsys.readouterr().err
    assert (code, said.startswith("error: ")) in ((0, False), (2, True))
    assert code == 0 or str(place) in said
