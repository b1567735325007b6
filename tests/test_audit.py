"""Whether a suite can see a skill: versions made by code, tasks that none changes, and what is wrong with tasks."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import audit as bench
import pytest

from etude import ListEnvironment, make_config
from etude.cli.audit import label
from etude.envs.scorers.rubric import Rubric, RubricOptions
from etude.errors import BudgetStop, DataError, RejectedRequest, SkillError, VoidStop
from etude.measure.audit.suite import Audit, aaudit_skill, most_of_audit
from etude.measure.audit.unseen import Tried, unseen
from etude.measure.audit.versions import opposite, sentences, versions_of
from etude.records import ChatRequest, Score, Skill, Task
from etude.skill.blocks import is_hollow
from etude.stages.evaluation import FRESH
from etude.store.judge_labels import JudgeLabels, Label, keep_labels, labels_of
from etude.testing import ScriptedModel
from etude.testing.doubles import Line
from rows import rows

SKILL = Skill(
    name="sums",
    text="""\
---
name: sums
description: For sums.
---

# Sums

Always write the sum twice, and
never round it.

- Check it. Avoid units.

```text
# 2 + 2 = 4 4
```

## Signs

| a | b |
Mark negative results with a star.
""",
)


def test_versions_are_made_of_headings_and_turned_sentences() -> None:
    made = {name: skill.text for name, skill in versions_of(SKILL).items()}
    front = SKILL.text[: SKILL.text.index("\n# Sums")]
    assert (made["skill"], made["none"]) == (SKILL.text, "")
    assert made["headings"] == f"{front}# Sums\n\n## Signs\n\n"
    assert made["opposite"] == (
        f"{front}# Sums\n\n- Never write the sum twice, and never round it.\n\n- Never check it.\n- Prefer units.\n\n"
        "## Signs\n\n- Never mark negative results with a star.\n\n"
    )
    lined = Skill(name="sums", text="Sums\n====\n\nSigns\n-----\n\nMind signs.\n")
    assert versions_of(lined)["headings"].text == "Sums\n\nSigns\n\n"
    assert is_hollow(lined.text.removesuffix("Mind signs.\n"))
    body = SKILL.text.partition("\n---\n")[2]
    assert sentences(body)[1:] == ["Check it.", "Avoid units.", "Mark negative results with a star."]
    assert all(skill.files == {} for name, skill in versions_of(SKILL).items() if name != "skill")


@rows(
    ("said", "turned"),
    [
        ("Sort by date.", "Never sort by date."),
        ("Never sort by date.", "Always sort by date."),
        ("Don't sort by date.", "Always sort by date."),
        ("You must not sort it.", "You must sort it."),
        ("You must sort it.", "You must not sort it."),
        ("Dates are in ISO form, as it can be sorted.", "Dates are not in ISO form, as it can be sorted."),
        ("When two are equal, the shorter one is first.", "When two are equal, the shorter one is not first."),
        ("If it is long, cut it.", "If it is long, never cut it."),
        ("No line may be empty.", "Every line may be empty."),
        ("Answer without units.", "Answer with units."),
    ],
)
def test_the_main_clause_of_a_sentence_is_turned(said: str, turned: str) -> None:
    assert opposite(said) == turned


def tried(skill: str, others: str, apart: float = 0.0) -> Tried:
    """By `y` and `n`: attempts with the skill, and with the others in turn."""
    made = {"skill": skill, **{name: others[at::3] for at, name in enumerate(("opposite", "none", "headings"))}}
    scores = {name: [Score(hard=one == "y", soft=one == "y") for one in each] for name, each in made.items()}
    return Tried(scores, apart)


SEEN = {f"s{number}": tried("y", "nnn") for number in range(10)}


@rows(
    ("some", "named", "certain"),
    [
        ([tried("y", "y" * 9)], 1, False),
        ([tried("y", "y" * 3)], 0, False),
        ([tried("y", "yyyyyyyyn")], 0, False),
        ([tried("n" * 7, "nnn")], 0, False),  # one of eleven may do so by luck
        ([tried("n" * 7, "nnn")] * 2, 2, False),  # two of them hardly do
        ([tried("n" * 7, "nnn"), tried("y", "y" * 9)], 2, False),
        ([tried("n" * 6 + "y", "nnn")] * 5, 0, False),
        ([tried("n" * 7, "nnn", apart=0.4)] * 5, 0, False),  # partial credit tells versions apart
        ([tried("n", "nnn"), tried("y", "yyy"), tried("y", "yyn")], 2, True),
    ],
)
def test_a_task_is_named_where_luck_does_not_explain_that_all_versions_look_alike(
    some: list[Tried], named: int, certain: bool
) -> None:
    ours = {f"t{number}": one for number, one in enumerate(some)}
    found = unseen({**SEEN, **ours}, frozenset(ours if certain else ()))
    assert (len(found), found - ours.keys()) == (named, set())


INPUTS = ("seen", "easy", "hopeless", "checked: mark negative results with a star", "lax", "judged")
TASKS = [Task(id=text.partition(":")[0], input=f"Task {text}.", gold="ok") for text in INPUTS]


class World:
    """A suite of one sound task and five with a fault each, in a run folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.target = ScriptedModel(self._answer, name="scripted:target")
        self.judge = ScriptedModel(self._grade, name="scripted:judge")
        self.fails = ""
        """A task that the target is not able to attempt."""
        self.unlucky = 0
        """Times that what a task itself tells is not followed."""

    def _answer(self, request: ChatRequest) -> Line:
        told, asked = (message.text for message in request.messages)
        if self.fails and self.fails in asked:
            return RejectedRequest("no such luck")
        taught = "Avoid units" in told
        if self.unlucky and "checked" in asked and not taught and "Prefer" not in told:
            self.unlucky -= 1
            return "wrong"
        right = (
            "easy" in asked or ("checked" in asked and "Prefer" not in told) or (taught and "hopeless" not in asked)
        )
        return "ok" if right else "wrong"

    def _grade(self, request: ChatRequest) -> str:
        asked = request.messages[-1].text
        answer = asked.partition("<answer-")[2]
        right = ">\nok" in answer or ("lax" in asked and ">\nwrong" not in answer)
        if "judged" in asked and ">\nok\n\n" in answer:
            right = False
        return f'{{"reason": "", "score": {int(right)}}}'

    async def audit(self, sinks: Sequence[Any] = (), skill: Skill = SKILL, **settings: Any) -> Audit:
        rubric = RubricOptions(rubric="Is it ok?")
        config = {
            "run": {"folder": str(self.folder)},
            "limits": {"concurrency": 2},
            "env": {"allow_constant_gold": True},
        }
        return await aaudit_skill(
            make_config(config | settings),
            env=lambda judge: ListEnvironment(TASKS[:2], TASKS[2:4], TASKS[4:], scorer=Rubric(rubric, judge)),
            target=self.target,
            judge=self.judge,
            skill=skill,
            sinks=sinks,
        )


