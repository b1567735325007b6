"""Writes docs/reference/benchmarks.md from all results in benchmarks/results.

    python benchmarks/page.py            writes the page
    python benchmarks/page.py --check    fails if it is not up to date

A results file is one of `peers.py` (`"kind": "peers"`), or holds tables as they are to be shown: `title`, `command`,
`machine`, and `tables`, each with `caption`, `columns`, `rows` and `note`.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import LEVELS, Spread, calls_to_reach, done, mean_error, reasons, spread, table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"

HEAD = """\
# Benchmarks

Written by `python benchmarks/page.py` from `benchmarks/results`, which has quartiles, single runs and further \
tables. Each section names its command{machine}.

All models here, but for one [small real model](#a-small-real-model), are programs of the \
[simulated world](../models-and-agents.md#the-simulated-world), served over HTTP on loopback; true scores are \
computed, not sampled. They do not show how well a \
prompt works on a real model, nor most of its noise. What wins here need not win on your tasks.

Peers, slots, slow answers, ablation, policies, targets and partial credit are of earlier searches, peers and \
slots also of another target.

**With your own models.** `scripts/field-test --target openai:MODEL --optimizer openai:MODEL --calls 4000` trains on \
three small sets, with the default and with `preset: paper`, and attempts the test tasks without a skill. \
Nothing is sent without `--yes`. `--calls` or `--usd` (with `--price openai:MODEL=1.25/10`) caps it; \
`--base-url` and `--key-env` name other servers. `runs/field-test` gets the result, without \
keys or tasks.
"""
MEDIANS = """\
Medians over the seeds, and quartiles of the true score. The longest chain is the most requests of which each came \
after the one before it was answered. Calls to a share of the best: target calls before the first skill that the \
system would have handed out with this share of the best attainable true score, and in how many runs it got there."""
OWN_PROMPTS = """ \
SkillOpt's package lacks its prompt files; here it has prompts of the benchmark's own, for the same forms."""
SEARCH_COLUMNS = (
    "optimizer",
    "search",
    "share of the best score",
    "lowest",
    "target calls",
    "optimizer calls",
    "wrong rules",
    "initial skill",
)
SHOWN = (
    "wall clock, s",
    "longest chain of requests",
    "target calls",
    "optimizer calls",
    "true test score of the final skill",
    "tokens of the final skill",
    "client CPU per model call, ms",
    "peak memory of the client, MB",
)
"""Quantities that the page shows."""
LEFT_OUT = (
    "Policies in the world of few rules",
    "Policies in worlds like the harsh one, one for each seed",
    "Settings of the default, many rules",
    "Settings of the default, few rules",
    "Settings of the default, harsh world",
    "The default search, an earlier version",
    "The rule of one pass: an edit stays if a failed task passes with it once",
    "Growing numbers of tasks",
    "More slots",
    "Servers that refuse with 429",
)
"""Tables that are in the files of results only."""
DECISION_COLUMNS = (
    "condition",
    "attainable",
    "share of the attainable, median",
    "worst",
    "target calls, median",
    "useless lines, mean",
    "runs with a harmful line",
    "initial skill",
)
COLUMNS: Mapping[str, Sequence[str]] = {
    "The default search": DECISION_COLUMNS,
    "The default search, partial credit": DECISION_COLUMNS,
    "The default search, all tasks alike": DECISION_COLUMNS,
    "The default search, moderate gains": DECISION_COLUMNS,
    "The published loop": DECISION_COLUMNS,
    "The published loop, all tasks alike": DECISION_COLUMNS,
    "The published loop, moderate gains": DECISION_COLUMNS,
    "Edits that change nothing": ("agent", "tasks x attempts", "passed", "enter"),
    "Edits that take their tasks from 0.1 to 0.8": ("agent", "enter", "attempts"),
    "Reported and true scores with SmolLM2-135M": (
        "family",
        "seed",
        "initial",
        "handed out",
        "reported test",
        "holds",
        "target calls",
    ),
    "Policies in the world of many rules": SEARCH_COLUMNS,
    "Policies in the harsh world": SEARCH_COLUMNS,
    "Two targets with contradicting needs": ("world", "seed", "calls of two runs", "of one run", "ratio"),
}
"""The columns that the page shows of a table, where it does not show all; of two with one name the first."""
MOST_NOTE = 42
"""Words of a note; whole sentences beyond them are in the file only."""
WITH_QUARTILES = "true test score of the final skill"


def page(results: Path = RESULTS) -> str:
    """The whole page."""
    found = [json.loads(path.read_text()) for path in sorted(results.glob("*.json"))]
    found.sort(key=lambda one: one.get("kind") != "peers")
    rivals = [one for one in found if one.get("kind") == "peers"]
    machines = {one["machine"] for one in found}
    same = machines.pop() if len(machines) == 1 else ""
    sections = [peers(one, told=number == 0, same=same) for number, one in enumerate(rivals)]
    sections += [shown(one, same) for one in found[len(rivals) :]]
    return "\n".join([HEAD.replace("{machine}", f"; all ran on {same}" if same else ""), *sections])


def shown(results: Mapping[str, Any], same: str = "") -> str:
    """A section of tables that are ready; `same` is the machine that the page has named already."""
    parts = [f"## {results['title']}", _command(results, same)]
    for one in results["tables"]:
        caption = one["caption"]
        if caption in LEFT_OUT:
            continue
        columns, rows = chosen(one["columns"], one["rows"], COLUMNS.get(caption, one["columns"]))
        parts += [f"### {caption}", rows_of(columns, rows)]
        parts += [brief(one["note"], set(one["columns"]) - set(columns))] if one.get("note") else []
    return "\n\n".join(parts) + "\n"


def _command(results: Mapping[str, Any], same: str) -> str:
    return f"`{results['command']}`" + ("" if results["machine"] == same else f" on {results['machine']}") + "."


def chosen(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], wanted: Sequence[str]
) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """The wanted columns of a table, those that it has."""
    if wanted is columns:
        return columns, rows
    places = [columns.index(name) for name in wanted if name in columns]
    return [columns[place] for place in places], [[row[place] for place in places] for row in rows]


def brief(note: str, hidden: Collection[str]) -> str:
    """The first sentences of a note, as far as there is room, without those about columns that are not shown."""
    kept: list[str] = []
    for sentence in re.split(r"(?<=\.) (?=[A-Z`0-9])", note):
        about = re.match(r"`([^`]+)`:", sentence)
        if about is not None and about[1] in hidden:
            continue
        if kept and len(" ".join([*kept, sentence]).split()) > MOST_NOTE:
            break
        kept.append(sentence)
    return " ".join(kept)


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [list(columns), ["---"] * len(columns), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"|{'|'.join(line)}|" for line in lines)


def _cell(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    if math.isinf(value):
        return "never"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}"


def peers(results: Mapping[str, Any], *, told: bool = True, same: str = "") -> str:
    """The section of one comparison; `told` for the first one, which says what is the same in all."""
    setting, runs = results["setting"], results["runs"]
    arms = [arm["name"] for arm in results["arms"]]
    able = [name for name in arms if done(runs, name)]
    parts = [
        f"## Side by side: {setting['family']} tasks",
        _command(results, same)
        + (" **A quick run: too few seeds and too short a schedule to conclude from.**" if results["quick"] else ""),
        *(
            [_same(results), _versions(results)]
            if told
            else ["Settings and versions are those of the section above."]
        ),
        *_unable(results),
    ]
    if able:
        parts += [MEDIANS] if told else []
        parts += [_quantities(runs, able)]
    return "\n\n".join(parts) + "\n"


def _same(results: Mapping[str, Any]) -> str:
    setting = results["setting"]
    return (
        f"For all: {results['seeds']} seeds, each with other tasks; {setting['train']} training, "
        f"{setting['val']} validation and {setting['test']} test tasks; the same weak skill to start from; "
        f"`{setting['target']}` and `{setting['optimizer']}` with {setting['latency']:g} s for every answer; "
        f"{setting['workers']} workers; {setting['epochs']} epochs with a batch of {setting['batch_size']}, or as "
        "many target calls; each system's published defaults for all else. No system sees a test task. The endpoint "
        "counts the calls."
    )


def _versions(results: Mapping[str, Any]) -> str:
    known = {run["arm"]: run["version"] for run in results["runs"] if run["version"]}
    told: list[str] = []
    for arm in results["arms"]:
        settings = f" with `{', '.join(arm['settings'])}`" if arm["settings"] else ""
        if arm["name"] in known:
            told.append(f"{arm['name']} {known[arm['name']]}{settings}")
    text = f"Versions: {'; '.join(told)}."
    if "skillopt" in known:
        text += OWN_PROMPTS
    return text


def _unable(results: Mapping[str, Any]) -> list[str]:
    return [
        f"**{arm['name']}** did not run: {reason}."
        for arm in results["arms"]
        for reason in reasons(results["runs"], arm["name"])
    ]


def _quantities(runs: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> str:
    tables = {arm: table(done(runs, arm)) for arm in arms}
    rows: list[list[Any]] = [[name, *(_spread(name, tables[arm][name]) for arm in arms)] for name in SHOWN]
    errors = [mean_error(done(runs, arm)) for arm in arms]
    rows.append(["reported minus true score, points, mean", *(e if e is None else round(e, 2) for e in errors)])
    for level in LEVELS:
        calls = [[calls_to_reach(run, level) for run in done(runs, arm)] for arm in arms]
        reached = [f"{sum(not math.isinf(one) for one in each)} of {len(each)}" for each in calls]
        medians = [_number(spread(each).median) for each in calls]
        rows.append([f"calls to {level:.0%} of the best", *map(", ".join, zip(medians, reached, strict=True))])
    return rows_of(["", *arms], rows)


def _spread(name: str, values: Spread) -> str:
    median, low, high = (_number(value) for value in values)
    return median if name != WITH_QUARTILES or low == high else f"{median} ({low} to {high})"


def main(words: Sequence[str] | None = None) -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description="Writes docs/reference/benchmarks.md.")
    parser.add_argument("--check", action="store_true", help="fail if the page is not up to date")
    args = parser.parse_args(words)
    text = page()
    if not args.check:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    sys.stderr.write("docs/reference/benchmarks.md is not up to date; run python benchmarks/page.py\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
