"""A simulated world: families of tasks, and models that attempt them, improve skills for them and judge."""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from etude.errors import ConfigError, did_you_mean
from etude.records import ChatRequest, Reply, Task, digest
from etude.simulation.families import FAMILIES, Families, Family, families_named, find_tasks
from etude.simulation.families.family import relevant, right_answer
from etude.simulation.noise import Reliability, draw_faults, fault_rates
from etude.simulation.optimizer import optimize
from etude.simulation.optimizer.profiles import GOOD, PROFILES, Profile
from etude.simulation.optimizer.reading import Prompt, read_prompt
from etude.simulation.schemas import WantedForm, reply_in_form, reply_with, wanted_form
from etude.simulation.target import attempt
from etude.simulation.text import element, same_answer


def best_skill(tasks: Iterable[Task], families: Families = FAMILIES) -> str:
    """Every rule of the families that the tasks are of, by its first statement, and nothing else."""
    of_tasks = dict.fromkeys(found.family for task in tasks for found in find_tasks(task.input, families)[-1:])
    return "".join(f"- {rule.statements[0]}\n" for family in of_tasks for rule in family.rules)


def _chance(target: Reliability, skill_text: str, task: Task, families: Families) -> float:
    """Probability that the answer equals the gold answer; 0 for a task that the target cannot do."""
    found = find_tasks(task.input, families)
    if not found:
        return 0.0
    family, text = found[-1].family, found[-1].text
    gold = task.gold if isinstance(task.gold, str) else right_answer(family, text)
    if target.steady:
        faults = draw_faults(target, family, text, skill_text, 0)
        return float(same_answer(family.solve(text, faults).answer, gold))
    rates = list(fault_rates(target, family, text, skill_text).values())
    chance = 0.0
    for wrong in _right_outcomes(family, text, gold):
        weight = 1.0
        for rate, is_wrong in zip(rates, wrong, strict=True):
            weight *= rate if is_wrong else 1 - rate
        chance += weight
    return chance


@lru_cache(maxsize=8192)
def _right_outcomes(family: Family, text: str, gold: str) -> tuple[tuple[bool, ...], ...]:
    """The combinations of faults, in the order of `relevant`, that still give the gold answer."""
    steps = [rule.id for rule in relevant(family, text)]
    return tuple(
        wrong
        for wrong in product((False, True), repeat=len(steps))
        if same_answer(
            family.solve(text, frozenset(step for step, bad in zip(steps, wrong, strict=True) if bad)).answer, gold
        )
    )


JUDGE = "judge"


@dataclass(frozen=True)
class SimulatedWorld:
    """Everything is a pure function: the same model and request always give the same reply."""

    families: Families
    targets: Mapping[str, Reliability]
    """Models that attempt tasks, by name."""
    optimizers: Mapping[str, Profile]
    read: Callable[[ChatRequest, Families], Prompt] = read_prompt
    """Takes requests to optimizers and judges apart."""
    form: Callable[[ChatRequest], WantedForm | None] = wanted_form
    """Which form their replies are to have."""

    def names(self) -> tuple[str, ...]:
        """All models."""
        return (*self.targets, *self.optimizers, JUDGE)

    def target(self, model: str) -> Reliability | None:
        """The target of that name, None when there is none."""
        return self.targets.get(model)

    def optimizer(self, model: str) -> Profile | None:
        """The optimizer of that name, None when there is none."""
        return self.optimizers.get(model)

    def is_model(self, model: str) -> bool:
        """Whether there is a model of that name."""
        return model == JUDGE or self.target(model) is not None or self.optimizer(model) is not None

    def check_name(self, model: str) -> None:
        """Make sure that there is such a model. Raises ConfigError: there is none."""
        if not self.is_model(model):
            raise ConfigError(f"unknown simulated model {model!r}", hint=did_you_mean(model, self.names()))

    def respond(self, model: str, request: ChatRequest) -> Reply:
        """What the model answers. Raises ConfigError: there is no such model."""
        self.check_name(model)
        target, profile = self.target(model), self.optimizer(model)
        if target is not None:
            return attempt(target, request, self.families)
        prompt, form = self.read(request, self.families), self.form(request)
        if profile is None or (form is not None and {"score", "met"} & form.names and "edits" not in form.names):
            return judge(request, prompt, form)
        return optimize(profile, request, prompt, form)

    def make_tasks(self, family: str | None, count: int, seed: int) -> list[Task]:
        """`count` different tasks of a family; without one, of `sorting`, `counting` and `dates` in turn. The same
        arguments give the same tasks, and fewer of them are the first of more.
        Raises ConfigError: no family has that name."""
        chosen = families_named(family, self.families)
        rngs = {known.name: random.Random(f"{known.name}/{seed}") for known in chosen}
        tasks: dict[str, Task] = {}
        while len(tasks) < count:
            maker = chosen[len(tasks) % len(chosen)]
            text = maker.make(rngs[maker.name])
            if text not in tasks:
                id, gold = f"{maker.name}-{digest(text)[:8]}", right_answer(maker, text)
                tasks[text] = Task(id=id, input=text, gold=gold, type=maker.kind(text))
        return list(tasks.values())

    def seed_skill(self, family: str | None) -> str:
        """A weak skill to start from, for tasks that `make_tasks` makes of the same family. One of its rules is
        wrong; the one for `briefs` teaches none. Raises ConfigError: no family has that name."""
        return families_named(family, self.families)[0].skill

    def true_score(self, skill_text: str, tasks: Iterable[Task], model: str = "target") -> float:
        """The exact expected `hard` of a target with this skill, mean over the tasks, in [0, 1].

        A trial can be luckier or not; this is what trials of many tasks tend to. At one task an untaught step goes
        wrong in all trials or in none, so that few tasks can stay above or below it.
        Raises ConfigError: no target has that name; ValueError: there are no tasks."""
        target = self.target(model)
        if target is None:
            raise ConfigError(f"{model!r} is not a simulated target", hint=did_you_mean(model, self.targets))
        chances = [_chance(target, skill_text, task, self.families) for task in tasks]
        if not chances:
            raise ValueError("a true score needs at least one task")
        return sum(chances) / len(chances)

    def best_attainable(self, tasks: Iterable[Task], model: str = "target") -> float:
        """The exact `true_score` that no skill exceeds on these tasks, in [0, 1].

        It is the one of a skill that states every rule of their families once and nothing else. Where a gold answer
        is wrong, another skill may exceed it.
        Raises ConfigError: no target has that name; ValueError: there are no tasks."""
        known = tuple(tasks)
        return self.true_score(best_skill(known, self.families), known, model)


