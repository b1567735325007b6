"""How an answer names a label, and what the clause around it makes of it: denied, only supposed, or not the only one.

In these patterns a blank is any white space. Repetitions are bounded: an answer may be any text, and must not make
its reading slow.
"""

import re

from etude.envs.scorers.answer_words import ALSO, AND, ANSWER, IS, NOT, OR, RIGHT, any_of


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s"), re.IGNORECASE | re.MULTILINE)


_LABEL = r"[(\[]?(?<![\w'’])(?P<label>[A-Za-z])(?![\w'’]|\.\w|-\w)[)\]]?"
_LETTER = r"[(\[]?(?-i:[A-Z])(?![\w'’])[)\]]?"
_OPTION = any_of("option opción opção вариант choice letter lettre lettera letra 选项 विकल्प")
_NOUN = rf"(?:(?:the|la|die|a|o|η)[^\S\n])?(?:(?:{_OPTION}|\banswer) {{0,2}}[:#]? {{0,2}})?"
_IS = rf"(?:{IS}|\b(?:would|should|must|will|has to) be\b)"
_WRONG = any_of(
    "wrong incorrect false untrue invalid impossible excluded eliminated dismissed discarded rejected ruled_out"
    " trap traps distractor distractors"
)
_ASIDE = rf"\b(?:not|instead of|rather than) {_NOUN}{_LETTER}"

