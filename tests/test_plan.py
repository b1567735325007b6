import json
import re
from pathlib import Path
from typing import Any

import pytest

from etude.config import make_config
from etude.errors import BudgetStop, ConfigError, DataError
from etude.events import AttemptFinished, CallFinished, Event, Notice
from etude.measure.forecast import Span
from etude.measure.plan import ASSUMED_NOISE, Plan, aplan, plan
from etude.protocols import Agent
from etude.records import ChatRequest, Reply, Skill, Task, Trajectory, Usage
from etude.simulation import SEED_SKILL, make_tasks
from etude.simulation.world import best_skill
from etude.testing import ScriptedModel
from etude.trainer import Trainer
from etude.workbench import Given
from rows import few, rows
from trials_sent import trial_sent

SIZES = {"train": 16, "val": 12, "test": 12}
TASKS = make_tasks(None, sum(SIZES.values()), 5)


class Sink:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def calls(self) -> int:
        return sum(isinstance(event, CallFinished) for event in self.events)


def settings(
    folder: Path, tasks: list[Task] = TASKS, sizes: dict[str, int] = SIZES, **sections: Any
) -> dict[str, Any]:
    """Settings of a small run whose files lie in the folder."""
    rest = tasks
    env: dict[str, Any] = {"scorer": "exact"}
    for split, size in sizes.items():
        some, rest = rest[:size], rest[size:]
        path = folder / f"{split}.jsonl"
        rows = [task.model_dump(mode="json", include={"id", "input", "gold", "type", "group"}) for task in some]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        env[split] = str(path)
    base = {"env": env, "train": {"epochs": 2}, "run": {"folder": str(folder / "runs"), "name": "one"}}
    return base | sections


def given(text: str = SEED_SKILL, **more: Any) -> Given:
    return Given(skill=Skill(name="small", text=text), **more)


def files(folder: Path) -> dict[Path, bytes]:
    """What lies there, without what SQLite keeps next to a database while it is open."""
    sidecars = ("-wal", "-shm")
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.name.endswith(sidecars)
    }


def unreachable(request: ChatRequest) -> Reply:
    raise AssertionError("a request was sent")


def texts(found: Plan) -> list[str]:
    return [advice.text for advice in found.warnings]


def test_a_config_is_given_as_settings_as_data_or_as_a_file(tmp_path: Path) -> None:
    data = settings(tmp_path)
    path = tmp_path / "etude.yaml"
    path.write_text(json.dumps(data))
    assert re.fullmatch(
        r"<Plan 'one': 16 train, 12 val, 12 test; at most [\d,]+ attempts, 0 warnings>", str(plan(data, **given()))
    )
    assert (
        plan(data, **given())
        == plan(make_config(data), **given())
        == plan(path, **given())
        == plan(str(path), **given())
    )


def test_settings_that_a_run_would_refuse_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"limits\.usd = 1 needs the price of every model"):
        plan(settings(tmp_path, limits={"usd": 1.0}), **given(target=ScriptedModel(unreachable)))
    data = settings(tmp_path)
    data["env"]["train"] = str(tmp_path / "absent.jsonl")
    with pytest.raises(DataError):
        plan(data, **given())


@rows(("price", "usd"), [(None, None), ({"input": 2.0, "output": 3.0}, 230e-6)])
def test_what_calls_came_to_is_known_after_them(
    tmp_path: Path, price: dict[str, float] | None, usd: float | None
) -> None:
    """Of the target, after a measurement; nothing asked the optimizer."""
    reply = Reply(text="<answer>x</answer>", usage=Usage(input_tokens=100, output_tokens=10))
    run = {"run": {"folder": str(tmp_path / "runs"), "name": "priced" if price else "free"}}
    data = settings(tmp_path, target={"model": "simulated:target", "price": price}, **run)
    forecast = plan(data, measure=True, **given(target=ScriptedModel(lambda request: reply))).forecast
    target, optimizer = forecast.roles["target"], forecast.roles["optimizer"]
    assert target.tokens == Span(low=110 * forecast.least, high=110 * forecast.attempts)
    most = target.usd and target.usd.high
    assert most == (usd and pytest.approx(usd * forecast.attempts))
    assert optimizer.tokens is None


async def test_what_another_model_or_agent_came_to_says_nothing(tmp_path: Path) -> None:
    """Nor do other settings of the same; the price is today's."""
    reply = Reply(text="<answer>x</answer>", usage=Usage(input_tokens=100, output_tokens=10))
    one, other = (ScriptedModel(lambda request: reply, name=name) for name in ("scripted:one", "scripted:other"))
    data = settings(tmp_path, target={"model": "openai:one", "price": {"input": 2.0, "output": 3.0}})
    await aplan(data, measure=True, **given(target=one))

    def spent(data: dict[str, Any], **more: Any) -> tuple[bool, float | None]:
        share = plan(data, **given(**more)).forecast.roles["target"]
        return share.tokens is not None, share.usd and share.usd.low

    known = spent(data, target=one)
    assert known == (True, pytest.approx(24 * 230e-6))
    cheaper = {**data, "target": {"model": "openai:one", "price": {"input": 1.0, "output": 1.5}}}
    assert spent(cheaper, target=one) == (True, pytest.approx(12 * 230e-6))
    assert spent(data, target=other) == (False, None)
    assert spent({**data, "agent": {"name": "tools"}}, target=one) == (False, None)
    await aplan(data, measure=True, **given(target=other))
    assert spent(data, target=one) == known


