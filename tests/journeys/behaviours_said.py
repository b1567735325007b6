"""What a model says, how its reply ends, and where the text of the reply stands."""

from misbehaving import Answer, Asked, Behaviour, saying, writing
from trained_against import Row, right, stops, told


def thinking(before: str, after: str) -> Behaviour:
    """Both models think aloud, with a draft of what they will say: one that would be read otherwise."""

    def said(asked: Asked) -> Answer:
        draft = "<answer>1</answer>" if asked.role == "target" else '{"edits": [], "reasoning": "draft"}'
        return asked.answer(text=f"{before}A draft: {draft}.{after}{asked.reply.text}")

    return said


def ending(reason: str | None, *, whole: bool = False) -> Behaviour:
    """How both replies end, in the words of Chat Completions; half of the text is missing unless it is `whole`."""

    def ended(asked: Asked) -> Answer:
        data = asked.data()
        choice = data["choices"][0]
        text = choice["message"]["content"]
        choice["message"]["content"] = text if whole else text[: len(text) // 2]
        choice["finish_reason"] = reason
        return Answer(data)

    return ended


SOON = {"limits": {"outage_seconds": 0.4}}
"""How long a dead endpoint is tried."""
CUT = r"cut off.*max_output_tokens"

_THOUGHTS = [Row("thoughts before the reply", thinking("<think>", "</think>\n\n"), right())]
_EDITS = [
    Row(
        "never an object",
        saying(lambda text: "I would add a rule.", "optimizer"),
        told("no JSON object", "optimizer.structured"),
    )
]
_ENDINGS = [
    Row("every reply ends in an error", ending("error"), stops("target.*error"), SOON),
    Row(
        "an optimizer that is cut off each time",
        saying(lambda text: text[: len(text) // 2], "optimizer", finish="length"),
        told(rf"optimizer.*{CUT}"),
    ),
]
_PLACES = [
    Row("content is null", writing(lambda data: data["choices"][0]["message"].update(content=None)), told("empty"))
]
ROWS = [*_THOUGHTS, *_EDITS, *_ENDINGS, *_PLACES]
