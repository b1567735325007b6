import os
from pathlib import Path

import pytest

from etude.errors import SkillError
from etude.records import File, Skill
from etude.skill.folder import MAX_BYTES, load_skill, save_skill, validate_skill
from rows import rows

X = File(data=b"x")
FRONT = "---\nname: pdf-forms\ndescription: Fills forms.\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pdf-forms"
    (made / "references").mkdir(parents=True)
    (made / "scripts").mkdir()
    (made / "SKILL.md").write_bytes((FRONT + "\r\nBody.\r\n").encode())
    (made / "references" / "fields.md").write_bytes(b"fields\n")
    (made / "scripts" / "fill.py").write_bytes(b"#!/bin/sh\n\xff\x00")
    (made / "scripts" / "fill.py").chmod(0o755)
    return made


def front(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", ""])


def test_a_skill_is_named_by_its_front_matter_else_its_folder_or_file(folder: Path, tmp_path: Path) -> None:
    assert load_skill(None) == Skill(name="skill", text="")
    assert load_skill(folder / "SKILL.md").name == "pdf-forms"
    (tmp_path / "My Skill").mkdir()
    (tmp_path / "My Skill" / "SKILL.md").write_text("Rules.\n")
    assert load_skill(tmp_path / "My Skill").name == "my-skill"
    (tmp_path / "command.md").write_text(front("model: small"))  # of a plain file it is not checked
    assert load_skill(tmp_path / "command.md").name == "command"


def test_what_is_no_part_of_a_skill_is_left_out(folder: Path) -> None:
    expected = load_skill(folder)
    for name in (".git/config", "scripts/__pycache__/fill.pyc", ".DS_Store", "references/._fields.md", ".etude-ab12"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x")
    assert load_skill(folder) == expected
    (folder / "scripts" / ".flake8").write_bytes(b"x")
    assert "scripts/.flake8" in load_skill(folder).files


FILES = {
    "skill.txt": b"Rules.",
    "latin.md": b"caf\xe9",
    "broken.md": b"a\n<!-- etude:begin x -->\n",
    "lower/skill.md": b"Rules.",
}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        *(
            (path, f"skill '{path}' does not exist\nhint: give a skill folder")
            for path in ("", "nowhere", "no/SKILL.md")
        ),
        ("lower", r"has no SKILL\.md"),
        ("skill.txt", "is not Markdown"),
        ("latin.md", "is not UTF-8: byte 3 is 0xe9"),
        ("broken.md", r"broken\.md', line 2: region 'x' is not closed\nhint: "),
        ("x" * 300, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lower").mkdir()
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    with pytest.raises(SkillError, match=problem):
        load_skill(path)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../secret.md", "outside of the skill"),
        ("..", "outside of the skill"),
        (".", "holds the link itself"),
        ("nothing", "is a link to nothing"),
        ("link", "is a link to nothing"),
    ],
)
def test_a_link_that_leaves_the_folder_or_goes_round_is_an_error(folder: Path, target: str, problem: str) -> None:
    (folder.parent / "secret.md").write_text("secret")
    (folder / "link").symlink_to(target)
    with pytest.raises(SkillError, match=problem):
        load_skill(folder)


def test_a_document_that_is_a_link_out_of_the_folder_or_a_pipe_is_an_error(folder: Path) -> None:
    (folder / "SKILL.md").rename(folder.parent / "elsewhere.md")
    (folder / "SKILL.md").symlink_to("../elsewhere.md")
    with pytest.raises(SkillError, match="outside of the skill"):
        load_skill(folder)
    (folder / "SKILL.md").unlink()
    (folder.parent / "elsewhere.md").rename(folder / "SKILL.md")
    os.mkfifo(folder / "pipe")
    with pytest.raises(SkillError, match="neither a file nor a folder"):
        load_skill(folder)


def test_a_file_name_that_is_not_utf_8_is_an_error(folder: Path) -> None:
    try:
        (folder / os.fsdecode(b"\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system has only UTF-8 names")
    with pytest.raises(SkillError, match=r"file name .* is not UTF-8"):
        load_skill(folder)


def test_a_skill_over_50_mb_is_an_error(folder: Path) -> None:
    for place in (folder / "references" / "data.bin", folder.parent / "plain.md"):
        with place.open("wb") as file:
            file.truncate(MAX_BYTES + 1)
    with pytest.raises(SkillError, match="is larger than 50,000,000 bytes"):
        load_skill(folder)
    with pytest.raises(SkillError, match="has 50,000,001 bytes"):
        load_skill(folder.parent / "plain.md")


@rows(
    ("lines", "problem"),
    [
        (["description: d"], "name: is missing"),
        (["name:", "description: d"], "name: is empty"),
        (["name: 12", "description: d"], "name: 12 is not text; put it in quotes"),
        (["name: pdf", "description: [d]"], "description: is not text"),
        (["name: PDF", "description: d"], "name: 'PDF' must be 1 to 64"),
        (["name: a--b", "description: d"], "name: 'a--b' must be 1 to 64"),
        ([f"name: {'a' * 65}", "description: d"], "name: 'a"),
        (["name: pdf", "description: d", "compatibility: 3.11"], "compatibility: 3.11 is not text"),
        (["name: pdf", "description: d", "license: {a: b}"], "license: is not text"),
        (["name: pdf", "description: d", "metadata: [a]"], "metadata: is a list, not a mapping"),
    ],
)
def test_plainly_invalid_front_matter_is_an_error_that_names_file_and_key(
    tmp_path: Path, lines: list[str], problem: str
) -> None:
    (tmp_path / "SKILL.md").write_text(front(*lines))
    with pytest.raises(SkillError) as error:
        load_skill(tmp_path)
    assert f"SKILL.md': front matter key {problem}" in error.value.message
    assert any(one.startswith(problem) for one in validate_skill(Skill(text=front(*lines))))


def test_reading_is_lenient_and_validation_tells_the_rest(tmp_path: Path) -> None:
    text = front(
        "name: pdf",
        f"description: {'d' * 1025}",
        f"compatibility: {'c' * 501}",
        "metadata: {version: 1.0, author: me}",
        "allowed-tools: [Read]",
        "model: small",
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "SKILL.md").write_text(text + "line\n" * 501 + "x" * 20_000)
    skill = load_skill(tmp_path / "other")
    assert skill.name == "pdf"
    lenient = [
        "description: has 1025 characters; at most 1024 are allowed",
        "compatibility: has 501 characters; at most 500 are allowed",
        "allowed-tools: is not text; write the names with spaces between them",
        "metadata: 'version' and its value must both be text; put them in quotes",
    ]
    assert validate_skill(skill) == lenient
    assert validate_skill(skill, strict=True) == [
        *lenient,
        "model: is not a key of the format",
        "body: has 502 lines; at most 500 are recommended",
        "body: has about 5,627 tokens; at most 5,000 are recommended",
    ]


@rows(
    ("text", "problems"),
    [
        ("Rules.\n", ["there is no front matter; name and description are required"]),
        (front("name: x"), ["description: is missing", "name: 'x' differs from the name of the folder, 'skill'"]),
        (front("name: skill", "description: d", "compatibility: ''"), ["compatibility: is empty; leave it out"]),
        ("---\n", ["line 1: the front matter that starts with '---' is not closed"]),
    ],
)
def test_validation_lists_all_that_is_wrong(text: str, problems: list[str]) -> None:
    assert validate_skill(Skill(text=text)) == problems


def test_a_saved_skill_is_read_back_the_same(folder: Path, tmp_path: Path) -> None:
    skill = load_skill(folder)
    path = save_skill(skill, tmp_path / "out" / "best")
    assert path == tmp_path / "out" / "best" / "pdf-forms" / "SKILL.md"
    assert path.read_bytes() == (folder / "SKILL.md").read_bytes()
    assert load_skill(path) == skill
    assert not (path.parent / "references" / "fields.md").stat().st_mode & 0o111


OUTSIDE = ("../x", "/etc/x", "a/../../x", "", ".", "./a", "a\0b")


@rows(
    ("skill", "problem"),
    [
        *((Skill(text="a", files={"good.md": X, name: X}), "outside of") for name in OUTSIDE),
        *((Skill(name=name, text="a"), "is not a folder name") for name in ("", ".", "..", "a/b", "a\0")),
        (Skill(text="a", files={"SKILL.md": X}), "that is the skill's text"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_written(
    skill: Skill, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SkillError, match=problem):
        save_skill(skill, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["skill", "skill/references"])
def test_a_link_in_the_target_folder_does_not_carry_files_elsewhere(tmp_path: Path, link: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / link).parent.mkdir(parents=True)
    (tmp_path / "out" / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SkillError, match="outside of"):
        save_skill(Skill(text="a", files={"references/a.md": X}), tmp_path / "out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_project_around_a_document_is_no_part_of_the_skill(tmp_path: Path) -> None:
    """Its tasks have the right answers, which agents would read, and with each run the skill would be another."""
    names = ["scripts/a.py", "references/b/c.md", "forms.md", "notes.md", "etude.yaml", "tasks.jsonl", "runs/first/x"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "SKILL.md").write_text("Read forms.md, and see what runs. No etude.yaml.\n")
    assert set(load_skill(tmp_path).files) == {"scripts/a.py", "references/b/c.md", "forms.md"}
    (tmp_path / "etude.yaml").unlink()
    assert set(load_skill(tmp_path / "SKILL.md").files) == {*names} - {"etude.yaml"}