async def test_what_an_attempt_of_several_calls_came_to_counts_whole(tmp_path: Path) -> None:
    """As many attempts are measured as the test makes."""
    sink = Sink()
    data = settings(tmp_path, agent={"name": "tools"})
    target = (await aplan(data, measure=True, **given(sinks=[sink]))).forecast.roles["target"]
    used = sum(event.usage.total for event in sink.events if isinstance(event, CallFinished))
    assert target.tokens is not None
    assert target.tokens.low == pytest.approx(used)


MISSED = "agent program '/nowhere/claude' was not found"
PROGRAM = {"name": "claude-code", "path": "/nowhere/claude"}


@rows(
    ("sections", "missed"),
    [
        ({"agent": PROGRAM}, MISSED),
        (
            {
                "targets": [
                    {"name": "a", "model": "simulated:target", "agent": PROGRAM},
                    {"name": "b", "model": "simulated:target-steady"},
                ]
            },
            MISSED,
        ),
        ({"optimizer": {"model": "agent:codex"}}, "agent program 'codex' (was not found|is not logged in)"),
    ],
)
def test_a_program_that_is_not_here_is_said_and_keeps_nobody_from_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sections: dict[str, Any], missed: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    data = settings(tmp_path, **sections)
    found = plan(data, **given())
    (advice,) = [advice for advice in found.warnings if re.search(missed, advice.text)]
    assert re.match("install it |log in ", advice.hint)
    assert found.forecast.roles["target"].tokens is None
    with pytest.raises(ConfigError, match=missed):
        Trainer(data, **given()).train()


class Wordy(Agent):
    name = "wordy"

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        raise NotImplementedError


@rows(("limits", "calls"), [({}, None), ({"calls": 500}, 500)])
def test_attempts_of_another_agent_may_be_many_calls_each(
    tmp_path: Path, limits: dict[str, int], calls: int | None
) -> None:
    chat = plan(settings(tmp_path), **given()).forecast
    other = plan(settings(tmp_path, limits=limits), **given(agent=Wordy())).forecast
    assert (other.attempts, other.roles["target"].calls) == (chat.attempts, calls)


async def test_measuring_attempts_every_validation_task_twice_and_says_so_first(tmp_path: Path) -> None:
    sink = Sink()
    found = await aplan(settings(tmp_path), measure=True, **given(sinks=[sink]))
    assert sink.calls == 24
    said = [event.text for event in sink.events if isinstance(event, Notice) and event.level == "info"]
    assert said == ["measuring: 24 attempts at validation tasks with the initial skill"]
    first_attempt = next(i for i, event in enumerate(sink.events) if isinstance(event, AttemptFinished))
    assert sink.events.index(next(event for event in sink.events if isinstance(event, Notice))) < first_attempt
    assert found.headroom is not None
    assert found.headroom.trials == 2
    assert found.headroom.noise is not None
    assert found.noise_measured
    again = Sink()
    assert await aplan(settings(tmp_path), measure=True, **given(sinks=[again])) == found
    assert again.calls == 0


async def test_a_limit_holds_while_measuring(tmp_path: Path) -> None:
    with pytest.raises(BudgetStop):
        await aplan(settings(tmp_path, limits={"calls": 5}), measure=True, **given())
    found = await aplan(settings(tmp_path), measure=True, **given())
    assert found.headroom is not None


async def test_a_finished_run_tells_its_headroom_from_one_trial(tmp_path: Path) -> None:
    data = settings(tmp_path, search={"policy": "paper"})
    summary = await Trainer(data, **given()).atrain()
    found = await aplan(data, **given())
    assert found.headroom is not None
    assert found.headroom.trials == 1
    assert found.headroom.score == summary.initial.val
    assert found.headroom.noise is None
    assert not found.noise_measured
    assert found.noise == ASSUMED_NOISE


async def test_the_noise_floor_is_what_differs_between_two_trials(tmp_path: Path) -> None:
    """Of twelve tasks four pass always, four never and four in the first trial only."""
    passing = {task.input: kind for task, kind in zip(TASKS[16:28], [0, 1, 2] * 4, strict=True)}
    gold = {task.input: str(task.gold) for task in TASKS}

    def answer(request: ChatRequest) -> Reply:
        task = request.messages[-1].text
        right = passing[task] == 0 or (passing[task] == 2 and trial_sent(request, TASKS) == 0)
        text = f"<answer>{gold[task] if right else 'nothing'}</answer>"
        return Reply(text=text, usage=Usage(input_tokens=100, output_tokens=10))

    found = await aplan(settings(tmp_path), measure=True, **given(target=ScriptedModel(answer)))
    headroom = found.headroom
    assert headroom is not None
    assert headroom.score.mean == pytest.approx(0.5)
    assert (headroom.always, len(headroom.never)) == (4, 4)
    assert headroom.noise == pytest.approx(1 / 3)
    assert headroom.spread == pytest.approx(2**0.5 / 12)


