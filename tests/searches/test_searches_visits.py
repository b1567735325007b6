"""What the evidence search visits, repeats, reads and takes back, and when it ends: skills do what a test says."""

import asyncio
import functools
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Task, Trainer
from etude.errors import BudgetStop, RejectedRequest
from etude.records import ChatRequest
from etude.records.provenance import Provenance
from etude.records.summary import Summary
from etude.store.database import Database
from etude.testing import ScriptedModel

TASKS = [Task(id=f"t{number:02}", input=f"Task {number:02}.", gold="yes") for number in range(30)]
VAL = [Task(id=f"v{number}", input=f"Task {number}.", gold="yes") for number in range(90, 100)]
RULES = [f"Rule {number}." for number in range(6)]
"""Each mends one task."""
EXAMPLE = "- Input: 3 and 4\n- Add them.\n- Output: 7"
Solves = Callable[[int, str], bool]
"""Whether the target solves the task of a number with a skill of this text."""


class Target(ScriptedModel):
    """Answers as told. `lapses` are numbers of tasks whose first attempt with any skill fails. `attempts` counts the
    attempts at each task with each skill."""

    def __init__(self, solves: Solves, lapses: frozenset[int] = frozenset()) -> None:
        super().__init__(self._answer, name="scripted:target")
        self.attempts: Counter[tuple[int, str]] = Counter()
        self._solves, self._lapses = solves, lapses

    async def _answer(self, request: ChatRequest) -> str:
        skill, task = (message.text for message in request.messages)
        number = int(task[5:7])
        for _ in range(7 * number % 11):  # those under way together come back in another order
            await asyncio.sleep(0)
        self.attempts[number, skill] += 1
        lapsed = number in self._lapses and request.seed == TASKS[number].seed(0)
        return f"<answer>{'yes' if self._solves(number, skill) and not lapsed else 'no'}</answer>"


class Optimizer(ScriptedModel):
    """Proposes these rules, one in each step, about everything that it is shown; the last one again and again.
    `shown` are the task numbers that each step was about, `passed` those that it was to compare with; `readings` are
    the numbers of each reading in their order. A step has two readings, or one where both orders are the same."""

    def __init__(self, *rules: str) -> None:
        super().__init__(self._answer, name="scripted:optimizer")
        self.readings: list[list[int]] = []
        self.shown: list[set[int]] = []
        self.passed: list[set[int]] = []
        self._rules, self._step = rules, [""]

    def _answer(self, request: ChatRequest) -> str:
        data, _, passed = request.messages[1].text.partition("# Attempts that passed")
        self.readings.append(numbers(data))
        if sorted(data.splitlines()) != self._step:
            self._step = sorted(data.splitlines())
            self.shown.append(set(numbers(data)))
            self.passed.append(set(numbers(passed)))
        rule = self._rules[min(len(self.shown), len(self._rules)) - 1]
        return proposed((rule, re.findall(r'<attempt id="([^"]+)"', data)))


def numbers(data: str) -> list[int]:
    return [int(number) for number in re.findall(r"Task (\d\d)\.", data)]


def proposed(*rules: tuple[str, list[str]]) -> str:
    """The answer of an optimizer that has these rules appended, each with what it cites."""
    edits = [{"op": "append", "target": "", "content": rule, "reason": "", "cites": cites} for rule, cites in rules]
    return json.dumps({"reasoning": "because", "edits": edits})


def knowing(request: ChatRequest) -> str:
    """The answer of an optimizer that knows which of four rules mends a task."""
    data, *_ = request.messages[1].text.partition("# Attempts that passed")
    shown = [(block.partition('"')[0], numbers(block)[0]) for block in data.split('<attempt id="')[1:]]
    rules = [(rule, [name for name, number in shown if number % 4 == n]) for n, rule in enumerate(RULES[:4])]
    return proposed(*((rule, cites) for rule, cites in rules if cites))


