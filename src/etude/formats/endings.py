"""How replies end, in the words of many servers."""

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from etude.errors import TransientError
from etude.records import Usage

Ending = Literal["stop", "length", "refusal"]

LONGEST = 80
"""Characters of an ending that is told."""

_WORDS: Mapping[Ending, str] = {
    # Refused, by the model or by a filter; `language` and `other` are Gemini's.
    "refusal": """
        filter filtered refusal refused sensitive safety recitation blocklist blocked blacklist prohibited spii armor
        guardrail policy moderation flagged language other
    """,
    # Cut off: by a limit of tokens, by the end of the context, or because the model went round in circles.
    "length": "length len max maximum limit context continuation repetition truncated truncation capped",
    # By itself: also with a call that the model spoiled (Gemini), where the server did its part.
    "stop": """
        stop stopped tool tools call calls use function end pause completed complete done finish finished normal
        success eos eot eom endoftext malformed
    """,
}
"""What happened, by the words in names of it."""
_BESIDE = frozenset(
    re.findall(
        r"\w+",
        "reached exceeded token tokens id ids turn sequence string str text word words found matched of by too many "
        "new output completion model window predicted before content prompt violation intervened image response",
    )
)
"""Words that may stand beside these. A name with any other, as `time_limit` and `function_error`, is not known."""
_WHOLE: Mapping[str, Ending] = {"error_limit": "length", "error_toxic": "refusal", "unexpected_tool_call": "stop"}
"""Names, of Cohere and Gemini, whose words do not say what happened."""
_NOTHING = frozenset({"", "null", "none", "unspecified"})
"""Ways to write that there is no word yet."""
_MEANT = frozenset(word for words in _WORDS.values() for word in words.split())


def ending_of(reason: object, usage: Usage) -> Ending:
    """What a server's word for the end of a reply means; none at all is an end by itself. Raises TransientError, with
    the `usage` that is billed all the same: the word is not known as a good end, so the reply is a broken one."""
    if not has_ended(reason):
        return "stop"
    if ending := known_ending(reason):
        return ending
    said = " ".join(str(reason).split())[:LONGEST]
    raise TransientError(f"the server broke the reply off: it ended with {said!r}", usage=usage)


def known_ending(reason: object) -> Ending | None:
    """What a name for the end means; None where it is not known. Of several things that happened, the worst."""
    name = _word(reason)
    words = set(name.split("_"))
    if name in _WHOLE or not words <= _BESIDE | _MEANT:
        return _WHOLE.get(name)
    return next((ending for ending in _WORDS if not words.isdisjoint(_WORDS[ending].split())), None)


def has_ended(reason: object) -> bool:
    """Whether there is a word for the end: a stream that has none was broken off."""
    return bool(reason) and _word(reason) not in _NOTHING


def later_ending(before: object, reason: object) -> object:
    """How a stream ended that has told an end before: what is said of a plain end does not take back another one."""
    plain = has_ended(before) and known_ending(reason) == "stop"
    return before if plain or not has_ended(reason) else reason


def _word(reason: object) -> str:
    """The word as listed: servers write `MAX_TOKENS`, `maxTokens`, `FinishReason.STOP` and `FINISH_REASON_STOP`. Some
    have more behind it, as in `content_filter: SAFETY`, or an object with a `type`."""
    said = cast(dict[str, Any], reason).get("type", reason) if isinstance(reason, dict) else reason
    word = str(said).partition(":")[0]
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word.strip().rpartition(".")[2])
    return re.sub(r"^(?:finish_)?(?:(?:stop_)?reason_)?", "", re.sub(r"[\s_-]+", "_", word).lower())
