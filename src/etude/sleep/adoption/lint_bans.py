"""Which sentences forbid what they name, so that it may stand in a rule.

What is in doubt is no ban: a sentence that begins like one may still ask for harm.
"""

import re

from etude.sleep.adoption.lint_words import ACTIONS

__all__ = ["is_forbidden"]

# The first ends in front of what was found, which may follow without a space.
_END = re.compile(r"[.;:!?](?=[\s\"'”’)*_`]|\Z)|\n")
_PLACE = (
    r"(?:here|everywhere|anywhere|(?:in|for|on)\s+(?:(?:this|our|the|all|any)\s+)?(?:project|repository|repo"
    r"|code ?base|code|team|tests|examples|scripts|answers|production|commits|docs))"
)
_BAN = re.compile(
    rf"[\s>*+()\d-]*(?:(?:please|also|always|we|you|agents?|must|should|shall|{_PLACE}),?\s+){{0,3}}[*_]{{0,2}}"
    r"(?P<word>never(?:,? ever)?|(?:do|must|should|shall) not|(?:don|mustn|shouldn)['’]?t|avoid)\b",
    re.IGNORECASE,
)
_GERUND = r"(?!fail|exist|miss|remain|pend|work|break|warn|str|sett)[a-z]+ing\b"
_NOT_DOING = (
    r"(?:skip|omit|avoid|stop|quit|miss|drop|delay|remov|delet|disabl|exclud|ignor|bypass|evad|escap|forgo|strip|los)"
    r"\w*\s+(?:(?:the|an?|any|all|your|use|of)\s+)*"
)
_TURNED = re.compile(
    r"(?<![\w-])(?:(?:forg[eo]t|hesitat|neglect|overlook|refrain|refus|reject|declin|ceas|desist|abstain|resist|postpon"
    r"|defer|withh[eo]ld|prevent|hinder|forbid|prohibit|oppos|objecti|den(?:y|ied)|doubt|worr|fear|reluctan|paus|wait"
    r"|bother|lack)\w*(?!\s+n?or\b)|afraid|averse|mind|tire|balk|shrink|object\s+to|stop\w*\s+(?:at|short)"
    r"|(?:fail|failed|fails|failing|failures?)\s+(?:to|at|in)|(?:leav|left)\w*\s+(?:out|off)"
    r"|(?:give|giving|pass|passing)\s+up|(?:hold|holding|shy)\s+(?:back|away|off)"
    r"|not|never|no|none|nothing|nobody|cannot|without|unless|until|till|but|except(?:ing)?|exception|instead|rather"
    r"|than|besides|apart|aside|else|otherwise|lest|only|just|merely|save\s+(?:to|when|if|by|that|for))\b"
    rf"|n['’]t\b|\b{_NOT_DOING}(?:{_GERUND}|[\"'`]*\Z)",
    re.IGNORECASE,
)
"""What turns a ban into a wish: `Do not forget to`, `Never omit`, `Print nothing but`."""
_JOINED = re.compile(
    r"\A\W*(?:be|get|feel|become)\b|\b(?:and|also|plus|so|then|when\w*|if|while|where\w*|once|after|before|because|since"
    r"|though|although|as\s+(?:you|we|soon|long)|must|should|shall|always|please|kindly)\b"
    r"|(?<!\btry )(?<!\battempt )(?<!\boffer )\bto\s+(?!(?:the|an?|any|this|that|these|your|its?|their|users?)\b)"
    r"|\bfrom\s+(?:(?:\w+\s+)?\w+ing\b|\Z)",
    re.IGNORECASE,
)
"""What brings in a wish that the ban is not about: `Never be slow and`, `Never be shy to`."""
_PARTICLE = r"(?!\s+(?:aside|around|against|away|off|out|down|up|along|go)\b)"
_MEANS = r"(?:by|via|with|through|using)"
_GOVERNS = re.compile(
    r"\A\W*\Z|\A\W*(?:[a-z]+ly\s+)?(?:run|us(?:e|ing)\b|call|execut|invok|add|pass|commit|push|install|type\b|start"
    r"|begin|rely|fetch|download|suggest|recommend|propos|writ|mak(?:e|ing)\b|set|try|attempt|merg|deploy|publish|build"
    r"|test|work|copy|put|includ|combin|append|offer|ask|let\b|allow|accept|log|read|print|send|post|upload|share|reveal"
    r"|output|paste|show|commands?\b|tools?\b|programs?\b|options?\b|flags?\b|code\b)"
    rf"\w*{_PARTICLE}|\bn?or\s+\W*\Z|\A\W*\w+{_PARTICLE}\s.*\w\W*\s{_MEANS}\s+\W*\Z",
    re.IGNORECASE,
)
"""What a ban of a deed consists of; any other verb may itself be one: `Never oppose`, `Do not do away with`."""
_HOW = re.compile(r"without\b|\w+ly\b", re.IGNORECASE)
_BAN_OF_NOT_DOING = re.compile(rf"\A\W*\w+\s+(?:(?:on|off|out|down|up|against|of)\s+)?{_GERUND}", re.IGNORECASE)
_BY_MEANS = re.compile(rf"\w\W*\s{_MEANS}\b", re.IGNORECASE)
_ITEM = r"(?:`[^`\n]{1,80}`|[\w'’-]+)"
_LIST = re.compile(rf"\s*(?:{_ITEM}\s+){{0,2}}{_ITEM}(?:,\s+{_ITEM})+,?\s+n?or\b", re.IGNORECASE)
_PLAIN = re.compile(r"[*_]{0,3}(?:[\w\s'’\"“”`/]|-+(?=\w)|(?<=\w)\.(?=[a-z0-9]{1,4}\b))*[*_]{0,3}")
_WITH_LEAVE = re.compile(
    r"\bwithout\s+(?:\w+\s+){0,2}(?:asking|permission|approval|consent|confirmation|review)\b"
    r"|\b(?:unless|until)\s+(?:the\s+user|(?:you\s+are\s+|explicitly\s+)*(?:asked|told))\b",
    re.IGNORECASE,
)
_EXCEPTED = re.compile(
    r"\b(?:but|except(?:ing)?|exception|besides|unless|until|till|without|only(?!\s+because)|once|twice"
    r"|(?:other|less|more)\s+than|(?:apart|aside)\s+from)\b",
    re.IGNORECASE,
)
_ENDED = re.compile(rf"[\"'”’)`*_]*(?:\s+{_PLACE})?(?:\s+(?:{_WITH_LEAVE.pattern}))?[\"'”’)`*_\s]*", re.IGNORECASE)
"""What may stand behind what a strict ban is about."""