def run(
    folder: Path,
    solves: Solves | ScriptedModel,
    *rules: str,
    limits: dict[str, Any] | None = None,
    epochs: int = 4,
    reader: ScriptedModel | None = None,
    more: dict[str, Any] | None = None,
    val: list[Task] = VAL,
    **search: Any,
) -> tuple[Summary, Optimizer]:
    """A run whose steps are epochs, unless the search is set to stop at fewer failures."""
    optimizer = Optimizer(*rules)
    summary = Trainer(
        {
            "train": {"epochs": epochs},
            "search": {"failures": 30, **search},
            "test": {"enabled": False},
            "env": {"allow_constant_gold": True},
            "limits": {"concurrency": 1, **(limits or {})},
            "run": {"folder": str(folder)},
            **(more or {}),
        },
        env=ListEnvironment(TASKS, val, scorer="exact"),
        skill=Skill(name="s", text="Answer.\n"),
        target=solves if isinstance(solves, ScriptedModel) else Target(solves),
        optimizer=reader or optimizer,
    ).train()
    return summary, optimizer


def visits(folder: Path) -> list[list[int]]:
    """Task numbers of each step, in the order in which they were attempted."""
    views = sorted((folder / "run/steps").glob("*/rollout.json"))
    return [[int(row["task"]["id"][1:]) for row in json.loads(view.read_text())] for view in views]


@functools.cache
def order() -> list[int]:
    """Task numbers in the order in which the first epoch of each run attempts them."""
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), lambda number, _: True, "Useless.")
        return visits(Path(folder))[0]


def files(folder: Path) -> dict[str, bytes]:
    """What a run wrote, by path, but for what depends on clocks, settings and slots."""
    told = {"journal.db", "events.jsonl", "config.yaml", "summary.json"}
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in paths
        if path.name.partition("-")[0].removesuffix(".lock") not in told
    }


