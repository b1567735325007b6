"""A scorer for results of mathematics, as people and models write them in LaTeX."""

import re
from fractions import Fraction
from functools import partial
from itertools import accumulate

from pydantic import Field

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, boxed, expected, graded, pairs_up
from etude.envs.scorers.answer_words import ANSWER, IS
from etude.envs.scorers.numbers import CURRENCY, FUNCTION, TEXT_COMMAND, UNITS, number, plain
from etude.errors import DataError
from etude.records import Score, Task

_LONGEST = 2000
"""Characters of a result that are compared."""
_DEEPEST = 8
"""Lists within lists that are compared item by item."""
_EMPTY_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{\s*\}|\sI hope (?:it|this) is correct\.?\Z")
_ROWS = r"\{(?:align(?:ed)?|gather(?:ed)?|equation|split|multline)\*?\}"
_DISPLAYS = tuple(
    (re.compile(rf"^[ \t]*{opens}((?:(?!{closes}).)+){closes}[.\s]*\Z", re.MULTILINE | re.DOTALL), rows)
    for opens, closes, rows in (
        (r"\\\[", r"\\\]", "(?!)"),
        (r"\$\$", r"\$\$", "(?!)"),
        (rf"\\begin{_ROWS}", rf"\\end{_ROWS}", r"\\\\|&"),
        (r"```\w*\n", "```", "\n"),
    )
)
"""Formulas at the end of a text on lines of their own, and what separates their rows: the last one counts."""
_EMPHASIS = re.compile(r"\*\*(?!\d)|(?<![\w)])\*\*|`|(?<![\w}])__|__(?!\w)|\A\*(?=[^*]+\*\Z)|\*\Z")
_THE = r"(?:[^\w\\]|\b(?:and|correct|die|el|la|final|hence|my|our|so|the|thus|therefore)\b|最[终終]|[故则則]){0,9}"
_SAYS = re.compile(
    rf"(?i:(?:.*{ANSWER}(?:[^=$\\]{{0,100}}(?<!不){IS}|(?=\s*[:：]|(?<=ans)[.)]))|{_THE}{ANSWER})"
    r"|(?:[^=$\\]|\$[^$\n]{1,80}\$){0,300}\b(?:is|are|equals|gives|get|obtain|so|thus|hence|therefore)\b,?)"
    r"(?i:\s(?:then|thus|hence|therefore|simply|about|approximately|roughly|exactly))?"
    r"\s*(?:[:：]|(?i:(?<=ans))[.)])?\s*(.+?)(?: ?(?:です|である|입니다|이다|है))?[.。।]?\s*"
)
_IS_THE_ANSWER = re.compile(
    r"(?i)(\S.{0,100}?),? is (?:the|my|our) (?:final |correct )?(?:answer|result|solution)\.?"
)
_DELIMITERS = re.compile(r"(?<!\\)\$|\\[()\[\]]")

