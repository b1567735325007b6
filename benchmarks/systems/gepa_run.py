"""Runs gepa on a job, with its published defaults and as many metric calls as a schedule of epochs has target calls.

Its default adapter asks one question after the other when the model is a function; this one asks several at a time.
"""

import importlib.metadata
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import contract
import gepa
from gepa.core.adapter import EvaluationBatch

NAME = "instructions"
"""Of the one text that is optimized."""


class Adapter:
    """One question, one answer, the candidate as system prompt."""

    propose_new_texts = None

    def __init__(self, job: contract.Job) -> None:
        self._client = contract.Client(job.url, job.target)
        self._pool = ThreadPoolExecutor(job.workers)

    def evaluate(
        self, batch: list[contract.Task], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch:
        """Ask all questions of a batch."""
        skill = candidate[NAME]
        replies = list(self._pool.map(lambda task: self._client.ask(("system", skill), ("user", task.input)), batch))
        answers = [contract.answer_of(reply) for reply in replies]
        scores = [float(contract.is_right(answer, task.gold)) for answer, task in zip(answers, batch, strict=True)]
        traces = list(zip(batch, replies, scores, strict=True)) if capture_traces else None
        return EvaluationBatch(outputs=replies, scores=scores, trajectories=traces)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: EvaluationBatch, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The fields that gepa's own adapter has."""
        del candidate
        rows = [
            {
                "Inputs": task.input,
                "Generated Outputs": reply,
                "Feedback": "The response is correct."
                if score == 1.0
                else f"The response is incorrect.\nThe correct answer is: {task.gold}",
            }
            for task, reply, score in eval_batch.trajectories or ()
        ]
        return dict.fromkeys(components_to_update, rows)


class Follow:
    """Tells the watch when another candidate is the best one."""

    def __init__(self, watch: contract.Watch) -> None:
        self._watch = watch

    def on_valset_evaluated(self, event: Mapping[str, Any]) -> None:
        """A candidate was scored on all validation tasks."""
        if event["is_best_program"]:
            self._watch.see(event["candidate"][NAME])


def main() -> None:
    """Optimize."""
    job = contract.read_job()
    optimizer = contract.Client(job.url, job.optimizer)
    adapter = Adapter(job)
    watch = contract.Watch(job)
    result = contract.quietly(
        lambda: gepa.optimize(
            seed_candidate={NAME: job.skill},
            trainset=list(job.train),
            valset=list(job.val),
            adapter=adapter,
            reflection_lm=lambda prompt: optimizer.ask(("user", prompt)),
            max_metric_calls=job.calls,
            callbacks=[Follow(watch)],
            seed=job.seed,
        )
    )
    best = result.best_candidate[NAME]
    watch.finish(importlib.metadata.version("gepa"), best, result.val_aggregate_scores[result.best_idx])


if __name__ == "__main__":
    main()
