"""What a user's words say about the answer before them: clause by clause, in English.

Made to be right where it answers rather than to answer often. A clause counts when it speaks of the answer (`it still
fails`, `you forgot ...`, `that's not what I asked`), not when a word of praise or blame merely occurs in it.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

__all__ = ["opinion"]

_LONGEST = 2_000
"""Characters of a prompt that are looked at: what a user thinks of an answer stands in front."""

_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE)
_CLAUSE = re.compile(r"([^.!?;,:\n()]*)([.!?;,:\n()]|\Z)")
_SIGNS = re.compile(r"[^\w\s'-]|(?<!\w)[-'_]+|[-'_]+(?!\w)")
_FILLERS = re.compile(
    r"(?:(?:but|and|hmm+|ok|okay|well|sorry|unfortunately|however|now|actually|so|yes|yeah|yep|oh|ah|ugh|hey|hi|please"
    r"|again|because|since|i think|i guess|i'm afraid|it seems|it looks like|looks like|seems like)\b[ -]*)*"
)
_CONDITION = re.compile(r"(?:if|when|whenever|unless|in case|what if|suppose|make sure|ensure|so that|until|where)\b")
_QUESTION = re.compile(
    r"(?:does|do|did|is|are|was|were|has|have|can|could|would|will|should|how|what|which|when|who|where|may|might)\b"
)
_CONTRAST = re.compile(r"\b(?:but|however|except|although|though|yet)\b")
_ADDITION = re.compile(
    r"(?:but )?(?:(?:can|could|would|will) you (?:also|now|please also)|also|now|next|one more|let's|let us)\b"
)

_THING = (
    r"(?:it|that|this|these|those|they|which|what you (?:did|wrote|made|gave me)"
    r"|(?:the|your|this|that|my) (?:last |new |first |second |same )?"
    r"(?:answer|output|result|results|code|fix|change|changes|patch|solution|test|tests|build|script|function|command"
    r"|file|version|update|response|suggestion|one|error|problem|bug|issue))"
)
_NOT = r"(?:n't|nt| not| never)"
_GOOD = (
    r"(?:correct|right|working|fixed|good|good enough|great|true|done|complete|enough|what i \w+|how i \w+"
    r"|quite|really|it|accurate|valid|helpful|solved|resolved|finished|acceptable|ok|okay|there yet|the same|exactly)"
)
_BAD = (
    r"(?:wrong|incorrect|broken|bad|worse|useless|backwards|a mistake|incomplete|inaccurate|invalid|failing|crashing"
    r"|missing|off|way off|the wrong \w+|unacceptable|nonsense|false|terrible|awful|a hallucination|made up)"
)
_IS = (
    r"(?:'s|'re| is| are| was| were| looks?| seems?| feels?| sounds?)"
    r"(?: still| also| just| completely| totally| all| even)*"
)
_DOES = (
    r"(?:work|compile|build|run|pass|help|fix|match|exist|look|do|make|change|handle|solve|seem|answer|parse|include"
    r"|show|start|load|render|use|follow|update|return)"
)
_WHO = (
    r"(?:it|that|this|they|which|the \w+|there|i|we|i'm|we're|it's|that's|they're|tests?|why (?:is|does|do|are) \w+)"
)
_REMAINS = (
    r"(?:fail|broken|wrong|not\b|no\b|does|do|is|are|has|have|error|crash|get|see|the same|happen|missing|there"
    r"|can't|cannot|can not|won't|a problem|an error|incorrect|doesn|isn|didn)"
)
_FAULT = (
    r"(?:broke|forgot|missed|misunderstood|misread|ignored|skipped|overlooked|left out|removed|deleted|lost|lied"
    r"|made (?:a|an|the same|another) (?:mistake|error)|got (?:it|that|this) wrong|should have|shouldn't have"
    r"|should not have|weren't|were not|changed the wrong|keep|kept|failed)"
)
_FAILS = r"(?:fails?|failed|crashes|crashed|breaks|broke|hangs|errors)"
# What may follow where other words would make it a request: `the tests fail on Windows` is what is to be mended.
_NOW = (
    r"(?: (?:now|again|still|too|here|anymore|any more|at all|for me|as (?:before|above|last time|well)|every time))*"
    r"(?: (?:when|whenever|after|even|despite|because|since)\b.*)?"
)
_CHOSE = (
    r"(?:choos\w+|pick\w*|select\w*|us(?:e|ing)|prefer\w*|go(?:ing)? (?:with|for)|decid\w+|recommend\w*|suggest\w*)"
)
_WHICH = r"(?:(?:an?|the|another|a new|this|that) )?(?:same )?"
_FAILURE = r"(?:error|exception|failure|crash|traceback|warning)s?"
_DONE = r"(?:that|this|it|your|those|these|the last|the change|what you|everything)"

_NEGATIVE = (
    r"(?:no|nope|nah)",
    r"no (?:that|this|it|you|i|not|don't|do not|stop|the|wrong)\b.*",
    r"(?:not|wrong|incorrect|never|stop|wait)",
    r"wrong (?!way to\b)\w+.*",
    r"incorrect\b.*",
    rf"(?:that|this|it)?(?:'s| is)? ?not {_GOOD}\b.*",
    rf"{_THING}{_IS}? (?:not|never) {_GOOD}\b.*",
    rf"{_THING} (?:is|are|was|were|does|do|did|has|have|could|would)(?:n't|nt) {_GOOD}\b.*",
    rf"{_THING}{_IS} {_BAD}\b.*",
    rf"{_THING} (?:still |just )?(?:do|does|did){_NOT} (?:\w+ )?{_DOES}\b.*",
    rf"(?:still |just )?(?:does|did){_NOT} (?:\w+ )?{_DOES}\b.*",
    rf"(?:it|that|this|these|those|they|which|your \w+) {_FAILS}\b.*",
    rf"{_THING} {_FAILS}{_NOW}",
    rf"(?:{_WHO}(?: is| are| am| do| does|'s|'re)? )?still {_REMAINS}.*",
    rf"(?:i'm|i am|i|we|now i|now we) (?:still )?(?:get|got|getting|see|seeing) {_WHICH}(?:\w+ )?{_FAILURE}\b.*",
    rf"(?:the )?same (?:error|problem|issue|exception|failure|result|mistake|thing){_NOW}",
    rf"(?:nothing|not much) (?:changed|happened|happens|works){_NOW}",
    rf"no (?:change|effect|difference|luck|longer works?){_NOW}",
    r"(?:it|that|this) no longer works?\b.*",
    rf"you {_FAULT}\b.*",
    r"you (?:did|have|do|are|were|had|has|could)(?:n't| not) .*",
    r"i (?:already )?(?:said|told you|meant(?! to (?:ask|say|add|mention)\b)|specifically|explicitly)\b.*",
    r"i asked (?:you )?(?:for|to|not)\b.*",
    r"i (?:did|do)(?:n't| not) (?:ask|mean|want|say|like|need) .*",
    r"i never (?:asked|said|wanted|told)\b.*",
    r"(?:that's |this is |that is )?not what .*",
    rf"(?:undo|revert|roll back|rollback) {_DONE}\b.*",
    r"(?:undo|revert)",
    r"(?:put|change|bring) (?:it|that|this) back\b.*",
    rf"why (?:did|didn't|are|have|would) you (?!{_CHOSE}\b).*",
    r"try (?:it )?(?:again|harder|once more)\b.*",
    r"do it (?:again|over)\b.*",
    r"don't (?:do that|change that|touch|guess)\b.*",
)

_THANKS = r"(?:thanks|thank you|thx|ty|cheers|many thanks|thanks a lot|thank you so much|thank you very much)"
_FOR = r"(?:for|that|this|it|so|very|a lot|again|now|you|claude|codex|and|works|helps|everything|all|man|mate)"
_PRAISE = (
    r"(?:perfect|great|excellent|awesome|amazing|brilliant|fantastic|wonderful|lovely|nice|cool|superb|beautiful)"
)
_PRAISED = r"(?:work|job|stuff|one|thanks|thank|now|and|answer|solution|find|catch|idea|that|this|it|let's|can you)"
_YOU_ARE = r"(?:that's|that is|this is|it's|it is|you're|you are)"

_POSITIVE = (
    rf"{_THANKS}",
    rf"{_THANKS} {_FOR}\b.*",
    rf"(?:that's |that is |this is |it's |very |really |all |absolutely )?{_PRAISE}",
    rf"{_PRAISE} {_PRAISED}\b.*",
    r"(?:very )?(?:good|well) (?:job|work|done|catch|point|stuff|one)\b.*",
    r"love it\b.*",
    r"lgtm",
    r"(?:that |this |it )?looks? (?:good|great|perfect|right|correct|fine|nice)\b.*",
    r"(?:it|that|this|everything|all)(?: all| now)? works?(?: now| great| fine| perfectly| well| for me)*",
    r"works(?: now| great| fine| perfectly| well| for me| like a charm)*",
    r"(?:that|this|it) (?:worked|did it|did the trick|fixed it|solved it|helped|helps)\b.*",
    rf"(?:{_YOU_ARE} )?(?:(?:now|exactly|absolutely) )?(?:correct|right|fixed|solved|spot on)(?: now)?",
    r"(?:all |the )*tests? (?:are |is )?(?:now )?(?:pass|passes|passing|green)(?: now)?",
    r"(?:that's |this is )?exactly (?:what|how|right|it)\b.*",
    r"(?:that's |this is |it's )?much better\b.*",
    r"no (?:more )?(?:errors|issues)(?: now| anymore| any more)?",
)
_NEGATIVES = re.compile("|".join(f"(?:{pattern})" for pattern in _NEGATIVE))
_POSITIVES = re.compile("|".join(f"(?:{pattern})" for pattern in _POSITIVE))


class _Clause(NamedTuple):
    text: str
    asks: bool
    """It ends with a question mark."""
    first: bool


def opinion(prompt: str) -> Literal["negative", "positive"] | None:
    """Whether a prompt finds fault with the answer before it, or praises it; None when it says neither, or both
    without finding fault (`thanks, but can you also ...`)."""
    praised = limited = False
    for clause in _clauses(prompt):
        verdict = _verdict(clause)
        if verdict == "negative":
            return "negative"
        contrasts = praised and _CONTRAST.match(clause.text) is not None
        if contrasts and not limited:
            if not (_ADDITION.match(clause.text) or clause.asks):
                return "negative"
            limited = True
        praised = praised or verdict == "positive"
    return "positive" if praised and not limited else None


def _clauses(prompt: str) -> Iterator[_Clause]:
    """Clauses in lower case with plain apostrophes, without code, quotations and what is quoted from above."""
    said = _NOT_SAID.sub(" ", prompt[:_LONGEST].replace("’", "'")).lower()
    first = True
    for match in _CLAUSE.finditer(said):
        text, end = match[1], match[2]
        for index, part in enumerate(_split_contrast(text)):
            words = " ".join(_SIGNS.sub(" ", part).split())
            if words:
                yield _Clause(words, end == "?", first and index == 0)
                first = False


def _split_contrast(text: str) -> Iterator[str]:
    start = 0
    for match in _CONTRAST.finditer(text):
        if text[start : match.start()].strip():
            yield text[start : match.start()]
            start = match.start()
    yield text[start:]


def _verdict(clause: _Clause) -> Literal["negative", "positive"] | None:
    fillers = _FILLERS.match(clause.text)
    text = clause.text[fillers.end() :] if fillers else clause.text
    if not text or _CONDITION.match(text) or (clause.asks and _QUESTION.match(text)):
        return None
    if _NEGATIVES.fullmatch(text) and (clause.first or text not in _OPENERS):
        return "negative"
    return "positive" if not clause.asks and _POSITIVES.fullmatch(text) else None


_OPENERS = ("no", "nope", "nah", "not", "never", "stop", "wait")
"""Answers by themselves only where a prompt begins with them."""