TARGETS: Mapping[str, Reliability] = {
    "target": Reliability(),
    "target-steady": Reliability(slip=0.0, harmed=1.0, steady=True),
    "target-noisy": Reliability(slip=0.05),
    "target-sampled": Reliability(sampled=True),
    "target-contrary": Reliability(contrary=0.25, seed=1),
}
OPTIMIZERS: Mapping[str, Profile] = {
    "optimizer": GOOD,
    **{f"optimizer-{profile.name}": profile for profile in PROFILES},
}
EVERYDAY = SimulatedWorld(FAMILIES, TARGETS, OPTIMIZERS)
"""The one of the demo, the docs and the models `simulated:NAME`."""


def judge(request: ChatRequest, prompt: Prompt, form: WantedForm | None) -> Reply:
    """Score the answer that a prompt shows, by each criterion where they are numbered: 1 right, 0 wrong, 0.5 when it
    cannot tell."""
    if form is not None and "met" in form.names:
        return reply_in_form(request, form, {"findings": _findings(prompt)})
    score, reason = _verdict(prompt)
    if form is None:
        return reply_with(request, f"Score: {score}\n{reason}")
    return reply_in_form(request, form, {"score": score, "reason": reason})


_RUBRIC = element(r"rubric(?:-\w+)?")
_CRITERION = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


def _findings(prompt: Prompt) -> list[dict[str, object]]:
    """A decision on each criterion of the rubric."""
    rubric = _RUBRIC.search(prompt.text)
    found: list[dict[str, object]] = []
    for number, text in _CRITERION.findall(rubric["body"] if rubric else ""):
        score, reason = _verdict(prompt, text)
        found.append({"criterion": int(number), "evidence": reason, "met": score == 1})
    return found


def _verdict(prompt: Prompt, criterion: str = "") -> tuple[float, str]:
    seen = [one for one in prompt.observations if one.answer is not None]
    if not seen:
        return 0.5, "I do not know this kind of task, so I cannot tell whether the answer is right."
    last = seen[-1]
    assert last.answer is not None
    found = _RUBRIC.search(prompt.text)
    rubric = criterion or (found["body"] if found else "")
    family, text = last.task.family, last.task.text
    return family.grade(text, _own_words(last.answer, text, rubric) if family.prose else last.answer, rubric)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def _own_words(answer: str, task: str, rubric: str) -> str:
    """The answer without lines that only say again what is asked: what repeats a rubric does not fulfil it."""
    asked = [task.strip().rstrip(".?!"), *(part.strip() for part in _SENTENCE_END.split(rubric))]
    repeated = [text for text in asked if len(text.split()) > 3]
    return "\n".join(line for line in answer.split("\n") if not any(text in line for text in repeated))
