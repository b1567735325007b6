"""`etude show`."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from etude.cli.lookup import find_run, larger, last_run
from etude.cli.terminal import output
from etude.cli.terminal.output import shown, text_lines
from etude.cli.terminal.summary_text import print_summary
from etude.errors import DataError
from etude.readable import counted, cut_middle, short
from etude.records import Attempt, Edit, Message, Tested, Usage
from etude.store import RunView, StepView
from etude.store.projections.attempts import AttemptPage, attempt_page
from etude.store.projections.cost import RunCost, read_cost
from etude.store.projections.log import Log
from etude.store.projections.runs import decisions, reached_limit, resume_command
from etude.store.projections.steps import step_page

_SYSTEM_CHARS = 400
"""Of a system message: it has the skill, which `show` and `diff` print whole."""
HEADS = ("system", "user", "assistant", "tool", "result")
_FILES = {
    "summary.json": "the summary",
    "tasks.json": "what each task asks, and its gold answer",
    "ship.json": "initial and best skill on the test tasks, task by task",
    "best": "the best skill",
    "skills": "the skill after each step",
    "steps": "what each step attempted, proposed and decided",
    "epochs": "slow updates and the optimizer's memory",
    "evaluations": "what `etude evaluate` found",
    "comparisons": "what `etude compare` found",
    "audits": "what `etude audit` found",
    "pruned": "what `etude prune` found",
    "rechecks": "what `etude recheck` found",
    "plans": "what `etude plan --measure` found",
    "events.jsonl": "everything that happened, with times",
    "config.yaml": "the settings",
}
_COLUMNS = ("step", "action", "validation", "tokens", "edits", "reason")
_COSTS = ("role", "stage", "calls", "failed", "tokens in", "cached", "out", "cost")
_FATES = ("applied", "repaired", "missed", "protected", "no_change", "dropped")


def run(args: argparse.Namespace) -> int:
    """Print a run, one of its steps or attempts, or what it used."""
    view = find_run(args.run or last_run())
    if args.step is not None:
        _show_step(view, args.step, args.json)
        return 0
    if args.attempt is not None:
        _show_attempt(view, args.attempt, args.json)
        return 0
    if args.cost:
        cost = read_cost(view.path)
        output.measured(cost, _cost_lines(cost), as_json=args.json, simulated=_simulated(view))
        return 0
    summary = view.summary
    if args.json:
        limit = reached_limit(None if summary is None or view.outdated else summary.stopped)
        resume = {"resume": resume_command(view, output.program()), "raise_limit": limit or None}
        output.json_result({**dict(view), **resume})
        return 0
    log = Log(view.path, many=False)
    log.read()
    _print_state(view, log.story.steps)
    if not view.evaluations_only:
        output.line()
    if summary is not None:
        if view.outdated:
            output.line("when it last stopped:")
        print_summary(summary)
    if summary is None or view.outdated:
        for text in log.story.warnings:
            first, *rest = text.splitlines()
            output.lines([f"warning: {first}", *(f"  {line}" for line in rest)])
    output.lines(_table(view, log))
    _print_files(view)
    return 0


def _print_state(view: RunView, plan: int) -> None:
    """`plan` is how many steps the whole run has; 0 where that depends on what happens, or was not said yet."""
    summary, done = view.summary, sum(step.action is not None for step in view.steps)
    steps = f", {done} of {counted(plan, 'step')} done" if plan else f", {counted(done, 'step')} done"
    if not view.steps and not plan:
        steps = ""
    if view.running:
        output.line(f"run {view.name}: running now{steps}")
    elif view.evaluations_only:
        output.line(f"folder {view.name}: evaluations only, no run was trained in it")
    elif view.resumable:
        limit = "" if summary is None or view.outdated else larger(summary.stopped)
        output.line(f"run {view.name}: not finished{steps}")
        output.line(
            f"resume{limit}: {resume_command(view, output.program()) or 'run the command that started it again'}"
        )
    else:
        output.line(f"run {view.name}: finished")


def _table(view: RunView, log: Log) -> Iterator[str]:
    if view.evaluations_only:
        return
    if not view.steps:
        yield "no step has begun yet"
        return
    rows = [_row(decision.name, decision.view) for decision in decisions(view, log)]
    # Some searches measure validation only at the end.
    shown = [column for column in range(len(_COLUMNS)) if any(row[column] for row in rows)]
    yield ""
    yield from text_lines([[row[column] for column in shown] for row in (_COLUMNS, *rows)])
    if any(step.best for step in (*view.steps, *view.epochs)):
        withheld = view.summary is not None and view.summary.withheld
        yield "* became the best skill" + (" of the search, which is not handed out" if withheld else "")


def _row(name: str, step: StepView) -> tuple[str, ...]:
    action = "under way" if step.action is None else f"{step.action} *" if step.best else step.action
    scores = "" if step.current is None else f"{step.current:.3f} -> {shown(step.candidate)}"
    tokens = "" if step.skill_tokens is None else str(step.skill_tokens)
    edits = ", ".join(f"{step.edits[fate]} {fate}" for fate in _FATES if fate in step.edits)
    return name, action, scores, tokens, edits, step.reason


def _print_files(view: RunView) -> None:
    there = {Path(view.path) / name: what for name, what in _FILES.items() if (Path(view.path) / name).exists()}
    width = max(len(str(path)) for path in there)
    output.lines(["", *(f"{str(path).ljust(width)}  {what}" for path, what in there.items())])


def _show_step(view: RunView, number: int, as_json: bool) -> None:
    step = next((step for step in view.steps if step.number == number), None)
    if step is None:
        there = f"it has {counted(len(view.steps), 'step')} so far" if view.steps else "it has none yet"
        raise DataError(f"run {view.name!r} has no step {number}", hint=there)
    page = step_page(view, f"steps/{number:04d}")
    if as_json:
        details = page.model_dump(mode="json", include={"edits", "left_out", "tasks", "diff"})
        names = {"details": "edits", "untested": "left_out", "tasks": "tasks", "diff": "diff"}
        told = {name: details[field] for name, field in names.items()}
        output.json_result({**step.model_dump(mode="json"), **told})
        return
    output.line(f"step {number} of run {view.name}: {step.action or 'under way'}")
    if step.reason:
        output.line(f"reason: {step.reason}")
    output.lines(_task_lines(page.tasks))
    for place, applied in enumerate(page.edits, 1):
        detail = f", {applied.detail}" if applied.detail else ""
        _print_edit(f"edit {place} ({applied.edit.op}): {applied.fate}{detail}", applied.edit)
    for one in page.left_out:
        _print_edit(f"not tested ({one.edit.op}): {one.why}", one.edit)
    if page.diff:
        output.line()
        output.diff(page.diff)
    output.line()
    output.line(f"files: {Path(view.path) / page.place}")


def _show_attempt(view: RunView, name: str, as_json: bool) -> None:
    log = Log(view.path)
    log.read()
    page = attempt_page(log, name)
    if as_json:
        output.json_result(page.model_dump(mode="json", context={"view": True}))
        return
    output.line(f"attempt {name} of run {view.name}")
    if _simulated(view) if page.attempt is None else page.attempt.simulated:
        output.line(output.SIMULATED, output.LOUD)
    for text in attempt_lines(page):
        output.line(text, "bold" if text.startswith(HEADS) else None)


def _simulated(view: RunView) -> bool:
    return view.summary is not None and view.summary.simulated


def _task_lines(tasks: Sequence[Tested]) -> Iterator[str]:
    """Task by task: those that do better, those that do worse, and the others by their score."""
    if not tasks:
        return
    yield ""
    yield f"{counted(len(tasks), 'task')}, score before -> with the candidate:"
    same: dict[str, list[str]] = {}
    changed: dict[str, list[str]] = {"better": [], "worse": []}
    for one in tasks:
        before, after = (("errored" if value is None else f"{value:g}") for value in (one.before, one.after))
        scores = f"{before} -> {after}"
        if one.before is None or one.after is None or one.before == one.after:
            same.setdefault(scores, []).append(one.task)
        else:
            changed["better" if one.after > one.before else "worse"].append(f"{one.task}  {scores}")
    for how, texts in changed.items():
        yield from (f"  {how:<7} {text}" for text in texts)
    yield from (f"  {'same':<7} {scores}  {', '.join(names)}" for scores, names in same.items())


def _print_edit(head: str, edit: Edit) -> None:
    output.line()
    output.line(head)
    for name, text in (("anchor", edit.target), ("text", edit.content), ("reason", edit.reason)):
        for number, part in enumerate(text.splitlines()):
            output.line(f"  {name if number == 0 else '':<7} {part}".rstrip())
    output.line(f"  {'cites':<7} {', '.join(edit.cites) or 'nothing'}")


def _cost_lines(cost: RunCost) -> Iterator[str]:
    """A table by role and stage with the sums below."""
    if not cost.calls:
        yield "no call has been made yet"
        return
    rows = [
        (each.role, each.stage.replace("_", " "), each.calls, each.failed, each.usage, each.usd)
        for each in sorted(cost.stages, key=lambda each: (each.role, -each.usage.total))
    ]
    failed = sum(each.failed for each in cost.stages)
    yield from text_lines(
        [_COSTS, *(_cost_row(*row) for row in (*rows, ("total", "", cost.calls, failed, cost.usage, cost.usd)))]
    )


def _cost_row(role: str, stage: str, calls: int, failed: int, usage: Usage, usd: float | None) -> tuple[str, ...]:
    tokens = usage.input_tokens, usage.cached_tokens, usage.output_tokens
    money = "unknown" if usd is None else f"${usd:.4f}" if 0 < usd < 1 else f"${usd:,.2f}"
    return role, stage, f"{calls:,}", f"{failed:,}", *map(short, tokens), money


def attempt_lines(page: AttemptPage) -> Iterator[str]:
    """The conversation with what came of it; of an attempt that no step kept, what the journal has of it. A head is a
    line that begins with one of `HEADS`; the rest is indented."""
    yield f"task     {page.task}, {page.split} split"
    yield f"skill    {page.skill}"
    yield from _logged(page) if page.attempt is None else _kept(page.attempt)
    yield ""
    yield f"result   {page.outcome}" + (f": {page.reason}" if page.reason else "")
    made, score = (None, None) if page.attempt is None else (page.attempt.trajectory, page.attempt.score)
    if made is not None and made.ended == "cut off":
        yield "cut off  at target.max_output_tokens"
    if page.hard is not None:
        yield f"score    {page.hard:g}" + (f" (soft {page.soft:g})" if page.soft not in (None, page.hard) else "")
    yield from _named(
        answer=page.answer or "", gold=_plain(page.gold), feedback="" if score is None else score.feedback
    )
    if made is not None:
        used = made.usage
        yield f"tokens   {used.input_tokens:,} in ({used.cached_tokens:,} cached), {used.output_tokens:,} out"


def _kept(attempt: Attempt) -> Iterator[str]:
    trajectory = attempt.trajectory
    names = {call.id: call.name for message in trajectory.messages for call in message.tool_calls}
    for message in trajectory.messages:
        yield from ("", _head(message, names, trajectory.exit_codes), *_indented(_said(message)))
        for call in message.tool_calls:
            yield from _indented(f"calls {call.name} {call.arguments}")
    if not trajectory.messages:
        yield from ("", "user", *_indented(attempt.task.text), "", "assistant", *_indented(trajectory.answer))
    for path, file in trajectory.files.items():
        yield f"  {'removed' if file is None else 'wrote'} {path}"


def _logged(page: AttemptPage) -> Iterator[str]:
    for fact in page.facts:
        for message in fact.asked:
            yield from ("", _head(message, {}, {}), *_indented(_said(message)))
        yield from ("", "assistant", *_indented(fact.said))


def _named(**texts: str) -> Iterator[str]:
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines()):
            yield f"{name if number == 0 else '':<8} {line}"


def _head(message: Message, names: dict[str, str], exit_codes: dict[str, int]) -> str:
    if message.role != "tool":
        return message.role
    called = message.tool_call_id or ""
    code = f", exit code {exit_codes[called]}" if called in exit_codes else ""
    return f"tool {names.get(called, called)}{code}"


def _said(message: Message) -> str:
    parts = [part.text if part.type == "text" else part.shown for part in message.content]
    text = "\n".join(parts)
    return cut_middle(text, _SYSTEM_CHARS) if message.role == "system" else text


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())


def _plain(gold: JsonValue) -> str:
    return "" if gold is None else gold if isinstance(gold, str) else json.dumps(gold, ensure_ascii=False)
