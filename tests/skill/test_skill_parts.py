"""A skill and its files as one text: there and back byte for byte, and what edits may do to it."""

import pytest

from etude.errors import SkillError
from etude.records import Edit, File, Skill
from etude.skill import Document, apply_edit, load_skill, save_skill
from etude.skill.markers import FILES
from etude.skill.parts import MOST_CHARS, MOST_FILES, gathered, laid_out
from rows import rows

BODY = "---\nname: s\ndescription: d\n---\n\n# S\n\n- Read `references/rates.md`.\n"
RATES, SCRIPT = "| a | 1 |\n| b | 2 |\n", "#!/bin/sh\necho 1\n"
SKILL = Skill(
    name="s",
    text=BODY,
    files={
        "assets/logo.png": File(data=b"\x89PNG\0"),
        "references/rates.md": File(data=RATES.encode()),
        "references/chart.png": File(data=b"\x89PNG\0"),
        "scripts/run.sh": File(data=SCRIPT.encode(), executable=True),
    },
)
TEXT = f"""\
{BODY}<!-- etude:files -->
<!-- etude:file references/chart.png kept -->
<!-- etude:file references/rates.md -->
{RATES}<!-- etude:file scripts/run.sh +x -->
{SCRIPT}"""


def edited(op: str, target: str = "", content: str = "", text: str = TEXT) -> tuple[str, str, str]:
    made, fate = apply_edit(text, Edit.model_validate({"op": op, "target": target, "content": content}))
    assert (made == text) is (fate.fate != "applied")
    assert gathered(laid_out(SKILL.model_copy(update={"text": made, "files": gathered(SKILL).files}))).text == made
    return made, fate.fate, fate.detail


def test_a_folder_is_one_text_and_the_text_is_the_folder() -> None:
    one = gathered(SKILL)
    assert one.text == TEXT
    assert set(one.files) == {"assets/logo.png", "references/chart.png"}
    assert laid_out(one) == SKILL
    assert gathered(one) == one
    assert Document.parse(TEXT).body == "\n# S\n\n- Read `references/rates.md`.\n"


@rows(
    ("data", "carried"),
    [
        (b"caf\xe9\n", True),
        (b"a\0b\n", True),
        (b"a\r\nb\r\n", True),
        (b"a\nb", True),
        (b"a" * MOST_CHARS + b"\n", True),
        (b"a\n<!-- etude:file scripts/evil.sh +x -->\nrm\n", True),
        (f"{FILES}\n".encode(), True),
        (b"<!-- etude:begin x -->\n<!-- etude:end x -->\n", True),
        (b"", False),
        (b"\xef\xbb\xbfa\n", False),
        ("a\x0b\u2028b\n".encode(), False),
    ],
)
def test_whatever_a_file_holds_comes_back_byte_for_byte(data: bytes, carried: bool) -> None:
    skill = Skill(name="s", text=BODY, files={"references/x.md": File(data=data), "scripts/y": File(data=b"y\n")})
    one = gathered(skill)
    assert ("references/x.md" in one.files, "references/x.md kept" in one.text) == (carried, carried)
    assert laid_out(one) == skill
    assert gathered(laid_out(one)) == one


@rows("path", ["references/.hidden", "references/SKILL.md", "references/a b.md", "references/é.md", "other/x.md"])
def test_files_of_other_names_stay_out_of_the_text(path: str) -> None:
    skill = Skill(name="s", text=BODY, files={path: File(data=b"a\n")})
    assert gathered(skill) == skill.with_text(f"{BODY}{FILES}\n")
    assert laid_out(gathered(skill)) == skill


def test_twins_in_upper_and_lower_case_are_refused() -> None:
    files = {"references/A.md": File(data=b"a\n"), "references/a.md": File(data=b"b\n")}
    with pytest.raises(SkillError, match="would be in the place of"):
        gathered(Skill(name="s", text=BODY, files=files))


PATHS = (
    "../x",
    "references/../x",
    "references/../../scripts/x",
    "/etc/passwd",
    "references//x",
    "references/x/",
    "references",
    "references/.x",
    "references/./x",
    "references/x.",
    "scripts/SKILL.md",
    "scripts/skill.MD/x",
    "SKILL.md",
    "assets/x.md",
    "References/x.md",
    "references\\x.md",
    "references/x\\..\\y",
    "references/-rf",
    "references/provenance.json",
    "references/__pycache__/x",
    "references/~x",
    "references/x:y",
    "references/\u2044x",
    "references/a/b/c/d/e",
    "references/" + "a" * 120,
    "references/RATES.md",
    "references/rates.md/x",
    "references/chart.png",
    "scripts/Run.SH",
)


@rows("path", PATHS)
def test_no_edit_opens_a_file_elsewhere_or_in_the_place_of_another(path: str) -> None:
    _, fate, _ = edited("append", content=f"<!-- etude:file {path} -->\nx")
    assert fate in ("protected", "missed")
    with pytest.raises(SkillError, match="etude:file"):
        Document.parse(f"{TEXT}<!-- etude:file {path} -->\nx\n")


MARK = "<!-- etude:file {} -->"
RUN = MARK.format("scripts/run.sh +x")


