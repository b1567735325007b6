"""What sentences say, whatever the marks and small words around it: whether two say the same or the opposite, and
which parts of one no other says."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from etude.envs.splits import fold, one_form
from etude.skill.anchors import LIST_MARK

Wording = tuple[str, ...]
"""The words that count, in their order."""

_COUNTED = re.compile(r"[^\W_](?:[\w']*[^\W_])?")
_MARK = re.compile(rf"(?:{LIST_MARK.pattern}|[ \t]*•[ \t]+)(?:\[[ xX]\][ \t]+)?")
_TARGET = re.compile(r"\]\([^()\s]*\)")
_IDLE = frozenset(("please", "always", "a", "an", "the", "you", "we", "must", "should", "ever"))
"""Words that may be there or not."""
_PHRASE = re.compile(
    r"\b(?:from now on|in (?:the )?future|(?:make|be) sure (?:to|that you|you)|remember to|(?:do not|never) forget to"
    r"|(?:you|we) (?:have|need) to|(?:i|we) (?:want|need) you to)\b"
)
"""The same of several words."""
_CONTRACTED = (("can't", "can not"), ("cannot", "can not"), ("won't", "will not"), ("n't", " not"))
_NOT_ALWAYS = re.compile(r"\b(?:do )?not (?:always|necessarily|every|all)\b")
_NOT = re.compile(r"\b(?:do )?not\b")
_DENIALS = frozenset(("never", "no"))
_ALL = frozenset(("every", "each", "all", "any"))
"""What stands in the place of a `no`."""
_SIGN = r"[^\W_\u3040-\u30ff\u3400-\u9fff]"
"""Of a word that blanks stand around."""
_UNBROKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Chinese and Japanese, in which a word of other letters is a name."""
_WORD = re.compile(
    r"(?<!\w)--?[^\W\d_][\w-]*|[\w.@~-]*[/\\][\w./\\@-]*\w|\d+(?:[.,:-]\d+)*"
    rf"|{_SIGN}+(?:[._@]+{_SIGN}+)+|{_SIGN}+(?:['’]{_SIGN}+)?"
)
_EXACT = re.compile(r"[\d/\\_.@]|^-|[a-z][A-Z]|^[A-Z]{2,}s?$")
"""In a number, a path, the name of something in code: nobody says it in other words."""
_VOWEL = re.compile(r"[aeiouy]|[^\x00-\x7f]", re.IGNORECASE)
_SHORT = 3
"""Letters of a word that is as likely a name: npm, uv, pip."""
_ENDING = re.compile(r"(?<=...)(?:ing|ation|ie|er|ed|en|ly|d|y|e)?(?:['’]?s)?$")
_STEM = 5
"""Letters of a word that tell what it is, whatever its ending."""
_NUMBER_WORDS = "one two three four five six seven eight nine ten"
_NUMBERS = {word: str(at) for at, word in enumerate(re.findall(r"\w+", _NUMBER_WORDS), 1)}
_SUBJECT = 2
"""Words that two rules have in common at least which differ in a number: else nobody knows that they are about one
thing."""
_NO = frozenset(
    re.findall(
        r"[\w']+", "avoid can't cannot doesn't don't kein keine mustn't never nicht nie no not shouldn't stop won't"
    )
)
_GRAMMAR = frozenset(
    re.findall(
        r"[\w']+",
        "a about above after again against all also always am an and any anything are as at be been before below "
        "between both but by can could did do does during each either else ever every everything except first for "
        "from get got had has have he her here him his how i if important in instead into is it its just last least "
        "less like max maximum may me min more most much must my next note now of off ok on once one only onto or "
        "other our out over please said same say says shall she should since so some somebody someone something "
        "such than that the their them then there these they thing things this those thus to too under unless until "
        "up us very want wants was way we well were what when where whether which while who whole whose why will "
        "with within without would yes yet you your",
    )
)
_PLAIN = frozenset(
    re.findall(
        r"[\w']+",
        "add added adding adds alone answer answering answers applies apply ask asked asking asks begin begins call "
        "calls change check checks code compare content describe done edit end ending ends ensure explain explains "
        "file files finish folder follow give given gives go goes include included includes item items keep keeps "
        "kept leave leaves let lets line list lists make makes making mention mentioned mentions modified modify "
        "name named names naming need needs new old own part parts place places prefer provide put puts replies "
        "reply respond run running runs section set show shown shows start starting starts state states take takes "
        "tell tells text touch use used uses using word words work works write writes writing written",
    )
)
"""Words that stand for others of their kind: "name the customer" is "mention the customer"."""
_GRAVE = frozenset(
    re.findall(
        r"[\w']+",
        "bypass delete deploy disable drop email execute forward ignore install merge omit post publish push remove "
        "send share skip upload",
    )
)
"""What nobody is to find in a rule who has not said so."""
_ENGLISH = 0.16
"""Share of the words that are known, from which a text is English."""
_CLAUSE = re.compile(
    r"(?:[.,;:!?()\u2013\u2014]+(?:\s+|$)|\n+|\s+(?=(?:and|but|then|or|without|unless|except|because|since|instead of"
    r"|before|after|when|whenever|if)\b))(?:(?:and|but|then|or)\s+)*",
    re.IGNORECASE,
)
_REMINDER = re.compile(r"\b(?:do not|don['’]t|never) forget to\b", re.IGNORECASE)
_SCOPE = re.compile(r"(?:when|whenever|while|for|in|on|if|at|during)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:without|unless|except|because|since|instead|before|after|when|whenever|if|you(?!"
    r" (?:must|should|may|can|have))|why|it|he|she|they|this|that|there|.*\bagain)\b",
    re.IGNORECASE,
)
"""A clause that says no to nothing: what somebody complains of, or what another clause depends on."""
_WITHOUT = re.compile(r"without\b", re.IGNORECASE)


