"""The process that plays games. It is run by the interpreter that has TextWorld, which need not be the one of etude:
nothing of etude is imported. Each line on its standard input is a request in JSON, and is answered by a line of JSON:

    {"game": path, "session": number, "commands": [all so far]}
    -> {"text": of the last one, "score": s, "most": m, "won": b, "lost": b, "commands": [possible ones]}

A session that is not known, or is at another place, is played again from its beginning. So this process may be ended
and started again at any time, and it asks for that (`"tired": true`) before it has taken too much memory.
"""

import importlib
import json
import os
import re
import sys
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

MOST_SESSIONS = 64
MOST_BEGUN = 1000
"""Engines do not give back all of the memory of a game that has ended."""
_STATUS_LINE = re.compile(r"\s*\n>[^\n]*\Z")
_EMPTY_LINES = re.compile(r"\n\s*\n")
_PLACE = re.compile(r"^(?P<kind>[A-Za-z]+?)_bar_")


class _Session:
    """One game under way."""

    def __init__(self, textworld: Any, path: str) -> None:
        infos = textworld.EnvInfos(
            objective=True, admissible_commands=True, score=True, max_score=True, won=True, lost=True
        )
        self.env: Any = textworld.start(path, infos)
        _rename(getattr(self.env, "_entity_infos", {}))
        self.state: Any = self.env.reset()
        self.played: list[str] = []
        self.over = False

    def play(self, command: str) -> None:
        self.played.append(command)
        if not self.over:
            self.state, _, self.over = self.env.step(command)
            self.over = self.over or bool(self.state.won) or bool(self.state.lost)

    def told(self) -> dict[str, Any]:
        state = self.state
        text = _EMPTY_LINES.sub("\n\n", _STATUS_LINE.sub("", str(state.feedback or ""))).strip()
        objective = str(state.objective or "").strip()
        if not self.played and objective:
            # What stands before it is the name of the engine in large letters.
            text = text[text.index(objective) :] if objective in text else objective + "\n\n" + text
        return {
            "text": text,
            "score": state.score or 0,
            "most": state.max_score or 0,
            "won": bool(state.won),
            "lost": bool(state.lost) or (self.over and not state.won),
            "commands": list(state.admissible_commands or ()),
        }


def _rename(infos: Mapping[str, Any]) -> None:
    """Names that people can type for the things of ALFWorld, which are called by their coordinates."""
    seen: dict[str, int] = {}
    for name in sorted(infos):
        found = _PLACE.match(name)
        if found:
            kind = found.group("kind").lower()
            seen[kind] = seen.get(kind, 0) + 1
            infos[name].name = f"{kind} {seen[kind]}"


def main() -> None:
    # Engines write to standard output what they please.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        textworld: Any = importlib.import_module("textworld")
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers, flush=True)
        return
    print(json.dumps({"ready": textworld.__version__}), file=answers, flush=True)
    sessions: OrderedDict[tuple[str, int], _Session] = OrderedDict()
    begun = 0
    for line in sys.stdin:
        request: Any = json.loads(line)
        key = (request["game"], request["session"])
        try:
            session = sessions.pop(key, None)
            commands = request["commands"]
            if session is None or session.played != commands[: len(session.played)]:
                session, begun = _Session(textworld, request["game"]), begun + 1
            for command in commands[len(session.played) :]:
                session.play(command)
            sessions[key] = session
            while len(sessions) > MOST_SESSIONS:
                sessions.popitem(last=False)[1].env.close()
            answer = {**session.told(), "tired": begun >= MOST_BEGUN}
        except Exception as error:  # noqa: BLE001 - the boundary: whatever an engine raises is its failure
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
