"""A skill as it leaves a run: valid in the Agent Skills format, without the markers that training needs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from etude.errors import SkillError
from etude.readable import some
from etude.records import Skill
from etude.skill.document import BOM, Document
from etude.skill.folder import load_skill, validate_skill
from etude.skill.front_matter import MAX_DESCRIPTION
from etude.skill.lines import line_end_of, lines_of, with_line_ends, without_blank_edges
from etude.skill.parts import laid_out

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*")
_BEYOND_BLOCK_STYLE = (
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
    yaml.AnchorToken,
    yaml.AliasToken,
    yaml.TagToken,
)
"""YAML that readers of a restricted dialect refuse, the reference validator among them."""
_SHOWN = 5
"""Files that an error names."""


class Exported(NamedTuple):
    """A skill ready to be saved."""

    skill: Skill
    notes: tuple[str, ...]
    """What was chosen or changed on the way, and recommendations of the format that it misses, a sentence each."""


def export_skill(
    skill: Skill,
    *,
    name: str | None = None,
    description: str | None = None,
    keep_markers: bool = False,
    own_keys: bool = False,
) -> Exported:
    """A valid Agent Skill with the text and the files of `skill`.

    Front matter stays as it is, byte for byte, unless something in it is missing, replaced by `name` or
    `description`, or written in a way that only full YAML parsers read. A skill without a description gets its first
    heading, else its first line, as one. `keep_markers` leaves the comments around protected regions where they are;
    their content always stays. `own_keys` allows front matter keys that are not part of the format, for programs with
    keys of their own. Raises SkillError: the skill is invalid in the format, and how, or there is nothing to describe
    it with."""
    skill = laid_out(skill)
    document = Document.parse(skill.text)
    notes: list[str] = []
    meta = {"name": skill.name, "description": "", **document.meta}
    meta["description"] = _described(document, description, notes)
    if name is not None:
        meta["name"] = name
    front = _front_matter(document, meta, notes)
    body = document.body if keep_markers else without_markers(document)
    exported = Skill(name=str(meta["name"]), text=front + body.removeprefix(BOM), files=skill.files)
    problems = validate_skill(exported, strict=True)
    recommended = [problem for problem in problems if problem.startswith("body:")]
    foreign = [problem for problem in problems if problem.endswith("is not a key of the format")]
    tolerated = [*recommended, *(foreign if own_keys else ())]
    refused = [problem for problem in problems if problem not in tolerated]
    if refused:
        raise SkillError(
            f"skill {exported.name!r} is not a valid Agent Skill:\n  " + "\n  ".join(refused),
            hint="correct its front matter, or give another name and description; own keys belong under `metadata`",
        )
    return Exported(exported, (*notes, *tolerated))


def check_replaceable(skill: Skill, place: Path) -> None:
    """Make sure that writing `skill` over the folder `place` leaves that skill there and nothing else.

    Files of an earlier export cannot be told from files that a person added, so none is deleted: those that `skill`
    does not have are named instead. What `load_skill` passes over, as `__pycache__`, does not count.
    Raises SkillError: the folder has such files, or holds something that cannot be read as a skill."""
    try:
        if not place.is_dir() or not any(place.iterdir()):
            return
        others = sorted(load_skill(place).files.keys() - skill.files.keys())
    except (SkillError, OSError) as error:
        problem = error.message if isinstance(error, SkillError) else error.strerror
        raise SkillError(
            f"{str(place)!r} holds no skill that could be replaced: {problem}",
            hint="move it away, or give another name",
        ) from None
    if others:
        raise SkillError(
            f"{str(place)!r} has files that the skill to be written does not have: "
            + some(list(map(repr, others)), _SHOWN),
            hint="remove those of the old skill and move your own away, or give another name",
        )


def prompt_text(skill: Skill) -> str:
    """The body without front matter, markers and blank lines around it: what goes into a prompt as it is."""
    return without_blank_edges(without_markers(Document.parse(laid_out(skill).text)).removeprefix(BOM))


def _described(document: Document, given: str | None, notes: list[str]) -> Any:
    own = document.meta.get("description")
    if given is not None or own is not None:
        return own if given is None else given
    lines = [line.text for line in lines_of(prompt_text(Skill(text=document.text))) if line.text.strip()]
    headings = [found[1] for line in lines if (found := _HEADING.fullmatch(line)) and found[1]]
    text = next(iter([*headings, *(line.strip() for line in lines)]), "")
    if not text:
        raise SkillError("the skill is empty: there is nothing to describe it with", hint="give a description")
    text = text[:MAX_DESCRIPTION]
    source = "its first heading" if headings else "its first line"
    notes.append(f"the skill has no description; {source} stands in: {text!r}")
    return text


def _front_matter(document: Document, meta: Mapping[str, Any], notes: list[str]) -> str:
    front = document.front_matter.removeprefix(BOM)
    if front and meta == document.meta and not _needs_full_yaml(front, len(meta)):
        return front
    dumped = yaml.dump(dict(meta), Dumper=_Block, sort_keys=False, allow_unicode=True, width=2**20)
    line_end = line_end_of(document.text)
    if front:
        notes.append("the front matter was rewritten; any comments in it are lost")
    return with_line_ends(f"---\n{dumped}---\n{'' if front else line_end}", line_end)


def _needs_full_yaml(front: str, keys: int) -> bool:
    """Whether a simpler reader could stumble: over flow style, anchors, tags, a key that is there twice, or a `---`
    that it takes for the end."""
    inner = "\n".join(line.text for line in lines_of(front)[1:-1])
    mapping = yaml.compose(inner, Loader=yaml.SafeLoader)
    twice = isinstance(mapping, yaml.MappingNode) and len(mapping.value) > keys
    return twice or "---" in inner or any(isinstance(token, _BEYOND_BLOCK_STYLE) for token in yaml.scan(inner))


class _Block(yaml.SafeDumper):
    """Block style without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def without_markers(document: Document) -> str:
    """The body without the markers of regions, and without regions that are empty."""
    for region in document.regions:
        if not region.content.strip():
            document = document.without_region(region.name)
    pieces: list[str] = []
    start = len(document.front_matter)
    for region in document.regions:
        pieces += [document.text[start : region.span[0]], document.text[slice(*region.inner)]]
        start = region.span[1]
    return "".join([*pieces, document.text[start:]])
