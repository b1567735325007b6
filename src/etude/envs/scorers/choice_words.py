"""How an answer names a label, and what the clause around it makes of it: denied, only supposed, or not the only one.

Repetitions are bounded: an answer may be any text, and must not make its reading slow.
"""

import re

from etude.envs.scorers.words import ALSO, AND, ANSWER, IS, NOT, OR, RIGHT

_LABEL = r"[(\[]?(?<![\w'’])(?P<label>[A-Za-z])(?![\w'’]|\.\w|-\w)[)\]]?"
_OPTION = r"(?:\b(?:option|opción|opção|choice|letter|lettre|lettera|letra)\b|选项)"
_NOUN = rf"(?:(?:the|la|die|a|o|η)\s)?(?:(?:{_OPTION}|\banswer)\s{{0,2}}[:#]?\s{{0,2}})?"
_SURELY = r"(?:(?:clearly|indeed|therefore|thus|definitely|most\slikely|probably|then|also)\s)?"
_IS = rf"(?:{IS}|\b(?:would|should|must|will|has\sto)\sbe\b)"
_SAYS = rf"(?:{_IS}|['’]s\b|:|=>?|->|(?<=\bans)[.)]|[】→⇒–—-])"
_ANSWER_IS = (
    rf"(?:{ANSWER}|{_OPTION}|{RIGHT})"
    rf"(?:\s(?:to|for|of|here)\b[^.\n:]{{0,40}}?|(?:\s(?!{NOT}|{IS})[^\W\d_]{{2,12}}\b){{1,2}}?)?"
    rf"(?:\s{{0,3}}{_SAYS}){{1,3}}\s{{0,3}}{_SURELY}(?:not\s[(]?[A-Z][)]?,?\s(?:but|rather)\s)?{_NOUN}{_LABEL}"
)
_IS_RIGHT = (
    rf"(?<!\bangle\s){_LABEL}(?:\s?\((?!{OR}|{AND})[^()\n]{{1,80}}\)|\s?[选選]?[项項])?"
    rf"\s{{0,3}}(?:{_IS}|\b(?:seems(?:\sto\sbe)?|looks|was|were)\b|(?=正))"
    r"\s{0,3}(?:(?:indeed|clearly|also|the|a|la|il|o|(?<!was\s)my|final|only)\s){0,3}"
    rf"(?:{RIGHT}|\b(?:best|proper|answer|most\s(?:likely|accurate|appropriate|suitable|plausible))\b)"
    r"(?!-|\s(?:of|angle|triangle|next|above|below|before|after)\b|\s?[?吗嗎与性率])"
)
_CHOOSE = r"(?:choos(?:e|ing)|chose|select(?:ing)?|pick(?:ing)?|go(?:ing)?\swith|opt\sfor|say|guess(?:\sis)?)"
_CONCLUDES = (
    r"(?:verdict|decision|conclusion|select\w*|solution|results?|response|output|judge?ment|final|chosen|correct\sone"
    r"|most\slikely|prediction|recommendation|label|classification|vote|therefore|ergebnis|fazit)"
)
_SO = rf"(?:it|that|this)\s{_IS}|it's|so|thus|hence|therefore|i\sthink"
STATED = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        _ANSWER_IS,
        _IS_RIGHT,
        rf"\b{_CHOOSE}(?::|(?<!say),)?\s{{1,3}}{_NOUN}{_LABEL}",
        rf"\bi\swent\swith\s{_NOUN}{_LABEL}(?![^.;!?\n]{{0,60}}\bbut\b)",
        rf"(?<![不别])(?<!不[应要该])[选選]择?\s?:?\s?{_LABEL}",
        rf"\b(?:{_SO})[,:]?\s{_SURELY}{_NOUN}{_LABEL}(?=\W{{0,5}}$|,?\s(?:because|since)\b)",
        rf"\bleav(?:es|ing)\s(?:only\s)?{_NOUN}{_LABEL}(?=\W*$)",
        rf"\b(?:it|that|this|answer)\scan\sonly\sbe\s{_NOUN}{_LABEL}(?!\s(?:if|when)\b)",
        rf"(?:^|(?<=[.;:!?]\s)|(?<=\bonly\s)|(?<=\bso\s)){_NOUN}{_LABEL}\s(?:remains|is\sleft)(?=\W*$)",
        rf"^\W{{0,20}}{_LABEL}\W{{0,20}}\Z",
        rf"^[^\w\n]*(?:\w[^\n:.;!?]{{0,30}}\b)?{_CONCLUDES}:\W{{0,4}}{_NOUN}{_LABEL}[^\w\n]*$",
    )
)
"""What says which label is right."""
NAMED = re.compile(rf"(?:{ANSWER}|{_OPTION})\s{{0,2}}{_LABEL}", re.IGNORECASE)
IN_BRACKETS = re.compile(r"\((?P<label>[A-Z])\)")
LETTER = re.compile(r"(?<![\w'’])(?P<label>[A-Z])(?![\w'’])")
FIRST_LINE = re.compile(r"\A\W{0,4}(?P<label>(?![AaIi]\s*\n[a-z])[A-Za-z])[^\S\n]*\n")
AT_START = re.compile(
    r"^\W{0,4}?[(\[]?(?P<label>[A-Za-z])(?:(?<=[(\[].)[)\]]|(?P<mark>[).:])|,(?=\s(?:because|since)\b))(?=\s|$)",
    re.MULTILINE,
)
WORD = re.compile(
    r"[^\S\n]+(?!(?:is|because|since|as|which|with|but|for|or|and|would|fits|not|rather|instead|it|my|remains)\b)"
    r"[A-Za-zÀ-ɏ]{2,}"
)
"""Behind `A` and `I`: they are words."""

