"""Training a description: the search that trains skills, over a document that is the description alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from etude.config import TrainConfig
from etude.config.sections import AgentSection
from etude.envs.splits import split_by_ratio
from etude.errors import DataError, SkillError
from etude.measure.triggers.catalogue import LONGEST, described, one_line
from etude.measure.triggers.environment import LEXICAL, Request, TriggerEnvironment
from etude.measure.triggers.judge import SkillsAtHand
from etude.readable import CHARACTERS_PER_TOKEN, counted
from etude.records import Skill, Split
from etude.records.summary import Summary
from etude.skill import Document, load_skill, save_skill
from etude.skill.export import export_skill
from etude.skill.folder import DOCUMENT
from etude.workbench import Given

FEWEST = 5
"""Requests: with fewer, a part that is held out cannot show anything."""
_RATIO = (0.3, 0.3, 0.4)
"""Both first parts are trained on: requests are few, and what is held out decides."""
_SHOWN_BODY = 1_200
"""Characters of a skill's own text that stand with each request that fails for want of it."""
_TOLD = """\
The document has the description of each of {count} skills below its name: all that an agent sees of them, beside
{others} further ones, when it decides which one to open for a request. A description has a sentence in each line, and
is shown as one paragraph. Make it say for which requests its skill is right, and for which it is not; what one says
more may take requests from another. Names stay. At most {longest:,} characters each and {most:,} together{full}, in
whole sentences: a list of key words is refused."""
_FULL = " (they have as many now, so put new words in the place of old ones)"


def split(requests: Sequence[Request], own: str) -> dict[Split, list[Request]]:
    """60 of 100 requests to train on, which also validate, and the others to decide by; those that need a skill and
    those that do not are divided alike. Raises DataError: they are too few, or none to train on needs `own`, or any
    skill where that is empty."""
    known = {request.id: request for request in requests}
    parts = split_by_ratio([request.task for request in requests], _RATIO)
    seen = [known[task.id] for name in ("train", "val") for task in parts[name]]
    needing = [request for request in seen if (request.expects(own) if own else request.needs)]
    if len(requests) < FEWEST or not needing:
        what = repr(own) if own else "a skill"
        raise DataError(
            f"{counted(len(requests), 'request')}, {len(needing)} to train on that need {what}, are too few",
            hint=f"bring {FEWEST} or more, in evals/evals.json or with --requests FILE",
        )
    return {"train": seen, "val": seen, "test": [known[task.id] for task in parts["test"]]}


def training(
    config: TrainConfig,
    parts: Mapping[Split, Sequence[Request]],
    shelf: SkillsAtHand,
    by: AgentSection,
    skills: Mapping[str, Skill],
    longest: int = LONGEST,
) -> tuple[TrainConfig, Given]:
    """What a `Trainer` takes to train the descriptions of some skills of the shelf, by name, by the search of
    `config`, in at most `longest` characters each; several take no more together than the published ones. `parts` are
    as `split` makes them, or without a test.
    Raises SkillError: a published description does not keep to the rule itself."""
    published = {name: shelf.catalogue[name] for name in skills}
    trained = described(published, longest)
    bodies = {name: Document.parse(skill.text).body.strip()[:_SHOWN_BODY] for name, skill in skills.items()}
    if fault := trained.fault(published):
        raise SkillError(f"skill {fault}", hint="shorten it by hand first")
    others = len(shelf.catalogue) - len(skills)
    full = _FULL * (len(skills) > 1)
    told = _TOLD.format(count=len(skills), others=others, longest=longest, most=trained.longest, full=full)
    document = Skill(name="descriptions", text=trained.text(published))  # by no name of a skill that it could replace
    room = max(trained.longest, len(document.text))
    update: dict[str, object] = {
        "skill": config.skill.model_copy(update={"max_tokens": -(-room // CHARACTERS_PER_TOKEN), "files": False}),
        "test": config.test.model_copy(update={"no_skill": False}),  # nobody asks what no description is worth
    }
    if by.name == LEXICAL.name:  # shared words are the same in each trial
        update["target"] = config.target.model_copy(update={"temperature": 0})
    env = TriggerEnvironment(parts, replace(shelf, trained=trained, told=told, bodies=bodies), by)
    return config.model_copy(update=update), Given(env=env, skill=document)


def trained_descriptions(summary: Summary, skills: Iterable[str]) -> dict[str, str]:
    """The best descriptions of a run that trained those of these skills."""
    text = load_skill(next(Path(summary.folder).glob(f"best/*/{DOCUMENT}"))).text
    return described(dict.fromkeys(skills, "")).read(text)


def write_skill(skill: Skill, description: str, folder: Path) -> Path:
    """Write the skill with another description below `folder`, and all else as it is; returns its document.
    Raises SkillError: the skill is not valid in its format."""
    if one_line(str(Document.parse(skill.text).meta["description"])) != description:
        skill = export_skill(skill, description=description, keep_markers=True, own_keys=True).skill
    return save_skill(skill, folder)
