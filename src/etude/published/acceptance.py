"""The second half of a published step: the gate and what follows from it."""

from etude.config import GateSection
from etude.published.gate import decide, reason_not_to_evaluate
from etude.published.options import PaperOptions
from etude.records import Candidate, Evaluation, GateResult, Skill, TrainState, Verdict
from etude.run_log import RunLog
from etude.stages.evaluation import evaluate
from etude.stages.state import after_verdict
from etude.workbench import Workbench


class Acceptance:
    """The gate and what follows from it: the bar, the verdict on each candidate, the state after it.

    Args:
        validates: False evaluates nothing and accepts every candidate.
    """

    def __init__(self, bench: Workbench, log: RunLog, options: PaperOptions, *, validates: bool = True) -> None:
        self._bench, self._log, self._config = bench, log, bench.config
        self._options = options
        self._validates = validates
        self._golds = bench.golds

    async def baseline(self, state: TrainState) -> TrainState:
        """Measure the initial skill, which is the bar for the first candidate."""
        bench, log = self._bench, self._log
        log.begin("baseline", 0, 0, len(bench.tasks["val"]))
        val = await evaluate(bench.rollout, bench.skill, bench.tasks["val"], "val")
        mean = log.mean(val)
        log.end("baseline", 0, "every attempt errored" if mean is None else f"validation {mean:.3f}")
        return state.model_copy(
            update={"initial_val": val, "current_val": val, "best_val": val, "voids": len(val.voids)}
        )

    async def guided(self, state: TrainState, candidate: Candidate) -> TrainState:
        """Decide on the slow update's candidate, by validation."""
        options = self._options
        options = options if options.slow_update_gate else options.model_copy(update={"gate": False})
        return await self.decide(state, candidate, f"epochs/{state.epoch:02d}", options)

    async def decide(
        self, state: TrainState, candidate: Candidate, place: str, options: PaperOptions | None = None
    ) -> TrainState:
        """Pass a candidate through the gate, unless it is not worth evaluating."""
        config, log = self._config, self._log
        skipped = (
            candidate.unusable
            or self._golds.why(candidate.skill.text, state.current.text)
            or reason_not_to_evaluate(candidate.skill, state.current, state.rejected_texts, config.skill.max_tokens)
        )
        log.made(place, state, candidate, skipped)
        result = None if skipped else await self._verdict(state, candidate, options or self._options)
        before = state
        state = after_verdict(state, candidate, result.verdict if result else None)
        if result is not None and result.verdict.accepted:
            if result.evaluation is None:  # nothing is measured: there is no bar
                state = state.model_copy(update={"current": candidate.skill, "best": candidate.skill})
            else:
                state = accept(state, candidate.skill, result.evaluation, config.gate)
        log.decided(place, (before, state), candidate, result, skipped)
        return state

    async def _verdict(self, state: TrainState, candidate: Candidate, options: PaperOptions) -> GateResult:
        """Whether a candidate is better than the current skill."""
        if not self._validates:
            return GateResult(verdict=Verdict(accepted=True, reason="accepted without validation"))
        bench, log, tasks = self._bench, self._log, self._bench.tasks["val"]
        assert state.current_val is not None
        log.begin("gate", state.step, state.epoch, len(tasks))
        result = await decide(bench.rollout, candidate.skill, state.current_val, tasks, self._config.gate, options)
        log.end("gate", state.step, result.verdict.reason)
        return result


def accept(state: TrainState, skill: Skill, val: Evaluation, gate: GateSection) -> TrainState:
    """Make the skill the current one, and the best one if its validation mean is strictly higher."""
    new = val.mean(gate.metric, gate.mixed_weight)
    bar = state.current_val.mean(gate.metric, gate.mixed_weight) if state.current_val is not None else None
    state = state.model_copy(update={"current": skill, "current_val": val})
    if bar is not None and (new is None or new < bar):
        # Accepted without winning: a text that lost against the old bar may win against this one.
        state = state.model_copy(update={"rejected_texts": frozenset[str]()})
    old = state.best_val.mean(gate.metric, gate.mixed_weight) if state.best_val is not None else None
    if new is not None and (old is None or new > old):
        state = state.model_copy(update={"best": skill, "best_val": val})
    return state
