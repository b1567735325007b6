# pyright: basic, reportMissingImports=false
"""Runs tasks of a taskset of verifiers, each by an agent of its own: harness, runtime and rewards are theirs."""

import importlib.metadata
import itertools
import json
import math
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from etude_wire import answer, key_of, load_module, write_skill

SETTINGS: dict[str, Any] = json.loads(sys.argv[1])
"""`task`: a file or the name of a taskset; `variants`: its settings, for each set of tasks; `agent`: settings of the
agent; `folder`: the skill is mounted as a folder."""

try:
    import verifiers.v1 as vf
    from verifiers.v1.envs.single_agent.env import SingleAgentEnv
    from verifiers.v1.utils.compile import validate_pairing
    from verifiers.v1.utils.loaders import environment_class
except ImportError as problem:
    MISSING = str(problem)
else:
    MISSING = ""

MOST_TASKS = 100_000
_DEPENDENCIES = re.compile(r"^# dependencies = (\[.*\])$", re.MULTILINE)


def share_packages() -> None:
    """Programs of theirs that need nothing but what is installed here run with this interpreter: the usual way
    installs it again for every new home, from the network."""
    from verifiers.v1.runtimes.subprocess import SubprocessRuntime

    prepare = SubprocessRuntime.prepare_uv_script

    async def prepared(self: Any, script: Any, env: Any = None, *, activate: bool = True) -> list[str]:
        text = script.decode() if isinstance(script, bytes) else script
        if not _installed_here(text):
            return await prepare(self, script, env, activate=activate)
        path = Path(tempfile.gettempdir(), f"{key_of(text)}.py")
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        return [sys.executable, str(path)]

    SubprocessRuntime.prepare_uv_script = prepared


def _installed_here(script: str) -> bool:
    found = _DEPENDENCIES.search(script)
    if found is None:
        return False
    for wanted in json.loads(found[1]):
        name, _, version = wanted.partition("==")
        try:
            there = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if version and version != there:
            return False
    return True


class _Variant:
    """The taskset with one set of settings, and its tasks by a key of their content."""

    def __init__(self, settings: dict[str, Any]) -> None:
        name = SETTINGS["task"]
        if name.endswith(".py"):
            load_module(name)
            name = Path(name).stem
        self.name = name
        kind = environment_class(name)
        if kind is not SingleAgentEnv:
            raise ValueError(
                f"its environment {kind.__name__} has a course of its own: only one agent by itself works"
            )
        self.taskset = vf.load_taskset(vf.taskset_config_type(name).model_validate({**settings, "id": name}))
        found = list(itertools.islice(self.taskset, MOST_TASKS + 1))
        if len(found) > MOST_TASKS:
            raise ValueError(f"the taskset has more than {MOST_TASKS:,} tasks: bound it with its settings, env.args")
        self.tasks = {key_of(task.data.model_dump(mode="json", exclude={"idx"})): task for task in found}

    def agent(self, url: str, key_variable: str, model: str, skills: list[str]) -> Any:
        """The agent of one attempt."""
        client = {"type": "eval", "base_url": url, "api_key_var": key_variable}
        data = {"runtime": {"type": "subprocess"}, **SETTINGS["agent"], "client": client, "model": model}
        harness = data.get("harness") or vf.default_agent_harness(self.name).model_dump()
        harness = {**harness, "id": harness.get("id") or "null"}  # YAML reads null as nothing
        harness["skills"] = [*harness.get("skills", ()), *skills]
        return vf.make_agent(vf.AgentConfig.model_validate({**data, "harness": harness}))


def described(variant: _Variant) -> dict[str, Any]:
    """All that is known of the tasks before one is attempted."""
    agent = variant.agent("http://127.0.0.1/v1", "NONE", "any", ["."] if SETTINGS["folder"] else [])
    for kind in {type(task) for task in variant.tasks.values()}:
        validate_pairing(agent.harness, kind, agent.runtime_config)
    tasks = []
    for key, task in variant.tasks.items():
        data = task.data
        tasks.append({"key": key, "id": str(data.id or data.name or ""), "input": data.prompt_text, "gold": None})
    return {"tasks": tasks, "scores": [], "sandboxes": []}


def outcome(trace: Any) -> dict[str, Any]:
    """What an attempt came to: `error` where it has no score."""
    if trace.has_error:
        last = trace.last_error
        return {"error": f"{last.type}: {last.message}" if last is not None else str(trace.stop_condition)}
    if not trace.rewards or any(reward is None for reward in trace.rewards.values()):
        return {"error": "the task gave no reward"}
    if not math.isfinite(trace.reward):
        return {"error": f"the reward is {trace.reward}"}
    said = [f"{name}: {reward.value:g}" for name, reward in trace.rewards.items()]
    said += [f"{name} = {value}" for name, value in trace.metrics.items()]
    said += [f"ended by {trace.stop_condition}"] if trace.stop_condition != "agent_completed" else []
    return {"score": trace.reward, "answer": trace.last_reply, "feedback": "; ".join(said)}


class _Runner:
    def __init__(self) -> None:
        self._variants: list[_Variant] | None = None

    def variants(self) -> list[_Variant]:
        if self._variants is None:
            share_packages()
            self._variants = [_Variant(settings) for settings in SETTINGS["variants"]]
        return self._variants

    async def handle(self, order: dict[str, Any]) -> dict[str, Any]:
        if MISSING:
            return {"missing": MISSING}
        if order["do"] == "describe":
            variants = [described(each) for each in self.variants()]
            return {"version": importlib.metadata.version("verifiers"), "variants": variants}
        variant = self.variants()[order["variant"]]
        task = variant.tasks.get(order["task"])
        if task is None:
            return {"error": "the taskset gives other tasks each time it is loaded"}
        if order["text"]:
            told = task.data.system_prompt
            task = task.with_system_prompt(f"{order['text']}\n\n{told}" if told else order["text"])
        # Names with these words are taken out of what programs of the runtime get to see.
        variable = f"ETUDE_API_KEY_{order['id']}"
        os.environ[variable] = order["key"]
        with tempfile.TemporaryDirectory() as scratch:
            skills = []
            if order["files"]:
                skills.append(str(Path(scratch, order["name"])))
                write_skill(Path(skills[0]), order["files"])
            try:
                agent = variant.agent(order["url"], variable, order["model"], skills)
                return outcome(await agent.run(task))
            finally:
                del os.environ[variable]


if __name__ == "__main__":
    answer(_Runner().handle)