# What says which label is right.
_ANSWER_IS = (
    rf"(?P<answer>{ANSWER}|(?<!\beach ){_OPTION}|{RIGHT})"
    rf"(?: (?:to|for|of|here)\b[^.\n:]{{0,40}}?|(?: (?!{NOT}|{IS})[^\W\d_]{{2,12}}\b){{1,2}}?)?"
    rf"(?:[^\S\n]{{0,3}}(?:{_IS}|['’]s\b|:(?! is\b)|=>?|->|(?<=\bans)[.)]|[】→⇒–—-])){{1,3}} {{0,3}}"
    rf"(?:{any_of('clearly indeed therefore thus definitely most_likely probably then also none_other_than')} )?"
    rf"(?:not {_LETTER},? (?:but|rather) )?{_NOUN}{_LABEL}"
)
_THE_ONLY = any_of("indeed clearly also the a final only la il o die der het de bonne richtige goede juiste")
_IS_RIGHT = (
    rf"(?<!\bangle ){_LABEL}(?: ?\((?!{OR}|{AND})[^()\n]{{1,80}}\)| ?[选選]?[项項])?"
    rf" {{0,3}}(?:{_IS}|{any_of('seems seems_to_be looks was were')}|(?=正)|[が가이])"
    rf" {{0,3}}(?:(?:(?<!was )my|{_THE_ONLY}) ){{0,3}}"
    rf"(?:(?P<true>{RIGHT})(?![^\S\n]?(?:{ANSWER}|{_OPTION}))|{RIGHT}|{ANSWER}|{any_of('best proper')}"
    rf"|\bmost {any_of('likely accurate appropriate suitable plausible')})"
    r"(?!-| (?:of|angle|triangle|next|above|below|before|after)\b| ?[?吗嗎与性率])"
)
_CHOOSE = any_of(
    "choose choosing chose select selecting pick picking go_with going_with opt_for vote_for bet_on say guess"
    " guess_is leaves leaving leaves_only leaving_only can_only_be"
    " wähle nehme choisis elijo scelgo escolho kies väljer vælger velger wybieram vybírám aleg chọn выбираю επιλέγω"
)
_SO = rf"(?:\b(?:it|that|this) {_IS}|{any_of('so thus hence therefore i_think by_elimination')}|\bit's)"
_CONCLUDES = any_of(
    "verdict decision conclusion select selected selection solution result results response output judgment judgement"
    " final chosen correct_one most_likely prediction recommendation label classification vote therefore fazit"
)
_FILLER = any_of(
    "i answer i'd i'll i'm it its it's that'd that's am as be because best but certainly choice choose chosen clearly"
    " correct definitely evidently final fits for go going guess have here is just letter likely matches maybe most"
    " must my obviously of one only option perhaps pick probably right select should so sure surely that the think"
    " therefore this thus true we will with would"
)
_NOTHING = rf"(?:[^\w\n]|\d|{_FILLER}|{_ASIDE}){{0,20}}?"
_WORDS_COLON = rf"[^\w\n]*(?!{_WRONG}|\bnot\b)[^\W\d_]{{2}}[^\n:.;!?]{{0,30}}:"
_ALL = rf"(?!(?:[^\n]{{0,40}}: )?\W*is\b)(?:{_WORDS_COLON})?{_NOTHING}(?=\W?(?-i:[A-Z])){_LABEL}(?={_NOTHING}\Z)"
STATED = [
    _compiled(pattern)
    for pattern in (
        _ANSWER_IS,
        _IS_RIGHT,
        rf"{_CHOOSE}(?::|(?<!say),)? {{1,3}}{_NOUN}{_LABEL}",
        rf"\bfinal (?:answer|choice) {{0,2}}{_LABEL}(?=\W*$)",
        rf"\bi went with {_NOUN}{_LABEL}(?![^.;!?\n]{{0,60}}\bbut\b)",
        rf"(?<![不别])(?<!不[应要该])[选選]择? ?:? ?{_LABEL}",
        rf"{_SO}[,:]? {_NOUN}{_LABEL}(?=\W{{0,5}}$|,? (?:because|since)\b)",
        rf"(?:^|(?<=[.;:!?] )|(?<=\bonly )|(?<=\bso )){_NOUN}{_LABEL} (?:remains|is left)(?=\W*$)",
        rf"^[^\w\n]*(?:\w[^\n:.;!?]{{0,30}}\b)?{_CONCLUDES}:\W{{0,4}}{_NOUN}{_LABEL}[^\w\n]*$",
        rf"^\W{{0,20}}{_LABEL}\W{{0,20}}\Z",
        rf"\A{_ALL}",
    )
]
NAMED = _compiled(rf"(?:{ANSWER}|{_OPTION}) {{0,2}}{_LABEL}")
IN_BRACKETS = re.compile(r"\((?P<label>[A-Z])\)")
LETTER = re.compile(r"(?<![\w'’])(?P<label>[A-Z])(?![\w'’])")
_SUITS = any_of("fits suits matches works wins applies makes satisfies remains seems looks")
DESCRIBED = _compiled(
    rf"[)\]]? (?!{_SUITS})"
    r"(?:is|was|are|were|has|have|would|can|[a-z]{2,12}s)\b(?![^.;!?\n]{0,40}\b(?:better|best|right|more)\b)"
)
"""Behind a label: what is said of it does not speak for it."""
FIRST_LINE = re.compile(r"\A\W{0,4}(?P<label>(?![AaIi]\s*\n[a-z])[A-Za-z])[^\S\n]*\n")
AT_START = _compiled(
    r"^\W{0,4}?[(\[]?(?P<label>[A-Z])(?:(?<=[(\[].)[)\]]|(?P<mark>[).:])|,?(?= (?:because|since)\b))(?= |$)"
)
WORD = re.compile(
    r"[^\S\n]+(?!(?:is|because|since|as|which|with|but|for|or|and|would|fits|not|rather|instead|it|my|remains)\b)"
    r"[A-Za-zÀ-ɏ]{2,}"
)
"""Behind `A` and `I`: they are words."""

