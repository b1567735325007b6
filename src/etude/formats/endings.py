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
    # By itself: the words of the four formats, of other servers behind them (TGI, Together, Cohere, watsonx, ERNIE),
    # and calls that the model spoiled (Gemini): the server did its part.
    "stop": """
        stop stopped tool_calls tool_call tool_use function_call
        end_turn stop_sequence pause_turn
        completed
        malformed_function_call malformed_tool_use malformed_model_output malformed_response
        unexpected_tool_call too_many_tool_calls
        eos eos_token eos_token_id eos_found eot eom end end_of_text endoftext end_of_turn end_of_sequence
        stop_word stop_token stop_before end_token stop_string_found
        complete done finish finished normal success
    """,
    # Cut off: by a limit of tokens, by the end of the context, or because the model went round in circles.
    "length": """
        length max_length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_tool_calls
        token_limit limit maximum_tokens max_predicted_tokens_reached
        model_length max_len max_context context context_length_reached context_length_exceeded
        model_context_window_exceeded error_limit continuation repetition
    """,
    # Refused, by the model or by a filter; `other` is Gemini's word for reasons that it does not tell.
    "refusal": """
        content_filter content_filtered refusal refused sensitive safety recitation language blocklist blocked
        blacklist prohibited_content spii image_safety image_prohibited_content image_recitation
        model_armor guardrail_intervened error_toxic other
    """,
}
_NOTHING = frozenset({"", "null", "none", "unspecified"})
"""Ways to write that there is no word yet."""
_ENDINGS: Mapping[str, Ending] = {word: ending for ending, words in _WORDS.items() for word in words.split()}


def ending_of(reason: object, usage: Usage) -> Ending:
    """What a server's word for the end of a reply means; none at all is an end by itself. Raises TransientError, with
    the `usage` that is billed all the same: the word is not known as a good end, so the reply is a broken one."""
    if not has_ended(reason):
        return "stop"
    if (word := _word(reason)) in _ENDINGS:
        return _ENDINGS[word]
    said = " ".join(str(reason).split())[:LONGEST]
    raise TransientError(f"the server broke the reply off: it ended with {said!r}", usage=usage)


def has_ended(reason: object) -> bool:
    """Whether there is a word for the end: a stream that has none was broken off."""
    return bool(reason) and _word(reason) not in _NOTHING


def later_ending(before: object, reason: object) -> object:
    """How a stream ended that has told an end before: what is said of a plain end does not take back another one."""
    plain = has_ended(before) and _ENDINGS.get(_word(reason)) == "stop"
    return before if plain or not has_ended(reason) else reason


def _word(reason: object) -> str:
    """The word as listed: servers write `MAX_TOKENS`, `maxTokens`, `FinishReason.STOP` and `FINISH_REASON_STOP`. Some
    have more behind it, as in `content_filter: SAFETY`, or an object with a `type`."""
    said = cast(dict[str, Any], reason).get("type", reason) if isinstance(reason, dict) else reason
    word = str(said).partition(":")[0]
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word.strip().rpartition(".")[2])
    return re.sub(r"^(?:finish_)?(?:(?:stop_)?reason_)?", "", re.sub(r"[\s_-]+", "_", word).lower())
