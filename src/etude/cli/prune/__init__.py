"""`etude prune`."""

import argparse
from collections import Counter
from collections.abc import Iterator

from etude.cli.lookup import find_skill
from etude.cli.settings import read_settings
from etude.cli.terminal import output
from etude.cli.terminal.summary_text import endings
from etude.cli.watch import watch
from etude.measure.pruning.prune import Fate, Pruned, aprune_skill
from etude.readable import counted
from etude.records import brief
from etude.workbench import Given

_SHOWN = 30
"""Most blocks that go which are listed, and most tasks of a kind."""
_KEPT: dict[Fate, str] = {
    "needed": "a task fails without them",
    "code": "not tested: code, names of functions, formulas (--code tests them)",
    "section": "no task needs anything of their sections: perhaps none is about them",
}


def run(args: argparse.Namespace) -> int:
    """Shorten a skill."""
    named = find_skill(args.skill)
    args.name = args.name or f"prune-{named.skill.name}"
    config = read_settings(args)

    async def work(given: Given) -> Pruned:
        given["skill"] = named.skill
        return await aprune_skill(config, allow_loss=args.allow_loss, code=args.code, **given)

    result = watch(work, args.command)
    output.measured(result, _lines(result), as_json=args.json, simulated=result.simulated)
    return 0


def _lines(result: Pruned) -> Iterator[str]:
    count = Counter(block.fate for block in result.blocks)
    gone = [block for block in result.blocks if block.fate == "gone"]
    for block in gone[:_SHOWN]:
        yield f"- {brief(' '.join(block.text.split()), 70)}"
        yield f"    {block.passed} attempts at {block.tasks} tasks passed without it"
    if len(gone) > _SHOWN:
        yield f"and {len(gone) - _SHOWN:,} more, in prune.diff and prune.json"
    yield f"tokens      {result.before:,} -> {result.after:,}; {count['gone']} of {len(result.blocks)} blocks go"
    for fate, why in _KEPT.items():
        if count[fate]:
            yield f"stay        {count[fate]}: {why}"
    for why, number in Counter(block.why for block in result.blocks if block.fate == "doubtful").items():
        yield f"stay        {number}: in doubt, as {why}"
    if result.files:
        yield f"stay        {counted(result.files, 'file')} of the skill: files are not tested"
    yield f"tasks       {result.witnesses} pass with the whole skill" + _named("; these never did: ", result.blind)
    yield from filter(None, (_named("lost        ", result.lost), _named("too noisy   ", result.noisy)))
    if result.noisy and count["doubtful"]:
        yield "            leave such tasks out, or steady their check, to have the blocks in doubt tested"
    worse = result.verdict == "do not ship"
    if gone or worse:
        yield f"change      {result.change.shown_change} in mean score, an attempt each at {result.change.n} tasks"
    if worse:
        yield "verdict     it is worse: nothing goes"
    yield from endings(result.ended, 12)
    yield f"attempts    {result.attempts:,}, calls sent {result.calls_sent:,}"
    yield f"file        {result.file}"


def _named(what: str, names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN:,} more, in prune.json" if len(names) > _SHOWN else ""
    return f"{what}{', '.join(names[:_SHOWN])}{more}" if names else ""
