"""Exported skills, checked by the reference validator of the Agent Skills format."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate

from etude.errors import SkillError
from etude.records import Skill
from etude.skill import save_skill, validate_skill
from etude.skill.export import Exported, export_skill
from rows import rows

FRONT = "---\nname: pdf-forms  # ours\ndescription: Fills forms.\n---\n"
REGION = "<!-- etude:begin guidance -->\n- Keep this.\n<!-- etude:end guidance -->\n"


def skill(text: str, name: str = "pdf-forms") -> Skill:
    return Skill(name=name, text=text)


def problems(exported: Exported, folder: Path) -> list[str]:
    """What the reference validator says about it on disk."""
    return validate(save_skill(exported.skill, folder).parent)


DESCRIBED = "the skill has no description; its first heading stands in: 'Everyday tasks: how'"
REWRITTEN = "the front matter was rewritten; any comments in it are lost"
INTRO = "Intro: read this.\n\n## Everyday tasks: how ##\n\nBody.\n"
OTHERS = "---\nlicense: MIT\nname: a\ndescription: Fills forms.\n---\nBody.\n"


@rows(
    ("text", "given_one", "expected", "notes"),
    [
        (FRONT + "Rules.\n\n" + REGION.replace("- Keep this.\n", ""), {}, FRONT + "Rules.\n", ()),
        ("\ufeff" + INTRO, {}, f"---\nname: a\ndescription: 'Everyday tasks: how'\n---\n\n{INTRO}", (DESCRIBED,)),
        ("# A\r\nb\r\n", {"description": "A"}, "---\r\nname: a\r\ndescription: A\r\n---\r\n\r\n# A\r\nb\r\n", ()),
        (
            OTHERS,
            {"name": "forms", "description": "Fills: all"},
            "---\nname: forms\ndescription: 'Fills: all'\nlicense: MIT\n---\nBody.\n",
            (REWRITTEN,),
        ),
        ("", {"description": "Nothing yet."}, "---\nname: a\ndescription: Nothing yet.\n---\n\n", ()),
        (FRONT + "x\n" * 501, {}, FRONT + "x\n" * 501, ("body: has 501 lines; at most 500 are recommended",)),
    ],
)
def test_what_is_missing_or_given_is_written_and_said_and_all_else_stays(
    text: str, given_one: dict[str, str], expected: str, notes: tuple[str, ...], tmp_path: Path
) -> None:
    exported = export_skill(skill(text, "pdf-forms" if text.startswith(FRONT) else "a"), **given_one)
    assert (exported.skill.text, exported.notes) == (expected, notes)
    assert exported.skill.name in exported.skill.text
    assert problems(exported, tmp_path) == []


@pytest.mark.parametrize(
    "front",
    [
        "---\nname: a\ndescription: b\nmetadata: {version: '1.0'}\n---\n",
        "---\nname: a\ndescription: &b b\ncompatibility: *b\n---\n",
        "---\nname: a\ndescription: !!str b\n---\n",
        "---\nname: x\nname: a\ndescription: b\n---\n",
        "---\n# --- about ---\nname: a\ndescription: b\n---\n",
        "\ufeff---\nname: a\ndescription: b\n---\n",
        "---\nname: a\ndescription: 'yes'\n---\n",
        "---\nname: a\ndescription: |\n  two\n  lines\n---\n",
    ],
)
def test_what_only_full_yaml_readers_take_is_written_plainly(front: str, tmp_path: Path) -> None:
    exported = export_skill(skill(front + "Body.\n", "a"))
    assert problems(exported, tmp_path) == []
    meta, body = parse_frontmatter(exported.skill.text)
    assert (meta["name"], body) == ("a", "Body.")


@rows(
    ("text", "problem"),
    [
        ("---\nname: Bad Name\ndescription: b\n---\n", "name: 'Bad Name' must be 1 to 64 lowercase letters"),
        ("---\nname: 3\ndescription: b\n---\n", "name: 3 is not text"),
        ("---\nname: a\ndescription: 3\n---\n", "description: 3 is not text"),
        (f"---\nname: a\ndescription: {'b' * 1025}\n---\n", "description: has 1025 characters"),
        ("---\nname: a\ndescription: b\nmodel: x\n---\n", "model: is not a key of the format"),
    ],
)
def test_what_is_no_valid_skill_is_refused_with_every_reason(text: str, problem: str) -> None:
    with pytest.raises(SkillError, match="is not a valid Agent Skill:\n  ") as caught:
        export_skill(skill(text, "a"))
    assert problem in caught.value.message
    assert "another name" in caught.value.hint


def test_an_empty_skill_needs_a_description() -> None:
    with pytest.raises(SkillError, match="there is nothing to describe it with\nhint: give a description"):
        export_skill(skill(""))


LINES = st.sampled_from(["# Head", "text: more", "---", "- a", "", "```", "> {x}", "é 日本 'q' \"d\"", "#", "* b #c"])


@given(st.lists(LINES, max_size=6), st.sampled_from(["", FRONT]), st.booleans(), st.text(max_size=30))
def test_whatever_a_skill_says_its_export_is_valid_and_says_the_same(
    lines: list[str], front: str, region: bool, description: str
) -> None:
    body = "".join(f"{line}\n" for line in lines) + (REGION if region else "")
    if not front and body.startswith("---"):
        body = "\n" + body
    given_one = description if description.strip() else "For tests."
    exported = export_skill(skill(front + body, "pdf-forms"), description=given_one)
    assert validate_skill(exported.skill, strict=True) == []
    assert exported.skill.text.endswith(body.replace(REGION, "- Keep this.\n"))
    assert export_skill(exported.skill).skill == exported.skill
