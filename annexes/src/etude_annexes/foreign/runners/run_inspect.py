# pyright: basic, reportMissingImports=false
"""Runs samples of a task of inspect-ai. One evaluation goes on as long as this process: inspect allows one at a time,
and takes further samples while it runs."""

import asyncio
import itertools
import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from etude_wire import answer, key_of, load_module, write_skill

SETTINGS: dict[str, Any] = json.loads(sys.argv[1])
"""`task`: a file and the name of a task in it, or a name of the registry; `variants`: arguments, for each set of
tasks; `score`: which of its scores counts; `folder`: the skill is mounted as a folder."""

try:
    import inspect_ai
    import openai  # noqa: F401 - what inspect reaches the model with
    from inspect_ai import SampleSource, enqueue_sample, eval_async, task_with
    from inspect_ai.dataset import Sample
    from inspect_ai.hooks import Hooks, hooks
    from inspect_ai.model import ChatMessageSystem, GenerateConfig, ModelAPI, get_model, modelapi
    from inspect_ai.scorer import value_to_float
    from inspect_ai.solver import solver, use_tools
    from inspect_ai.solver._task_state import sample_state
    from inspect_ai.tool import skill
    from inspect_ai.util import registry_create, registry_info
except ImportError as problem:
    MISSING = str(problem)
else:
    MISSING = ""

OTHERS = ("grader", "judge", "user", "simulator", "monitor")
"""Roles of models that are not the agent: the same model answers, without the skill."""
_TEXTS = {"c", "i", "p", "n", "yes", "no", "true", "false"}


