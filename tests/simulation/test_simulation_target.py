"""The simulated target, and the true score of a skill."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation_prompts import FULL_SKILL, SMALL_RULES, answer_of, ask, form, reported, skill_without, task_of

from etude.errors import ConfigError
from etude.records import ChatRequest, Message, TextPart, Tool, assistant, system, user
from etude.simulation import SEED_SKILL, check_name, make_tasks, names, respond, true_score
from etude.simulation.skill import skill_tokens
from etude.simulation.text import same_answer
from etude.skill import Document

TASKS = make_tasks(None, 60, 11)
SORT = "Sort the following words alphabetically: List: pear apple fig"


def size(text: str) -> int:
    return skill_tokens(text, SMALL_RULES)


def hard(task, reply) -> float:
    return float(same_answer(answer_of(reply), task.gold))


def test_a_perfect_skill_makes_a_big_difference_to_none() -> None:
    tasks = make_tasks(None, 200, 3)
    assert 0.2 < true_score("", tasks) < 0.37
    assert 0.94 < true_score(FULL_SKILL, tasks) < 1
    for family in ("sorting", "counting", "dates"):
        some = make_tasks(family, 100, 3)
        assert true_score("", some) < 0.4
        assert true_score(FULL_SKILL, some) > 0.93


def test_the_seed_skill_is_a_weak_valid_skill() -> None:
    assert 0.2 < true_score(SEED_SKILL, make_tasks(None, 200, 3)) < 0.45
    assert Document.parse(SEED_SKILL).meta["name"] == "everyday-tasks"


@pytest.mark.parametrize("rule", SMALL_RULES, ids=lambda rule: rule.id)
def test_each_small_rule_alone_has_an_effect_both_ways(rule) -> None:
    tasks = make_tasks(rule.family, 150, 6)
    none, every = true_score("", tasks), true_score(FULL_SKILL, tasks)
    assert true_score(rule.statements[1], tasks) > none + 0.005
    assert true_score(skill_without(rule.id), tasks) < every - 0.02
    assert true_score(rule.harmful[0], tasks) < none - 0.005


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(SMALL_RULES), unique=True, max_size=10), st.sampled_from(SMALL_RULES))
def test_teaching_one_more_small_rule_never_hurts(rules, more) -> None:
    text = "\n".join(f"- {rule.statements[0]}" for rule in rules)
    taught = f"{text}\n- {more.statements[0]}"
    assert true_score(taught, TASKS) >= true_score(text, TASKS) - 1e-12


def test_contradictory_and_harmful_rules_hurt() -> None:
    tasks = make_tasks("sorting", 100, 6)
    keep, drop = "- Keep repeated words.\n", "- List each repeated word only once.\n"
    assert true_score(keep, tasks) > true_score("", tasks) > true_score(keep + drop, tasks) > true_score(drop, tasks)


def test_a_skill_that_grows_too_long_gets_worse() -> None:
    padding = "\n- Accuracy matters more than speed."
    short, long, longer = (FULL_SKILL + padding * count for count in (5, 200, 600))
    assert true_score(short, TASKS) == true_score(FULL_SKILL, TASKS)
    assert true_score(FULL_SKILL, TASKS) > true_score(long, TASKS) + 0.05
    assert true_score(long, TASKS) > true_score(longer, TASKS) + 0.1


def test_the_prompt_of_an_agent_program_around_a_skill_does_not_count_as_skill() -> None:
    scaffold = "You can use tools and read files.\n" * 1500
    assert size(scaffold) == 0
    assert size(f"{scaffold}\n{FULL_SKILL}\n{scaffold}") == size(FULL_SKILL)
    bare, wrapped = (ask(TASKS[0], text, 5) for text in (FULL_SKILL, f"{scaffold}\n{FULL_SKILL}\n\n{scaffold}"))
    assert respond("target", bare).text == respond("target", wrapped).text


@pytest.mark.parametrize(
    ("model", "skill"), [("target", SEED_SKILL), ("target-noisy", FULL_SKILL), ("target-sampled", FULL_SKILL)]
)
def test_the_true_score_is_what_trials_of_many_tasks_tend_to(model: str, skill: str) -> None:
    # Of one task no number of trials would do: an untaught step goes wrong in all of them or in none.
    tasks = make_tasks(None, 900, 11)
    mean = sum(hard(t, respond(model, ask(t, skill, trial))) for trial, t in enumerate(tasks)) / len(tasks)
    # The standard error of the mean of 900 attempts is below 0.017.
    assert abs(mean - true_score(skill, tasks, model)) < 0.05


def test_the_steady_target_always_does_the_same_with_the_same_rules() -> None:
    for skill in ("", SEED_SKILL, FULL_SKILL):
        for task in TASKS:
            once = hard(task, respond("target-steady", ask(task, skill, 0)))
            assert once == hard(task, respond("target-steady", ask(task, skill, 9)))
            assert once == true_score(skill, [task], "target-steady")
    assert true_score(FULL_SKILL, TASKS, "target-steady") == 1
    assert true_score("", TASKS, "target-steady") < 0.4


def test_a_sampled_target_draws_taught_steps_anew_with_every_change_of_the_text_and_others_do_not() -> None:
    def outcomes(model: str, text: str) -> list[float]:
        return [hard(task, respond(model, ask(task, text, 0))) for task in TASKS]

    more = "\nBe friendly at all times.\n"
    idle = FULL_SKILL + more
    assert outcomes("target", idle) == outcomes("target", FULL_SKILL)
    assert outcomes("target-sampled", idle) != outcomes("target-sampled", FULL_SKILL)
    assert outcomes("target-sampled", idle) == outcomes("target-sampled", idle)
    assert outcomes("target-sampled", more) == outcomes("target-sampled", ""), "what is untaught stays as it is"


def test_the_true_score_uses_the_gold_answer_of_a_task_where_it_has_one() -> None:
    assert true_score(FULL_SKILL, [task_of(SORT)]) > 0.9
    wrong = task_of(SORT).model_copy(update={"gold": "something else"})
    assert true_score(FULL_SKILL, [wrong]) == 0
    numbered = task_of(SORT).model_copy(update={"gold": "1. apple 2. fig 3. pear"})
    assert 0 < true_score("", [numbered]) < 0.3


def test_the_true_score_of_unknown_tasks_is_zero_and_of_no_tasks_an_error() -> None:
    assert true_score(FULL_SKILL, [task_of("Write a poem.")]) == 0
    with pytest.raises(ValueError, match="at least one task"):
        true_score("", [])
    with pytest.raises(ConfigError, match="'optimizer' is not a simulated target"):
        true_score("", TASKS, "optimizer")


def test_trials_differ_in_what_is_taught_and_a_missing_seed_is_trial_zero() -> None:
    def answers(skill: str, seed: int | None) -> list[str]:
        return [respond("target", ask(task, skill, seed)).text for task in TASKS]

    assert answers(FULL_SKILL, 0) != answers(FULL_SKILL, 1)
    assert answers(FULL_SKILL, 0) == answers(FULL_SKILL, None)
    assert answers("", 0) == answers("", 1) == answers("", None)


def test_only_task_taught_rules_and_trial_matter_not_how_they_are_wrapped() -> None:
    skill = "Keep repeated words. Ignore case when you compare words. Give the total in digits."
    for task in TASKS:
        wrapped = [
            ask(task, skill, 3),
            ChatRequest(messages=(user(f"{skill}\n\n{task.input}"),), seed=3),
            ChatRequest(messages=(user(f"Task:\n{task.input}\n\n{skill}"),), seed=3),
            ChatRequest(messages=(system("You are kind."), system(skill), user(task.input)), seed=3),
            ChatRequest(
                messages=(
                    user(task.input),
                    assistant("I look at the skill."),
                    Message(role="tool", content=(TextPart(text=skill),), tool_call_id="1"),
                ),
                seed=3,
            ),
            ask(
                task,
                f"In folder /x/{task.id}, on a fine day:\n\n- Duplicates stay in the list, so keep them all.\n"
                "- Compare the words as if all were in lower case.\n"
                "- The final answer is a number written with digits.",
                3,
            ),
        ]
        assert len({answer_of(respond("target", request)) for request in wrapped}) == 1


def test_the_last_task_counts_and_earlier_ones_are_examples() -> None:
    request = ChatRequest(messages=(system(FULL_SKILL), user(f"As in: {SORT}\n\nNow: {SORT} cherry")))
    assert answer_of(respond("target-steady", request)) == "apple cherry fig pear"
    request = ChatRequest(messages=(system(FULL_SKILL), user(SORT), assistant("?"), user("Go on.")))
    assert answer_of(respond("target-steady", request)) == "apple fig pear"
    request = ChatRequest(messages=(system(f"{FULL_SKILL}\n{SORT}"), user("Go on.")))
    assert answer_of(respond("target-steady", request)) == "apple fig pear"


def test_the_answer_stands_in_the_tag_or_box_the_prompt_shows_else_on_a_line() -> None:
    skill = FULL_SKILL + "\n"
    assert respond("target-steady", ask(SORT, skill)).text.endswith("\nAnswer: apple fig pear")
    tagged = respond("target-steady", ask(SORT, skill + "Put it between <final_answer> and </final_answer>."))
    assert tagged.text.endswith("\n<final_answer>apple fig pear</final_answer>")
    boxed = respond("target-steady", ask(SORT, skill + r"Put it in \boxed{}."))
    assert boxed.text.endswith("\n\\boxed{apple fig pear}")


def test_a_schema_a_forced_tool_or_a_skeleton_is_filled() -> None:
    request = ask(SORT, FULL_SKILL)
    schema = form("reply", {"thinking": {"type": "string"}, "final_answer": {"type": "string"}})
    filled = reported("target-steady", request.model_copy(update={"response_schema": schema}))
    assert filled["final_answer"] == "apple fig pear"
    assert filled["thinking"]

    schema = form("reply", {"note": {"type": "string"}, "words": {"type": "array", "items": {"type": "string"}}})
    filled = reported("target-steady", request.model_copy(update={"response_schema": schema}))
    assert filled["words"] == ["apple", "fig", "pear"]

    tool = Tool(name="submit", parameters=form("x", {"answer": {"type": "string"}}).body)
    reply = respond("target-steady", request.model_copy(update={"tools": (tool,), "forced_tool": "submit"}))
    assert (reply.finish, reply.text) == ("tool_calls", "")
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("submit", {"answer": "apple fig pear"})
    ]
    free = respond("target-steady", request.model_copy(update={"tools": (tool,)}))
    assert answer_of(free) == "apple fig pear"

    shown = ask(f'{SORT}\n\nReply with JSON: {{"work": "...", "answer": "..."}}', FULL_SKILL)
    assert reported("target-steady", shown)["answer"] == "apple fig pear"


def test_an_unknown_task_is_answered_honestly() -> None:
    assert respond("target", ask("Write a poem.")).text == "I do not know how to do this task."
    schema = form("reply", {"answer": {"type": "string"}})
    request = ask("Write a poem.").model_copy(update={"response_schema": schema})
    assert reported("target", request) == {"answer": "I do not know how to do this task."}


def test_replies_are_marked_as_simulated_and_count_their_tokens() -> None:
    reply = respond("target", ask(SORT, "x" * 400))
    assert reply.simulated
    assert reply.finish == "stop"
    assert reply.usage.input_tokens == 100 + -(-len(SORT) // 4)
    assert reply.usage.output_tokens == -(-len(reply.text) // 4)


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


def test_tasks_of_other_kinds_are_not_mistaken_for_known_ones() -> None:
    replies = {respond("target", ask(task)).text for task in bbh("date_understanding")}
    assert replies == {"I do not know how to do this task."}
