"""Requests as the server takes them: without the parameters that it refuses by name."""

from collections.abc import Callable, Collection

from etude.config import ModelSection
from etude.errors import RejectedRequest
from etude.models.refused import PARAMETERS, advice
from etude.protocols import ChatModel, Journal, Wrapper
from etude.records import ChatRequest, Reply, role_of

LONGEST_REASON = 160
"""Characters of what a server said that did not take something."""


class Fitted(Wrapper):
    """Sends a request again without the parameters that the server refuses by name, or with their other name. Later
    requests are sent so at once: `notice` is told once, with what sets it for good, and `journal` remembers.

    `place` is where the settings have the model, as in `target`. Those to be `kept` are not left out. Raises
    RejectedRequest: what is refused cannot be left out; the hint names its setting; whatever else the model inside
    raises."""

    def __init__(
        self,
        model: ChatModel,
        place: str,
        notice: Callable[[str, str], None] = lambda text, hint: None,
        journal: Journal | None = None,
        kept: Collection[str] = (),
    ) -> None:
        super().__init__(model)
        self._place = place
        self._notice = notice
        self._journal = journal
        self._kept = kept
        self._recalled = False

    async def complete(self, request: ChatRequest) -> Reply:
        self._recall()
        while True:  # ends: nothing is left out twice
            try:
                return await self._model.complete(request)
            except RejectedRequest as error:
                if not error.curable or not set(error.parameters).isdisjoint(self._kept):
                    if error.parameters:
                        error.hint = advice(error.parameters, self._place)
                    raise
                for parameter in error.parameters:
                    await self._without(parameter, error.message)

    async def _without(self, parameter: str, said: str) -> None:
        told = self.leave_out(parameter)
        if not told:  # another request was told so at the same time
            return
        why = " ".join(said.split())[:LONGEST_REASON]
        self._notice(f"{self.name} {told} ({why})", advice([parameter], self._place, refused=True))
        if self._journal is not None:

            async def left_out() -> bool:
                return True

            await self._journal.once("decision", self._key(parameter), bool, left_out)

    def _recall(self) -> None:
        """Leave out what an earlier process of this run was refused."""
        if self._journal is not None and not self._recalled:
            for parameter in PARAMETERS:
                if self._journal.get("decision", self._key(parameter), bool):
                    self.leave_out(parameter)
        self._recalled = True

    def _key(self, parameter: str) -> list[str]:
        return ["refused", self.fingerprint(), parameter]


def kept_of(place: str, section: ModelSection) -> frozenset[str]:
    """What a run may not leave out of the requests of a model: the temperature of a target at 0, where the run takes
    every outcome for certain, which at another temperature it is not."""
    certain = role_of(place) == "target" and section.temperature == 0
    return frozenset({"temperature"}) if certain else frozenset()