def bare(text: str) -> str:
    """A rule without the mark of its list item, which is a mark only with a blank behind it."""
    text = text.strip()
    mark = _MARK.match(text)
    return text[mark.end() :].lstrip() if mark else text


@lru_cache(maxsize=4096)
def wording(text: str) -> Wording:
    """The words of a text that count."""
    plain = _TARGET.sub(" ", fold(bare(text))).replace("’", "'")
    for short, whole in _CONTRACTED:
        plain = plain.replace(short, whole)
    plain = _NOT.sub("never", _NOT_ALWAYS.sub("seldom", _PHRASE.sub(" ", plain)))
    return tuple(word for word in _COUNTED.findall(plain) if word not in _IDLE)


def same(one: str, other: str) -> bool:
    """Whether two rules say the same, words apart that change nothing. The order of words counts: tabs instead of
    spaces is not spaces instead of tabs."""
    return wording(one) == wording(other)


def contrary(one: str, other: str) -> bool:
    """Whether two rules differ only in that one of them says no, or in a number."""
    left, right = ([word for word in wording(text) if word not in _DENIALS | _ALL] for text in (one, other))
    negated = [bool(_DENIALS & set(wording(text))) for text in (one, other)]
    if left == right or negated[0] != negated[1] or len(left) != len(right):
        return bool(left) and left == right and negated[0] != negated[1]
    # `1 line` and `2 lines`, `10s` and `30s` differ in the number alone.
    counted = ([_NUMBERS.get(word, word.rstrip("s")) for word in words] for words in (left, right))
    differ = [pair for pair in zip(*counted, strict=True) if pair[0] != pair[1]]
    return 0 < len(differ) <= len(left) - _SUBJECT and all(word.isdecimal() for pair in differ for word in pair)


class _Clause(NamedTuple):
    text: str
    words: dict[str, str]
    """By the stem of each, without those of grammar."""
    denied: bool

    @property
    def telling(self) -> set[str]:
        """Stems of the words that do not stand for others."""
        return {stem for stem, word in self.words.items() if word.casefold() not in _PLAIN}