@rows(
    ("op", "target", "content", "wanted", "part"),
    [
        # Lines of a file, and of the body above it.
        ("replace", "| b | 2 |", "| b | 3 |", "applied", "| b | 3 |\n<!-- etude:file s"),
        ("insert_after", "| b | 2 |", "| c | 3 |", "applied", "2 |\n| c | 3 |\n<!--"),
        ("delete", "| a | 1 |", "", "applied", "rates.md -->\n| b | 2 |\n"),
        ("append", "", "- Be brief.", "applied", f"`.\n- Be brief.\n{FILES}\n"),
        ("replace", "| a | 1 |", "x\r\ny", "applied", "rates.md -->\nx\ny\n| b"),
        # A whole file comes in the order of paths, and goes by its first line, as a whole, or with its last line.
        (
            "append",
            "",
            f"{MARK.format('references/z.md')}\n- n\n\n",
            "applied",
            "2 |\n<!-- etude:file references/z.md -->\n- n\n<",
        ),
        ("append", "", f"  {MARK.format('scripts/z.py +x')}\nprint(1)", "applied", "scripts/z.py +x -->\nprint(1)\n"),
        ("delete", MARK.format("scripts/run.sh"), "", "applied", "| b | 2 |\n"),
        ("delete", f"{RUN}\n{SCRIPT}", "", "applied", "| b | 2 |\n"),
        ("delete", "| a | 1 |\n| b | 2 |", "", "applied", "kept -->\n<!-- etude:file scr"),
        # One that changed, is not there, is there, or is kept.
        ("delete", f"{MARK.format('scripts/run.sh')}\necho 2", "", "missed", ""),
        ("delete", MARK.format("scripts/other.sh"), "", "missed", ""),
        ("append", "", f"{MARK.format('scripts/run.sh')}\nx", "missed", ""),
        ("delete", MARK.format("references/chart.png kept"), "", "protected", ""),
        ("append", "", f"{MARK.format('references/y.md kept')}\nx", "protected", ""),
        # No text, two files in one edit, marks and what files cannot hold.
        ("append", "", f"{MARK.format('references/y.md')}\n\n", "no_change", ""),
        ("append", "", f"{MARK.format('references/y.md')}\nx\n{MARK.format('scripts/y')}\ny", "protected", ""),
        ("insert_after", "| b | 2 |", f"{MARK.format('scripts/y')}\ny", "protected", ""),
        ("replace", RUN, "x", "protected", ""),
        ("replace", f"| b | 2 |\n{RUN}", "x", "protected", ""),
        ("delete", FILES, "", "protected", ""),
        ("replace", "| b | 2 |", "a\0b", "protected", ""),
        ("replace", "| b | 2 |", "b" * MOST_CHARS, "protected", ""),
        ("insert_after", "echo 1", "<!-- etude:begin x -->", "protected", ""),
    ],
)
def test_an_edit_touches_the_body_or_one_file(op: str, target: str, content: str, wanted: str, part: str) -> None:
    text, fate, detail = edited(op, target, content)
    assert (fate, part in text) == (wanted, True), detail


def test_a_marker_that_an_edit_completes_is_refused() -> None:
    text = TEXT.replace("- Read `references/rates.md`.", "<!-- etude:XX -->")
    for content in ("files", "file scripts/evil.sh"):
        assert apply_edit(text, Edit(op="replace", target="XX", content=content))[1].fate == "protected"


def test_the_number_of_files_is_bounded_and_needs_the_line_above_them() -> None:
    text = gathered(Skill(name="s", text="")).text
    for number in range(MOST_FILES + 1):
        text, fate = apply_edit(text, Edit(op="append", content=f"<!-- etude:file scripts/{number:02d} -->\nx"))
        assert fate.fate == ("applied" if number < MOST_FILES else "protected")
    _, fate = apply_edit(BODY, Edit(op="append", content="<!-- etude:file scripts/x -->\nx"))
    assert fate.fate == "protected"


def test_a_body_with_other_line_ends_has_files_with_their_own() -> None:
    one = gathered(SKILL.with_text(BODY.replace("\n", "\r\n")))
    text, fate = apply_edit(one.text, Edit(op="append", content="<!-- etude:file scripts/x -->\nx\ny"))
    text, more = apply_edit(text, Edit(op="append", content="- One.\n- Two."))
    assert (fate.fate, more.fate) == ("applied", "applied")
    text, last = apply_edit(text, Edit(op="insert_after", target="y", content="z\r\nz"))
    assert last.fate == "applied"
    made = laid_out(one.with_text(text))
    assert made.files["scripts/x"].data == b"x\ny\nz\nz\n"
    assert made.text.endswith("- One.\r\n- Two.\r\n")


def test_a_skill_is_written_and_read_as_a_folder(tmp_path) -> None:
    place = save_skill(gathered(SKILL), tmp_path)
    assert load_skill(place) == SKILL
    (tmp_path / "s/scripts/out").symlink_to("/etc/passwd")
    with pytest.raises(SkillError, match="outside of the skill"):
        load_skill(place)


def test_a_text_and_a_folder_that_disagree_are_refused() -> None:
    files = {"scripts/x": File(data=b"x\n")}
    for text in ("<!-- etude:file scripts/x -->\ny\n", "<!-- etude:file scripts/z kept -->\n"):
        with pytest.raises(SkillError, match="disagree about the file"):
            laid_out(Skill(name="s", text=f"{FILES}\n{text}", files=files))