class _SampleRun:
    """A sample under way: its order, its models and what it comes to."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.scoring = False
        self.agent, self.other = (self._model(order[key]) for key in ("key", "other_key"))

    def _model(self, key: str) -> Any:
        service = f"openai-api/etude/{self.order['model']}"
        return get_model(service, base_url=self.order["url"], api_key=key, memoize=False).api


UNDER_WAY: dict[int, _SampleRun] = {}
"""Attempts by the number that tells them apart: that of the epoch, as inspect calls it."""
NUMBERS = itertools.count(1)


def current() -> _SampleRun:
    """The attempt whose solver or scorer is running."""
    return UNDER_WAY[sample_state().epoch]


if not MISSING:

    class EvaluatedModel(ModelAPI):  # pyright: ignore[reportPossiblyUnboundVariable]
        """The model of the evaluation: whichever belongs to the sample that asks. What the agent asks gets the skill
        in front; what users that are played and graders ask does not."""

        def __init__(
            self,
            model_name: str,
            base_url: str | None = None,
            api_key: str | None = None,
            config: Any = None,
            **_: Any,
        ) -> None:
            super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            attempt = current()
            if self.model_name == "other" or attempt.scoring:
                return await attempt.other.generate(input, tools, tool_choice, config)
            text = attempt.order["text"]
            told = [ChatMessageSystem(content=text), *input] if text else input
            return await attempt.agent.generate(told, tools, tool_choice, config)

    @modelapi(name="etude")  # pyright: ignore[reportPossiblyUnboundVariable]
    def gateway() -> type:
        return EvaluatedModel

    @hooks(name="etude", description="Tells when scoring begins.")  # pyright: ignore[reportPossiblyUnboundVariable]
    class Scoring(Hooks):  # pyright: ignore[reportPossiblyUnboundVariable, reportUnusedClass]
        """From here on it is not the agent that asks."""

        async def on_sample_scoring(self, data: Any) -> None:
            current().scoring = True

    class OrderedSamples(SampleSource):  # pyright: ignore[reportPossiblyUnboundVariable]
        """The samples of one variant, as they are ordered."""

        def __init__(self) -> None:
            self.waiting: asyncio.Queue[tuple[Any, _SampleRun]] = asyncio.Queue()
            self._ordered = asyncio.Event()
            self._passing: asyncio.Task[None] | None = None

        async def next_samples(self) -> list[Any]:
            if self._passing is None:  # in here, since only what the evaluation starts can add samples to it
                self._passing = asyncio.create_task(self._pass_on())
            await self._ordered.wait()
            self._ordered.clear()
            return []

        async def _pass_on(self) -> None:
            while True:
                sample, attempt = await self.waiting.get()
                number = next(NUMBERS)
                UNDER_WAY[number] = attempt
                enqueue_sample(sample, epoch=number)
                self._ordered.set()

        async def sample_complete(self, sample: Any) -> None:
            attempt = UNDER_WAY.pop(sample.epoch)
            if not attempt.done.done():
                attempt.done.set_result(sample)

        async def sample_abandoned(self, sample: Any, epoch: int) -> None:
            UNDER_WAY.pop(epoch).done.set_exception(RuntimeError("the sample was abandoned"))

    @solver  # pyright: ignore[reportPossiblyUnboundVariable]
    def begin() -> Any:
        """Comes before the setup and the solver of the task."""

        async def solve(state: Any, generate: Any) -> Any:
            attempt = UNDER_WAY[state.epoch]
            if attempt.order["files"]:
                folder = Path(tempfile.mkdtemp(), attempt.order["name"])
                write_skill(folder, attempt.order["files"])
                state = await use_tools(skill([folder]), append=True)(state, generate)
            return state

        return solve


class _Variant:
    """The task with one set of arguments, and its samples by a key of their content."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.task = make_task(SETTINGS["task"], arguments)
        self.samples = {key_of(_content(sample)): sample for sample in self.task.dataset}
        self.source = OrderedSamples()

    @property
    def scorers(self) -> list[str]:
        return [registry_info(each).name.rpartition("/")[2] for each in self.task.scorer or ()]

    @property
    def sandboxes(self) -> list[str]:
        named = [self.task.sandbox, *(sample.sandbox for sample in self.samples.values())]
        return sorted({each.type for each in named if each is not None})

    def running(self) -> Any:
        """The task that takes samples from the source."""
        setup = self.task.setup or []
        before = [begin(), *(setup if isinstance(setup, list) else [setup])]
        change: dict[str, Any] = {
            "dataset": self.source,
            "setup": before,
            "epochs": 1,
            "model": get_model("etude/any"),
        }
        if SETTINGS["folder"] and self.task.sandbox is None:
            change["sandbox"] = "local"  # where the tool puts the skill
        return task_with(self.task, **change)