def unsaid(text: str, others: Sequence[str]) -> tuple[str, ...]:
    """The clauses and words of a text that say what none of the others does. Where nothing of it stands in them, they
    say it in other words; but there are none for a number, or for a name in code. In languages other than English
    small words are not known, so that only such names count."""
    clauses = list(_clauses(text))
    known = [clause for other in others for clause in _clauses(other)]
    said = {stem for clause in known for stem in clause.words}
    met = any(clause.telling & said for clause in clauses)
    words = _WORD.findall(" ".join((text, *others)).casefold())
    english = sum(word in _GRAMMAR | _PLAIN | _NO for word in words) >= _ENGLISH * len(words)
    parts = (part for clause in clauses for part in _parts(clause, known, said, met=met, english=english))
    return tuple(dict.fromkeys(parts))


def _parts(clause: _Clause, known: Sequence[_Clause], said: set[str], *, met: bool, english: bool) -> Iterator[str]:
    lacking = {stem: word for stem, word in clause.words.items() if stem in clause.telling and stem not in said}
    there, few = clause.telling & said, met and not _SCOPE.match(clause.text)
    if (
        _contradicts(clause, known)
        or _goes_without(clause, known)
        or (few and lacking and (not there or (english and len(lacking) > max(1, len(there)))))
    ):
        yield clause.text
        return
    for stem, word in lacking.items():
        exact = _EXACT.search(word) or _UNBROKEN.search(clause.text)
        name = met and there and _is_name(word, english=english)
        if exact or name or (english and _swapped(stem, clause, known)):
            yield word


def _contradicts(clause: _Clause, known: Iterable[_Clause]) -> bool:
    """Whether others say the same but for a no."""
    if _ASIDE.match(clause.text):
        return False
    words = set(clause.words)
    same = [
        other.denied
        for other in known
        if other.words and not _ASIDE.match(other.text) and (words == set(other.words) or _within(other, words))
    ]
    return bool(same) and clause.denied not in same


def _goes_without(clause: _Clause, known: Sequence[_Clause]) -> bool:
    """Whether a clause does without what another one orders: "without asking" where it is "ask me before"."""
    if not clause.words or not _WITHOUT.match(clause.text):
        return False
    words, first = clause.words.keys(), next(iter(clause.words))
    found = [other for other in known if words <= other.words.keys() and first == next(iter(other.words))]
    allowed = any(_WITHOUT.match(other.text) for other in found)
    return not allowed and any(not other.denied and not _ASIDE.match(other.text) for other in found)


def _within(other: _Clause, words: set[str]) -> bool:
    return len(other.words) > 1 and set(other.words) <= words


def _swapped(stem: str, clause: _Clause, known: Iterable[_Clause]) -> bool:
    """Whether a clause has it in the place of another word: "use yarn" for "use pnpm". Verbs, which come first, have
    many likes."""
    mine = ["", *clause.words, ""]
    at = mine.index(stem)
    if at == 1 and clause.words[stem].istitle():
        return False
    for other in known:
        theirs = ["", *other.words, ""]
        for place, one in enumerate(theirs[1:-1], 1):
            beside = {mine[at - 1]} & {theirs[place - 1]} | {mine[at + 1]} & {theirs[place + 1]}
            if one in other.telling - clause.telling and beside - {""} and not _alike(stem, one):
                return True
    return False


def _alike(one: str, other: str) -> bool:
    return min(len(one), len(other)) > _SHORT and (one.startswith(other) or other.startswith(one))


def _is_name(word: str, *, english: bool) -> bool:
    if _VOWEL.search(word) is None or word.casefold() in _GRAVE:
        return True
    return english and len(word) <= _SHORT and not word.istitle()


def _clauses(text: str) -> Iterator[_Clause]:
    for part in filter(None, (part.strip(" '\"") for part in _CLAUSE.split(one_form(text)))):
        words: list[str] = _WORD.findall(_REMINDER.sub("", part))
        plain = [word.casefold().replace("’", "'") for word in words]
        kept = {_stem(word): shown for word, shown in zip(plain, words, strict=True) if word not in _GRAMMAR | _NO}
        yield _Clause(part, kept, any(word in _NO for word in plain))


def _stem(word: str) -> str:
    if word in _NUMBERS:
        return _NUMBERS[word]
    if _EXACT.search(word):
        return word.strip("./\\")
    short = _ENDING.sub("", word)
    short = short[:-1] if len(short) > _SHORT and short[-1] == short[-2] else short
    return short[:_STEM]
