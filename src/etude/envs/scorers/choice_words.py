"""How an answer names a label, and what the clause around it makes of it: denied, only supposed, or not the only one.

Repetitions are bounded: an answer may be any text, and must not make its reading slow.
"""

import re

_LABEL = r"[(\[]?(?<![\w'\u2019])(?P<label>[A-Za-z])(?![\w'\u2019]|\.\w|-\w)[)\]]?"
_NOUN = (
    r"(?:(?:(?:the|la|die|a|o|\u03b7)\s)?(?:(?:option|opci[o\u00f3]n|op\u00e7\u00e3o|choice|letter|lett(?:re|era)|letra|answer)\s{0,2}"
    r"[:#]?\s{0,2})?)?"
)
_SURELY = r"(?:(?:clearly|indeed|therefore|thus|definitely|most\slikely|probably|then|also)\s)?"
_IS = (
    r"(?:is|ist|lautet|est|es|\u00e8|\u00e9|\u00e4r|er|je|este|adalah|l\u00e0|\u03b5\u03af\u03bd\u03b1\u03b9|\u0647\u064a|\u0647\u0648"
    r"|would\sbe|should\sbe|must\sbe|has\sto\sbe|will\sbe)"
)
_IS_ASIAN = r"(?:(?:[\u5e94\u61c9][\u8be5\u8a72]?)?[\u662f\u4e3a\u70ba\u306f\uc740\ub294]|\u0e04\u0e37\u0e2d)"
_ANSWER_IS = (
    r"(?:\b(?:answer|ans|l\u00f6sung|solution|choice|option|letter|correct|antwort|r[e\u00e9]ponse|respuesta|risposta|resposta"
    r"|antwoord|svar(?:et)?|odpov\u011b\u010f|odpowied\u017a|vastaus|r\u0103spuns(?:ul)?|jawaban(?:nya)?|\u0111\u00e1p\s\u00e1n"
    r"|richtig|\u043e\u0442\u0432\u0435\u0442|\u03b1\u03c0\u03ac\u03bd\u03c4\u03b7\u03c3\u03b7|\u0627\u0644\u0625\u062c\u0627\u0628\u0629)"
    r"|\u0e04\u0e4d\u0e32\u0e15\u0e2d\u0e1a|\u7b54\u6848|\u9009\u9879|\u6b63\u89e3|\u7b54\u3048|\uc815\ub2f5|\ub2f5)"
    r"(?:\s(?:to|for|of|here)\b[^.\n:]{0,40}?|\scor+[a-z]{2,6}\b|\syang\s(?:benar|tepat)\b|\s\u0111\u00fang\b|\s\u0627\u0644\u0635\u062d\u064a\u062d\u0629)?"
    rf"(?:\s{{0,3}}(?:(?<!\w){_IS}(?!\w)|['\u2019]s\b|(?<=\w){_IS_ASIAN}|:|=>?|->|(?<=\bans)[.)]|(?<=\u017a\s)to\b|(?<=vastaus\s)on\b"
    r"|[\u3011\u2192\u21d2\u2013\u2014-])){1,3}"
    rf"\s{{0,3}}{_SURELY}(?:not\s[(]?[A-Z][)]?,?\s(?:but|rather)\s)?{_NOUN}{_LABEL}"
)
_IS_CORRECT = (
    rf"(?<!\bangle\s){_LABEL}(?:\s?\([^()\n]{{1,80}}\))?\s{{1,3}}(?:seems(?:\sto\sbe)?|looks|was|were|{_IS})\s(?:(?:indeed|clearly|also|the|a|(?<!was\s)my|final|only)\s){{0,3}}"
    r"(?:cor+ec?t+[aeo]?|right(?!-|\s(?:of|angle|triangle|next|above|below|before|after)\b)|richtig|korrekt|juste|juist|r\u00e4tt|rigtigt?|riktigt?"
    r"|best|true|proper|answer|most\s(?:likely|accurate|appropriate|suitable|plausible))\b(?!\s?\?)"
)
STATED = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        _ANSWER_IS,
        rf"\b(?:choos(?:e|ing)|chose|select(?:ing)?|pick(?:ing)?|go(?:ing)?\swith|opt\sfor|say|guess(?:\sis)?)(?::|(?<!say),)?\s{{1,3}}{_NOUN}{_LABEL}",
        rf"\bi\swent\swith\s{_NOUN}{_LABEL}(?![^.;!?\n]{{0,60}}\bbut\b)",
        rf"(?<![\u4e0d\u522b])(?<!\u4e0d[\u5e94\u8981\u8be5])[\u9009\u9078]\u62e9?\s?:?\s?{_LABEL}",
        rf"\b(?:(?:it|that|this)\s{_IS}|it's|so|thus|hence|therefore|i\sthink)[,:]?\s{_SURELY}{_NOUN}{_LABEL}(?=\W{{0,5}}$|,?\s(?:because|since)\b)",
        _IS_CORRECT,
        rf"{_LABEL}\s?(?:[\u9009\u9078]?[\u9879\u9805])?\u662f?\u6b63[\u786e\u78ba](?!\s?[\u5417\u55ce?\u4e0e\u6027\u7387])",
        rf"\bleav(?:es|ing)\s(?:only\s)?{_NOUN}{_LABEL}(?=\W*$)",
        rf"\b(?:it|that|this|answer)\scan\sonly\sbe\s{_NOUN}{_LABEL}(?!\s(?:if|when)\b)",
        rf"(?:^|(?<=[.;:!?]\s)|(?<=\bonly\s)|(?<=\bso\s)){_NOUN}{_LABEL}\s(?:remains|is\sleft)(?=\W*$)",
    )
)
NAMED = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (
            rf"(?:\b(?:answer|option|choice|letter|cevap)\s{{0,2}}|(?:\u9009\u9879|\u0909\u0924\u094d\u0924\u0930)\s?){_LABEL}",
            re.IGNORECASE,
        ),
        (r"\((?P<label>[A-Z])\)", 0),
    )
)
LABELLED = re.compile(
    rf"^[^\w\n]*(?P<words>[^\W\d_][^\n:.;!?]{{0,30}}):\W{{0,4}}{_NOUN}{_LABEL}[^\w\n]*$", re.MULTILINE | re.IGNORECASE
)
CONCLUDES = re.compile(
    r"\b(?:verdict|decision|conclusion|select|solution|result|response|output|judge?ment)"
    r"|\b(?:final|chosen|correct(?:\sone)?|most\slikely|prediction|recommendation|label|classification|vote|therefore"
    r"|ergebnis|fazit)\Z",
    re.IGNORECASE,
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

WORD = re.compile(
    r"[^\S\n]+(?!(?:is|because|since|as|which|with|but|for|or|and|would|fits|not|rather|instead|it|my|remains)\b)[A-Za-z\u00c0-\u024f]{2,}"
)
"""Behind `A` and `I`: they are words."""
_TO_THE_LABEL = r"(?:(?!\b(?:but|so|and)\b)[^.,;:!?\n]){0,40}\Z"
SUPPOSED_BEFORE = re.compile(
    r"(?:\b(?:if|unless|whether|in\scase|(?:provided|given)\sthat|imagine|supposing|assuming)\b"
    rf"|(?<!\bi\s)\b(?:suppose|assume)\b|\blet['\u2019]?s\s(?:just\s)?say\b){_TO_THE_LABEL}"
    r"|\b(?:if|had)\s(?:you|the\s(?:question|problem))\b[^.;!?\n]{1,100}\bwould\sbe\s(?:[a-z]+\s){0,2}[(\[]?\Z"
    r"|\bif\s(?!i\shad\sto\b)[^.;!?\n]{1,60}\s(?:had|were)\s(?:(?!\b(?:but|so|hence|thus|therefore)\b)[^.;!?\n]){1,80}\Z",
    re.IGNORECASE,
)
SUPPOSED_BEHIND = re.compile(r"[^.;!?\n]{0,80}?\bwould\b[^.;!?\n]{0,60}?\b(?:if|unless)\b(?!\si\b)", re.IGNORECASE)
SUPPOSED_TO = re.compile(r"[.;!?\n](?!\s*then\b)", re.IGNORECASE)
"""Where a supposition ends, with what would follow from it."""
DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|nicht|never|neither|nor|no|cannot|doubt|wrong|incorrect|false|eliminat\w*|exclud\w*|except|almost|nearly"
    rf"|tempt\w*|reject\w*|discard\w*|dismiss\w*|rul\w+\sout|rather\sthan|instead\sof|unlike)\b"
    rf"|n['\u2019]t\b){_TO_THE_LABEL}",
    re.IGNORECASE,
)
_WRONG = (
    r"(?:wrong|incorrect|false|untrue|invalid|impossible|excluded|eliminated|dismissed|discarded|rejected|ruled\sout"
    r"|traps?|distractors?)\b"
)
_NOT = (
    rf"(?:{_WRONG}|(?:not(?!\s(?:(?:option|choice|answer)\s)?[(\[]?(?-i:[A-Z])(?!\w))|never|no(?!\sdoubt)|cannot"
    r"|\w+n['\u2019]t|unlikely|out|too|tempting|partly|partially|almost|nearly|hardly|less|fails|contradicts"
    r"|if|unless)\b)"
)
_IS_WRONG = r"""\W{0,3}(?:\([^()\n]{1,80}\)\s?|,\s[^.,;:!?\n]{1,40},\s)?(?:
        (?:is|was|are|were|seems|looks|appears|would|should|must|can|has|had|does|did)\s
            (?:(?!\b(?:because|since|as|while|whereas|and|so|than|the\sonly)\b)[^.,;:!?\n]){0,60}?\b%s
        |%s
    )
    |[^.,;:!?\n]{0,60}?,?\s(?:but|yet)\s(?:(?:it|that|this|is|was|seems|still|actually|clearly)\s){0,3}%s"""
