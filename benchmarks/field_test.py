"""The field test: the default, `preset: paper` and no skill on three small sets, with models of your own.

usage: scripts/field-test --target MODEL --optimizer MODEL (--calls N | --usd X --price MODEL=IN/OUT) [--yes]

Without --yes it says what it will take and sends nothing. The cap holds for all of it together. The same command
again resumes it. The result file has scores and counts, and neither keys, addresses, tasks nor answers.
"""

import argparse
import json
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hard_worlds import WORLD

import etude
from etude import Skill, Trainer
from etude.cli.terminal.output import tell
from etude.cli.watch import watch
from etude.config import LimitsSection, TrainConfig, make_config
from etude.errors import EtudeError, StopRun
from etude.measure.evaluate import aevaluate_skill
from etude.measure.plan import plan
from etude.records.summary import Interval, Summary
from etude.skill import token_count
from etude.store import SpendTotals, SqliteJournal, SqliteSpend
from etude.store.views import JOURNAL
from etude.workbench import Given

SETS = ("sorting", "parcels", "slips")
"""Families of the simulated world: exact answers by rules of which the tasks say little."""
SIZES = {"train": 24, "val": 32, "test": 40}
SEED = 15
ARMS: Mapping[str, Mapping[str, Any]] = {"no skill": {}, "default": {}, "paper": {"preset": "paper"}}
NO_SKILL = Skill(name="field-test", text="")
RESULT = "field-test"


class Arm(NamedTuple):
    """One way to go about one set."""

    set: str
    name: str

    @property
    def run(self) -> str:
        """The name of its run folder."""
        return f"{self.set}-{self.name.replace(' ', '-')}"