async def test_each_fault_is_named_with_its_task_and_a_second_call_pays_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    found = await world.audit()
    named = {each.task: each.kind for each in found.findings}
    assert named == {"judged": "judge", "lax": "empty", "checked": "told", "easy": "passes", "hopeless": "fails"}
    shown = {each.kind: each.what for each in found.findings}
    assert shown["fails"] == "0 of 10 attempts passed"
    assert found.findings[-1].asked == "'Task hopeless.'"
    assert shown["told"] == "it says 'Mark negative results with a star.'"
    assert found.passed == {"skill": 5, "none": 2, "headings": 2, "opposite": 1}
    most, scored = most_of_audit(len(TASKS))
    assert found.attempts == len(world.target.requests) == 4 * 6 + 2 * 6 < most
    assert len(world.judge.requests) <= scored
    seeds = {request.seed for request in world.target.requests}
    assert seeds == {task.seed(trial) for task in TASKS for trial in range(FRESH, FRESH + 7)} & seeds
    again = await world.audit()
    assert again == found.model_copy(update={"calls_sent": 0})
    assert found.calls_sent == len(world.target.requests) + len(world.judge.requests)
    assert Audit.model_validate_json(
        Path(found.file).read_text().replace('"file": ""', '"file": "", "calls_sent": 0')
    )