_AT_ONCE = (
    r"(?:(?:\w{2,6}n['\u2019]t|cannot|fails|contradicts|could|might|may|unless|only\s(?:if|when)"
    r"|wrong|excluded|eliminated)\b|\?|\u662f?[\u4e0d\u9519\u5417]|\u3067\u306f\s?[\u306a\u3042]|[\uac00\uc774]\s?\uc544[\ub2c8\ub2d9]"
    r"|de\u011fil\b|\u0928\u0939\u0940\u0902)"
)
_DENIED = _IS_WRONG % (_NOT, _AT_ONCE, _NOT)
DENIED_BEHIND = re.compile(_DENIED, re.IGNORECASE | re.VERBOSE)
ALL_DENIED = re.compile(
    rf"(?:(?:,\s?|\s)(?:(?:and|or)\s)?[(\[]?(?-i:[A-Z])(?!\w)[)\]]?){{1,6}}(?:{_DENIED})", re.IGNORECASE | re.VERBOSE
)
"""Behind the first of several labels, as in `B, C and D are wrong`."""
OPTION_DENIED_BEHIND = re.compile(_IS_WRONG % (_WRONG, _WRONG, _WRONG), re.IGNORECASE | re.VERBOSE)
"""Behind a label with its option, as in `B) Nice is wrong`; `B) Nice is not big` says something of Nice."""
TAKEN_BACK = re.compile(
    r"\bwait\b(?=\s*(?:[,.!:\u2026\u2014-]|no\b|$))|\bno,?\swait\b|\bcorrection\s?[:,]|\b(?:scratch|strike)\sthat\b"
    r"|\bon\ssecond\sthought|\btake\s(?:that|it)\sback\b|\b(?:oops|sorry),\s|\bi\smean\b"
    r"|\b(?:no,|(?:actually|rather|make\sthat),?)\s(?:it(?:\sis|['\u2019]s)\s)?[(\[]?(?-i:[A-HJ-Z])(?!\w)",
    re.IGNORECASE,
)
"""What is said behind an answer that is no longer meant."""
JOINED = re.compile(r"(?:\W|\([^()\n]{1,80}\)|\b(?:and|or|also|und|et|y|e)\b){0,20}", re.IGNORECASE)
"""All that stands between two sentences that name an answer each, so that neither takes the other one's place."""
ALSO = re.compile(r"\balso\b", re.IGNORECASE)
NOT_THIS = re.compile(r"(?:[,;(\u2013\u2014-]\s?(?:and\s)?not|rather\sthan|instead\sof|unlike)\s(?:an?\s|the\s)?\Z")
"""In front of an option that is only there to say that another one is meant."""
EDGES = (
    r"(?<!\w)(?<!\d[.,:])(?<![./^+\u221a\u2212\u2013-])(?<![+/^\u00d7\u2212\u2013\d-]\s(?=\d))(?<!minus\s)"
    r"(?<!negative\s)%s(?![\w/^-]|\s?[/^\u00d7]|[.,:]\d|(?<=\d)\s\d)"
)
"""The text of an option by itself: `5` is not in `-5`, `0.5` and `1/5`."""
_ANOTHER = r"(?:(?i:also|option|choice|answer)\s){0,2}[(\[]?(?P<%s>[A-Z])(?![\w'\u2019])"
_MARKS = r"[\s.,;:!?()\[\]\u2026\u2013\u2014-]{0,5}"
OR_BEHIND = re.compile(
    rf"""(?:
        {_MARKS}(?P<or>\b(?i:or|oder|too|as\swell)\b)
        |{_MARKS}(?:
            \b(?i:and|und|et|y|e|i|ou|o|en|of|och|eller|og|ve|veya|lub|dan|atau|\u0438|\u0438\u043b\u0438|plus|also|alternatively|otherwise|as\swell\sas|vs\.?|versus)\b
            |[/&|+~-]|[\u6216\u548c\u4e0e\u53ca\u3001\u304b\u3068]\u8005?|\ub610\ub294
        )[\s,(]{{0,4}}{_ANOTHER % "and"}
        |[,;.|\s)(]{{1,4}}[(\[]?(?P<next>[A-Z])[)\]]?(?=\s*(?:$|[(,;.|/&!?]))
        |[,;|\s)(]{{1,4}}[(\[]?(?P<first>[A-Z])[)\]]?(?=\s*(?:or|and)\b)
        |[\s,;]{{0,3}}\((?P<beside>[A-Z])\)
        |[^\n]{{0,80}}?\b(?i:(?:could|might|may|can)(?:\salso)?\sbe|maybe|perhaps|possibly|(?:so|as)\sis)\s
            {_ANOTHER % "maybe"}
        |[^\n]{{0,80}}?{_ANOTHER % "also"}[)\]]?,?\s(?i:(?:is|fits|works|seems|would\sbe)\b,?\s)?
            (?i:also|likewise|too|as\swell|aussi|auch|tambi\u00e9n|tamb\u00e9m|anche)(?=\s*(?:$|[.,;!]))
    )""",
    re.VERBOSE,
)
OR_BEFORE = re.compile(
    r"(?:(?<![\w'])(?P<label>[A-Z])[)\]]?(?:\W{0,3}(?:and|und|nor|et|y|e|i|og|och|en|\u0438|[,/&])|\s?\Z)|\b(?:or|oder|either))\W{0,3}(?:option\s|the\s)?\Z"
)
OTHERS = re.compile(
    r"\b(?:(?:people|students|others|some|many|most|they)\s(?:(?:might|may|could|would|will|often|usually|\w{4,}ly)\s){0,2}"
    r"|(?:you|one)\s(?:might|may|could)\s(?:\w+ly\s)?|(?:mistake|error|trap)\s(?:is|was|would\sbe)\sto\s)\Z",
    re.IGNORECASE,
)
"""In front of `choose B`: it is the choice of others."""
OR_LABEL = re.compile(r"(?:\b(?:or|and)\s|/)[(\[]?(?P<label>[A-Z])(?![\w'\u2019])")