_NEW_CLAUSE = r"\b(?:but|so|and|as|since|because|while|whereas)\b"
_TO_THE_LABEL = rf"(?:(?!{_NEW_CLAUSE})[^.,;:!?\n]){{0,40}}(?:[(\[]?(?-i:[A-Z])[)\]]? and )?\Z"
SUPPOSED_BEFORE = _compiled(
    rf"(?:{any_of('if unless whether in_case provided_that given_that imagine supposing assuming')}"
    rf"|(?<!\bi )\b(?:suppose|assume)\b|\blet['’]?s (?:just )?say\b){_TO_THE_LABEL}"
    r"|\b(?:if|had) (?:you|the (?:question|problem))\b[^.;!?\n]{1,100}\bwould be (?:[a-z]+ ){0,2}[(\[]?\Z"
    r"|\bif (?!i had to\b)[^.;!?\n]{1,60} (?:had|were) (?:(?!\b(?:but|so|hence|thus|therefore)\b)[^.;!?\n]){1,80}\Z"
)
SUPPOSED_BEHIND = _compiled(r"[^.;!?\n]{0,80}?\bwould\b[^.;!?\n]{0,60}?\b(?:if|unless)\b(?! i\b)")
FOR_ANOTHER = _compiled(
    r"\w[)\]]? would be\b[^.;!?\n]{0,40}? (?:for|in|with|under|of) (?!(?:the|this|that|these|our|it|all)\b)"
)
"""`C would be correct for Italy`: another question has this answer."""
SUPPOSED_TO = _compiled(r"[.;!?\n](?!\s*then\b)")
"""Where a supposition ends, with what would follow from it."""
OTHERS = _compiled(
    rf"(?:{any_of('people students others some many most they')}"
    r" (?:(?:might|may|could|would|will|often|usually|\w{4,}ly) ){0,2}"
    r"|\b(?:you|one) (?:might|may|could) (?:\w+ly )?|\b(?:mistake|error|trap) (?:is|was|would be) to )\Z"
)
"""In front of `choose B`: it is the choice of others."""
TAKEN_BACK = _compiled(
    r"\bwait\b(?=\s*(?:[,.!:…—-]|no\b|\Z))|\bcorrection ?[:,]|\b(?:no,? wait|(?:scratch|strike) that)\b"
    r"|\b(?:on second thought|take (?:that|it) back|i meant?)\b|\b(?:oops|sorry), "
    r"|\b(?:no,|(?:actually|rather|make that),?) (?:it(?: is|['’]s) )?[(\[]?(?-i:[A-HJ-Z])(?!\w)"
)
"""What is said behind an answer that is no longer meant."""

_DENIAL = (
    rf"(?:{NOT}|{_WRONG}|{any_of('never neither nor no cannot doubt except almost nearly unlike unlikely')}"
    rf"|\b(?:eliminat|exclud|tempt|reject|discard|dismiss)\w*|{any_of('ruling_out rule_out rather_than instead_of')}"
    r"|n['’]t\b|(?:^|(?<=[.:!?] ))\W*(?:is|are|could|can|what)\b)"
)
_WRONG_COLON = rf"{_WRONG}[^.,;:!?\n]{{0,20}}:\W{{0,3}}\Z"
DENIED_BEFORE = _compiled(rf"{_DENIAL}{_TO_THE_LABEL}|{_WRONG_COLON}")
_GOVERNS = any_of(
    "the my your our that if whether how why to be it is true right correct best the_case sure certain clear likely"
    " only really think believe say saying said claim see mean assume conclude accept agree"
)
_CONCLUDED = r"\b(?:we|i|you) (?:can )?(?:conclude|know|see|infer|deduce|find|get)\b|\bit follows\b|\bthis means\b"
SENTENCE_DENIED = _compiled(
    rf"(?!{_WRONG} (?:the|my) \Z){_DENIAL}(?: {_GOVERNS}){{0,8}} ?\Z|{_WRONG_COLON}"
    rf"|{_DENIAL}(?:(?!{_NEW_CLAUSE}|{_CONCLUDED})[^.,;:!?\n]){{0,40}}"
    r"\b(?:that|if|whether) (?:(?:the|my|our|correct|right|best) ){0,2}\Z"
)
"""In front of `the answer is B`: what is denied may be something else, as in `As it is not A the answer is B`."""
SURELY = _compiled(
    r"\b(?:no|without (?:a|any)|without|beyond) (?:doubt|question|hesitation)\b"
    r"|\bnot (?:hard|difficult) to see\b|\bno other than\b"
)
"""Not denials."""
_LESS = any_of(
    "never cannot unlikely out too tempting partly partially almost nearly hardly less fails contradicts if unless"
)
_NOT = rf"(?:{_WRONG}|{_LESS}|\bnot\b(?! (?:{_OPTION} )?{_LETTER})|\bno\b(?! doubt)|\w+n['’]t\b)"
_MAYBE = any_of("cannot fails contradicts could might may wrong incorrect excluded eliminated değil नहीं")
_AT_ONCE = (
    r"(?:\w{2,6}n['’]t\b|(?<![.!?] )(?<![(\n])\b(?:unless|(?:only )?(?:if|when))\b(?! i\b)"
    rf"|was (?:my|the) (?:first|initial|original)\b|{_MAYBE}|\? no\b"
    rf"|是?[不错吗](?!是? ?{_LETTER})|では ?[なあ]|[가이] ?아[니닙])"
)
_LIST = rf"(?:(?:, ?{_LETTER}){{1,5}},?)?(?: (?:and|or) {_LETTER})"
_VERB = any_of("is was are were seems looks appears would should must can has had does did")
_REASON = any_of("because since as while whereas and so than the_only")
_FINALLY = r"(?:(?:it|that|this|is|was|seems|still|actually|clearly) ){0,3}"