def _content(sample: Any) -> Any:
    """What makes a sample the same as another: not its number, nor the ids that messages get when they are made."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: known(inner) for name, inner in value.items() if name != "id" or "role" not in value}
        return [known(inner) for inner in value] if isinstance(value, list) else value

    return known(sample.model_dump(mode="json", exclude={"id"}))


def make_task(name: str, arguments: dict[str, Any]) -> Any:
    path, _, task = name.partition("@")
    if not path.endswith(".py"):
        return registry_create("task", name, **arguments)
    module = load_module(path)
    if task:
        return getattr(module, task)(**arguments)
    found = [each for each in vars(module).values() if _is_task(each) and each.__module__ == module.__name__]
    if len(found) != 1:
        names = ", ".join(each.__name__ for each in found) or "none"
        raise ValueError(f"{path} has {len(found)} tasks ({names}): name one, as in {path}@NAME")
    return found[0](**arguments)


def _is_task(each: Any) -> bool:
    try:
        return callable(each) and registry_info(each).type == "task"
    except (ValueError, AttributeError, TypeError):
        return False


def _text(given: Any) -> str:
    """What is asked: the text of the messages."""
    return given if isinstance(given, str) else "\n\n".join(message.text for message in given)


def described(variant: _Variant) -> dict[str, Any]:
    """All that is known of the tasks before one is attempted."""
    tasks = []
    for key, sample in variant.samples.items():
        options = [f"({chr(65 + number)}) {choice}" for number, choice in enumerate(sample.choices or ())]
        text = "\n".join([_text(sample.input), *options])
        tasks.append({"key": key, "id": str(sample.id or ""), "input": text, "gold": sample.target or None})
    return {"tasks": tasks, "scores": variant.scorers, "sandboxes": variant.sandboxes}


def outcome(sample: Any) -> dict[str, Any]:
    """What an attempt came to: `error` where it has no score."""
    if sample.error is not None:
        return {"error": sample.error.message}
    answer_ = sample.output.completion if sample.output else ""
    limit = f"the {sample.limit.type} limit was reached" if sample.limit else ""
    if not sample.scores:
        return {"failure": limit, "answer": answer_} if limit else {"error": "the task gave no score"}
    wanted, _, part = str(SETTINGS["score"] or "").partition(".")
    if wanted and wanted not in sample.scores:
        return {"error": f"there is no score {wanted!r}, only {', '.join(sample.scores)}"}
    name = wanted or next(iter(sample.scores))
    score = sample.scores[name]
    value = score.value
    if isinstance(value, dict):
        if part not in value:
            return {
                "error": f"the score {name!r} has parts ({', '.join(value)}): set env.score to one, as in {name}.PART"
            }
        value = value[part]
    number = _number(value)
    if number is None:
        return {"error": f"the score {name!r} is {value!r}, which is not a number"}
    target = sample.target if isinstance(sample.target, str) else " or ".join(sample.target)
    said = [f"{name}: {value}", target and f"expected: {target}", limit]
    said += [score.explanation] if score.explanation and score.explanation != answer_ else []
    return {"score": number, "answer": answer_, "feedback": "; ".join(filter(None, said))}


def _number(value: Any) -> float | None:
    if isinstance(value, str) and value.lower() not in _TEXTS:
        try:
            value = float(value)
        except ValueError:
            return None
    number = value_to_float()(value)
    return None if math.isnan(number) else number


class _Runner:
    def __init__(self) -> None:
        self._variants: list[_Variant] | None = None
        self._evaluation: asyncio.Task[Any] | None = None

    def variants(self) -> list[_Variant]:
        if self._variants is None:
            self._variants = [_Variant(arguments) for arguments in SETTINGS["variants"]]
        return self._variants

    async def handle(self, order: dict[str, Any]) -> dict[str, Any]:
        if MISSING:
            return {"missing": MISSING}
        if order["do"] == "describe":
            return {"version": inspect_ai.__version__, "variants": [described(each) for each in self.variants()]}
        variant = self.variants()[order["variant"]]
        sample = variant.samples.get(order["task"])
        if sample is None:
            return {"error": "the task gives other samples each time it is loaded"}
        if self._evaluation is None:
            self._evaluation = asyncio.create_task(self._evaluate())
        attempt = _SampleRun(order)
        variant.source.waiting.put_nowait((Sample(**dict(sample)), attempt))
        await asyncio.wait({attempt.done, self._evaluation}, return_when=asyncio.FIRST_COMPLETED)
        if not attempt.done.done():
            # Nothing can be attempted any more: the next order finds a new process.
            sys.stderr.write(f"the evaluation has ended: {self._evaluation.result()}\n")
            os._exit(1)
        return outcome(attempt.done.result())

    async def _evaluate(self) -> str:
        logs = await eval_async(
            [variant.running() for variant in self.variants()],
            model=None,
            model_roles={role: get_model("etude/other") for role in OTHERS},
            max_tasks=len(self.variants()),
            max_samples=10_000,
            max_connections=10_000,  # etude counts them
            fail_on_error=False,
            log_samples=False,
            log_realtime=False,
            log_dir=tempfile.mkdtemp(),
        )
        return "; ".join(str(log.error.message) for log in logs if log.error is not None) or logs[0].status


if __name__ == "__main__":
    answer(_Runner().handle)
