"""How an answer names a label.

Repetitions are bounded: an answer may be any text, and must not make its reading slow.
"""

import re

_LABEL = r"[(\[]?(?<![\w'\u2019])(?P<label>[A-Za-z])(?![\w'\u2019]|\.\w|-\w)[)\]]?"
_NOUN = (
    r"(?:(?:(?:the|la|die|a|o)\s)?(?:(?:option|opci[o\u00f3]n|op\u00e7\u00e3o|choice|letter|lett(?:re|era)|letra|answer)\s{0,2}"
    r"[:#]?\s{0,2})?)?"
)
_SURELY = r"(?:(?:clearly|indeed|therefore|thus|definitely|most\slikely|probably|then|also)\s)?"
_IS = r"(?:is|ist|lautet|est|es|\u00e8|\u00e9|would\sbe|should\sbe|must\sbe|has\sto\sbe|will\sbe)"
_IS_ASIAN = r"[\u662f\u4e3a\u70ba\u306f\uc740\ub294]"
_ANSWER_IS = (
    r"(?:\b(?:answer|ans|l\u00f6sung|solution|choice|option|letter|correct|antwort|r[e\u00e9]ponse|respuesta|risposta|resposta"
    r"|odpowied\u017a|\u043e\u0442\u0432\u0435\u0442)|\u7b54\u6848|\u9009\u9879|\u6b63\u89e3|\u7b54\u3048|\uc815\ub2f5|\ub2f5)"
    r"(?:\s(?:to|for|of|here)\b[^.\n:]{0,40}?|\scor+[a-z]{2,6}\b)?"
    rf"(?:\s{{0,3}}(?:(?<!\w){_IS}(?!\w)|['\u2019]s\b|(?<=\w){_IS_ASIAN}|:|=>?|->|[\u2192\u21d2\u2013\u2014-])){{1,3}}"
    rf"\s{{0,3}}{_SURELY}(?:not\s[(]?[A-Z][)]?,?\s(?:but|rather)\s)?{_NOUN}{_LABEL}"
)
_IS_CORRECT = (
    rf"{_LABEL}(?:\s?\([^()\n]{{1,80}}\))?\s{{1,3}}(?:seems(?:\sto\sbe)?|looks|was|were|{_IS})\s(?:(?:indeed|clearly|also|the|a|(?<!was\s)my|final|only)\s){{0,3}}"
    r"(?:correct|right|best|true|proper|answer|most\s(?:likely|accurate|appropriate|suitable|plausible))\b(?!\s?\?)"
)
STATED = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        _ANSWER_IS,
        rf"\b(?:choos(?:e|ing)|chose|select(?:ing)?|pick(?:ing)?|go(?:ing)?\swith|opt\sfor|say|guess(?:\sis)?)(?::|(?<!say),)?\s{{1,3}}{_NOUN}{_LABEL}",
        rf"\bi\swent\swith\s{_NOUN}{_LABEL}(?![^.;!?\n]{{0,60}}\bbut\b)",
        rf"(?<![\u4e0d\u522b])[\u9009\u9078]\u62e9?\s?:?\s?{_LABEL}",
        rf"\b(?:(?:it|that|this)\s{_IS}|it's|so|thus|hence|therefore|i\sthink)[,:]?\s{_SURELY}{_NOUN}{_LABEL}(?=\W{{0,5}}$|,?\s(?:because|since)\b)",
        _IS_CORRECT,
        rf"\b(?:it|that|this|answer)\scan\sonly\sbe\s{_NOUN}{_LABEL}(?!\s(?:if|when)\b)",
        rf"(?:^|(?<=[.;:!?]\s)|(?<=\bonly\s)|(?<=\bso\s)){_NOUN}{_LABEL}\s(?:remains|is\sleft)(?=\W*$)",
    )
)
NAMED = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (rf"(?:\b(?:answer|option|choice|letter)\s{{0,2}}|\u9009\u9879\s?){_LABEL}", re.IGNORECASE),
        (r"\((?P<label>[A-Z])\)", 0),
    )
)
LABELLED = re.compile(
    rf"^[^\w\n]*(?P<words>[^\W\d_][^\n:.;!?]{{0,30}}):\W{{0,4}}{_NOUN}{_LABEL}[^\w\n]*$", re.MULTILINE | re.IGNORECASE
)
CONCLUDES = re.compile(
    r"\b(?:verdict|decision|conclusion|select|solution|result|response|output|judge?ment)", re.IGNORECASE
)
LETTER = re.compile(r"(?<![\w'\u2019])(?P<label>[A-Z])(?![\w'\u2019])")
LEFT_ASIDE = re.compile(rf"\b(?:not|instead\sof|rather\sthan)\s{_NOUN}[(]?{LETTER.pattern}", re.IGNORECASE)
SAYS_NOTHING = re.compile(
    r"(?!is\b)(?:[\W\d]|\b(?:i|answer|i'd|i'll|i'm|it'?s|that'd|that's|am|as|be|because|best|but|certainly|choice|choose|chosen"
    r"|clearly|correct|definitely|evidently|final|fits|for|go|going|guess|have|here|is|it|just|letter|likely|matches|maybe|most|must"
    r"|my|obviously|of|one|only|option|perhaps|pick|probably|right|select|should|so|sure|surely|that|the|therefore|think|this"
    r"|thus|true|we|will|with|would)\b)*",
    re.IGNORECASE,
)
ALONE = re.compile(r"\W*(?P<said>(?:\w+ )?answer\W+)?(?P<label>[A-Za-z])\W*", re.IGNORECASE)
AT_START = re.compile(
    r"\W{0,4}?(?:\((?P<round>[A-Za-z])\)|\[(?P<square>[A-Za-z])\]|(?P<bare>[A-Za-z])(?P<mark>[).:]|,(?=\s(?:because|since)\b)))(?=\s|$)"
)
FIRST_LINE = re.compile(r"\W{0,4}(?P<label>(?![AaIi]\s*\n[a-z])[A-Za-z])[^\S\n]*\n")
