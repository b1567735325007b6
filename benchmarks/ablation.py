"""What each part of the default search is worth: the noisy world without it.

    python benchmarks/ablation.py --seeds 10            about an hour on two cores

Each row leaves one part out, by setting what it is made of in the process of the run; the search itself has no switch
for it. The seeds are those on which the constants were chosen, so that the held-out ones stay that. Results go to
benchmarks/results/ablation.json.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import fmean, median
from typing import Any

from decisions import WORLDS, Found, train
from harness import command_line, write_results

from etude.records import TrainState
from etude.searches import evidence, hand_out, undo
from etude.stages import proof
from etude.stages.shared import history, jury
from etude.stages.shared.contest import ADDITION, Bar

NOTE = (
    "Share of the attainable score, mean and worst, of the skill handed out (where nothing can be learned it says "
    "nothing); target calls, median; useless lines, mean, and runs with a harmful line, of the skill that the search "
    "ended with."
)
CONDITIONS = ("compliance .985", ".88", "30% of tasks flaky", "null, .4")
HARMED = ("edits that break others", "one label for all")
"""Conditions for the parts that look for harm, which has to be there to be found."""


async def _as_it_is(bench: Any, log: Any, state: TrainState) -> TrainState:
    return state


async def _not_repeated(search: Any, state: TrainState, failures: Any) -> TrainState:
    return state


def _none_missed(self: Any, task: Any) -> list[Any]:
    return []


async def _no_sets(proving: Any, order: Any) -> None:
    return None


def _of_this_skill(state: TrainState, gate: Any) -> history.Measure:
    return history.measured(state.model_copy(update={"repeated": ()}), gate)


Set = Sequence[tuple[Any, str, Any]]
"""What is set where, under which name."""
PARTS: Mapping[str, Set] = {
    "everything": [],
    "one analysis of the failures, not two": [(evidence, "_READINGS", 1)],
    "failures not repeated": [(evidence.EvidenceSearch, "_repeated", _not_repeated)],
    "noise from tasks of the present skill only": [(evidence, "measured", _of_this_skill)],
    "additions enter once they are likelier than not": [(proof, "ADDITION", Bar(0.0, ADDITION.lost, ADDITION.most))],
    "replacements as strictly as additions": [(proof, "TRUST", ADDITION)],
    "nothing learnt about an optimizer": [(proof._Proving, "_odds", lambda proving, group: 0.0)],
    "what stays open is not tried together": [(proof._Proving, "_try_promising", _no_sets)],
    "no sets of edits": [(proof._Proving, "_attribute", _no_sets)],
    "no solved tasks attempted with a new skill": [(evidence, "looking_back", lambda bench, state, left: left)],
    "those tasks drawn by chance": [(undo, "_ABOUT", 0)],
    "tasks that keep failing are asked without lines that were refused": [(jury.Jury, "misses", _none_missed)],
    "no edit taken back by the history": [(evidence, "without_harm", _as_it_is)],
    "no lines left out of failing tasks": [(evidence, "without_hidden_harm", _as_it_is)],
    "no audit": [(evidence, "audited", _as_it_is)],
    "no fresh attempts at the hand-out": [(hand_out, "_repeats", lambda *_: False)],
}
LOOK_FOR_HARM = (
    "everything",
    "no solved tasks attempted with a new skill",
    "those tasks drawn by chance",
    "tasks that keep failing are asked without lines that were refused",
    "no edit taken back by the history",
    "no lines left out of failing tasks",
    "no audit",
)


def without(part: str, condition: str, seed: int) -> Found:
    """A run without a part."""
    before = [(place, name, getattr(place, name)) for place, name, _ in PARTS[part]]
    for place, name, value in PARTS[part]:
        setattr(place, name, value)
    try:
        return train(WORLDS[condition], {}, seed)
    finally:
        for place, name, value in before:
            setattr(place, name, value)


def cell(found: Sequence[Found]) -> str:
    """What the table says of the runs without a part under a condition."""
    figures = (
        f"{fmean(one.share for one in found):.3f} [{min(one.share for one in found):.2f}]",
        f"{median(one.calls for one in found):,.0f}",
        f"{fmean(one.useless_searched for one in found):.1f}",
        f"{sum(one.harmful_searched > 0 for one in found)}",
    )
    return ", ".join(figures)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and write the results."""
    parser = command_line(__doc__, "ablation")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each row (default %(default)s)")
    parser.add_argument("--only", default="", help="parts whose name contains this")
    args = parser.parse_args(words)
    seeds = range(1, 1 + args.seeds)
    with ProcessPoolExecutor(2) as pool:

        def measured(caption: str, parts: Iterable[str], conditions: Sequence[str]) -> dict[str, Any]:
            rows: list[list[str]] = []
            for part in parts:
                if args.only in part:
                    runs: list[Callable[[int], Found]] = [partial(without, part, name) for name in conditions]
                    rows.append([part, *(cell(list(pool.map(run, seeds))) for run in runs)])
                    print(rows[-1], flush=True)
            return {"caption": caption, "columns": ["without", *conditions], "rows": rows, "note": NOTE}

        tables = [
            measured("The default search without one part", PARTS, CONDITIONS),
            measured("Parts that look for harm, where there is some", LOOK_FOR_HARM, HARMED),
        ]
    write_results(args.out, "What each part is worth", ["ablation", "--seeds", str(args.seeds)], tables)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
