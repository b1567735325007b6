"""Who is told what happened in a conversation, record by record."""

from collections import Counter
from collections.abc import Collection
from typing import Any


class Listener:
    """Is told in the order of the transcript. Takes values of any type, and ignores what it has no use for."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        """What was left out, by reason."""

    def seen(self, at: Any, project: Any = "") -> None:
        """A record of this time, written by an agent at work in this folder."""

    def forked(self, parent: Any) -> None:
        """The session begins with turns of another one, whose id this is."""

    def ask(self, prompt: str, at: Any, *, meanwhile: bool = False, id: str = "", scripted: bool = False) -> None:
        """The user says something.

        Args:
            meanwhile: the agent is still at work and continues.
            id: by which `take_back` names it.
            scripted: a program said it in place of a person.
        """

    def scripted(self, by_program: bool) -> None:
        """Whether a program, and no person, said what was asked last."""

    def say(self, answer: Any) -> None:
        """The agent says something that is not empty."""

    def call(self, id: Any, name: Any, arguments: Any) -> None:
        """The agent calls a tool."""

    def result(self, id: Any, result: Any = None, failed: Any = None, exit_code: Any = None) -> None:
        """A tool gives something back, or a command ends; None leaves what is known."""

    def tool(self, id: Any) -> str:
        """Name of the tool that was called, empty when there was no such call."""
        return ""

    def stop(self) -> None:
        """The user stops the agent, or the program fails."""

    def done(self) -> None:
        """The program says that the turn is over and went well."""

    def pause(self) -> None:
        """The turn is over; what comes before the next prompt is about something else."""

    def drop(self, turns: int) -> None:
        """The user took the last turns back."""

    def take_back(self, ids: Collection[str]) -> None:
        """The user took these turns back."""

    def skill(self, name: Any) -> None:
        """The agent loads a skill."""


class Branches:
    """Records that form a tree: the last one with its ancestors is the conversation, and a prompt that stands beside
    them is one that the user went back from. `START` is the parent of what has none."""

    START = "^"

    def __init__(self) -> None:
        self.last = ""
        """Id of the last record."""
        self._parents = {self.START: ""}
        self._prompts: list[str] = []

    def add(self, id: str, parent: str, *, prompt: bool = False) -> None:
        """A record and the one it follows; a record that is there already stays where it is."""
        if id:
            self._parents.setdefault(id, parent)
            self.last = id
            self._prompts += [id] if prompt else []

    def left(self) -> set[str]:
        """Prompts of branches that leave the conversation. Those of other trees are not: a program may begin a new
        one when it sums up what was said."""
        chain: set[str] = set()
        place = self.last
        while place in self._parents and place not in chain:
            chain.add(place)
            place = self._parents[place]
        known: dict[str, bool] = {}
        return {prompt for prompt in self._prompts if self._leaves(prompt, chain, known)}

    def _leaves(self, id: str, chain: set[str], known: dict[str, bool]) -> bool:
        way: set[str] = set()
        place = id
        while place in self._parents and place not in chain and place not in known and place not in way:
            way.add(place)
            place = self._parents[place]
        leaves = known.get(place, bool(way) and place in chain)
        known |= dict.fromkeys(way, leaves)
        return leaves
