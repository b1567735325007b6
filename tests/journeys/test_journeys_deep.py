"""A planted flaw that only comparison reveals: `deep` reflection finds it, `shallow` reflection misses it."""

from small_run import Counted
from stages_doubles import reflect

from etude.agents.chat import ChatAgent
from etude.config import LimitsSection, OptimizerSection
from etude.config.sections import ReflectSection
from etude.envs import ListEnvironment
from etude.executors.local import LocalExecutor
from etude.models import Structured, build_model
from etude.prompts import Prompts
from etude.records import Skill
from etude.simulation import make_tasks
from etude.simulation.families.family import rules_of
from etude.simulation.rules import Teaching, states
from etude.stages.reflect import Context, Minibatches
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.rollout import Rollout
from memory_doubles import MemoryJournal


async def taught_by_reflection(family: str, planted: str, mode: str) -> list[str]:
    """Ids of the rules that the proposed edits teach, when the skill lacks the planted rule alone."""
    rules = rules_of(family)
    text = "".join(f"- {rule.statements[0]}\n" for rule in rules if rule.id != planted)
    skill = Skill(text=text)
    tasks = make_tasks(family, 120, seed=5)
    rollout = Rollout(
        ChatAgent(Counted("target-steady"), Prompts()),
        ListEnvironment(tasks[:100], tasks[100:110], tasks[110:], scorer="exact"),
        LocalExecutor(8),
        MemoryJournal(),
        LimitsSection(),
        lambda event: None,
    )
    attempts = await rollout.batch(tasks[:100], skill, "train")
    assert sum(not attempt.solved for attempt in attempts) >= 3
    model = build_model(OptimizerSection(model="simulated:optimizer-perfect"))
    optimizer = Optimizer(Structured(model), Prompts(), lambda event: None)
    context = Context(skill, budget=4, ledger=(), earlier={})
    reflections = await reflect(
        optimizer, attempts, context, ReflectSection(mode=mode), Minibatches(8, seed=1, failures_only=False)
    )
    edits = [edit for reflection in reflections for edit in reflection.patch.edits]
    assert all(edit.cites for edit in edits)
    return [
        rule.id for edit in edits for rule in rules if states(edit.content, rules).get(rule.id) is Teaching.TAUGHT
    ]


async def test_deep_reflection_finds_a_planted_flaw_that_shallow_reflection_misses() -> None:
    assert "counting.last" in await taught_by_reflection("counting", "counting.last", "deep")
    assert "counting.last" not in await taught_by_reflection("counting", "counting.last", "shallow")
