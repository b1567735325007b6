"""The evidence search, on the simulated world: what its settings change, what it accepts and what it leaves out."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Reply, Skill, Trainer
from etude.config import make_config
from etude.errors import ConfigError
from etude.events import AttemptFinished
from etude.searches import policy_of
from etude.simulation import SEED_SKILL, make_tasks, true_score
from etude.testing import ScriptedModel
from rows import rows

TASKS = make_tasks("dates", 110, seed=2)
TRAIN, VAL, REST = TASKS[:50], TASKS[50:70], TASKS[70:]


def run(folder: Path, *, given: dict[str, Any] | None = None, tasks: int = 20, **config: Any):
    settings = {"train": {"epochs": 2}, "test": {"enabled": False}, "run": {"folder": str(folder)}, **config}
    env = ListEnvironment(TRAIN[:tasks], VAL[:tasks], scorer="exact")
    skill = Skill(name="everyday-tasks", text=SEED_SKILL)
    return Trainer(settings, env=env, skill=skill, **(given or {})).train()


def steps(folder: Path, view: str) -> list[Any]:
    paths = sorted((folder / "run/steps").iterdir())
    return [json.loads((path / f"{view}.json").read_text()) for path in paths if (path / f"{view}.json").exists()]


def best(folder: Path) -> str:
    return next((folder / "run/best").glob("*/SKILL.md")).read_text()


def test_it_finds_a_better_skill_and_measures_it_with_the_initial_one_on_validation(tmp_path) -> None:
    """Every kept edit says on which tasks it rests, and is proved or trusted."""
    summary = run(tmp_path, tasks=30, train={"epochs": 3}, optimizer={"model": "simulated:optimizer-perfect"})
    assert true_score(best(tmp_path), REST) > true_score(SEED_SKILL, REST) + 0.2
    assert 8 <= summary.initial.val.n == summary.best.val.n <= 20
    assert summary.best.val.mean > summary.initial.val.mean
    attempts = sum(len(view) for view in steps(tmp_path, "rollout"))
    assert summary.cost.target_calls > attempts
    proofs = steps(tmp_path, "proof")
    assert any(proof["accepted"] for proof in proofs)
    for proof in proofs:
        assert set(proof["fixed"]) or not proof["accepted"]
        kept = [one for one in proof["edits"] if one["kept"]]
        assert {one["standing"] for one in kept} <= {"proved", "trusted"}
        assert all(one["needed"] or "together" in one["note"] for one in kept)
        assert {one["standing"] for one in proof["edits"] if not one["kept"]} <= {None}


def test_failures_are_repeated_with_the_same_skill_except_at_temperature_0(tmp_path) -> None:
    def repeated(folder: Path, temperature: float | None) -> set[str]:
        """Tasks that were attempted more than once with a skill that stays as it is."""
        made = Finished()
        target = {"model": "simulated:target", "temperature": temperature}
        useless = {"model": "simulated:optimizer-useless"}
        more = {"search": {"failures": 50}, "train": {"epochs": 1}}
        run(folder, given={"sinks": [made]}, target=target, optimizer=useless, tasks=50, **more)
        (view,) = steps(folder, "rollout")
        skill, failed = view[0]["skill_hash"], {row["task"]["id"] for row in view if row["score"]["hard"] < 1}
        again = {task for (task, hash_), count in made.attempts.items() if hash_ == skill and count > 1}
        assert again <= failed
        return again

    assert len(repeated(tmp_path / "sampled", None)) > 5
    assert repeated(tmp_path / "fixed", 0) == set()


def test_only_the_most_cited_edits_are_tested(tmp_path) -> None:
    run(tmp_path, search={"edits": 2}, train={"epochs": 1})
    first = steps(tmp_path, "selected")[0]
    support = [len(edit["cites"]) for edit in first["edits"]]
    assert support == sorted(support, reverse=True)
    assert len(first["edits"]) == 2
    assert {row["why"] for row in first["left_out"]} == {"more than search.edits = 2"}
    assert max(len(row["edit"]["cites"]) for row in first["left_out"]) <= min(support)


def test_a_useless_optimizer_changes_nothing(tmp_path) -> None:
    summary = run(tmp_path, optimizer={"model": "simulated:optimizer-useless"})
    assert (summary.accepted, best(tmp_path)) == (0, SEED_SKILL)
    assert summary.initial.val == summary.best.val


def test_wrong_citations_do_not_keep_it_from_learning(tmp_path) -> None:
    run(tmp_path, optimizer={"model": "simulated:optimizer-misciting"}, tasks=40, train={"epochs": 4})
    assert true_score(best(tmp_path), REST) > true_score(SEED_SKILL, REST) + 0.2


def reader(*edits: dict[str, Any]) -> ScriptedModel:
    """An optimizer that proposes the same edits in every reading, citing everything it is shown."""

    def answer(request: Any) -> str:
        shown = request.messages[1].text
        ids = [part.split('"')[0] for part in shown.split('id="')[1:]]
        rows = [{"op": "append", "target": "", "reason": "why", "cites": ids, **edit} for edit in edits]
        return json.dumps({"reasoning": "because", "edits": rows})

    return ScriptedModel(answer)


@pytest.mark.parametrize("policy", ["evidence", "paper"])
def test_the_optimizer_is_told_of_the_agent_and_how_the_score_moved(policy: str, tmp_path) -> None:
    optimizer = reader()
    given = {"optimizer": optimizer, "prompts": {"chat": "Answer between <answer> and </answer>."}}
    target = {"model": "simulated:target", "temperature": 0.5}
    run(tmp_path, tasks=50, given=given, search={"policy": policy}, target=target, train={"epochs": 1})
    first, *_, last = [request.messages[1].text for request in optimizer.requests]
    assert first.startswith(
        "# The agent\n\nIts model: simulated:target at temperature 0.5. "
        "Besides skill and task it is told:\n\n<told data="
    )
    assert "\nAnswer between <answer> and </answer>.\n</told" in first
    assert " attempts failed" in first
    assert "Solved in the steps before" not in first
    view = steps(tmp_path, "rollout")[0]
    solved = sum(row["score"]["hard"] >= 1 for row in view)
    assert f"Solved in the steps before: {solved}/{len(view)}" in last


def test_an_edit_that_names_a_task_is_left_out_and_the_search_ends_after_five_such_steps(tmp_path) -> None:
    named = reader({"content": f"- In {TRAIN[0].id} be careful, and in {' '.join(task.id for task in TRAIN)}."})
    still = {"model": "simulated:target", "temperature": 0}
    summary = run(tmp_path, tasks=50, given={"optimizer": named}, target=still)
    views = steps(tmp_path, "selected")
    assert [view["edits"] for view in views] == [[]] * 5
    assert views[0]["left_out"][0]["why"].startswith("it names ")
    assert (summary.steps, summary.stopped) == (5, None)
    assert summary.best.val.n == 20
    *_, doubt = summary.doubts
    assert doubt.example.startswith("no proposal of the optimizer could be tried in 5 steps in a row: it names ")


def test_an_edit_without_an_anchor_is_left_out(tmp_path) -> None:
    lost = {"op": "replace", "target": "There is no such line.", "content": "New."}
    summary = run(tmp_path, given={"optimizer": reader(lost)})
    assert steps(tmp_path, "selected")[0]["left_out"][0]["why"].startswith("missed: ")
    assert "no usable edit" in summary.doubts[0].what
    assert summary.doubts[0].example.startswith("the last one: missed: ")


def test_edits_that_would_make_the_skill_too_long_are_left_out(tmp_path) -> None:
    long = {"content": "- " + "Check every word of it again. " * 60}
    run(tmp_path, given={"optimizer": reader(long)}, skill={"max_tokens": 300}, train={"epochs": 1})
    (row,) = steps(tmp_path, "selected")[0]["left_out"]
    assert (
        row["why"] == steps(tmp_path, "gate")[0]["reason"] == "the skill would be longer than skill.max_tokens = 300"
    )


def test_fresh_attempts_are_made_anew_in_each_epoch(tmp_path) -> None:
    useless = {"model": "simulated:optimizer-useless"}
    run(tmp_path, train={"epochs": 2, "fresh_attempts": True}, search={"failures": 50}, optimizer=useless)
    assert [{row["trial"] for row in view} for view in steps(tmp_path, "rollout")] == [{0}, {1000}]


@rows("option", ["update_mode", "skill_aware", "batch_size"])
def test_what_the_published_loop_reads_is_refused(option: str) -> None:
    with pytest.raises(ConfigError) as error:
        policy_of(make_config({"search": {option: 1}}))
    assert error.value.message == (
        f"search.{option} is an option of search.policy = 'paper', and the policy is 'evidence'"
    )
    assert error.value.hint == f"leave search.{option} out, or set search.policy: paper"


class Finished:
    """Counts finished attempts by task and skill."""

    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()

    def emit(self, event: Any) -> None:
        if isinstance(event, AttemptFinished) and event.split == "train":
            self.attempts[event.task, event.skill] += 1


def test_two_steps_without_a_usable_answer_end_the_search(tmp_path) -> None:
    summary = run(tmp_path, given={"optimizer": ScriptedModel(lambda request: Reply(text="no"))})
    assert (summary.steps, summary.stopped, summary.best.val.n) == (2, None, 20)
    assert any("no usable answer in 2 steps" in doubt.example for doubt in summary.doubts)