_TEXT = r"\\(?:text|mathrm|textrm|textbf|mbox)\{([^{}]*)\}"
_BARE = rf"(?:(?:square|cubic|sq|cu) )?(?:{UNITS}|units?|points?|people|ways?)"
_POWER = r"(?: ?\^ ?(?:\{-?\d\}|-?\d))?"
_TEXT_UNIT = re.compile(rf"(?:(?<=[\d}})])|(?<=π))(?: ?{_TEXT}{_POWER}(?: ?[/*])?){{1,4}}\Z")
_BARE_UNIT = re.compile(
    rf"(?<=[\d}})π])(?: |(?=[cmk][mgl]\b)){_BARE}{_POWER}(?:(?:/| per | ?\* ?){_BARE}{_POWER})?\Z"
)
_NO_UNIT = re.compile(
    r"(?i)\b(?:(?:hundred|thousand|[mb]illion|trillion|dozen|ten)(?:s|ths?)?|or|and|to|not|if|base|mod|remainder"
    r"|more|less|squared|cubed|factorial|half|halves|thirds|root|negative|pi|below|above|over|under|minus|plus"
    r"|times (?:as|the|\w{2,}er)|[a-bd-fijkn-rt-z])\b|\d"
)
"""In what stands behind a number: it makes another number of it, or no number."""
_SIGNS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        ("%", r"\\?%|\bper ?cent\b"),
        ("°", r"°|\bdegrees?\b"),
        *((sign, re.escape(sign)) for sign in CURRENCY),
    )
)
"""Units that are signs, which stand before or behind a number, or within a list."""
_SIGN_OF = {"dollar": "$", "euro": "€"}
_LETTER = r"[^\W\d_]"
_TIMES = (
    rf"(?<=[\w)}}]) ?\* ?(?!\\frac|[eE] ?[-+\d]|[xX] ?\d)"
    rf"(?={_LETTER}(?!{_LETTER}|\d)|sqrt|{FUNCTION}|[(\\])"
)
"""A sign that may be left out: 2*x is 2x; but 5*\\frac{1}{2} is not 5\\frac{1}{2}, nor 5*e5 5e5."""
_FORMS = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        ("<=", "≤"),
        (">=", "≥"),
        ("!=", "≠"),
        (r"(?<![A-Za-z\\])pi(?![A-Za-z])", "π"),
        (r"(?<![A-Za-z\\])infinity\b", "∞"),
        (r"\\begin\{[bp]matrix\}", "matrix["),
        (r"\\begin\{(\w+)\}", r"\1["),
        (r"\\end\{\w+\}", "]"),
        *((rf"\\(?:mathbb|Bbb) ?\{{?{letter}\}}?", sign) for letter, sign in zip("CNQRZ", "ℂℕℚℝℤ", strict=True)),
        (r"\\[dt](?=binom|frac)", r"\\"),
        (r"\{(\w+) ?\\choose ?(\w+)\}", r"\\binom{\1}{\2}"),
        (_TIMES, ""),
        (r"(?:\A|(?<=[(\[{,;=<>≤≥*/-])) ?\+(?=[\w\\∞])", ""),
        (r"(?:√|\\?sqrt) ?\(([^()]*)\)|√ ?(\w+)|\\sqrt ?(\w)", r"\\sqrt{\1\2\3}"),
        (r"([\^_]) ?\((-?\w+)\)", r"\1{\2}"),
        (r"([\^_]) ?(-?(?:\d+|[A-Za-z]))", r"\1{\2}"),  # x^{2}3 stays another than x^23
        (r",? *(?<![A-Za-z\\])(?:or|and)\b|,", ";"),  # groups of digits are gone by now
        (r"(?<!\d) | (?!\d)|∴", ""),  # 1 2 is not 12
        (r"(?<![\w)}/^.])(\d+)/(\d+)(?=π|\\sqrt)", r"(\1/\2)"),
        (r"\\\{", "⦃"),
        (r"\\\}", "⦄"),
        ("⦃⦄", "∅"),
        (rf"({FUNCTION}(?:[_^]\{{\w+\}})?)[({{]({_LETTER}|\d+)[)}}](?![\w(\\^])", r"\1\2"),
    )
)
_BRACED = r"\{((?:[^{}]|\{[^{}]*\}){0,200})\}"
_FRACTION = re.compile(
    rf"(?P<factor>[^\W\d]|[)}}!/])?(?P<whole>(?<=\d))?\\frac{_BRACED}{_BRACED}(?=(?P<more>[\w({{^!/]|\\(?!\\))?)"
)
_ONE_TERM = re.compile(r"\([^()]*\)|-?[^-+±∓;=<>≤≥≠≈∪∩∖/]+")
_ONE_FACTOR = re.compile(rf"\([^()]*\)|\d+|(?:{_LETTER}|\\[a-z]+(?:\{{\w+\}})?)(?:\^\{{\w+\}})?")
_PART_OF = re.compile(rf"\((\d+)/(\d+)\)(\\sqrt\{{\w+\}}|{_LETTER}(?:\^\{{\w+\}})?)(?![\w^(])")
_NAMED = re.compile(
    rf"(?P<name>\\?{_LETTER}+(?:_\{{\w+\}})?(?:\(\w+\))?|\({_LETTER}(?:;{_LETTER})+\))[=∈](?P<value>.+)"
)
_WORKED_OUT = re.compile(r"(?:[\d.+*/(){}^!π -]|\\(?:sqrt|binom)(?![A-Za-z]))*[=≈~](?P<value>[^=]+)")
_FORMULA = re.compile(r"[\\\d=+*/^<>≤≥≠≈∞±∪∩∈∅∖-]|(?<![Ͱ-Ͽ])[Α-Ωα-ω](?![Ͱ-Ͽ])")
"""In a text of which upper and lower case differ; letters of a Greek word are no formula."""
_TIGHT_LIST = re.compile(
    r"(?:[(\[]|(?<![\w}^])\{|\\langle ?)(?:[^()\[\]{}; ]|\{[^{};]*\}){3,200}(?:[)\]}]| ?\\rangle)"
)
_TIGHT_COMMA = re.compile(r",(?![^{]*\}.)")
"""12,102 is a number, and (12,102) a pair, as (12, 102) is."""
_OPENS, _CLOSES = "([{⦃", ")]}⦄"