def train(folder: Path, slots: int, calls: int | None = None) -> dict[str, bytes]:
    """What a run writes in which rules mend tasks and attempts fail by chance."""
    target = Target(lambda number, skill: number % 3 > 0 or RULES[number % 4] in skill, frozenset({1, 4, 8}))
    limits = {"concurrency": slots, "calls": calls}
    run(folder, target, limits=limits, epochs=1, reader=ScriptedModel(knowing), failures=2)
    return files(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return train(tmp_path_factory.mktemp("whole"), 1)


def test_a_run_does_not_depend_on_how_many_attempts_are_made_at_the_same_time(tmp_path, whole) -> None:
    assert sum("proof.json" in name for name in whole) > 1
    assert train(tmp_path, 64) == whole


def test_a_run_that_was_cut_goes_on_with_other_slots_to_the_same_end(tmp_path, whole) -> None:
    with pytest.raises(BudgetStop):
        train(tmp_path, 64, 70)
    assert train(tmp_path, 16) == whole


def test_the_summary_says_how_many_failures_pass_with_nothing_changed(tmp_path) -> None:
    target = Target(lambda number, _: number >= 12, frozenset({14, 15, 16, 17}))
    summary, _ = run(tmp_path, target, "Useless.", revisits=0)
    noise = summary.noise
    assert noise is not None
    assert (noise.failed, noise.regained, noise.passed, noise.lost, noise.again) == (16, 4, 0, 0, 16)
    assert noise.attempts == sum(target.attempts.values()) - len(VAL)
    assert noise.note.startswith("4 of 16 tasks that had failed passed when tried again ")
    assert run(tmp_path, target, "Useless.", revisits=0)[0].noise == noise


@pytest.mark.parametrize(("failures", "slots"), [(8, 30), (20, 1)])
def test_a_task_that_never_has_a_score_stops_no_run_where_all_others_are_known(
    tmp_path, failures: int, slots: int
) -> None:
    def answer(request: ChatRequest) -> str | Exception:
        number = int(request.messages[1].text[5:7])
        return RejectedRequest("not this one") if number == 7 else f"<answer>{'no' if number % 3 else 'yes'}</answer>"

    model = ScriptedModel(answer, name="scripted:target")
    summary, _ = run(tmp_path, model, "Useless.", limits={"concurrency": slots}, failures=failures)
    assert summary.stopped is None
    assert len({number for step in visits(tmp_path) for number in step}) == len(TASKS)


def test_twelve_steps_in_a_row_that_change_nothing_end_the_search(tmp_path) -> None:
    """With one failure looked for, a step attempts two tasks that both fail; an epoch has fifteen such steps."""
    summary, _ = run(tmp_path, lambda number, _: False, "Useless.", failures=1, revisits=0)
    assert (summary.steps, summary.accepted, summary.stopped) == (12, 0, None)


def test_a_step_that_changes_the_skill_starts_the_count_of_steps_anew(tmp_path) -> None:
    learnable = order()[8:10]
    rules = (*["Useless."] * 4, "Rule.", "Useless.")
    summary, _ = run(
        tmp_path / "run", lambda number, skill: number in learnable and "Rule." in skill, *rules, failures=1
    )
    assert summary.accepted == 1
    assert summary.steps == 5 + 12


def harmful(folder: Path, *, epochs: int, mends: int, breaks: int, rule: str = "Bad.") -> list[tuple[str, str]]:
    """Origin and reason of what changed the skill where the second step proposes a rule that mends some of the tasks
    that it fails and breaks others, those that the first step has solved first of all."""
    first = order()
    hopeless, mended = first[:3], first[6 : 6 + mends]
    broken = [number for number in first if number not in (*hopeless, *mended)][:breaks]

    def solves(number: int, skill: str) -> bool:
        bad = rule in skill
        return number not in hopeless and (bad if number in mended else not (bad and number in broken))

    run(folder / "run", solves, "Useless.", rule, "Useless.", epochs=epochs, failures=3)
    return changes(folder / "run")


def test_an_example_of_three_lines_that_breaks_tasks_enters_and_is_taken_back_as_one(tmp_path) -> None:
    (_, entered), (origin, reason) = harmful(tmp_path, epochs=1, mends=3, breaks=20, rule=EXAMPLE)
    assert entered.startswith("kept 1 of 1 edits; ")
    assert origin == "tidy"
    assert reason.startswith("an edit breaks tasks: 8 pairs of attempts score +8 without; ")
    skills = [path.read_text() for path in sorted((tmp_path / "run/run/skills").iterdir())]
    assert {skill for skill in skills if "- " in skill} == {f"Answer.\n\n{EXAMPLE}\n"}
    assert skills[-1] == skills[0]


def decisions(folder: Path, stage: str) -> list[dict[str, Any]]:
    """The keys of what a stage decided."""
    facts = Database(folder / "run/journal.db", read_only=True).rows("SELECT key FROM facts WHERE kind = 'decision'")
    return [key for key in (json.loads(str(key)) for (key,) in facts) if key.get("stage") == stage]


def looked(folder: Path) -> list[int]:
    """Steps after which edits were looked at, with them against without."""
    return sorted({key["step"] for key in decisions(folder, "harm")})


def changes(folder: Path) -> list[tuple[str, str]]:
    """Origin and reason of what changed the skill."""
    views = [json.loads(path.read_text()) for path in sorted((folder / "run/steps").glob("*/gate.json"))]
    return [(view["origin"], view["reason"]) for view in views if view["action"] == "accepted"]


def skills(folder: Path) -> list[str]:
    """The texts of all skills, the first one first."""
    return [path.read_text() for path in sorted((folder / "run/skills").iterdir())]


def test_an_edit_that_was_looked_at_is_not_looked_at_again_until_the_end(tmp_path) -> None:
    """It breaks five tasks, and fixes sixteen."""
    made = harmful(tmp_path, epochs=2, mends=16, breaks=5)
    assert [origin for origin, _ in made] == ["step"]
    steps = len(visits(tmp_path / "run"))
    assert steps == 7
    assert looked(tmp_path / "run") == [3, steps]
    tries = [key["tries"] for key in decisions(tmp_path / "run", "harm")]
    assert len(set(tries)) == len(tries)  # not on the attempts by which it stayed


def test_solved_tasks_are_attempted_with_each_new_skill_those_first_that_its_lines_name(tmp_path) -> None:
    """All others are attempted before the rule enters, and a single epoch visits none again."""
    first = order()
    rule = f"Task {first[4]} is special."

    asked: list[int] = []

    def solves(number: int, skill: str) -> bool:
        if rule in skill and number not in first[:3]:
            asked.append(number)
        return number not in first[:3] or rule in skill

    run(tmp_path / "run", solves, rule, "Useless.", epochs=1, failures=3)
    assert set(asked[:3]) == set(first[3:6])  # of six attempted tasks three were solved before
    assert asked[0] == first[4]


def test_a_line_that_hides_what_later_lines_mend_is_found_by_lines_left_out_and_taken_back(tmp_path) -> None:
    """It entered first, so none of the tasks that it breaks has ever passed."""

    def solves(number: int, skill: str) -> bool:
        if number < 3:
            return "Bad." in skill
        if number < 5:
            return f"Rule {number - 3}." in skill
        return number < 18 or ("Rule 1." in skill and "Bad." not in skill)

    run(tmp_path, solves, "Bad.", *RULES[:2], "Useless.")
    assert [origin for origin, _ in changes(tmp_path)] == ["step", "step", "step", "tidy"]
    assert "Answer.\n\nBad.\n\nRule 0.\n\nRule 1.\n" in skills(tmp_path)
    assert skills(tmp_path)[-1] == "Answer.\n\nRule 0.\n\nRule 1.\n"


def test_tasks_that_fail_by_bad_luck_with_a_new_skill_are_attempted_again_before_lines_are_left_out(tmp_path) -> None:
    """Eighteen tasks need all three rules; the first attempt at them fails with any skill, the second one tells."""

    def solves(number: int, skill: str) -> bool:
        return f"Rule {number}." in skill if number < 3 else number < 12 or all(rule in skill for rule in RULES[:3])

    target = Target(solves, lapses=frozenset(range(12, 30)))
    run(tmp_path, target, *RULES[:3], "Useless.")
    assert [origin for origin, _ in changes(tmp_path)] == ["step"] * 3
    without = {skill for number, skill in target.attempts if number >= 12 and "Rule 2." in skill}
    assert all("Rule 0." in skill and "Rule 1." in skill for skill in without)


def test_at_temperature_0_harm_is_taken_back_and_nothing_is_attempted_twice(tmp_path) -> None:
    target = Target(lambda number, skill: ("Bad." in skill) is (number < 4))
    still = {"target": {"model": "scripted:target", "temperature": 0}}
    run(tmp_path, target, "Bad.", "Useless.", more=still)
    assert [origin for origin, _ in changes(tmp_path)] == ["step", "tidy"]
    assert skills(tmp_path)[-1] == "Answer.\n"
    assert set(target.attempts.values()) == {1}


def test_an_example_that_helps_as_a_whole_only_stays_and_is_blamed_as_one_edit(tmp_path) -> None:
    summary, _ = run(tmp_path, lambda number, skill: EXAMPLE in skill, EXAMPLE)
    provenance = Provenance.model_validate_json((tmp_path / "run/provenance.json").read_text())
    lines = [line for line in provenance.lines if line.text.startswith("- ")]
    assert "\n".join(line.text for line in lines) == EXAMPLE
    assert {(line.change, line.edits) for line in lines} == {(0, (0,))}
    assert summary.accepted == 1


def test_a_rule_that_was_taken_back_does_not_come_in_again_on_the_attempts_by_which_it_entered(tmp_path) -> None:
    def solves(number: int, skill: str) -> bool:
        return (number < 5) == ("Bad." in skill)

    run(tmp_path, solves, "Bad.", epochs=5)
    assert [origin for origin, _ in changes(tmp_path)] == ["step", "tidy"]


def test_what_tasks_do_without_edits_that_are_refused_says_how_noisy_they_are(tmp_path) -> None:
    """One of twelve tasks passes with a useless line in the first two attempts, and without it from the third on."""

    class Noisy(Target):
        async def _answer(self, request: ChatRequest) -> str:
            skill, task = (message.text for message in request.messages)
            number = int(task[5:7])
            early = number < 30 and request.seed in (TASKS[number].seed(0), TASKS[number].seed(1))
            passes = number >= 12 or (number == 0 and ("Useless." in skill) is early)
            return f"<answer>{'yes' if passes else 'no'}</answer>"

    run(tmp_path, Noisy(lambda number, skill: True), "Useless.", epochs=2)
    proofs = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("**/steps/*/proof.json"))]
    assert [one["edits"][0]["passed_without"] for one in proofs] == [1, 0]
    assert proofs[0]["regained"] < proofs[1]["regained"]
