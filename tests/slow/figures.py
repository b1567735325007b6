"""Each figure on each screen of a finished run, against what journal, events and files say when they are asked."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from browser import opened, shown, sized

from etude.readable import duration

FATES = {"applied": "applied", "repaired": "applied", "missed": "missed", "protected": "not done"}
FATES |= {"no_change": "not done", "dropped": "dropped"}


class Run:
    """A run folder, read without the code that the page is made with."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        lines = (folder / "events.jsonl").read_text().splitlines()
        self.events: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.summary, self.ship, self.provenance = (
            json.loads((folder / f"{name}.json").read_text()) for name in ("summary", "ship", "provenance")
        )
        self.steps = sorted(folder.glob("steps/*"))
        self.attempts = {each["attempt"]: each for each in self.of("attempt_finished")}
        self.kept = {each["id"]: each for step in self.steps for each in self.read(step / "rollout.json") or ()}

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind."""
        return [event for event in self.events if event["kind"] == kind]

    def asked(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        """What the journal answers."""
        with closing(sqlite3.connect(f"file:{self.folder / 'journal.db'}?mode=ro", uri=True)) as database:
            return database.execute(sql, values).fetchall()

    def read(self, file: Path) -> Any:
        """A file of JSON; None where there is none."""
        return json.loads(file.read_text()) if file.exists() else None


def figures_agree(driver: Any, url: str, folder: Path) -> None:
    """Each screen says what journal and files say; `url` is that of the page."""
    run = Run(folder)
    sized(driver, 1280, 9000)  # rows that cannot be seen are not drawn
    opened(driver, f"{url}#/runs")
    (row,) = (row for row in cells(driver, "main tbody tr", *range(1, 9)) if row[0] == run.name)
    calls, usd = run.asked("SELECT COUNT(*), SUM(usd) FROM spend")[0]
    initial, best = (f"{run.summary[skill]['test']['mean']:.2f}" for skill in ("initial", "best"))
    assert row[1:] == [
        run.ship["verdict"],
        changed(run.ship["difference"]),
        *(initial, best, str(len(run.steps)), f"{calls:,}", money(usd) if usd else ""),
    ]
    for screen, check in SCREENS.items():
        opened(driver, f"{url}#/runs/{run.name}{screen}")
        check(driver, run)
    for step in run.steps:
        opened(driver, f"{url}#/runs/{run.name}/steps/{step.name}")
        _step(driver, run, step)
    for name in list(run.attempts)[::40]:
        opened(driver, f"{url}#/runs/{run.name}/attempts/{name}")
        _attempt(driver, run, name)
    for line in run.provenance["lines"][::5]:
        number = run.provenance["lines"].index(line) + 1
        opened(driver, f"{url}#/runs/{run.name}/skill?line={number}")
        _line(driver, run, line)
    sized(driver, 1280, 900)


def _band(driver: Any, run: Run) -> None:
    band = " ".join(shown(driver, ".band").split())
    calls, usd = run.asked("SELECT COUNT(*), SUM(usd) FROM spend")[0]
    assert f"{calls:,} calls{f', {money(usd)}' if usd else ''}" in band
    initial, best = (run.ship[arm]["score"]["mean"] for arm in "ab")
    gain = changed(run.ship["difference"])
    assert band.startswith(
        f"{run.ship['verdict']} on tasks like these test {score(initial)} → {score(best)} gain {gain} finished"
    )
    assert f"finished in {duration(run.summary['cost']['wall_seconds'])}" in band


def _answer(driver: Any, run: Run) -> None:
    answer = " ".join(shown(driver, ".answer").split())
    tried = [[sum(task[arm]) / len(task[arm]) for task in run.ship["tried"]] for arm in "ab"]
    gain = changed(run.ship["difference"])
    assert answer.startswith(f"{run.ship['verdict']} on tasks like these {gain} on {len(tried[0])} test tasks")
    found = [run.ship[arm]["score"] for arm in "ab"]
    assert [score(mean(scores)) for scores in tried] == [score(each["mean"]) for each in found]
    intervals = (f"{score(each['mean'])} [{score(each['low'])}, {score(each['high'])}]" for each in found)
    assert f"test {' '.join(intervals)}" in answer
    worth = run.summary["no_skill"]
    with_best = worth["score"]["mean"] + worth["gain"]["mean"]
    assert f"without {score(worth['score']['mean'])}, with the best skill {score(with_best)}" in answer
    drawn = driver.execute_script("return document.querySelector('pre.diff').textContent").splitlines()
    texts = [(run.folder / run.summary[skill]["skill"]).read_text().splitlines() for skill in ("initial", "best")]
    assert {line[1:] for line in drawn if line.startswith("+") and not line.startswith("+++")} == {*texts[1]} - {
        *texts[0]
    }
    assert {line[1:] for line in drawn if line.startswith("-") and not line.startswith("---")} == {*texts[0]} - {
        *texts[1]
    }


def _run(driver: Any, run: Run) -> None:
    _band(driver, run)
    _answer(driver, run)
    expected: dict[tuple[Any, ...], list[str]] = {}
    calls = 0
    for event in run.events:
        if event["kind"] == "call_finished":
            calls += event["role"] == "target"
        elif event["kind"] == "decided":
            figures = [f"{calls:,}", f"{event['tried']:,}", f"{event['solved']:,}", score(event["current"])]
            row = [str(event["step"]), event["action"], *figures]
            expected.setdefault((event["step"], event["origin"]), row)
    assert cells(driver, "details .figures tbody tr", *range(6)) == [*expected.values()]


def _decisions(driver: Any, run: Run) -> None:
    _band(driver, run)
    rows = [row for row in cells(driver, "table:not(.figures) tbody tr", *range(5)) if row[0].isdecimal()]
    assert len(rows) == len(run.steps)
    for row, step in zip(rows, run.steps, strict=True):
        gate, update, candidate = run.read(step / "gate.json"), run.read(step / "update.json"), step / "candidate.md"
        action, star = gate["action"], " ★" if gate["best"] else ""
        edits = Counter(FATES[each["fate"]] for each in (update or {"edits": []})["edits"])
        told = ", ".join(f"{edits[word]} {word}" for word in dict.fromkeys(FATES.values()) if edits[word])
        size = str(-(-len(candidate.read_text()) // 4)) if candidate.exists() else ""
        assert [row[0], row[1].strip(), *row[2:4]] == [str(int(step.name)), action + star, told, size]
        assert row[4] in (gate["reason"], (gate["verdict"] or {}).get("reason"), (update or {}).get("skipped"))


def _step(driver: Any, run: Run, step: Path) -> None:
    gate, proof, update = (run.read(step / f"{name}.json") for name in ("gate", "proof", "update"))
    text = " ".join(shown(driver, "main").split())
    assert text.startswith(f"Step {int(step.name)} {gate['action']}")
    rollout = run.read(step / "rollout.json") or []
    failed = [each for each in rollout if each["score"]["hard"] < 1]
    if rollout:
        scored = score(mean(each["score"]["hard"] for each in rollout))
        noun = "attempt" if len(rollout) == 1 else "attempts"
        assert f"{len(failed)} of {len(rollout)} {noun} failed. Mean score of the batch: {scored}" in text
    links = "return [...document.querySelectorAll('ul.attempts a')].map((each) => each.textContent)"
    assert driver.execute_script(links) == [each["task"]["id"] for each in failed]
    for number, reading in enumerate(run.read(step / "patches.json") or (), 1):
        edits, shown_to = len(reading["patch"]["edits"]), len(reading["attempts"])
        assert f"Reading {number}, of {several(shown_to, 'attempt')}: {several(edits, 'edit')}" in text
    heads = driver.execute_script(
        "return [...document.querySelectorAll('.edit')].map((edit) => [edit.querySelector('p').innerText,"
        "[...edit.querySelectorAll('a')].map((each) => each.textContent)])"
    )
    edits = (update or {"edits": []})["edits"]
    assert [cites for _, cites in heads][: len(edits)] == [each["edit"]["cites"] for each in edits]
    for number, (each, (head, _)) in enumerate(zip(edits, heads, strict=False), 1):
        words = f"edit {number} {each['edit']['op'].replace('_', ' ')} {FATES[each['fate']]}"
        assert " ".join(head.split()).startswith(words)
        assert each["detail"] in head
    if proof is not None and proof["edits"]:
        _proof(driver, run, proof, gate)
    diff = step / "candidate.diff"
    drawn = driver.execute_script("return document.querySelector('pre.diff')?.textContent ?? ''").splitlines()
    lines = diff.read_text().splitlines()[3:] if diff.exists() else []
    assert [line for line in drawn if line] == [re.sub("^@@.*", "...", line) for line in lines if line]


def _proof(driver: Any, run: Run, proof: Any, gate: Any) -> None:
    known = {json.dumps(each["edit"]): each for each in proof["edits"]}
    labels = driver.execute_script(
        "return [...document.querySelectorAll('.matrix tbody tr')].map((row) => [row.cells[0].textContent,"
        "...[...row.querySelectorAll('.cell')].map((cell) => cell.className.split(' ')[1])])"
    )
    scores = cells(driver, ".matrix tbody tr", 0, len(known) + 1, len(known) + 2)
    tasks = gate["verdict"]["tasks"]
    assert scores == [[task["task"], score(task["before"]), score(task["after"])] for task in tasks]
    for task, *kinds in labels:
        for kind, each in zip(kinds, known.values(), strict=True):
            cited = task in {run.kept[name]["task"]["id"] for name in each["edit"]["cites"]}
            right = "needed" if task in each["needed"] else "fixed" if task in each["fixes"] else "cited"
            assert kind == (right if cited or right != "cited" else "none")


def _skill(driver: Any, run: Run) -> None:
    lines, changes = run.provenance["lines"], run.provenance["changes"]
    rows = cells(driver, ".blame tbody tr", *range(8))
    assert len(rows) == len(lines)
    least = ("proved", "trusted", "not tested")
    for number, (row, line) in enumerate(zip(rows, lines, strict=True), 1):
        edits = [changes[line["change"]]["edits"][at] for at in line["edits"]]
        parts = [{name for edit in edits for name in edit[part]} for part in ("failures", "solved", "needed")]
        standing = max((edit["standing"] for edit in edits), key=least.index, default="")
        evidence = [standing, *(str(len(part)) if edits else "" for part in parts)]
        assert [row[0], *row[2:]] == [str(number), *evidence, str(line["tokens"] or ""), line["text"]]
        assert (row[1] == "initial") == (line["origin"] == "initial")
    own = sum(line["origin"] == "initial" for line in lines)
    told = (
        f"{several(len(lines), 'line')}, {several(run.provenance['tokens'], 'token')} with every attempt; {own} lines"
    )
    assert told in shown(driver, "main")


def _line(driver: Any, run: Run, line: Any) -> None:
    aside = " ".join(shown(driver, "aside").split())
    assert f"{several(line['tokens'], 'token')} with every attempt" in aside
    for at in line["edits"]:
        proven = run.provenance["changes"][line["change"]]["edits"][at]
        cites = " ".join(proven["failures"].values()) or "no attempt"
        assert f"cites {cites} standing {proven['standing']}" in aside
        words = {"solved with all edits of the step": "solved", "solved in most attempts with it": "needed"}
        told = " ".join(f"{word} {', '.join(proven[part]) or '–'}" for word, part in words.items())
        assert f"{told} attempts behind it {proven['attempts']}" in aside


def _versions(driver: Any, run: Run) -> None:
    latest = max(run.folder.glob("skills/*.md"))
    driver.execute_script(f"location.hash += '/{int(latest.stem)}'")
    opened(driver, driver.current_url)
    texts = driver.execute_script("return [...document.querySelectorAll('pre.text')].map((each) => each.textContent)")
    assert texts == [latest.read_text()]


def _cost(driver: Any, run: Run) -> None:
    calls, tokens_in, cached, out, usd = run.asked(
        "SELECT COUNT(*), SUM(input_tokens), SUM(cached_tokens), SUM(output_tokens), SUM(usd) FROM spend"
    )[0]
    failed = sum(bool(event["error"]) for event in run.of("call_finished"))
    sums = [f"{calls:,}", f"{failed:,}", *map(short, (tokens_in, cached, out)), money(usd) if usd else ""]
    assert cells(driver, "tfoot tr", *range(1, 7)) == [sums]
    rows = cells(driver, "tbody tr", 0, 2, 7)
    for role, count, dollars in run.asked("SELECT role, COUNT(*), SUM(usd) FROM spend GROUP BY role"):
        own = [row for row in rows if row[0] == role]
        assert sum(int(number.replace(",", "")) for _, number, _ in own) == count
        assert not usd or abs(sum(float(price.lstrip("$")) for _, _, price in own) - dollars) < 0.005 * len(own)
    text = shown(driver, "main")
    made = run.of("attempt_finished")
    assert f"{len(made) - len(run.attempts)} of {len(made)} attempts were known" in text
    seconds = Counter(int(datetime.fromisoformat(each["at"]).timestamp()) for each in run.of("call_finished"))
    over = max(seconds) - min(seconds) + 1
    assert f"{calls / over:.1f} per second on average over {over} seconds" in text
    assert "0 were told to slow down (429)" in text


def _attempt(driver: Any, run: Run, name: str) -> None:
    seen, kept = run.attempts[name], run.kept.get(name)
    rows = [
        run.asked("SELECT value, seconds FROM facts WHERE kind || ' ' || key_hash LIKE ?", f"{fact}%")
        for fact in seen["facts"]
    ]
    replies = [(json.loads(value), seconds) for ((value, seconds),) in rows]
    text = " ".join(shown(driver, "main").split())
    usage = [sum(reply["usage"][part] for reply, _ in replies) for part in ("input_tokens", "output_tokens")]
    assert f"task {seen['task']} {seen['split']} score {score(seen['hard'])}" in text
    cost = f" cost {money(seen['usd'])}" if seen["usd"] else ""
    assert f"tokens {usage[0]:,} in, {usage[1]:,} out{cost}" in text
    assert f"time {sum(seconds for _, seconds in replies):.2f} s of work" in text
    for fact, (reply, seconds) in zip(seen["facts"], replies, strict=True):
        assert f"{fact} {seconds:.2f} s, {reply['usage']['output_tokens']:,} tokens out" in text
        assert " ".join(reply["text"].split()) in text
    others = [each["attempt"] for each in run.attempts.values() if each["task"] == seen["task"]]
    links = driver.execute_script("return [...document.querySelectorAll('.attempts a')].map((a) => a.textContent)")
    assert sorted([*links, name]) == sorted(others)
    if kept is not None:
        for part in (kept["task"]["input"], kept["score"]["feedback"], kept["trajectory"]["answer"]):
            assert " ".join(part.split()) in text


def _tasks(driver: Any, run: Run) -> None:
    for split in ("train", "val", "test"):
        driver.execute_script(f"location.hash = '#/runs/{run.name}/tasks?split={split}'")
        opened(driver, driver.current_url)
        drawn = driver.execute_script(
            "return [...document.querySelectorAll('.heat tbody tr')].flatMap((row) =>"
            "[...row.querySelectorAll('.cell')].map((cell) =>"
            "[row.cells[0].title.split(':')[0], cell.ariaLabel]))"
        )
        assert sorted(map(tuple, drawn)) == sorted(_in_split(run, split)), split


def _in_split(run: Run, split: str) -> Iterator[tuple[str, str]]:
    """Each task and what is said of it in a column."""
    trained = {each["task"] for each in run.attempts.values() if each["split"] == "train"}
    for step in run.steps:
        found: dict[str, list[float]] = {}
        for each in (run.read(step / "rollout.json") or ()) if split == "train" else ():
            found.setdefault(each["task"]["id"], []).append(each["score"]["hard"])
        verdict = run.read(step / "gate.json")["verdict"] or {"tasks": []}
        decided = {each["task"]: each for each in verdict["tasks"] if (each["task"] in trained) == (split == "train")}
        for task in found | decided if split != "test" else ():
            each = decided.get(task, {"before": None, "after": None})
            before = mean(found[task]) if task in found else each["before"]
            after = "" if each["after"] is None else f", with the candidate {score(each['after'])}"
            yield task, f"{int(step.name)}: {state(before)}{after}"
    if split == "train":
        return
    skills = {"initial": run.summary["initial"]["hash"], "best": run.summary["best"]["hash"]}
    measured: dict[tuple[str, str], list[float]] = {}
    for each in run.attempts.values():
        if each["split"] == split:
            named = [label for label, skill in skills.items() if each["skill"] == skill]
            for label in named or (["no skill"] if split == "test" else []):
                measured.setdefault((each["task"], label), []).append(each["hard"])
    for (task, label), scores in measured.items():
        yield task, f"{label}: {state(mean(scores))}"


SCREENS = {"": _run, "/skill": _skill, "/steps": _decisions, "/tasks": _tasks, "/cost": _cost}


def cells(driver: Any, rows: str, *columns: int) -> list[list[str]]:
    """What stands in these columns of the rows that a selector finds."""
    script = (
        "const [rows, columns] = arguments;"
        "const text = (row) => columns.map((at) => row.cells[at]?.textContent ?? '');"
        "return [...document.querySelectorAll(rows)].map(text)"
    )
    return driver.execute_script(script, rows, columns)


def mean(values: Iterable[float]) -> float | None:
    found = [*values]
    return sum(found) / len(found) if found else None


def score(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"


def changed(gain: Any) -> str:
    return f"{signed(gain['mean'])} [{signed(gain['low'])}, {signed(gain['high'])}]"


def short(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def money(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def state(value: float | None) -> str:
    return "void" if value is None else "solved" if value >= 1 else "failed" if value <= 0 else "partly"