_ONE = r"(?:`[^`\n]{1,80}`|[\w./-]{1,40})"
_REST = rf"[`\"']*(?:\s+(?:-{{1,2}}[\w-]+|{ACTIONS}(?![\w-]))[`\"']*){{0,4}}"
_NAMED_FIRST = re.compile(
    r"[\s>*+()\d-]*(?:(?:the\s+)?(?:use|usage)\s+of\s+|using\s+|running\s+|calling\s+|passing\s+"
    rf"|the\s+(?:option|flag|command|program|tool)\s+)?(?:{_ONE}(?:,|,?\s+(?:and|or))\s+){{0,6}}"
    r"(?:`[\w./ -]{1,60}\s)?[`\"']*",
    re.IGNORECASE,
)
_IS_BANNED = re.compile(
    rf"{_REST}(?:(?:,|,?\s+(?:and|or))\s+{_ONE}){{0,6}}\s+(?:is|are)\s+"
    r"(?:(?:strictly|always|absolutely)\s+)?(?:banned|forbidden|prohibited|disallowed|off[- ]limits"
    rf"|not\s+(?:allowed|permitted))(?:\s+{_PLACE})?\s*",
    re.IGNORECASE,
)
"""`Use of curl is forbidden here`."""
_NO = re.compile(r"[\s>*+()\d-]*no\s+(?:use\s+of\s+)?[`\"']*", re.IGNORECASE)
_AT_ALL = re.compile(rf"{_REST}(?:\s+{_PLACE})?\s*", re.IGNORECASE)
"""`No sudo in scripts`."""


def is_forbidden(text: str, start: int, end: int, *, strict: bool = False) -> bool:
    """Whether the sentence is a plain ban on what was found at `start`: nothing in it turns the ban round, joins
    another wish to it or makes an exception. What is in doubt is no ban.

    Args:
        text: a rule.
        start: where in it what was found begins.
        end: where it ends.
        strict: whether more words behind it are a doubt, too: `Never send passwords in parts, send them whole`.
    """
    begun = max((stop.end() for stop in _END.finditer(text, 0, start)), default=0)
    ending = _END.search(text, end)
    found, after = text[start:end], text[end : ending.start() if ending else len(text)]
    if _is_said_to_be_banned(text[begun:start], after) and not (ending and ending[0] == "?"):
        return True
    ban = _BAN.match(text, begun, start)
    if ban is None:
        return False
    before = text[ban.end() : start]
    listed = _LIST.match(text, ban.end())
    rest = before[listed.end() - ban.end() :] if listed else before
    governed = not _BAN_OF_NOT_DOING.match(before) if _HOW.match(found) else _GOVERNS.search(before) or not rest
    turned = _TURNED.search(before) or _TURNED.search(found, 1) or _JOINED.search(before)
    by_means = ban["word"].lower() == "avoid" and _BY_MEANS.search(before)
    excepted = _EXCEPTED.search(_WITH_LEAVE.sub("", after)) or (strict and not _ENDED.fullmatch(after))
    return bool(governed and _PLAIN.fullmatch(rest) and not (turned or by_means or excepted))


def _is_said_to_be_banned(before: str, after: str) -> bool:
    named = _NAMED_FIRST.fullmatch(before) and not _TURNED.search(before) and _IS_BANNED.fullmatch(after)
    return bool(named or (_NO.fullmatch(before) and _AT_ALL.fullmatch(after)))