@pytest.mark.parametrize("passes", [True, False])
async def test_where_everything_or_nothing_passes_there_may_be_nothing_to_learn(tmp_path: Path, passes: bool) -> None:
    models = {"target": {"model": "simulated:target-steady"}}
    silent = {} if passes else {"target": ScriptedModel(lambda request: "no idea")}
    text = best_skill(TASKS) if passes else SEED_SKILL
    found = await aplan(settings(tmp_path, **models), measure=True, **given(text, **silent))
    assert texts(found)[0] == (
        "the initial skill solves all 12 validation tasks in every trial: no skill can score higher"
        if passes
        else "the initial skill solves none of the 12 validation tasks: perhaps no skill can"
    )


COLD = {"model": "simulated:target", "temperature": 0}
USELESS = "at temperature 0 a further trial tells nothing new about any task, with or without a seed: "
TOO_FEW = (
    "the test: 3 tasks with 1 trial each cannot show that a skill is better, not even on just these tasks: luck "
    "alone may do as well in 12% of cases; bring 5 tasks or more, or take 2 trials"
)


@rows(
    ("data", "warned"),
    [
        ({}, None),
        ({"target": COLD}, None),
        ({"target": COLD, "test": {"trials": 3}}, f"{USELESS}test.trials = 3"),
        ({"target": COLD, "search": {"policy": "rewrite_first", "attempts": 2}}, f"{USELESS}search.attempts = 2"),
        (
            {"limits": {"calls": 10}},
            "limits.calls = 10 is below the 24 that the test of a run takes: it will stop early",
        ),
        ({"env.limit": {"val": 3}}, "3 val tasks can detect no gain, and at most 1.00 is possible"),
        ({"env.limit": {"test": 3}}, TOO_FEW),
        ({"env.limit": {"test": 3}, "test": {"trials": 2}}, None),
        (
            {"skill": {"max_tokens": 110}, "text": "word " * 80},
            "the skill has about 100 tokens of skill.max_tokens = 110: few edits fit in",
        ),
        ({"text": ""}, "the skill is empty: training starts from nothing"),
    ],
)
def test_what_a_run_cannot_gain_from_is_named_with_a_hint(
    tmp_path: Path, data: dict[str, Any], warned: str | None
) -> None:
    more = dict(data)
    text, limit = more.pop("text", SEED_SKILL), more.pop("env.limit", {})
    made = settings(tmp_path, **more)
    made["env"] |= {"limit": limit} if limit else {}
    found = plan(made, **given(text))
    assert texts(found) == ([] if warned is None else [warned])
    assert all(advice.hint for advice in found.warnings)


NOISY, STEADY = ("target-noisy", "optimizer-misciting"), ("target-steady", "optimizer-perfect")
POLICIES = [(policy, *models) for policy in ("paper", "evidence", "rewrite_first") for models in (NOISY, STEADY)]


@pytest.mark.parametrize(("policy", "target", "optimizer"), few(POLICIES, POLICIES[0], POLICIES[3], POLICIES[4]))
async def test_a_run_makes_no_more_calls_than_was_said(
    tmp_path: Path, policy: str, target: str, optimizer: str
) -> None:
    models = {"target": {"model": f"simulated:{target}"}, "optimizer": {"model": f"simulated:{optimizer}"}}
    data = settings(tmp_path, sizes={"train": 12, "val": 8, "test": 8}, search={"policy": policy}, **models)
    forecast = (await aplan(data, **given())).forecast
    cost = (await Trainer(data, **given()).atrain()).cost
    most = {role: share.calls or 0 for role, share in forecast.roles.items()}
    assert forecast.least <= cost.target_calls <= most["target"] == forecast.attempts
    assert cost.optimizer_calls <= most["optimizer"]


async def test_limits_cap_what_a_run_may_use(tmp_path: Path) -> None:
    await aplan(settings(tmp_path), measure=True, **given())
    free = plan(settings(tmp_path), **given()).forecast
    limits = {"calls": free.least + 1, "tokens": 1}
    limited = plan(settings(tmp_path, limits=limits), **given()).forecast
    target, optimizer = limited.roles["target"], limited.roles["optimizer"]
    assert limited.limits == limits
    assert limited.attempts == target.calls == free.least + 1
    assert optimizer.calls == min(free.least + 1, free.roles["optimizer"].calls or 0)
    assert target.tokens is not None
    assert target.tokens.high == target.tokens.low  # the test alone takes more than the limit