class MathOptions(Section):
    """How near is near enough."""

    rel_tol: float = Field(default=1e-9, ge=0)
    """Largest allowed difference between two numbers, as a share of the larger one."""


class Math(AnswerScorer[MathOptions]):
    r"""1 when the result in the answer equals a gold result, else 0.

    The result is what the last `\boxed{}` holds, in the answer and in the gold, else the last line, without words in
    front. Spaces, `\left` and `\text` do not count, nor a name as in `x = 5`, nor a unit or a dollar, percent or
    degree sign that only one side has. Numbers are compared by value (fractions, mixed numbers, powers, groups of
    digits), lists, tuples and intervals item by item, sets in any order, everything else as it is written.
    """

    name = "math"
    options_type = MathOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1. Raises DataError when a gold answer has no result."""
        golds = [read_result(gold) for gold in accepted(task)]
        if not all(golds):
            raise DataError(f"task {task.id!r}: the gold answer has no result", hint="write it in \\boxed{}")
        got = read_result(answer)
        right = any(same_result(gold, got, self.options.rel_tol) for gold in golds)
        return graded(right, float(right), expected(golds, got))


def read_result(text: str) -> str:
    r"""What the last `\boxed{}` holds, else the last line without words before it; empty when there is none."""
    if inside := boxed(text):
        return inside
    last = _EMPHASIS.sub("", _last(_EMPTY_BOX.sub("", text.strip()[-_LONGEST:]).strip())).strip()
    said = _IS_THE_ANSWER.fullmatch(last) or _SAYS.fullmatch(last)
    return (said[1] if said else last).strip()


def _last(text: str) -> str:
    """The last line of a text, or of the formula that ends it."""
    for pattern, row in _DISPLAYS:
        if found := pattern.search(text):
            rows = [one for one in re.split(row, found[1]) if one.strip(" \n.")] or [""]
            return _last(" ".join(rows[-1].split()))
    return text.rpartition("\n")[2]


def same_result(one: str, other: str, rel_tol: float = 0.0) -> bool:
    """Whether two results are equal by value, item by item, or written alike."""
    (left, units), (right, other_units) = _measured(one), _measured(other)
    if not (units <= other_units or other_units <= units):
        return False
    return bool(left and right) and _same(left, right, rel_tol, _DEEPEST)


def _measured(result: str) -> tuple[str, frozenset[str]]:
    """A result without what only changes how it looks, and its units: signs, and what stands behind it in words."""
    text = _TIGHT_LIST.sub(lambda found: _TIGHT_COMMA.sub(", ", found[0]), _DELIMITERS.sub("", result[:_LONGEST]))
    text = plain(text.strip()).lstrip(" =∴\n").rstrip(" =.\n")
    text = words[1] if (words := TEXT_COMMAND.fullmatch(text)) else text
    signs = frozenset(sign for sign, pattern in _SIGNS if pattern.search(text))
    for _, pattern in _SIGNS:
        text = pattern.sub("", text)
    text = text.strip(" ")
    unit = _TEXT_UNIT.search(text)
    if unit is not None and _NO_UNIT.search(re.sub(_POWER + r"\Z", "", TEXT_COMMAND.sub(r"\1", unit[0]))):
        unit = None
    if unit is None and (unit := _BARE_UNIT.search(text)):
        result = text[: unit.start()]
        unit = unit if number(_normal(result)) is not None or result.endswith("π") else None
    if unit is None:
        return _normal(text), signs
    name = re.sub(r"[{} .]|(?<=[a-z]{2})s\Z", "", TEXT_COMMAND.sub(r"\1", unit[0]))
    return _normal(text[: unit.start()]), signs | frozenset([_SIGN_OF.get(name, name)] if name else [])


def _normal(text: str) -> str:
    text = TEXT_COMMAND.sub(r"\1", TEXT_COMMAND.sub(r"\1", text))
    for pattern, form in _FORMS:
        text = pattern.sub(form, text)
    text = _FRACTION.sub(_slashed, _FRACTION.sub(_slashed, text))
    text = _PART_OF.sub(lambda found: f"{found[1] if found[1] != '1' else ''}{found[3]}/{found[2]}", text)
    text = text.lstrip(";").rstrip(";.")
    return text if _FORMULA.search(text) else text.casefold()


def _slashed(found: re.Match[str]) -> str:
    """A fraction with a slash, in brackets where the slash alone could be read otherwise."""
    top, bottom = found[3], found[4]
    if bottom[:1] == "-":
        top, bottom = f"-{top}".removeprefix("--"), bottom[1:]
    top = top if _ONE_TERM.fullmatch(top) else f"({top})"
    bottom = bottom if _ONE_FACTOR.fullmatch(bottom) else f"({bottom})"
    if found["factor"] or found["more"]:
        return f"{found['factor'] or ''}({top}/{bottom})"
    return f"{'' if found['whole'] is None else ' '}{top}/{bottom}"


def _same(one: str, other: str, rel_tol: float, depth: int) -> bool:
    """Whether two normal results are equal."""
    if one == other:
        return True
    if depth == 0:
        return False
    (name, left), (other_name, right) = _named(one), _named(other)
    if name and other_name and name != other_name:
        return False
    opening, items = _items(left)
    other_opening, other_items = _items(right)
    if len(items) > 1 or len(other_items) > 1 or opening or other_opening:
        if opening != other_opening or len(items) != len(other_items):
            return False
        same = partial(_same, rel_tol=rel_tol, depth=depth - 1)
        return pairs_up(items, other_items, same) if opening[:1] == "⦃" else all(map(same, items, other_items))
    if (items[0], other_items[0]) != (one, other):
        return _same(items[0], other_items[0], rel_tol, depth - 1)
    first, second = number(one), number(other)
    if first is None or second is None:
        return False
    return abs(first - second) <= Fraction(rel_tol) * max(abs(first), abs(second))


def _items(text: str) -> tuple[str, list[str]]:
    """The brackets around a result, empty where none count, and what commas separate within them."""
    brackets, depths = text[:1] + text[-1:], _depths(text)
    if len(text) < 3 or brackets[0] not in _OPENS or brackets[1] not in _CLOSES or depths[-1] or depths.count(0) > 1:
        return "", _split(text)
    items = _split(text[1:-1])
    if len(items) > 1 or brackets not in ("()", "[]", "{}"):
        return brackets.replace("{}", "⦃⦄"), items
    return "", [text if brackets == "[]" else text[1:-1]]


def _split(text: str) -> list[str]:
    """The parts of a text between semicolons that stand in no brackets."""
    parts = ("\0" if sign == ";" and depth == 0 else sign for sign, depth in zip(text, _depths(text), strict=True))
    return "".join(parts).split("\0")


def _depths(text: str) -> list[int]:
    """How many brackets are open behind each sign of a text."""
    return [*accumulate((sign in _OPENS) - (sign in _CLOSES) for sign in text)]


def _named(text: str) -> tuple[str, str]:
    """The name in front of an equals sign, and what follows; what was worked out, as in `6*7 = 42`, is no name.
    A list of several named values has no name of its own."""
    if len(_split(text)) > 1:
        return "", text
    found = _NAMED.fullmatch(text)
    name, value = (found["name"], found["value"]) if found is not None else ("", text)
    worked_out = _WORKED_OUT.fullmatch(value)
    value = worked_out["value"] if worked_out is not None else value
    return name, value
