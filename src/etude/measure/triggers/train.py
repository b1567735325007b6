"""Training a description: the search that trains skills, over a document that is the description alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from etude.config import TrainConfig
from etude.config.sections import AgentSection
from etude.envs.splits import split_by_ratio
from etude.errors import DataError, SkillError
from etude.measure.triggers.catalogue import one_line
from etude.measure.triggers.description import LONGEST, Bounds, as_lines
from etude.measure.triggers.environment import TriggerEnvironment
from etude.measure.triggers.judge import SkillsAtHand
from etude.measure.triggers.requests import Request
from etude.records import Skill, Split
from etude.records.summary import Summary
from etude.skill import Document, load_skill, save_skill
from etude.skill.document import CHARACTERS_PER_TOKEN
from etude.skill.export import export_skill
from etude.skill.folder import DOCUMENT
from etude.workbench import Given

FEWEST = 5
"""Requests: with fewer, a part that is held out cannot show anything."""
_RATIO = (0.3, 0.3, 0.4)
"""Both first parts are trained on: requests are few, and what is held out decides."""
_SHOWN_BODY = 1_200
"""Characters of the skill's own text that the optimizer reads: it is shown 2,000 of what an agent is told."""
_TOLD = """\
The document is the description of the skill {name!r}: all that an agent sees of it, beside the descriptions of
{others} other skills, when it decides which one to open for a request. It has a sentence in each line, and is shown
as one paragraph. Make it say for which requests this skill is right, and for which it is not. At most {most:,}
characters, in whole sentences: a list of key words is refused. What the skill itself says:

{body}"""


def split(requests: Sequence[Request], own: str) -> dict[Split, list[Request]]:
    """60 of 100 requests to train on, which also validate, and the others to decide by; those that need a skill and
    those that do not are divided alike. Raises DataError: they are too few, or none to train on needs `own`."""
    known = {request.id: request for request in requests}
    parts = split_by_ratio([request.task for request in requests], _RATIO)
    seen = [known[task.id] for name in ("train", "val") for task in parts[name]]
    needing = [request for request in seen if request.expects(own)]
    if len(requests) < FEWEST or not needing:
        raise DataError(
            f"{len(requests)} requests, {len(needing)} to train on that need {own!r}, are too few",
            hint=f"bring {FEWEST} or more, in evals/evals.json or with --requests FILE",
        )
    return {"train": seen, "val": seen, "test": [known[task.id] for task in parts["test"]]}


def training(
    config: TrainConfig,
    parts: Mapping[Split, Sequence[Request]],
    shelf: SkillsAtHand,
    by: AgentSection,
    skill: Skill,
    longest: int = LONGEST,
) -> tuple[TrainConfig, Given]:
    """What a `Trainer` takes to train the description of `skill`, the own one of the shelf, in at most `longest`
    characters, by the search of `config`. `parts` are as `split` makes them, or without a test.
    Raises SkillError: the published description does not keep to the rule itself."""
    published = shelf.catalogue[shelf.own]
    rule = Bounds.beside(published, longest)
    if fault := rule.fault(published):
        raise SkillError(f"skill {shelf.own!r}: {fault}", hint="shorten it by hand first")
    body = Document.parse(skill.text).body.strip()[:_SHOWN_BODY]
    told = _TOLD.format(name=shelf.own, others=len(shelf.catalogue) - 1, most=longest, body=body)
    update = {
        "skill": config.skill.model_copy(update={"max_tokens": -(-longest // CHARACTERS_PER_TOKEN), "files": False}),
        "test": config.test.model_copy(update={"no_skill": False}),  # nobody asks what no description is worth
    }
    env = TriggerEnvironment(parts, replace(shelf, rule=rule, told=told), by)
    document = Skill(name=shelf.own, text=as_lines(published))
    return config.model_copy(update=update), Given(env=env, skill=document)


def trained_description(summary: Summary) -> str:
    """The best description of a run."""
    return one_line(load_skill(next(Path(summary.folder).glob(f"best/*/{DOCUMENT}"))).text)


def write_skill(skill: Skill, description: str, folder: Path) -> Path:
    """Write the skill with another description below `folder`, and all else as it is; returns its document.
    Raises SkillError: the skill is not valid in its format."""
    if one_line(str(Document.parse(skill.text).meta["description"])) != description:
        skill = export_skill(skill, description=description, keep_markers=True, own_keys=True).skill
    return save_skill(skill, folder)
