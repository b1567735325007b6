"""Update modes beside `patch`: what a candidate is made of, and that what is protected stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages_doubles import Desk

from etude.config import make_config
from etude.errors import ConfigError
from etude.published.options import options_of
from etude.published.update_modes import UpdateMode, update_mode
from etude.published.update_modes.forms import DocumentReply, RoutedReply, SuggestionsReply
from etude.published.update_modes.patch import InPlace
from etude.published.update_modes.rewriting import FullRewrite, RewriteFromSuggestions
from etude.published.update_modes.skill_aware import SkillAware, reminders_in
from etude.records import Candidate, Edit, Skill
from etude.skill import Document
from etude.stages.shared.proposals import PatchReply

REGION = "<!-- etude:begin slow_update -->\nKeep this.\n<!-- etude:end slow_update -->\n"
TEXT = f"---\nname: s\ndescription: d\n---\n\n# Sums\n\n- Add all rows.\n\n{REGION}"
SKILL = Skill(name="s", text=TEXT)
CLARIFY = Edit(op="clarify", target="- Add all rows.", content="- Add all rows but the head.", cites=("a",))
ADD = Edit(op="add", content="Round to cents.", cites=("b",))


def configured(**options: object) -> UpdateMode:
    return update_mode(options_of(make_config({"search": {"policy": "paper", **options}})))


def test_each_mode_is_a_class_with_its_own_forms() -> None:
    modes = {name: configured(update_mode=name) for name in ("patch", "rewrite_from_suggestions", "full_rewrite")}
    assert {name: type(mode) for name, mode in modes.items()} == {
        "patch": InPlace,
        "rewrite_from_suggestions": RewriteFromSuggestions,
        "full_rewrite": FullRewrite,
    }
    merged = {name: mode.forms.merged for name, mode in modes.items()}
    assert merged == {
        "patch": PatchReply,
        "rewrite_from_suggestions": SuggestionsReply,
        "full_rewrite": DocumentReply,
    }
    assert [mode.budgeted for mode in modes.values()] == [True, True, False]


def test_skill_aware_reflection_is_patch_with_another_form_for_failures() -> None:
    mode = configured(skill_aware=True)
    assert type(mode) is SkillAware
    assert (mode.forms.of("failures"), mode.forms.of("successes")) == (RoutedReply, PatchReply)


@pytest.mark.parametrize("mode", ["rewrite_from_suggestions", "full_rewrite"])
def test_skill_aware_reflection_with_a_rewriting_mode_is_refused_and_both_settings_named(mode: str) -> None:
    with pytest.raises(ConfigError, match=f"search.skill_aware = true .* search.update_mode = '{mode}'") as error:
        configured(update_mode=mode, skill_aware=True)
    assert "search.update_mode: patch" in error.value.hint


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"update_mode = 'rewrite'"):
        configured(update_mode="rewrite")


def fates(candidate: Candidate) -> list[str]:
    return [applied.fate for applied in candidate.edits]


def document(text: str, *left_out: int) -> dict[str, object]:
    return {"reasoning": "r", "document": text, "left_out": list(left_out)}


async def rewritten(desk: Desk, *edits: Edit, skill: Skill = SKILL) -> Candidate:
    return await RewriteFromSuggestions().apply(desk.optimizer, skill, edits)


async def test_a_suggestion_that_was_left_out_is_not_made() -> None:
    candidate = await rewritten(Desk(rewrite=document("# New", 1, 7)), CLARIFY, ADD)
    assert fates(candidate) == ["applied", "no_change"]
    assert candidate.edits[1].detail == "left out by the rewrite"


async def test_without_suggestions_nobody_is_asked() -> None:
    candidate = await rewritten(Desk())
    assert (candidate.skill, candidate.edits, candidate.unusable) == (SKILL, (), "")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Sorry.", "the rewrite gave no usable answer"),
        (document(" \n"), "the rewrite gave an empty document"),
        (document(f"---\nname: x\n---\n{REGION}"), "the rewrite gave an empty document"),
    ],
)
async def test_a_rewrite_that_failed_says_so_and_leaves_the_skill(answer: object, why: str) -> None:
    candidate = await rewritten(Desk(rewrite=answer), CLARIFY, ADD)
    assert (candidate.skill, candidate.unusable) == (SKILL, why)
    assert [(each.fate, each.detail) for each in candidate.edits] == [("no_change", why)] * 2


async def test_a_document_that_reads_as_before_carried_nothing_out() -> None:
    candidate = await rewritten(Desk(rewrite=document(TEXT)), CLARIFY)
    assert (candidate.skill, fates(candidate), candidate.unusable) == (SKILL, ["no_change"], "")


MIDDLE = Skill(text=f"# Sums\n\n- Add all rows.\n\n{REGION}\n# Form\n\n- Answer with a number.\n")
MARKS = REGION.replace("Keep this.\n", "")


async def test_a_document_that_only_moves_a_region_carried_nothing_out() -> None:
    moved = f"{MARKS}\n# Sums\n- Add all rows.\n\n# Form\n\n- Answer with a number."
    candidate = await rewritten(Desk(rewrite=document(moved)), CLARIFY, skill=MIDDLE)
    assert (candidate.skill, fates(candidate)) == (MIDDLE, ["no_change"])
    candidate = await full(whole(moved, "a"), skill=MIDDLE)
    assert (candidate.skill, fates(candidate)) == (MIDDLE, ["no_change"])


def whole(content: str, *cites: str) -> Edit:
    return Edit(op="rewrite", content=content, cites=cites)


async def full(*edits: Edit, skill: Skill = SKILL) -> Candidate:
    return await FullRewrite().apply(Desk().optimizer, skill, edits)


HOSTILE = st.lists(
    st.sampled_from(["New.\n", "---\n", "---\nname: evil\n---\n", REGION, "<!-- etude:end slow_update -->\n"])
    | st.text(max_size=20),
    max_size=5,
).map("".join)


async def test_without_documents_the_skill_stays() -> None:
    assert await full() == Candidate(skill=SKILL, origin="step")


@given(HOSTILE)
async def test_no_rewrite_touches_front_matter_or_regions(text: str) -> None:
    candidate = await full(whole(text, "a"))
    found = Document.parse(candidate.skill.text)
    assert found.front_matter == Document.parse(TEXT).front_matter
    assert [(region.name, region.content) for region in found.regions] == [("slow_update", "Keep this.")]


def remind(content: str, *cites: str) -> Edit:
    return Edit(op="remind", content=content, cites=cites)


async def aware(desk: Desk, *edits: Edit, limit: int = 0, skill: Skill = SKILL) -> Candidate:
    return await SkillAware(repair=True, limit=limit).apply(desk.optimizer, skill, edits)


@pytest.mark.parametrize(("limit", "asked"), [(0, 0), (2, 0), (1, 1)])
async def test_the_appendix_is_consolidated_above_its_limit(limit: int, asked: int) -> None:
    desk = Desk(consolidate_appendix={"reasoning": "r", "reminders": ["Mind rows."]})
    candidate = await aware(desk, remind("Mind the last row."), remind("Mind the first row."), limit=limit)
    assert len(desk.prompts) == asked
    assert len(reminders_in(Document.parse(candidate.skill.text))) == 2 - asked
    assert fates(candidate) == ["applied"] * (2 + asked)