class FieldTest:
    """All arms on all sets, one after the other, under one cap."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._folder = Path(args.folder)
        self.arms = [Arm(name, arm) for name in args.sets for arm in ARMS]
        self._rows: dict[str, dict[str, Any]] = {name: {} for name in args.sets}

    def write_tasks(self) -> None:
        """The tasks as JSONL, the same each time."""
        for name in self._args.sets:
            tasks = WORLD.make_tasks(name, sum(SIZES.values()), SEED)
            folder = self._folder / "tasks" / name
            folder.mkdir(parents=True, exist_ok=True)
            for split, size in SIZES.items():
                some, tasks = tasks[:size], tasks[size:]
                rows = [task.model_dump(mode="json", include={"id", "input", "gold", "type"}) for task in some]
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")

    def most(self) -> int:
        """Calls of all arms together, at most."""
        return sum(SIZES["test"] if arm.name == "no skill" else self._most(arm) for arm in self.arms)

    def _most(self, arm: Arm) -> int:
        roles = plan(self._config(arm, {}), skill=NO_SKILL).forecast.roles
        return sum(share.calls or 0 for share in roles.values())

    def run(self) -> bool:
        """Every arm, as far as the cap goes; the result is written after each. Whether all is done."""
        for arm in self.arms:
            limits = self._left(arm)
            if any(limit <= 0 for limit in limits.values()):
                self._rows[arm.set][arm.name] = {"state": "not begun: the cap is used up"}
                continue
            print(f"{arm.set}, {arm.name}:", file=sys.stderr)
            self._rows[arm.set][arm.name] = self._row(arm, limits)
            self.write()
        self.write()
        return self._done()

    def write(self) -> None:
        """The result as it stands, as JSON and as a table."""
        result = {
            "etude": etude.__version__,
            "python": platform.python_version(),
            "target": self._args.target,
            "optimizer": self._args.optimizer,
            "cap": {"calls": self._args.calls, "usd": self._args.usd},
            "tasks": SIZES,
            "complete": self._done(),
            "sets": self._rows,
        }
        text = json.dumps(result, ensure_ascii=False, indent=2) + "\n"
        (self._folder / f"{RESULT}.json").write_text(text, encoding="utf-8")
        (self._folder / f"{RESULT}.md").write_text(_page(result), encoding="utf-8")

    def _done(self) -> bool:
        return all(self._rows[arm.set].get(arm.name, {}).get("state") == "finished" for arm in self.arms)

    def _row(self, arm: Arm, limits: Mapping[str, float]) -> dict[str, Any]:
        config = self._config(arm, limits)
        command = "run the same command again"
        try:
            if arm.name == "no skill":
                found = watch(lambda given: aevaluate_skill(config, **_bare(given)), command)
                row = {"state": "finished", "test": _interval(found.score), "simulated": found.simulated}
            else:
                summary = watch(lambda given: Trainer(config, **_bare(given)).atrain(), command)
                row = {"state": "finished", **self._of(summary)}
        except StopRun as stop:  # what it says may hold addresses: only its kind goes into the result
            tell(stop)
            row = {"state": f"stopped: {type(stop).__name__}"}
            if stop.exit_code == 130:
                raise
        return {**row, **self._used(arm)}

    def _of(self, summary: Summary) -> dict[str, Any]:
        best = Path(summary.folder) / summary.best.skill
        counted = {"steps", "accepted", "rejected", "skipped", "missed_edits", "repaired_cites", "uncited", "voids"}
        return {
            "test": _interval(summary.best.test),
            "no_skill": _interval(summary.initial.test),
            "gain": _interval(summary.test_gain),
            "verdict": summary.verdict,
            "validation": _interval(summary.best.val),
            "withheld": bool(summary.withheld),
            "skill_tokens": token_count(best.read_text(encoding="utf-8")),
            "simulated": summary.simulated,
            "seconds": summary.cost.wall_seconds,
            **summary.model_dump(mode="json", include=counted),
        }

    def _used(self, arm: Arm) -> dict[str, Any]:
        spent = self._spent(arm)
        if spent is None:
            return {}
        tokens = {role: [usage.input_tokens, usage.output_tokens] for role, usage in spent.usage.items()}
        return {"calls": spent.calls, "tokens": tokens, "usd": spent.usd}

    def _left(self, arm: Arm) -> dict[str, float]:
        """What the cap leaves for an arm: all but what the others used."""
        others = [spent for other in self.arms if other != arm and (spent := self._spent(other)) is not None]
        left: dict[str, float] = {}
        if self._args.calls is not None:
            left["calls"] = self._args.calls - sum(spent.total_calls for spent in others)
        if self._args.usd is not None:
            used = [(spent.usd, spent.open_usd) for spent in others]
            known = sum(usd for pair in used for usd in pair if usd is not None)
            left["usd"] = self._args.usd - known if all(None not in pair for pair in used) else 0.0
        return left

    def _spent(self, arm: Arm) -> SpendTotals | None:
        path = self._folder / "runs" / arm.run / JOURNAL
        if not path.exists():
            return None
        journal = SqliteJournal(path, read_only=True)
        try:
            return SqliteSpend(journal, LimitsSection()).totals()
        finally:
            journal.close()

    def _config(self, arm: Arm, limits: Mapping[str, float]) -> TrainConfig:
        args, tasks = self._args, self._folder.absolute() / "tasks" / arm.set
        where = {"base_url": args.base_url} if args.base_url else {}
        where |= {"api_key_env": args.key_env} if args.key_env else {}
        return make_config(
            {
                **ARMS[arm.name],
                "env": {split: str(tasks / f"{split}.jsonl") for split in SIZES} | {"scorer": "exact"},
                "target": {"model": args.target, **where},
                "optimizer": {"model": args.optimizer, **where},
                "prices": dict(args.price),
                "limits": dict(limits),
                "run": {"folder": str(self._folder / "runs"), "name": arm.run},
            }
        )


def _bare(given: Given) -> Given:
    given["skill"] = NO_SKILL
    return given


def _interval(value: Interval | None) -> dict[str, float] | None:
    return None if value is None else {name: round(number, 4) for name, number in value.model_dump().items()}


def _page(result: Mapping[str, Any]) -> str:
    simulated = any(row.get("simulated") for rows in result["sets"].values() for row in rows.values())
    lines = [
        f"# Field test: target {result['target']}, optimizer {result['optimizer']}",
        "",
        f"etude {result['etude']}; {', '.join(f'{size} {split}' for split, size in SIZES.items())} tasks in each set."
        + (" SIMULATED MODELS: these scores say nothing about a real model." if simulated else ""),
        "",
        "| set | arm | test score (95%) | target calls | optimizer calls | tokens | USD | skill tokens | state |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, rows in result["sets"].items():
        for arm, row in rows.items():
            lines.append("| " + " | ".join((name, arm, *_cells(row), row["state"])) + " |")
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    test, calls = row.get("test"), row.get("calls", {})
    score = "-" if test is None else f"{test['mean']:.2f} [{test['low']:.2f}, {test['high']:.2f}]"
    tokens = sum(sum(pair) for pair in row.get("tokens", {}).values())
    usd = "unknown" if row.get("usd") is None else f"{row['usd']:.2f}"
    return (
        score,
        *(str(calls.get(role, 0)) for role in ("target", "optimizer")),
        f"{tokens:,}",
        usd,
        str(row.get("skill_tokens", "-")),
    )


def _price(text: str) -> tuple[str, dict[str, float]]:
    model, _, prices = text.rpartition("=")
    try:
        paid, billed = map(float, prices.split("/"))
    except ValueError:
        wrong = f"{text!r} is not a price; write it as in openai:gpt-5.5=1.25/10"
        raise argparse.ArgumentTypeError(wrong) from None
    return model, {"input": paid, "output": billed}


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/field-test", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", required=True, metavar="MODEL", help="the model that attempts tasks")
    parser.add_argument("--optimizer", required=True, metavar="MODEL", help="the model that proposes edits")
    parser.add_argument("--base-url", metavar="URL", help="address of an OpenAI-compatible server")
    parser.add_argument("--key-env", metavar="NAME", help="environment variable that holds the key")
    parser.add_argument("--calls", type=int, metavar="N", help="most requests of all arms together")
    parser.add_argument("--usd", type=float, metavar="X", help="most US dollars of all arms together")
    price = "USD per million tokens, as in openai:gpt-5.5=1.25/10; once for each model"
    parser.add_argument("--price", type=_price, action="append", default=[], metavar="MODEL=IN/OUT", help=price)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="which sets (default: all three)")
    parser.add_argument("--folder", default="runs/field-test", help="default: runs/field-test")
    parser.add_argument("--yes", action="store_true", help="begin, or resume; else it only says what it will take")
    args = parser.parse_args(words)
    if args.calls is None and args.usd is None:
        parser.error("a hard cap is needed: give --calls N or --usd X")
    return args


def main(words: list[str] | None = None) -> int:
    """The most it takes, then the arms. Exits with 3 where the cap ended it."""
    args = _arguments(words)
    test = FieldTest(args)
    try:
        test.write_tasks()
        print(f"{'calls':<8}at most {test.most():,}")
        caps = [f"{args.calls:,} calls"] if args.calls is not None else []
        caps += [f"${args.usd:.2f}"] if args.usd is not None else []
        print(f"{'cap':<8}{' and '.join(caps)}, for {len(test.arms)} runs together")
        if not args.yes:
            print("nothing was sent; give --yes as well to begin")
            return 0
        done = test.run()
    except EtudeError as error:
        tell(error)
        return error.exit_code
    folder = Path(args.folder)
    print((folder / f"{RESULT}.md").read_text(encoding="utf-8"))
    print(f"to share: {folder / RESULT}.json, {folder / RESULT}.md")
    if not done:
        print("not all is done: give the same command a larger cap to resume", file=sys.stderr)
    return 0 if done else 3


if __name__ == "__main__":
    sys.exit(main())
