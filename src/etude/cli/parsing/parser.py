"""What can be typed: every verb with its arguments. Imports nothing heavy, so that help is instant."""

from collections.abc import Sequence

from etude.cli.parsing import arguments
from etude.cli.parsing.verb import UsageError, Verb
from etude.cli.sleep.verbs import SLEEP
from etude.errors import did_you_mean

GROUPS = {"sleep": "improve skill and memory at night from the transcripts of local agents"}
"""Verbs that are followed by another one."""

VERBS: tuple[Verb, ...] = (
    Verb("demo", "train a skill on generated tasks with simulated models", ("etude demo",), arguments.demo),
    Verb(
        "init",
        "make a project from a dataset",
        ("etude init data.jsonl", "etude init data/ --folder project --target openai:gpt-5.5"),
        arguments.init,
        dotted=False,
    ),
    Verb(
        "doctor",
        "check the installation and settings, and say how to fix what is wrong",
        ("etude doctor", "etude doctor etude.yaml --live"),
        arguments.doctor,
    ),
    Verb(
        "plan",
        "say the most calls a run can make, what limits cap, and the smallest gain it can detect",
        ("etude plan etude.yaml", "etude plan etude.yaml --measure --limits.usd 2"),
        arguments.plan,
    ),
    Verb(
        "train",
        "train a skill, or resume an interrupted run",
        ("etude train etude.yaml --name first --train.epochs 2", "etude train etude.yaml --seeds 1-5"),
        arguments.train,
    ),
    Verb(
        "evaluate",
        "score skills on a split",
        (
            "etude evaluate etude.yaml --skill first:best --split test --trials 3",
            "etude evaluate --skill none --skill first:best --target openai:a --target openai:b",
            "etude evaluate --skill .claude/skills --trials 3",
        ),
        arguments.evaluate,
    ),
    Verb(
        "compare",
        "compare two skills on the same tasks: ship B or not",
        (
            "etude compare first:initial first:best",
            "etude compare none first:best",
            "etude compare old/SKILL.md new/SKILL.md --trials 5 --margin 0.02",
        ),
        arguments.compare,
    ),
    Verb(
        "recheck",
        "say with few calls whether a skill still helps on another model",
        ("etude recheck first:best --target openai:new", "etude recheck SKILL.md etude.yaml --target openai:new"),
        arguments.recheck,
    ),
    Verb(
        "trigger",
        "say how often an agent opens a skill when it should, and leaves it when it should not",
        (
            "etude trigger .claude/skills/my-skill --lexical",
            "etude trigger .claude/skills etude.yaml --agent.name claude-code",
            "etude trigger .claude/skills/my-skill etude.yaml --train",
        ),
        arguments.trigger,
    ),
    Verb(
        "audit",
        "say which tasks cannot see a skill, and which give it away or are scored wrong",
        ("etude audit SKILL.md etude.yaml", "etude audit first:best --label 30", "etude audit .claude/skills"),
        arguments.audit,
    ),
    Verb(
        "prune",
        "leave out of a skill what no task needs, with the evidence",
        ("etude prune .claude/skills/my-skill", "etude prune SKILL.md etude.yaml --allow-loss 0.05"),
        arguments.prune,
    ),
    Verb(
        "show",
        "show a run: scores, steps, edits, attempts, costs",
        ("etude show first --step 3", "etude show --attempt a-9ce2a9c5", "etude show --cost"),
        arguments.show,
        dotted=False,
    ),
    Verb(
        "diff",
        "show how two skills of a run differ",
        ("etude diff first", "etude diff first 3 best"),
        arguments.diff,
        dotted=False,
    ),
    Verb(
        "blame",
        "say which edit put each line of a skill there, and what it rests on",
        ("etude blame", "etude blame first 12"),
        arguments.blame,
        dotted=False,
    ),
    Verb(
        "export",
        "write the best skill of a run as an Agent Skills folder",
        ("etude export first --for claude", "etude export first:3 --to skills --name my-skill"),
        arguments.export,
        dotted=False,
    ),
    Verb(
        "verify",
        "check a skill, line by line, against the journal of its run, without a call",
        ("etude verify .claude/skills/my-skill first",),
        arguments.verify,
        dotted=False,
    ),
    Verb(
        "view",
        "show runs in a browser, live, or write that page as one file",
        ("etude view", "etude view first --export report.html"),
        arguments.view,
        dotted=False,
    ),
    Verb("runs", "list runs and how to resume them", ("etude runs",), arguments.runs, dotted=False),
    Verb(
        "simulate",
        "serve the simulated models over HTTP",
        ("etude simulate --port 8000 --latency 0.05 --fault rate_limit=0.1",),
        arguments.simulate,
        dotted=False,
    ),
    Verb(
        "mcp",
        "serve tools for agents: plan, train within a cap, explain; nothing is adopted by them",
        ("etude mcp --usd 5",),
        arguments.mcp,
        dotted=False,
    ),
    *SLEEP,
)


def overview(group: str = "") -> str:
    """The help of the program, or of a group of verbs."""
    if group:
        return f"""\
usage: etude {group} VERB ...

{GROUPS[group][0].upper()}{GROUPS[group][1:]}.

verbs:
{_listed({verb.name.removeprefix(f"{group} "): verb.summary for verb in VERBS if verb.name.startswith(f"{group} ")})}

`etude {group} VERB --help` for a verb"""
    verbs = _listed({verb.name: verb.summary for verb in VERBS if " " not in verb.name} | GROUPS)
    return f"""\
usage: etude VERB ...

Train agent skills: from a seed skill, a dataset and two models to a better SKILL.md.

verbs:
{verbs}

options:
  -h, --help  this text; `etude help VERB` for a verb, `etude help settings [KEY]` for settings
  --version   the version

example:
  etude demo
  etude init data.jsonl && etude doctor && etude train

exit codes: 0 done, 1 failed, 2 bad input or usage, 3 stopped by a budget, 130 interrupted;
            of compare: 4 inconclusive, 5 do not ship; of recheck: 4 inconclusive, 5 does not help;
            of verify: 1 skill and run do not agree"""


def read_verb(words: Sequence[str]) -> tuple[Verb, Sequence[str]]:
    """The verb that `words` begin with, and the other words. Raises UsageError: there is none of that name."""
    count = 2 if words[0] in GROUPS and len(words) > 1 else 1
    return find_verb(" ".join(words[:count])), words[count:]


def find_verb(name: str) -> Verb:
    """The verb of that name, as in `train` or `sleep run`. Raises UsageError: there is none."""
    for verb in VERBS:
        if verb.name == name:
            return verb
    what = "option" if name.startswith("-") else "verb"
    known = ["--help", "--version"] if what == "option" else [*(verb.name for verb in VERBS), "help", "help settings"]
    raise UsageError(f"unknown {what} {name!r}", hint=did_you_mean(name, known))


def _listed(verbs: dict[str, str]) -> str:
    width = max(len(name) for name in verbs)
    return "\n".join(f"  {name:<{width}}  {summary}" for name, summary in verbs.items())