@pytest.mark.parametrize(("unlucky", "named", "more"), [(2, True, 1), (3, True, 2), (4, False, 2)])
async def test_a_task_with_a_sentence_of_the_skill_is_attempted_without_it_until_it_passes(
    unlucky: int, named: bool, more: int, tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.unlucky = unlucky
    found = await world.audit()
    assert ("told" in {each.kind for each in found.findings}) is named
    assert found.attempts == 4 * 6 + 2 * 6 + more


async def test_at_temperature_0_each_version_attempts_a_task_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    found = await world.audit(target={"model": "openai:none", "temperature": 0})
    assert len(world.target.requests) == 24
    assert {each.task for each in found.findings} == {"judged", "lax", "checked", "easy", "hopeless"}


async def test_a_failed_call_is_no_score_and_a_limit_holds(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.fails = "hopeless"
    with pytest.raises(VoidStop, match=r"hopeless"):
        await world.audit()
    found = await world.audit(limits={"max_void_eval": 0.2})
    assert (found.voids, found.judged, "hopeless" in {each.task for each in found.findings}) == (4, 5, False)
    small = World(tmp_path / "small")
    with pytest.raises(SkillError, match="the skill is empty"):
        await small.audit(skill=Skill(text=""))
    with pytest.raises(BudgetStop):
        await small.audit(limits={"calls": 9})
    assert len(small.target.requests) + len(small.judge.requests) == 9


@pytest.mark.parametrize("kind", ["fails", None])
async def test_planted_faults_are_named_and_a_sound_suite_is_not_accused(kind: Any) -> None:
    found = await bench.row(4, kind, 0.88)
    assert (found["named"], found["wrong"]) == (3 if kind else 0, [])
    assert 4 <= found["attempts"] < found["most"] <= 10


async def test_what_a_person_says_of_answers_is_told_with_every_score_of_that_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    found = await world.audit()
    assert {one.passed for one in found.answers} == {True, False}
    assert not {"answers", "scoring"} & json.loads(Path(found.file).read_text()).keys()
    said = iter(["what?\n", "y\n", "n\n", "s\n", "y\n", "q\n"])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(readline=lambda: next(said)))
    label(found, tmp_path, 30)
    shown = capsys.readouterr().err
    assert "the judge agrees with a person on 2 of 3 answers (Cohen's kappa 0.50 [" in shown
    assert shown.count("\nrubric: Is it ok?\n") == 5, "a person judges by what the judge is told"
    assert "graded" not in shown, "the judge's verdict would sway a person"
    told: list[Any] = []
    await world.audit(sinks=[SimpleNamespace(emit=told.append, close=lambda: None)])
    assert [each.text for each in told if each.kind == "notice" and "agrees" in each.text] == [
        labels_of(tmp_path, found.scoring).told
    ]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(readline=lambda: ""))
    label(found, tmp_path, 30)
    assert f"1 of {len(found.answers) - 3} answers" in capsys.readouterr().err, "what has a label is not asked again"


@rows(
    ("pairs", "answers", "kappa"),
    [
        ("", (0, 0), None),
        ("yy yy", (0, 0), None),
        ("yy nn", (0, 0), 1.0),
        ("yn ny", (0, 0), -1.0),
        ("yy yy yn ny", (0, 0), -1 / 3),
        # Cohen's own kind of table: 20 yes yes, 5 yes no, 10 no yes, 15 no no.
        ("yy " * 20 + "yn " * 5 + "ny " * 10 + "nn " * 15, (0, 0), 0.4),
        # Of ten answers the judge passed nine: a label of those stands for nine times as many answers.
        ("yy " * 9 + "yn " + "nn " * 9 + "ny ", (90, 10), (0.9 - 0.756) / (1 - 0.756)),
        ("yy yn", (9, 1), None),
        ("nn nn nn nn ny", (0, 40), None),  # chance alone agrees as often as a judge that fails all
        ("yy " * 9 + "yn", (0, 0), None),
    ],
)
def test_kappa_is_the_agreement_beyond_chance(pairs: str, answers: tuple[int, int], kappa: float | None) -> None:
    labels = JudgeLabels(
        answers=answers,
        labels=tuple(
            Label(task=str(number), answer="", judge=pair[0] == "y", person=pair[1] == "y")
            for number, pair in enumerate(pairs.split())
        ),
    )
    found = labels.kappa
    if kappa is None or found is None:
        assert found is kappa is None
    else:
        assert found[0] == pytest.approx(kappa)
        assert -1 <= found[1] <= found[0] <= found[2] <= 1


def test_labels_that_cannot_be_read_are_an_error_with_their_file(tmp_path: Path) -> None:
    path = keep_labels(tmp_path, "a way of scoring", JudgeLabels())
    path.write_text("{")
    with pytest.raises(DataError, match=rf"{path.name} cannot be read"):
        labels_of(tmp_path, "a way of scoring")
    assert labels_of(tmp_path, "another").told == ""