LABELLED = re.compile(r"\A[^\w\n]*(?P<words>[^\W\d_]{2}[^\n:.;!?]{0,30}):\W{0,4}")
LEFT_ASIDE = re.compile(rf"\b(?:not|instead\sof|rather\sthan)\s{_NOUN}[(]?{LETTER.pattern}", re.IGNORECASE)
SAYS_NOTHING = re.compile(
    r"(?!is\b)(?:[\W\d]|\b(?:i|answer|i'd|i'll|i'm|it'?s|that'd|that's|am|as|be|because|best|but|certainly|choice"
    r"|choose|chosen|clearly|correct|definitely|evidently|final|fits|for|go|going|guess|have|here|is|it|just|letter"
    r"|likely|matches|maybe|most|must|my|obviously|of|one|only|option|perhaps|pick|probably|right|select|should|so"
    r"|sure|surely|that|the|therefore|think|this|thus|true|we|will|with|would)\b)*",
    re.IGNORECASE,
)

_TO_THE_LABEL = r"(?:(?!\b(?:but|so|and)\b)[^.,;:!?\n]){0,40}\Z"
SUPPOSED_BEFORE = re.compile(
    r"(?:\b(?:if|unless|whether|in\scase|(?:provided|given)\sthat|imagine|supposing|assuming)\b"
    rf"|(?<!\bi\s)\b(?:suppose|assume)\b|\blet['’]?s\s(?:just\s)?say\b){_TO_THE_LABEL}"
    r"|\b(?:if|had)\s(?:you|the\s(?:question|problem))\b[^.;!?\n]{1,100}\bwould\sbe\s(?:[a-z]+\s){0,2}[(\[]?\Z"
    r"|\bif\s(?!i\shad\sto\b)[^.;!?\n]{1,60}\s(?:had|were)\s(?:(?!\b(?:but|so|hence|thus|therefore)\b)[^.;!?\n]){1,80}\Z",
    re.IGNORECASE,
)
SUPPOSED_BEHIND = re.compile(r"[^.;!?\n]{0,80}?\bwould\b[^.;!?\n]{0,60}?\b(?:if|unless)\b(?!\si\b)", re.IGNORECASE)
SUPPOSED_TO = re.compile(r"[.;!?\n](?!\s*then\b)", re.IGNORECASE)
"""Where a supposition ends, with what would follow from it."""
OTHERS = re.compile(
    r"\b(?:(?:people|students|others|some|many|most|they)\s(?:(?:might|may|could|would|will|often|usually|\w{4,}ly)\s){0,2}"
    r"|(?:you|one)\s(?:might|may|could)\s(?:\w+ly\s)?|(?:mistake|error|trap)\s(?:is|was|would\sbe)\sto\s)\Z",
    re.IGNORECASE,
)
"""In front of `choose B`: it is the choice of others."""
TAKEN_BACK = re.compile(
    r"\bwait\b(?=\s*(?:[,.!:…—-]|no\b|$))|\bno,?\swait\b|\bcorrection\s?[:,]|\b(?:scratch|strike)\sthat\b"
    r"|\bon\ssecond\sthought|\btake\s(?:that|it)\sback\b|\b(?:oops|sorry),\s|\bi\smean\b"
    r"|\b(?:no,|(?:actually|rather|make\sthat),?)\s(?:it(?:\sis|['’]s)\s)?[(\[]?(?-i:[A-HJ-Z])(?!\w)",
    re.IGNORECASE,
)
"""What is said behind an answer that is no longer meant."""

DENIED_BEFORE = re.compile(
    rf"(?:{NOT}|\b(?:never|neither|nor|no|cannot|doubt|wrong|incorrect|false|eliminat\w*|exclud\w*|except|almost|nearly"
    r"|tempt\w*|reject\w*|discard\w*|dismiss\w*|rul\w+\sout|rather\sthan|instead\sof|unlike)\b"
    rf"|n['’]t\b){_TO_THE_LABEL}",
    re.IGNORECASE,
)
_WRONG = (
    r"(?:wrong|incorrect|false|untrue|invalid|impossible|excluded|eliminated|dismissed|discarded|rejected|ruled\sout"
    r"|traps?|distractors?)\b"
)
_NOT = (
    rf"(?:{_WRONG}|(?:not(?!\s(?:(?:option|choice|answer)\s)?[(\[]?(?-i:[A-Z])(?!\w))|never|no(?!\sdoubt)|cannot"
    r"|\w+n['’]t|unlikely|out|too|tempting|partly|partially|almost|nearly|hardly|less|fails|contradicts"
    r"|if|unless)\b)"
)
_AT_ONCE = (
    r"(?:(?:\w{2,6}n['’]t|cannot|fails|contradicts|could|might|may|unless|only\s(?:if|when)"
    r"|wrong|excluded|eliminated)\b|\?|是?[不错吗](?!是?\s?(?-i:[A-Z]))|では\s?[なあ]|[가이]\s?아[니닙]"
    r"|değil\b|नहीं)"
)


