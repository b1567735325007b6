"""What the attempts of a run say about its setup, as they come in."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from etude.records import Attempt, Candidate, TrainState
from etude.records.summary import Doubt
from etude.records.tasks import CURES, Ended

_EARLY = 16
"""Training attempts with the same outcome that are worth a word; half of them when they are two batches."""
_OF_A_TYPE = 8
"""Tasks of one type without success, likewise."""
_AT_THE_END = 3
"""The same at the end of a run."""
_STEPS = 2
"""First steps without a usable edit, likewise."""
_SHOWN_CHARS = 80
"""Of each part of the attempt that is shown."""
_OTHER_OPTIMIZER = (
    "in a fork take another optimizer, a larger max_output_tokens, or another of the forms of "
    "optimizer.structured: json_schema, tool, prompt"
)


class Doubts:
    """Collects them over a run; `say` hears of each once, and once more where later attempts contradict it."""

    def __init__(self, say: Callable[[Doubt, bool], None]) -> None:
        self._say = say
        self._found: dict[str, Doubt] = {}
        """By kind."""
        self._kinds: set[str] = set()
        """Those that were said."""
        self._batches = 0
        self._seen: set[str] = set()
        """Ids of scored training attempts."""
        self._ended = Counter[Ended | None]()
        """How their last replies ended."""
        self._first: dict[str, tuple[Attempt, str]] = {}
        """By type of task, the first of them and the file that has it."""
        self._tried: defaultdict[str, set[str]] = defaultdict(set)
        """By type, the tasks."""
        self._passed: set[str] = set()
        """Types of which a task was solved."""
        self._scored = self._failed = False
        """One scored above 0; one was not solved."""
        self._proposed = 0
        self._usable = False
        """There was an edit that could be tried: steps without one are then nothing unusual."""
        self._empty_steps: list[str] = []
        """Why the steps so far that had failures gave no usable edit."""

    @property
    def found(self) -> tuple[Doubt, ...]:
        """Those that hold."""
        return tuple(self._found.values())

    def attempted(self, state: TrainState, scored: Sequence[Attempt], place: str) -> None:
        """A batch of training tasks was attempted and scored."""
        new = [attempt for attempt in scored if attempt.id not in self._seen]
        if not new:
            return
        self._batches += 1
        self._count(new, place)
        if len(self._seen) >= (_EARLY if self._batches == 1 else _EARLY // 2):
            self._one_outcome(state)
        self._types(_OF_A_TYPE)

    def _count(self, new: Sequence[Attempt], place: str) -> None:
        for attempt in new:
            kind = attempt.task.type
            self._seen.add(attempt.id)
            self._ended[attempt.trajectory.ended] += 1
            self._first.setdefault(kind, (attempt, place))
            self._tried[kind].add(attempt.task.id)
            if attempt.solved:
                self._passed.add(kind)
            self._scored = self._scored or (attempt.score is not None and attempt.score.hard > 0)
            self._failed = self._failed or not attempt.solved
        self._withdraw("none", self._scored)
        self._withdraw("all", self._failed)
        for kind in self._passed:
            self._withdraw(f"type {kind}", True)

    def reflected(self, proposals: int, why: str) -> None:
        """The failures of a step were analysed, with this many edits; `why` there are none."""
        self._proposed = proposals
        if proposals:
            return
        self._without_edit(why or "the optimizer answered without an edit")

    def made(self, state: TrainState, candidate: Candidate, why: str) -> None:
        """The edits of a step were applied, or could not be, or `why` none was tried."""
        fates = [edit.fate for edit in candidate.edits]
        if self._proposed and not fates and state.silent_steps:
            self._without_edit(why)
            return
        if fates and not set(fates) & {"applied", "repaired", "dropped"}:
            edit = candidate.edits[0]
            self._without_edit(f"{edit.fate}: {_line(edit.edit.target or edit.edit.content)}")
        elif self._proposed:
            self._usable = True
            self._withdraw("optimizer", True)

    def ended(self, state: TrainState) -> None:
        """The search is over."""
        if len(self._seen) >= _AT_THE_END:
            self._one_outcome(state)
        self._passed.update(attempt.task.type for attempt in state.earlier.values() if attempt.solved)
        for kind in self._passed:
            self._withdraw(f"type {kind}", True)
        self._withdraw("none", bool(self._passed))
        self._types(_AT_THE_END)
        if state.gave_up:
            what = f"the search ended early, at step {state.step}: another optimizer may find more"
            self._find("search", what, state.gave_up, _OTHER_OPTIMIZER)
        elif state.silent_steps and not self._usable:
            self._find("optimizer", "the optimizer gave no usable edit", self._last_empty(), _OTHER_OPTIMIZER)

    def _one_outcome(self, state: TrainState) -> None:
        head = f"of the first {len(self._seen)} training attempts"
        if state.accepted == 0 and not self._scored:
            what = f"none {head} scored above 0: rarely for want of a skill"
            todo = (
                "check the scorer and the form of the answers on this attempt; take a scorer that gives partial "
                "credit, since edits are proven one by one, or a stronger target"
            )
            for how in CURES:
                if 2 * (count := self._ended[how]) >= len(self._seen):
                    what = f"none {head} scored above 0: the replies of {count} were {how}"
                    todo = f"{CURES[how]} (in a fork)"
            self._find("none", what, self._shown(), todo)
        elif not self._failed:
            todo = "take harder tasks, a weaker target, or a scorer that asks for more"
            self._find("all", f"all {head} are solved: a skill has nothing to improve here", self._shown(), todo)

    def _types(self, least: int) -> None:
        """Types of tasks that never pass, where others do."""
        if not self._passed:
            return
        for kind in sorted(self._tried.keys() - self._passed):
            tried = self._tried[kind]
            if len(tried) >= least:
                what = f"no task of type {kind!r} is ever solved ({len(tried)} tried), those of other types are"
                todo = "check gold answers and scorer of this type, or leave it out of the tasks"
                self._find(f"type {kind}", what, self._shown(kind), todo)

    def _without_edit(self, why: str) -> None:
        self._empty_steps.append(why)
        if len(self._empty_steps) >= _STEPS and not self._usable:
            what = f"the optimizer gave no usable edit in the first {len(self._empty_steps)} steps"
            self._find("optimizer", what, self._last_empty(), "take a stronger model as the optimizer")

    def _last_empty(self) -> str:
        return f"the last one: {_line(self._empty_steps[-1])}"

    def _shown(self, kind: str | None = None) -> str:
        attempt, place = next(iter(self._first.values())) if kind is None else self._first[kind]
        task, score = attempt.task, attempt.score
        gold = task.gold if isinstance(task.gold, str) else json.dumps(task.gold, ensure_ascii=False)
        parts = {
            f"task {task.id}": task.text,
            "answer": attempt.reason or attempt.trajectory.answer or "(nothing)",
            "gold": "" if task.gold is None else gold,
            "feedback": "" if score is None or score.hard >= 1 or task.gold is not None else score.feedback,
        }
        shown = "; ".join(f"{name}: {_line(text)}" for name, text in parts.items() if text)
        return f"{shown} (attempt {attempt.id} of {place})"

    def _find(self, kind: str, what: str, example: str, todo: str) -> None:
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._found[kind] = Doubt(what=what, example=example, todo=todo)
            self._say(self._found[kind], False)

    def _withdraw(self, kind: str, contradicted: bool) -> None:
        if contradicted and kind in self._found:
            self._say(self._found.pop(kind), True)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 1]}…"