def _denied(wrong: str, at_once: str) -> str:
    return (
        r"(?:\W{0,3}(?:\([^()\n]{1,80}\) ?|, [^.,;:!?\n]{1,40}, )?"
        rf"(?:{_VERB} (?:(?!{_REASON})[^.,;:!?\n]){{0,60}}?\b{wrong}|{at_once})"
        rf"|[^.,;:!?\n]{{0,60}}?,? (?:but|yet) {_FINALLY}{wrong})"
    )


DENIED_BEHIND = _compiled(rf"(?:{_LIST})?{_denied(_NOT, _AT_ONCE)}")
OPTION_DENIED_BEHIND = _compiled(_denied(_WRONG, _WRONG))
"""Behind a label with its option, as in `B) Nice is wrong`; `B) Nice is not big` says something of Nice."""
JOINED = _compiled(rf"(?:\W|\([^()\n]{{1,80}}\)|{AND}|{OR}|{ALSO}){{0,20}}")
"""All that stands between two sentences that name an answer each, so that neither takes the other one's place."""
_MARKS = r"[ .,;:!?()\[\]…–—-]{0,5}"
_ENDS = r" *(?:\Z|[(,;.|/&!?。]|[\u0900-\u1dff\u2e80-\uffff])"
_VERSUS = any_of("nor alternatively otherwise as_well_as vs versus")
_NO_JOIN = any_of(
    "leaves as so but if because since with than to unlike despite except beats over before after statt anstatt"
    " zamiast místo вместо"
)
_OF_OTHERS = (
    rf"\W{{0,4}}[.?!\n]\W{{0,4}}(?:options? )?{_LETTER},?(?: {_LETTER},?){{0,3}} (?:and|or) {_LETTER} \w"
    rf"(?![^.;!?\n]{{0,30}}\b(?:{ALSO}|as well|{RIGHT}|best|possible|plausible)\b)"
)
"""Where the next sentence begins with other labels, and says something of them."""
BESIDE = _compiled(
    rf"(?!{_OF_OTHERS})(?:"
    rf"{_MARKS}(?:(?P<or>{OR})|{AND}|{ALSO}|{_VERSUS}\.?|[/&|+~-])[ ,(]{{0,4}}"
    rf"|[,;.|?! )(]{{1,4}}(?={_LETTER}(?:{_ENDS}| (?:or|and)\b))"
    rf"|[ ,;]{{0,3}}(?=\({_LETTER}\))"
    rf"|[^\n]{{0,80}}?(?:\b(?:could|might|may|can)(?: also)? be\b|{any_of('maybe perhaps possibly so_is as_is')}) "
    rf"|[^\n]{{0,80}}?(?={_LETTER},? (?:(?:{_IS}|fits|works|seems),? )?(?:{ALSO}|as well){_ENDS})"
    # a word of any language, but for those that tell the two apart
    rf"|[ ,(]{{1,3}}(?!{NOT}|{IS}|{_NO_JOIN})[^\W\d_][^ .,;:!?()]{{0,12}} (?={_LETTER}{_ENDS})"
    r")(?:(?:also|option|choice|answer) ){0,2}[(\[]?(?P<label>(?-i:[A-Z]))(?![\w'’])[)\]]?"
    rf"|{_MARKS}{any_of('or oder too as_well')}"
)
"""Behind a label: another one that could be meant as well, or only that there is one."""
OR_BEFORE = _compiled(rf"{any_of('or oder either')}\W{{0,3}}(?:option |the )?\Z")
ALSO_SAID = _compiled(ALSO)
EDGES = (
    r"(?<!\w)(?<!\d[.,:])(?<![./^+√−–-])(?<![+*/^×−–\d-]\s(?=\d))(?<!\d\*)(?<!minus\s)"
    r"(?<!negative\s)(?:%s)(?!(?<=no)\s\w)(?![\w/^-]|\s?[/^×]|(?<=\d)\s?[+*=]|[.,:]\d|(?<=\d)\s\d)"
)
"""The text of an option by itself: `5` is not in `-5`, `0.5` and `1/5`."""