def _is_denied(wrong: str, at_once: str) -> str:
    return rf"""\W{{0,3}}(?:\([^()\n]{{1,80}}\)\s?|,\s[^.,;:!?\n]{{1,40}},\s)?(?:
        (?:is|was|are|were|seems|looks|appears|would|should|must|can|has|had|does|did)\s
            (?:(?!\b(?:because|since|as|while|whereas|and|so|than|the\sonly)\b)[^.,;:!?\n]){{0,60}}?\b{wrong}
        |{at_once}
    )
    |[^.,;:!?\n]{{0,60}}?,?\s(?:but|yet)\s(?:(?:it|that|this|is|was|seems|still|actually|clearly)\s){{0,3}}{wrong}"""


DENIED_BEHIND = re.compile(_is_denied(_NOT, _AT_ONCE), re.IGNORECASE | re.VERBOSE)
OPTION_DENIED_BEHIND = re.compile(_is_denied(_WRONG, _WRONG), re.IGNORECASE | re.VERBOSE)
"""Behind a label with its option, as in `B) Nice is wrong`; `B) Nice is not big` says something of Nice."""
ALL_DENIED = re.compile(
    rf"(?:(?:,\s?|\s)(?:(?:and|or)\s)?[(\[]?(?-i:[A-Z])(?!\w)[)\]]?){{1,6}}(?:{DENIED_BEHIND.pattern})",
    re.IGNORECASE | re.VERBOSE,
)
"""Behind the first of several labels, as in `B, C and D are wrong`."""
NOT_THIS = re.compile(r"(?:[,;(–—-]\s?(?:and\s)?not|rather\sthan|instead\sof|unlike)\s(?:an?\s|the\s)?\Z")
"""In front of an option that is only there to say that another one is meant."""

JOINED = re.compile(rf"(?:\W|\([^()\n]{{1,80}}\)|{AND}|{OR}|{ALSO}){{0,20}}", re.IGNORECASE)
"""All that stands between two sentences that name an answer each, so that neither takes the other one's place."""
_MARKS = r"[\s.,;:!?()\[\]…–—-]{0,5}"
BESIDE = re.compile(
    rf"""(?:
        {_MARKS}(?i:(?P<or>{OR})|{AND}|{ALSO}|\b(?:nor|alternatively|otherwise|as\swell\sas|vs\.?|versus)\b|[/&|+~-])[\s,(]{{0,4}}
        |[,;.|\s)(]{{1,4}}(?=[(\[]?[A-Z][)\]]?(?:\s*(?:$|[(,;.|/&!?。])|\s(?:or|and)\b))
        |[\s,;]{{0,3}}(?=\([A-Z]\))
        |[^\n]{{0,80}}?\b(?i:(?:could|might|may|can)(?:\salso)?\sbe|maybe|perhaps|possibly|(?:so|as)\sis)\s
        |[^\n]{{0,80}}?(?=[A-Z][)\]]?,?\s(?i:(?:{_IS}|fits|works|seems),?\s)?(?i:{ALSO}|as\swell)\s*(?:$|[.,;!]))
        # a word of any language, but for those that tell the two apart
        |[\s,(]{{1,3}}(?!(?i:{NOT}|{IS}|as|so|but|if|because|since|with|than|to)\b)[^\W\d_][^\s.,:;!?()]{{0,12}}\s(?=[(\[]?[A-Z][)\]]*\s*(?:$|[.,;!?]))
    )(?:(?i:also|option|choice|answer)\s){{0,2}}[(\[]?(?P<label>[A-Z])(?![\w'’])[)\]]?
    |{_MARKS}\b(?i:or|oder|too|as\swell)\b""",
    re.VERBOSE,
)
"""Behind a label: another one that could be meant as well, or only that there is one."""
OR_BEFORE = re.compile(r"\b(?:or|oder|either)\W{0,3}(?:option\s|the\s)?\Z")
OR_LABEL = re.compile(r"(?:\b(?:or|and)\s|/)[(\[]?(?P<label>[A-Z])(?![\w'’])")
ALSO_SAID = re.compile(ALSO, re.IGNORECASE)
EDGES = (
    r"(?<!\w)(?<!\d[.,:])(?<![./^+√−–-])(?<![+/^×−–\d-]\s(?=\d))(?<!minus\s)"
    r"(?<!negative\s)%s(?![\w/^-]|\s?[/^×]|[.,:]\d|(?<=\d)\s\d)"
)
"""The text of an option by itself: `5` is not in `-5`, `0.5` and `1/5`."""
