"""Pruning: what goes from a skill, what stays, and why."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import prune as bench
from etude import ListEnvironment, Skill, Task
from etude.cli.main import main
from etude.cli.prune import _lines  # pyright: ignore[reportPrivateUsage]
from etude.config import make_config
from etude.errors import ConfigError, InputError, SkillError, StopRun
from etude.measure.pruning.prune import WHOLE, Pruned, aprune_skill
from etude.measure.pruning.sieve import Sieve
from etude.records import ChatRequest
from etude.simulation import make_tasks
from etude.simulation.world import best_skill
from etude.skill import load_skill
from etude.skill.blocks import blocks_of, without_blocks
from etude.stages.shared.noise import Outcomes
from etude.testing import ScriptedModel
from rows import few, rows

TEXT = """---
name: forms
description: Fills in forms.
---

# Forms

Read the whole form first.

- Write the date first.
- Mind the gap between lines.
- Sign at the end.
  With a full name.

## Totals

Add up the amounts.

- Call `total(rows)` for it.
- Round to whole numbers.

## Parcels

- Weigh each parcel.
"""
NEEDS: Mapping[str, Sequence[str]] = {
    "t1": ["Write the date"],
    "t2": ["full name"],
    "t3": ["Add up", "Write the date"],
    "t4": [],
}


def target(needs: Mapping[str, Sequence[str]] = NEEDS) -> ScriptedModel:
    """Solves a task if the skill says all that it needs; without noise."""

    def answer(request: ChatRequest) -> str:
        shown = " ".join(str(message.content) for message in request.messages)
        name = next(name for name in needs if f"form {name}" in shown)
        return "done" if all(part in shown for part in needs[name]) else "no idea"

    return ScriptedModel(answer)


def prune(
    folder: Path,
    text: str = TEXT,
    model: ScriptedModel | None = None,
    names: Sequence[str] = tuple(NEEDS),
    **more: Any,
) -> Pruned:
    tasks = [Task(id=name, input=f"form {name}", gold="done") for name in names]
    config = make_config({"run": {"folder": str(folder), "name": "p"}, **more.pop("settings", {})})
    env = ListEnvironment(tasks[:-1], tasks[-1:], **more.pop("scoring", {}))
    given = {"skill": Skill(name="forms", text=text), "env": env, "target": model or target()}
    return asyncio.run(aprune_skill(config, **more, **given))  # pyright: ignore


def fates(result: Pruned) -> dict[str, str]:
    return {" ".join(block.text.split())[:14]: block.fate for block in result.blocks}


def test_what_no_task_needs_goes_and_the_rest_stays_with_a_reason(tmp_path: Path) -> None:
    result = prune(tmp_path)
    assert fates(result) == {
        "Read the whole": "gone",
        "- Write the da": "needed",
        "- Mind the gap": "gone",
        "- Sign at the ": "needed",
        "Add up the amo": "needed",
        "- Call `total(": "code",
        "- Round to who": "gone",
        "- Weigh each p": "section",
    }
    pruned = load_skill(Path(result.file))
    removed = ("Read the whole form first.\n\n", "- Mind the gap between lines.\n", "- Round to whole numbers.\n")
    kept = TEXT
    for line in removed:
        kept = kept.replace(line, "")
    assert pruned.text == kept
    folder = tmp_path / "p" / "pruned"
    diff = (folder / "prune.diff").read_text()
    assert {f"-{line.strip()}" for line in removed} <= set(diff.splitlines())
    provenance = json.loads((folder / "forms" / "provenance.json").read_text())
    assert "\n".join(line["text"] for line in provenance["lines"]).strip() == kept.strip()
    gone = provenance["changes"][0]["edits"]
    assert [each["edit"]["target"].strip() for each in gone] == [line.strip() for line in removed]
    # Each task passed without it, and the journal holds these attempts.
    assert all(each["solved"] == sorted(NEEDS) and len(each["facts"]) >= len(NEEDS) for each in gone)
    assert main(["export", str(folder / "forms"), "--to", str(tmp_path / "skills")]) == 0
    assert json.loads((tmp_path / "skills" / "forms" / "provenance.json").read_text()) == provenance
    assert result.after < result.before
    assert result.verdict != "do not ship"
    assert not result.simulated  # the optimizer of the settings is, and was not asked


RULES = [
    ({"code": True}, NEEDS, {"- Call `total(": "gone"}),
    ({"code": True}, {**NEEDS, "t4": ["total(rows)"]}, {"- Call `total(": "needed"}),
    # A task in four may be lost: the one whose lines are longest.
    ({"allow_loss": 0.25}, NEEDS, {"- Sign at the ": "gone"}),
    # What another task needs too comes back.
    ({"allow_loss": 0.25}, {**NEEDS, "t4": ["full name"]}, {}),
    # At temperature 0 one attempt says it.
    ({"settings": {"target": {"model": "simulated:target", "temperature": 0}}}, NEEDS, {}),
    # Tasks that never pass, or pass without the skill, show nothing.
    ({}, {**NEEDS, "t3": ["nowhere"]}, {"Add up the amo": "section", "- Round to who": "section"}),
    ({"code": True}, dict.fromkeys(NEEDS, ()), "section"),
]


@pytest.mark.parametrize(("more", "needs", "changed"), few(RULES, RULES[1], RULES[2], RULES[5], RULES[6]))
def test_rules(
    more: Mapping[str, Any], needs: Mapping[str, Sequence[str]], changed: dict[str, str] | str, tmp_path: Path
) -> None:
    plain = fates(prune(tmp_path / "plain"))
    changed = dict.fromkeys(plain, changed) if isinstance(changed, str) else changed
    assert fates(prune(tmp_path / "other", model=target(needs), **more)) == plain | changed


@pytest.mark.parametrize(("temperature", "luck"), [(0.0, 0.0), (1.0, 0.05)])
def test_a_task_with_a_fraction_of_its_score_needs_what_that_fraction_needs(
    temperature: float, luck: float, tmp_path: Path
) -> None:
    rng = random.Random(1)

    def answer(request: ChatRequest) -> str:
        shown = " ".join(str(message.content) for message in request.messages)
        parts = next(parts for name, parts in NEEDS.items() if f"form {name}" in shown)
        share = sum(part in shown for part in parts) / max(1, len(parts))
        return "0.2" if rng.random() < luck else f"{0.2 + 0.6 * (share if parts else 1):.2f}"

    result = prune(
        tmp_path,
        model=ScriptedModel(answer),
        settings={"target": {"model": "simulated:target", "temperature": temperature}, "gate": {"metric": "soft"}},
        scoring={"scorer": lambda task, answer: float(answer)},  # pyright: ignore
    )
    needed = {text for text, fate in fates(result).items() if fate == "needed"}
    assert needed >= {"- Write the da", "- Sign at the ", "Add up the amo"}
    assert len(needed) <= (4 if luck else 3)  # luck may keep one block more


def test_what_one_of_several_targets_needs_stays(tmp_path: Path) -> None:
    tasks = make_tasks("sorting", 8, seed=3)
    dead = "Weigh each parcel twice."
    config = make_config(
        {
            "targets": [{"model": "simulated:target-steady"}, {"model": "simulated:target-contrary"}],
            "run": {"folder": str(tmp_path)},
        }
    )
    skill = Skill(name="sort", text=f"{best_skill(tasks)}\n- {dead}\n")
    env = ListEnvironment(tasks[:6], tasks[6:], scorer="exact")
    result = asyncio.run(aprune_skill(config, env=env, skill=skill))
    whys = [block.why for block in result.blocks if block.fate == "needed"]
    assert {one for one in ("steady", "contrary") if any(f"target-{one}'" in why for why in whys)} == {
        "steady",
        "contrary",
    }
    assert [block.text for block in result.blocks if block.fate == "gone"][-1:] == [f"- {dead}\n"]


def test_a_run_prunes_one_skill_and_keeps_what_came_of_it(tmp_path: Path) -> None:
    first = Path(prune(tmp_path).file)
    kept = first.read_text()
    with pytest.raises(ConfigError, match="run 'p' has pruned another skill"):
        prune(tmp_path, TEXT.replace("Sign at the end", "Sign at the top"))
    assert first.read_text() == kept
    assert Path(prune(tmp_path).file).read_text() == kept


def test_a_budget_stops_it_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    whole = target()
    expected = prune(tmp_path / "whole", model=whole)
    first, second = target(), target()
    with pytest.raises(StopRun):
        prune(tmp_path / "cut", model=first, settings={"limits": {"calls": 20}})
    result = prune(tmp_path / "cut", model=second)
    assert 0 < len(first.requests) <= 20
    assert len(first.requests) + len(second.requests) == len(whole.requests) == expected.attempts
    assert result.blocks == expected.blocks
    third = target()
    assert prune(tmp_path / "cut", model=third).calls_sent == len(third.requests) == 0


def test_where_nothing_goes_nothing_is_compared_and_few_tasks_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forms.md").write_text(TEXT)
    rows = [json.dumps({"id": f"t{n}", "input": f"form {n}", "gold": f"nowhere {n}"}) for n in range(80)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(rows))
    (tmp_path / "etude.yaml").write_text(
        "target: {model: 'simulated:target'}\nenv: {path: tasks.jsonl, ratio: [1, 1, 0]}\n"
    )
    assert main(["prune", "forms.md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (tasks,) = (line for line in lines if line.startswith("tasks"))
    assert tasks.startswith("tasks       0 pass with the whole skill; these never did: t")
    assert tasks.endswith(" and 50 more, in prune.json")
    assert not any(line.startswith("change") for line in lines)
    assert any(line.endswith(": in doubt, as no task passes with the whole skill") for line in lines)
    noisy = (
        next(Path().glob("runs/*/pruned/prune.json")).read_text().replace("no task passes with the whole skill", "x")
    )
    noisy = noisy.replace('"noisy": []', '"noisy": ["t3"]')
    said = list(_lines(Pruned.model_validate({**json.loads(noisy), "calls_sent": 0})))
    assert any(line.endswith(": in doubt, as x") for line in said)
    assert said[said.index("too noisy   t3") + 1].strip().startswith("leave such tasks out")
    assert not any("no task needs anything of their sections" in line for line in lines), "nothing was tested"
    assert f"attempts    {80 * WHOLE}, calls sent {80 * WHOLE}" in lines


def test_what_it_takes_as_a_rule_is_no_more_than_the_most(tmp_path: Path) -> None:
    said: list[Any] = []
    text = "".join(f"- Mind line number {number}.\n" for number in range(100))
    sink = SimpleNamespace(emit=said.append, close=lambda: None)
    with pytest.raises(StopRun):
        prune(tmp_path, text, settings={"limits": {"calls": 1}}, sinks=[sink])
    (plan,) = (each.text for each in said if each.kind == "notice" and "blocks are tested" in each.text)
    assert "some 664 attempts where half of them are needed, at most 664;" in plan


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("", SkillError, "no text that may be edited"),
        ("# Only\n\n## headings\n", SkillError, "no text that may be edited"),
        ("# Code\n\n```\nprint(1)\n```\n", SkillError, "all of its blocks hold code"),
    ],
)
def test_what_cannot_be_pruned_is_refused_before_anything_is_asked(
    text: str, error: type[InputError], told: str, tmp_path: Path
) -> None:
    model = target()
    with pytest.raises(error, match=told):
        prune(tmp_path, text, model)
    assert not model.requests


@rows(
    ("text", "blocks"),
    [
        ("One\ntwo\n\nthree\n", ["One\ntwo\n", "three\n"]),
        ("- a\n  b\n\n  c\n- d\n", ["- a\n  b\n\n  c\n", "- d\n"]),
        ("Steps:\n1. a\n2. b\n", ["Steps:\n", "1. a\n", "2. b\n"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\ntext\n", ["| a | b |\n|---|---|\n| 1 | 2 |\n", "text\n"]),
        ("text\n```\n- a\n\n# b\n```\nmore\n", ["text\n", "```\n- a\n\n# b\n```\n", "more\n"]),
        ("# H\n---\n<!-- a\nb -->\ntext\n", ["text\n"]),
        ("Title\n=====\n\ntext\n\nOver two\nlines\n---\nmore\n", ["text\n", "more\n"]),  # headings stay
        ("\ufeff# H\n\ntext\n", ["text\n"]),
        ("- a\n---\n> b\n---\n```\nc\n```\n---\n", ["- a\n", "> b\n", "```\nc\n```\n"]),  # and these are none
        ("---\nname: a\ndescription: |\n  as in\n  ```\n  <!-- b\n---\ntext\n", ["text\n"]),
        ("<example>\ntext\n</example>\n<details open><b>\n\n<b>more</b>\n", ["text\n", "<b>more</b>\n"]),
        ("<!-- etude:begin x -->\nkept\n<!-- etude:end x -->\ntext\n", ["text\n"]),
    ],
)
def test_blocks(text: str, blocks: list[str]) -> None:
    found = blocks_of(text)
    assert [block.text for block in found] == blocks
    assert without_blocks(text, found, ()) == text
    left = without_blocks(text, found, range(len(found)))
    assert not blocks_of(left)


def test_blocks_that_go_together_leave_no_blank_lines_behind() -> None:
    text = "# H\n\n- a\n\nText.\n\n| b |\n|---|\n\nMore.\n\n## I\n\n- c\n\nEnd.\n"
    found = blocks_of(text)
    out = [number for number, block in enumerate(found) if block.text not in ("- a\n", "- c\n")]
    assert without_blocks(text, found, out) == "# H\n\n- a\n\n## I\n\n- c\n"
    assert without_blocks(text, found, range(len(found))) == "# H\n\n## I\n"


@rows(
    ("text", "left"),
    [
        ("Text.\n- a\n---\nmore\n", "Text.\n\n---\nmore\n"),  # or the text would be a heading
        ("- a\n---\nmore\n\n---\n", "\n---\nmore\n\n---\n"),  # and this front matter
        ("Text.\n\n- a\n\n---\n", "Text.\n\n---\n"),
    ],
)
def test_a_rule_stays_a_rule(text: str, left: str) -> None:
    found = blocks_of(text)
    out = next(number for number, block in enumerate(found) if block.text == "- a\n")
    assert without_blocks(text, found, [out]) == left


@rows(
    "text",
    [
        "Use `x`",
        "call total(x)",
        "set max_size",
        "readFile first",
        "a = b",
        "use $x^2$",
        "    so it runs",
        "Do:\n\n\tso it runs",
        "price + tax",
        "Run it with --fast",
        "x² counts",
    ],
)
def test_code_is_known(text: str) -> None:
    assert [block.code for block in blocks_of(f"{text}\n\nPlain words, with (a remark) and a dash - here.\n")] == [
        True,
        False,
    ]


def searched(passes: Callable[[str, frozenset[int]], bool | None], tasks: int, blocks: int) -> Sieve:
    search = Sieve(range(blocks), {str(number): Outcomes(passed=1) for number in range(tasks)})
    while planned := search.next():
        for name, out in planned:
            search.told(name, out, passes(name, out))
    return search


def test_noise_hides_no_needed_block() -> None:
    rng = random.Random(3)
    needs = {str(number): {number, (number + 5) % 10} for number in range(10)}

    def passes(name: str, out: frozenset[int]) -> bool:
        return not needs[name] & out and rng.random() < 0.85

    search = searched(passes, 10, 20)
    assert set(range(10)) <= search.needed.keys()
    assert len(search.idle) >= 9


def test_luck_that_hides_a_needed_block_does_not_keep_all_of_its_neighbours() -> None:
    # In this world a needed line is missed three times by luck. Its task then named 14 others, one after the other.
    found = bench.run(3, 0.95, bench.KINDS["plain"])
    assert (found.dead > 0.9, found.needed) == (True, 0)


def test_a_task_without_scores_is_given_up_and_what_it_may_need_stays() -> None:
    search = searched(lambda name, out: None if name == "0" else 1 not in out, 2, 4)
    assert search.given_up == ["0"]
    assert search.idle == ()


def test_two_lines_that_cover_for_each_other_do_not_both_go() -> None:
    search = searched(lambda name, out: not {1, 3} <= out, 2, 4)
    assert list(search.needed) == [1]


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words, said in ((["nowhere"], "hint:"), ([".", "--allow-loss", "1"], "below 1")):
        assert main(["prune", *words]) == 2
        assert said in capsys.readouterr().err
