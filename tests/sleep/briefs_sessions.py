"""Sessions of a user who asks an agent for briefs and complains of the same gap each time, and checks of the gaps.

All answers are those of the simulated target. Times are UTC.
"""

import json
import random
import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from etude.records import ChatRequest, system, user
from etude.simulation import respond
from etude.simulation.families.briefs import BRAIN_FIRST, OPENINGS, STRUCTURE, TOPICS, VERBOSE, VERDICT

GAPS = (STRUCTURE, VERBOSE, BRAIN_FIRST, VERDICT)
"""Rules that a reply lacks something without."""
GAP_NAMES = tuple(rule.id.partition(".")[2] for rule in GAPS)
"""structure, verbose, brain-first, verdict."""
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

_COMPLAINTS: dict[str, tuple[str, ...]] = {
    "structure": (
        "Where are the risks? Please add a section 'Key Risks' and how confident you are: high, medium or low.",
        "You forgot the key risks again. I need them under a heading of their own.",
        "No risks mentioned. There should be a 'Key Risks' heading with at least one bullet.",
    ),
    "verbose": (
        "Too long. Please keep it under 800 characters.",
        "This is far too long, nobody reads that. Cut it down.",
        "You ramble. Say it in at most 800 characters.",
    ),
    "brain-first": (
        "Cite your sources, please. Did you search our notes at all?",
        "Where does this come from? Search first and cite what you find.",
        "There is no citation in it. Please look it up and cite a source.",
    ),
    "verdict": (
        "So what do you recommend? I need a line 'Recommendation:' with a reason.",
        "And what should we do? Please give a recommendation.",
        "No recommendation in it. I want a clear one, with your reason.",
    ),
}
_THANKS = ("Thanks, that is what I need.", "Great, thank you.", "Perfect, thanks.")


class Turn(NamedTuple):
    """One request for a brief, and what came of it."""

    prompt: str
    answer: str
    """With the gap."""
    feedback: str
    """The user complains of the gap."""
    mended: str
    """The next answer, without the gap."""
    thanks: str


def sessions(gap: str, seed: int, n: int) -> list[Turn]:
    """`n` requests on different topics, each for a session of its own. The same arguments give the same ones."""
    rule = GAPS[GAP_NAMES.index(gap)]
    rng = random.Random(f"{gap}/{seed}")
    turns: list[Turn] = []
    for topic in rng.sample(TOPICS, n):
        prompt = rng.choice(OPENINGS).format(topic)
        complaint, thanks = rng.choice(_COMPLAINTS[gap]), rng.choice(_THANKS)
        turns.append(Turn(prompt, _said(prompt, ""), complaint, _said(prompt, rule.statements[0]), thanks))
    return turns


def _said(prompt: str, skill: str) -> str:
    return respond("target", ChatRequest(messages=(system(skill), user(prompt)))).text


def training_checks(gap: str) -> list[JsonValue]:
    """Checks as a hurried person writes them: labels and lengths."""
    checks: dict[str, list[JsonValue]] = {
        "structure": [
            {"op": "section_present", "arg": "Key Risks"},
            {"op": "regex", "arg": r"[Cc]onfidence\s*[:=]", "requirement": "states its confidence"},
        ],
        "verbose": [{"op": "max_chars", "arg": 1200}],
        "brain-first": [{"op": "min_citations", "arg": 1}],
        "verdict": [
            {"op": "regex", "arg": r"[Rr]ecommendation\s*[:=]", "requirement": "has a line 'Recommendation:'"},
            {"op": "regex", "arg": r"[Cc]onfidence\s*[:=]", "requirement": "states its confidence"},
        ],
    }
    return checks[gap]


def strict_checks(gap: str) -> list[JsonValue]:
    """Checks of the same gap that an answer without content does not pass."""
    level: JsonValue = {"op": "regex", "arg": r"[Cc]onfidence\s*[:=]\s*(?:high|medium|low)"}
    checks: dict[str, list[JsonValue]] = {
        "structure": [
            {"op": "regex", "arg": r"^#{1,6} +[Kk]ey [Rr]isks?[^\n]*\n+\s*[-*] .{15,}", "multiline": True},
            level,
        ],
        "verbose": [{"op": "max_chars", "arg": 900}, {"op": "min_chars", "arg": 200}],
        "brain-first": [{"op": "tool_called", "arg": "search"}, {"op": "min_citations", "arg": 1}],
        "verdict": [{"op": "regex", "arg": r"^[Rr]ecommendation[ \t]*[:=][ \t]*.{10,}", "multiline": True}, level],
    }
    return checks[gap]


def write_claude(
    home: Path,
    turns: Sequence[Turn],
    project: str = "/home/user/briefs",
    start: datetime = START,
    before: Sequence[tuple[str, str]] = (),
) -> list[Path]:
    """Write each turn as a session of Claude Code below `home/.claude/projects`, a day after the one before.

    Args:
        before: (prompt, answer) of other requests with which every session begins.
    """
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", project)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for number, turn in enumerate(turns):
        said = [*before, (turn.prompt, turn.answer), (turn.feedback, turn.mended), (turn.thanks, "Glad to help.")]
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{project}/{start.isoformat()}/{number}/{turn.prompt}"))
        lines = _claude_records(said, name, project, start + timedelta(days=number))
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        paths.append(path)
    return paths


def _claude_records(
    said: Sequence[tuple[str, str]], session: str, project: str, at: datetime
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    parent: str | None = None
    for number, (prompt, answer) in enumerate(said):
        for role, text in (("user", prompt), ("assistant", answer)):
            at += timedelta(seconds=40)
            own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session}/{number}/{role}"))
            message: dict[str, Any] = {"role": role, "content": text}
            if role == "assistant":
                message = {
                    "id": f"msg_{own[:8]}",
                    "type": "message",
                    "role": role,
                    "model": "claude-sonnet-4-5",
                    "content": [{"type": "text", "text": text}],
                    "stop_reason": "end_turn",
                }
            records.append(
                {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "type": role,
                    "message": message,
                    "uuid": own,
                    "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                    "userType": "external",
                    "entrypoint": "cli",
                    "cwd": project,
                    "sessionId": session,
                    "version": "2.1.328",
                    "gitBranch": "HEAD",
                }
            )
            parent = own
    return records
