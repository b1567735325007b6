"""An evidence search that leaves its kept edits out once more at the end, for the ablation in `search.py`."""

from collections.abc import Sequence

from etude.records import Attempt, Candidate, Edit, Skill, TrainState, Verdict
from etude.searches.evidence import EvidenceOptions, EvidenceSearch, Proposed
from etude.skill import apply_edits
from etude.stages.gate import GateResult
from etude.stages.proof import ProofInput, prove
from etude.workbench import Workbench

__all__ = ["PrunedAtTheEnd"]


class PrunedAtTheEnd(EvidenceSearch):
    """Before validation all kept edits are tried together on the failures they were proposed for, and each is left
    out on one that it mends; what is missing after that goes back in, by halves."""

    def __init__(self, bench: Workbench, options: EvidenceOptions) -> None:
        super().__init__(bench, options)
        self._kept: list[Edit] = []
        self._failures: list[Attempt] = []

    async def _prove(
        self, state: TrainState, place: str, proposed: Proposed, failures: Sequence[Attempt]
    ) -> TrainState:
        after = await super()._prove(state, place, proposed, failures)
        if after.accepted > state.accepted:
            self._kept += proposed.edits
            self._failures += failures
        return after

    async def finish(self, state: TrainState) -> TrainState:
        """The test of everything, then validation as before."""
        if self._kept:
            state = await self._pruned(state)
        return await super().finish(state)

    async def _pruned(self, state: TrainState) -> TrainState:
        bench, kept = self._bench, self._kept

        def variant(numbers: Sequence[int]) -> Skill:
            text, _ = apply_edits(bench.skill.text, [kept[number] for number in numbers])
            return state.current if len(numbers) == len(kept) else bench.skill.with_text(text)

        given = ProofInput(kept, variant, self._failures, (), leave_one_out=True)
        before = state.model_copy(update={"step": state.step + 1})
        proved = await prove(bench.rollout, given, self._config.gate, before.step)
        if not proved.proof.accepted:
            return before
        skill = variant(proved.kept)
        after = before.model_copy(update={"current": skill, "best": skill})
        verdict = Verdict(accepted=True, reason=proved.proof.reason)
        made = Candidate(skill=skill, origin="step")
        self.log.decided("pruning", (before, after), made, GateResult(verdict=verdict), "")
        return after
