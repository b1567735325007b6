"""The simulated target, and the true score of a skill."""

import json
import os
from pathlib import Path

import pytest
from simulation_prompts import FULL_SKILL, SMALL_RULES, answer_of, ask, form, reported, skill_without, task_of

from etude.errors import ConfigError
from etude.simulation import SEED_SKILL, check_name, make_tasks, names, respond, true_score
from etude.simulation.noise import skill_tokens
from etude.simulation.text import same_answer
from rows import few

TASKS = make_tasks(None, 60, 11)
SORT = "Sort the following words alphabetically: List: pear apple fig"


def size(text: str) -> int:
    return skill_tokens(text, SMALL_RULES)


def hard(task, reply) -> float:
    return float(same_answer(answer_of(reply), task.gold))


@pytest.mark.parametrize("rule", few(SMALL_RULES, first=9), ids=lambda rule: rule.id)
def test_each_small_rule_alone_has_an_effect_both_ways(rule) -> None:
    tasks = make_tasks(rule.family, 150, 6)
    none, every = true_score("", tasks), true_score(FULL_SKILL, tasks)
    assert true_score(rule.statements[1], tasks) > none + 0.005
    assert true_score(skill_without(rule.id), tasks) < every - 0.02
    assert true_score(rule.harmful[0], tasks) < none - 0.005


def test_the_prompt_of_an_agent_program_around_a_skill_does_not_count_as_skill() -> None:
    scaffold = "You can use tools and read files.\n" * 1500
    assert size(scaffold) == 0
    assert size(f"{scaffold}\n{FULL_SKILL}\n{scaffold}") == size(FULL_SKILL)
    bare, wrapped = (ask(TASKS[0], text, 5) for text in (FULL_SKILL, f"{scaffold}\n{FULL_SKILL}\n\n{scaffold}"))
    assert respond("target", bare).text == respond("target", wrapped).text


def test_the_steady_target_always_does_the_same_with_the_same_rules() -> None:
    for skill in ("", SEED_SKILL, FULL_SKILL):
        for task in TASKS:
            once = hard(task, respond("target-steady", ask(task, skill, 0)))
            assert once == hard(task, respond("target-steady", ask(task, skill, 9)))
            assert once == true_score(skill, [task], "target-steady")
    assert true_score(FULL_SKILL, TASKS, "target-steady") == 1
    assert true_score("", TASKS, "target-steady") < 0.4


def test_an_unknown_task_is_answered_honestly() -> None:
    assert respond("target", ask("Write a poem.")).text == "I do not know how to do this task."
    schema = form("reply", {"answer": {"type": "string"}})
    request = ask("Write a poem.").model_copy(update={"response_schema": schema})
    assert reported("target", request) == {"answer": "I do not know how to do this task."}


def test_unknown_models_are_errors_that_name_the_near_one() -> None:
    for name in names():
        check_name(name)
    with pytest.raises(ConfigError) as caught:
        respond("targt", ask(SORT))
    assert str(caught.value) == "unknown simulated model 'targt'\nhint: did you mean 'target'?"


def bbh(name: str) -> list:
    """Real tasks, from the folder that the environment names or one beside the repository."""
    beside = Path(__file__).parents[3] / "shared" / "data" / "bbh"
    folder = Path(os.environ.get("ETUDE_BBH", beside))
    path = folder / f"{name}.json"
    if not path.exists():
        pytest.skip("needs BIG-Bench Hard: name a folder with its JSON files in ETUDE_BBH")
    examples = json.loads(path.read_text(encoding="utf-8"))["examples"]
    return [
        task_of(one["input"], str(i)).model_copy(update={"gold": one["target"]}) for i, one in enumerate(examples)
    ]


@pytest.mark.parametrize("name", ["word_sorting", "object_counting"])
def test_real_tasks_are_solved_with_all_rules_and_badly_with_the_seed_skill(name: str) -> None:
    tasks = bbh(name)
    assert len(tasks) == 250
    assert true_score(FULL_SKILL, tasks, "target-steady") == 1
    assert true_score(FULL_SKILL, tasks) >= 0.95
    assert true_score(SEED_SKILL, tasks) < 0.5
