"""Transcripts lose their secrets before anything of them is stored or sent."""

import json
from collections import Counter
from typing import cast

from pydantic import JsonValue

from etude.readable import cut_middle
from etude.redaction.redactor import Redactor
from etude.sleep.transcripts.sessions import Session, ToolUse, Turn

LONG_TEXT = 8_000
"""Characters. What goes into a tool or comes out of it is cut to about as many once it has no secrets."""
LONG_PROMPT = 64_000
"""Characters. What a user or an agent says is cut to about as many before secrets are looked for, to save time."""


def redacted(session: Session, redactor: Redactor) -> tuple[Session, Counter[str]]:
    """The session without secrets, and how many were taken out by kind, never which. `source`, `id` and the times
    stay, all other texts pass the redactor (`Redactor.for_transcripts`). Long ones are cut in the middle."""
    counts = Counter[str]()

    def clean(text: str) -> str:
        # Halves of surrogate pairs, which may stand behind escapes, can be neither stored nor sent.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        kept, found = redactor.redact_counted(whole)
        counts.update(found)
        return kept

    def clean_data(text: str) -> str:
        # In JSON a secret may stand behind escapes, and the name that gives it away in another field.
        if text.lstrip()[:1] not in ("{", "["):
            return clean(text)
        try:
            value = cast(JsonValue, json.loads(text))
            kept, found = redactor.redact_value_counted(value)
        except (ValueError, RecursionError):
            return clean(text)
        counts.update(found)
        # As text too: data has numbers that are secrets, and lacks what a second field of the same name hides.
        return clean(json.dumps(kept, ensure_ascii=False) if found else text)

    def clean_tool(tool: ToolUse) -> ToolUse:
        return ToolUse(
            name=clean(tool.name),
            arguments=cut_middle(clean_data(tool.arguments), LONG_TEXT),
            result=cut_middle(clean_data(tool.result), LONG_TEXT),
            failed=tool.failed,
        )

    def clean_turn(turn: Turn) -> Turn:
        tools = tuple(clean_tool(tool) for tool in turn.tools)
        prompt, answer = (clean(cut_middle(said, LONG_PROMPT)) for said in (turn.prompt, turn.answer))
        return turn.model_copy(update={"prompt": prompt, "answer": answer, "tools": tools})

    without = session.model_copy(
        update={
            "project": clean(session.project),
            "turns": tuple(clean_turn(turn) for turn in session.turns),
            "skills": tuple(clean(skill) for skill in session.skills),
        }
    )
    return without, counts
