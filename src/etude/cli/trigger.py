"""`etude trigger`."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from etude.cli.parsing.verb import UsageError
from etude.cli.scaffold.data_files import find_files
from etude.cli.scaffold.forms.evals import requests
from etude.cli.scaffold.table import Table
from etude.cli.scaffold.tasks import read_source
from etude.cli.settings import read_settings, with_options
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.terminal.summary_text import endings, print_summary
from etude.cli.watch import watch
from etude.config import TrainConfig, load_config
from etude.config.sections import AgentSection
from etude.errors import InputError, SkillError, UnusableReply
from etude.measure.plan import aplan
from etude.measure.triggers.catalogue import Catalogue, read_catalogue, read_entry
from etude.measure.triggers.environment import LEXICAL, Request
from etude.measure.triggers.judge import STEPS, SkillsAtHand
from etude.measure.triggers.lexical import Ranking
from etude.measure.triggers.measure import SkillTriggers, Triggers, ameasure_triggers, need_requests
from etude.measure.triggers.train import split, trained_descriptions, training, write_skill
from etude.readable import counted, some
from etude.records import Skill
from etude.records.summary import Interval, Summary
from etude.skill import load_skill
from etude.skill.folder import DESCRIBED, DOCUMENT, evals_of, skills_in
from etude.trainer import Trainer
from etude.workbench import Given

_COLUMNS = ("skill", "opened", "95% interval", "n", "quiet", "95% interval", "n", "opened instead")
_SHOWN = 2
"""Most other skills that a row names."""


class Case(NamedTuple):
    """What is measured: skills side by side, and what is asked."""

    shelf: SkillsAtHand
    requests: Sequence[Request]
    place: Path
    """The folder of the skill, or of the skills."""


def run(args: argparse.Namespace) -> int:
    """Measure how skills are opened, or train a description."""
    config = _config(args)
    case = case_of(args)
    need_requests(case.requests)
    by = LEXICAL if args.lexical else config.agent
    if args.train:
        return _train(args, case, config, by)
    output.note(bound(config, by, len(case.requests) * args.trials))

    async def work(given: Given) -> Triggers:
        return await ameasure_triggers(config, case.requests, case.shelf, by, args.trials, **given)

    result = watch(work, args.command)
    if 0 < result.unreadable == result.requests * result.trials - result.voids:
        # In a table all of this would be zeros, as if the skills were never opened.
        raise UnusableReply(
            f"nothing was measured: not one of {result.unreadable:,} replies names a skill of the list or says none",
            hint="the target has to answer with one name and nothing else: take another model, or raise "
            "target.max_output_tokens where it thinks before it answers",
        )
    output.measured(result, _lines(result), as_json=args.json, simulated=result.simulated)
    return 0


def _train(args: argparse.Namespace, case: Case, config: TrainConfig, by: AgentSection) -> int:
    """Train the description of one skill, or those of a folder as one document; what is better is written into the
    folder of the run."""
    if args.trials > 1:
        raise UsageError("--trials is for a measurement, and --train makes a test", hint="set test.trials")
    own, published = case.shelf.own, case.shelf.catalogue
    skills = _described(case)
    parts = split(case.requests, own)
    config, more = training(config, parts, case.shelf, by, skills)

    async def work(given: Given) -> Summary:
        output.note(await _most(config, more))
        return await Trainer(config, **{**given, **more}).atrain()

    summary = watch(work, args.command)
    trained = trained_descriptions(summary, skills)
    changed = [own] if own else [name for name in skills if trained[name] != published[name]]
    place = Path(summary.folder) / DESCRIBED
    rows = [
        {"skill": name, "published": published[name], "description": trained[name], "file": str(file)}
        for name in changed
        for file in [write_skill(skills[name], trained[name], place)]
    ]
    if args.json:
        output.json_result({**summary.model_dump(mode="json"), "described": rows})
        return 0
    print_summary(summary)
    output.line()
    output.line(f"requests     {len(parts['train'])} to train on, {len(parts['test'])} held out")
    if not own:
        output.line(f"changed      {len(changed)} of {counted(len(skills), 'description')}")
    for row in rows:
        output.line(f"description  {len(row['description'])} characters, published {len(row['published'])}")
        output.line(f"  {row['description']}")
        output.line(f"file         {row['file']}")
    return 0


async def training_bound(config: TrainConfig, case: Case) -> str:
    """The most that `--train` asks, for people. Raises InputError: it cannot be trained with these requests."""
    parts = split(case.requests, case.shelf.own)
    return await _most(*training(config, parts, case.shelf, config.agent, _described(case)))


async def _most(config: TrainConfig, more: Given) -> str:
    plan = await aplan(config, **more)
    calls = {role: share.calls for role, share in plan.forecast.roles.items()}
    shown = ", ".join(f"{count:,} of the {role}" for role, count in calls.items() if count is not None)
    most = f"at most {plan.forecast.attempts:,} attempts" + (f" and calls: {shown}" if shown else "")
    return "; ".join(filter(None, (most, plan.usual)))


def _described(case: Case) -> dict[str, Skill]:
    """The skills that `--train` describes anew, by name. Those of a folder that cannot be read were named before,
    and are passed over like those without a description."""
    if case.shelf.own:
        return {case.shelf.own: load_skill(case.place)}
    found = dict[str, Skill]()
    for place in skills_in(case.place):
        with suppress(SkillError):
            name, description = read_entry(place / DOCUMENT)
            found |= {name: load_skill(place)} if description else {}
    return found


def case_of(args: argparse.Namespace) -> Case:
    """What the arguments name. Raises InputError: a skill or a file of requests cannot be used."""
    place = Path(args.skill)
    place = place.parent if place.name == DOCUMENT else place
    if not place.is_dir():
        raise SkillError(f"skill {args.skill!r} does not exist", hint="give a skill folder, or a folder of them")
    alone = (place / DOCUMENT).exists()
    beside = Path(args.among) if args.among else place.resolve().parent if alone else place
    unread: list[str] = []
    catalogue = read_catalogue(beside, unread)
    if args.among and not catalogue:
        raise SkillError(f"--among {args.among!r} holds no skill folders", hint=f"each has a {DOCUMENT}")
    listed = {} if alone else read_catalogue(place, unread)
    if not alone and not listed:
        why = "".join(f"; {problem}" for problem in dict.fromkeys(unread))
        raise SkillError(
            f"{args.skill!r} is no skill and holds none{why}", hint=f"each skill is a folder with a {DOCUMENT}"
        )
    own, description = read_entry(place / DOCUMENT) if alone else ("", "")
    found = [*(of_skills([place]) if alone else of_skills(skills_in(place), unread)), *of_files(args.requests, own)]
    if alone:
        catalogue |= {own: description}
        if not description:
            raise SkillError(f"skill {own!r} has no description", hint="programs list a skill by it: write one")
        found += near(of_skills(skills_in(beside), unread), own, description, len(found))
    catalogue |= listed
    asked, notes = askable(found, catalogue)
    for note in (*(f"passed over: {problem}" for problem in dict.fromkeys(unread)), *notes):
        output.note(note)
    return Case(SkillsAtHand(catalogue, args.list_as, own), asked, place)


def _config(args: argparse.Namespace) -> TrainConfig:
    """The settings; without a model to ask none are needed. The run has a name of its own."""
    place = Path(args.skill).resolve()
    args.name = args.name or f"trigger-{place.parent.name if place.name == DOCUMENT else place.name}"
    if args.lexical and not args.train and args.config is None:
        return with_options(lambda flags: load_config(flags=flags), args)
    try:
        config = read_settings(args)
    except UsageError as error:
        error.hint += "; --train needs its optimizer" if args.train else "; --lexical measures without one"
        raise
    if config.targets:
        raise UsageError(
            "a trigger is measured with one model, and the settings have several targets",
            hint="name one of them as `target` in settings of their own",
        )
    return config


def bound(config: TrainConfig, by: AgentSection, attempts: int) -> str:
    """The most calls, said before the first."""
    if by.name == LEXICAL.name:
        return f"asking {attempts:,} times, by words alone: no model is called"
    chosen = by.model_extra or {}
    if chosen.get("login") == "direct":
        return f"at most {attempts:,} attempts of {by.name}, with its own login: nobody counts its calls"
    steps = 1 if by.name == "chat" else chosen.get("max_steps", STEPS)
    each = "" if steps == 1 else f" in {attempts:,} attempts of {by.name}"
    calls = counted(attempts * steps, "call")
    return f"at most {calls} of {config.target.model}{each}, without those that are known already"


def _lines(result: Triggers) -> Iterator[str]:
    asked = counted(result.requests, "request") + (f", {result.trials} trials each" if result.trials > 1 else "")
    yield f"judge    {result.judge}; {asked}"
    yield f"list     as {result.listing}: {result.listed} of {result.of} skills with a description"
    yield ""
    total = [("all", *_cells(result.opened), *_cells(result.quiet), "")] if len(result.skills) > 1 else []
    yield from text_lines([_COLUMNS, *map(_row, result.skills), *total])
    yield ""
    yield f"opened where they should not be, of all in the list: {counted(result.false_openings, 'time')}"
    if result.voids:
        yield f"errors   {counted(result.voids, 'attempt')} errored; they are not counted"
    if result.unreadable:
        yield f"unread   {result.unreadable} of all replies name no skill: they open none, and are never right"
    yield from endings(result.ended, 9)
    if hidden := [row.skill for row in result.skills if not row.listed]:
        yield f"hidden   {some(hidden, _SHOWN)}: they have no description, or the list has no room for it"
    yield f"calls    {result.calls_sent} sent"
    yield f"file     {result.file}"


def _row(row: SkillTriggers) -> tuple[str, ...]:
    others = [f"{name or 'none'} {count}" for name, count in list(row.instead.items())[:_SHOWN]]
    return row.skill, *_cells(row.opened), *_cells(row.quiet), ", ".join(others)


def _cells(share: Interval | None) -> tuple[str, ...]:
    return (
        ("-", "", "0")
        if share is None
        else (f"{share.mean:.2f}", f"[{share.low:.2f}, {share.high:.2f}]", str(share.n))
    )


def of_skills(folders: Iterable[Path], unread: list[str] | None = None) -> list[Request]:
    """What the evals of skills ask; most skills have none. Raises InputError: a file cannot be used; with `unread`
    that is added to it, and the skill is passed over."""
    found: list[Request] = []
    for folder in folders:
        file = evals_of(folder)
        if file.exists() and file.read_bytes().strip() not in (b"", b"[]"):  # some are published empty
            try:
                name, _ = read_entry(folder / DOCUMENT)
                found += _numbered(requests(Table(read_source(file).rows), name), name)
            except InputError as error:
                if unread is None:
                    raise
                unread.append(error.message)
    return found


def of_files(files: Iterable[str], skill: str = "") -> list[Request]:
    """What rows of data files ask; `should_trigger` without a name is about `skill`. Raises DataError: a file cannot
    be used."""
    found: list[Request] = []
    for file in (path for named in files for path in find_files(Path(named)).values()):
        table = Table(read_source(file).rows)
        about = skill if table.find("should_trigger") else ""
        found += _numbered(requests(table, about), file.stem)
    return found


def _numbered(found: Sequence[Request], name: str) -> list[Request]:
    """With ids that are the same wherever the files lie."""
    return [each.model_copy(update={"id": f"{name}-{number}"}) for number, each in enumerate(found, 1)]


def askable(found: Sequence[Request], catalogue: Catalogue) -> tuple[list[Request], list[str]]:
    """Each request once, without those that need a skill which is not there, and a note on these. Files may have the
    name of a skill, or of each other."""
    counts, unique = Counter[str](), list[Request]()
    for each in {(each.text, each.needs, each.quiet): each for each in found}.values():
        counts[each.id] += 1
        again = f"{each.id}-again-{counts[each.id]}"
        unique.append(each if counts[each.id] == 1 else each.model_copy(update={"id": again}))
    kept = [each for each in unique if not each.needs or any(name in catalogue for name in each.needs)]
    gone = [each for each in unique if each.needs and not any(name in catalogue for name in each.needs)]
    what = f"{len(gone)} requests need skills that are" if len(gone) > 1 else "1 request needs a skill that is"
    return kept, [f"{what} not there, as {gone[0].needs[0]!r}: left out"] if gone else []


def near(found: Sequence[Request], skill: str, description: str, most: int) -> list[Request]:
    """Of requests that are not for a skill, those whose words are nearest to its description: it is most likely to be
    opened for them by mistake."""
    others = {each.id: each for each in found if each.needs and not each.expects(skill)}
    scores = Ranking({name: each.text for name, each in others.items()}).scores(description)
    return [others[name] for name in sorted(others, key=lambda name: (-scores.get(name, 0.0), name))[:most]]
