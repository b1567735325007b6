"""How often skills are opened when they are needed, and stay closed when they are not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Unpack

from etude.config import TrainConfig
from etude.config.sections import AgentSection
from etude.errors import DataError
from etude.intervals import mean_interval
from etude.measure.evaluate import aevaluate_skill
from etude.measure.triggers.catalogue import entries, shown
from etude.measure.triggers.environment import LEXICAL, Request, TriggerEnvironment, skills_of
from etude.measure.triggers.judge import SkillsAtHand
from etude.records import Attempt, Record, Skill
from etude.records.summary import Interval
from etude.records.tasks import Ended
from etude.workbench import Given, takes_given


class SkillTriggers(Record):
    """How one skill did, over the requests that say something about it."""

    skill: str
    opened: Interval | None
    """Share of the requests that need it in which it was opened, with its 95% interval over requests; None where no
    request needs it."""
    quiet: Interval | None
    """Share of the requests that do not need it in which it stayed closed, by a reply that could be read."""
    false_openings: int
    """Times that it was opened and should not have been."""
    instead: dict[str, int]
    """What was opened in its place, and how often; none at all is `""`."""
    listed: bool
    """Its description is shown, in whole or in part."""


class Triggers(Record):
    """How skills side by side are opened."""

    judge: str
    listing: str
    skills: tuple[SkillTriggers, ...]
    opened: Interval | None
    """Over all requests that need a skill: a right one was opened."""
    quiet: Interval | None
    """Over all requests that need none: none was opened that should have stayed closed."""
    false_openings: int
    requests: int
    trials: int
    listed: int
    """Skills whose description is shown."""
    of: int
    """Skills in the list."""
    right: dict[str, float]
    """By request, the share of trials in which the right skill was opened, or rightly none."""
    unreadable: int
    """Replies that name neither a skill of the list nor none: they open none, and are right in nothing. So are those
    that were refused, cut off or empty."""
    ended: dict[Ended, int]
    """As in `SkillEvaluation`."""
    voids: int
    calls_sent: int
    """This time: 0 when the journal knew all answers."""
    simulated: bool
    file: str


Openings = Mapping[str, Sequence[str | None]]
"""The skill that was opened in each trial, by the id of the request: empty for none, None where nobody can tell."""


@takes_given
async def ameasure_triggers(
    config: TrainConfig,
    requests: Sequence[Request],
    shelf: SkillsAtHand,
    by: AgentSection,
    trials: int = 1,
    **given: Unpack[Given],
) -> Triggers:
    """Ask each request `trials` times over the skills of a shelf. Its journal is that of the run of `config`.

    Raises:
        InputError: there is no request, or something cannot be used as it is. Nothing was paid for.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    need_requests(requests)
    given["env"] = TriggerEnvironment({"val": requests}, shelf, by)
    # The document under test: one description, or all of them.
    text = shelf.catalogue[shelf.own] if shelf.own else "\n".join(entries(shelf.catalogue, "whole"))
    given["skill"] = Skill(name=shelf.own or "skills", text=text)
    attempts: list[Attempt] = []
    result = await aevaluate_skill(config, "val", trials, attempts=attempts, **given)
    openings: dict[str, list[str | None]] = {}
    for attempt in attempts:
        made = attempt.trajectory
        openings.setdefault(attempt.task.id, []).append(None if made.failure else made.answer)
    visible = shown(shelf.catalogue, shelf.listing)
    asked = [request for request in requests if request.id in openings]
    right = {each.id: [one is not None and each.is_right(one) for one in openings[each.id]] for each in asked}
    named = [shelf.own] if shelf.own else [name for name in skills_of(asked) if name in shelf.catalogue]
    rows = tuple(_row(name, asked, openings, bool(visible.get(name))) for name in named)
    return Triggers(
        judge=LEXICAL.name if by.name == LEXICAL.name else f"{by.name}, {result.target}",
        listing=shelf.listing if by.name in (LEXICAL.name, "chat") else by.name,
        skills=rows,
        opened=_share({each.id: right[each.id] for each in asked if each.needs}),
        quiet=_share({each.id: right[each.id] for each in asked if not each.needs}),
        false_openings=sum(each.is_false_opening(one or "") for each in asked for one in openings[each.id]),
        requests=len(requests),
        trials=trials,
        listed=sum(map(bool, visible.values())),
        of=len(shelf.catalogue),
        right={name: fmean(each) for name, each in right.items()},
        unreadable=sum(bool(attempt.trajectory.failure) for attempt in attempts),
        ended=result.ended,
        voids=result.voids,
        calls_sent=result.calls_sent,
        simulated=result.simulated,
        file=result.file,
    )


def need_requests(requests: Sequence[Request]) -> None:
    """Raises DataError: nothing would be asked."""
    if not requests:
        raise DataError(
            "there is no request that says which skill it needs",
            hint="write evals/evals.json beside SKILL.md: a prompt in each row, and should_trigger: true or false",
        )


def _row(name: str, requests: Sequence[Request], openings: Openings, listed: bool) -> SkillTriggers:
    needing = [each for each in requests if each.expects(name)]
    others = [each for each in requests if each.expects(name) is False]
    instead = Counter(one for each in needing for one in openings[each.id] if one not in (None, name))
    return SkillTriggers(
        skill=name,
        opened=_share({each.id: [one == name for one in openings[each.id]] for each in needing}),
        quiet=_share({each.id: [one not in (None, name) for one in openings[each.id]] for each in others}),
        false_openings=sum(one == name for each in others for one in openings[each.id]),
        instead=dict(instead.most_common()),
        listed=listed,
    )


def _share(outcomes: Mapping[str, Sequence[bool]]) -> Interval | None:
    return mean_interval([fmean(each) for each in outcomes.values()]) if outcomes else None
