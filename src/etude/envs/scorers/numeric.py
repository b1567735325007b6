"""A scorer for numbers, as people and models write them."""

import re
from math import isclose
from typing import Literal

from pydantic import Field

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, boxed, expected, graded, last_box
from etude.envs.scorers.numbers import CURRENCY, Number, numbers, plain, with_points
from etude.errors import DataError
from etude.records import Score, Task

_MARK = "####"
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,20}(?: [^<>\n]{0,80}=[^<>\n]{0,80})? ?/?>|<([-+]?[\d.,]+)>")
"""A tag, or a number that is written like one; any other `<` compares."""
_WORDS = re.compile(r"\\(?:text|math|operatorname|color)[a-z]*\{([^{}]*)\}")
_DIGIT = re.compile(r"[\d\u00bc-\u00be\u2150-\u215e]")
_NEAR = 2000
"""Characters around the number that counts which are looked at."""
_FACTORIAL = re.compile(r"(?<=\d)!")
"""Behind a number in a box it is no exclamation."""
_FAR = 60
"""Characters between two numbers of which one is not said of the other any more."""
_AND = r"(?:and|und|et|y|e|i|en|och|og|ve|\u0438)"
_UNIT = (
    rf"(?P<unit>[ ]?(?!(?:{_AND}|or|is|are|equals|gives|makes|answer)\b)"
    rf"(?:[^\W\d_]{{1,15}}(?![^\W\d_])|°[CF]?|[%{CURRENCY}])(?:[/^][\w{{}}^-]{{1,8}})?)?"
)
_NEXT = rf"[ ]?(?:\b[A-Za-z](?:_?\w?|_\{{\w{{1,5}}\}})[ ]?=[ ]?)?[{CURRENCY}]?"
_EITHER = re.compile(
    rf"""{_UNIT}(?:
        [\s?!.,;()*$]*\b(?:or|to|through|thru|until|till|versus|vs|of|by|per|plus|times|over|choose|mod|oder|bis|ou|a|\u00e0
                |o|tot|til|lub|eller|veya|atau|ho\u1eb7c|\u0434\u043e|\u0438\u043b\u0438|\u0623\u0648)\b
            [\s,(:*$.]*
            (?:up[ ]to|about|maybe|perhaps|possibly|even|rather|is[ ]it|also)?
        |[ ,;(]+(?:maybe|perhaps|possibly|vielleicht|(?:and[ ]|but[ ])?not|rather[ ]than|instead[ ]of|out[ ]of)\b
        |[ ]?(?:[-\u2013\u2014+*&|/']|\+[-/]{{1,2}}|\u00b1|\u2026|\.\.\.?
            |\\(?:pm|times|cdot|sim|to|[lc]?dots|div)(?![a-z])|\bx\b)[ ]?
        |:(?!\s)
        # `to`, `or` and `and` in Chinese, Japanese and Korean
        |[ ]?(?:[\u5230\u81f3\u6216\u548c\u4e0e\u8207\u3001\u3068\uacfc\uc640]
            |\u304b\u3089|\u307e\u305f\u306f|\uc5d0\uc11c|\ub610\ub294|\ubd80\ud130)[ ]?)
    {_NEXT}""",
    re.VERBOSE | re.IGNORECASE,
)
_MEASURE = re.compile(
    r" ?(?:(?:h(?:ou)?rs?|min(?:ute)?s?|sec(?:ond)?s?|days?|weeks?|months?|years?|feet|foot|ft|inch(?:es)?|in|yards?"
    r"|miles?|lbs?|pounds?|oz|ounces?|stone|dollars?|cents?|degrees?|d|h|m|s|km|cm|mm|kg|g"
    r"|stunden?|minuten?|sekunden?|jahre?|monate?|tage?|wochen?|heures?|jours?|mois|ans?|semaines?|horas?|minutos?"
    r"|segundos?|d\u00edas?|meses|a\u00f1os?|\u0447|\u0447\u0430\u0441\w*|\u043c\u0438\u043d\w*)(?![^\W\d_])"
    r"|[\u00b0'\u2032\"\u5e74\u6708\u5929\u65e5\u5206\u79d2\u5143\u89d2\u7c73]|\u5c0f\u65f6|\u6642\u9593|\uc2dc\uac04|[\ubd84\ucd08\ub144\uc6d4\uc77c])",
    re.IGNORECASE,
)
"""Of an amount that has several numbers, as in `5 ft 10 in`."""
_EQUALS = re.compile(rf"{_MEASURE.pattern} ?=.*", re.IGNORECASE | re.DOTALL)
_NOTE = re.compile(
    r"(?i:\b(?P<said>(?:round\w*|correct|accurate|given) (?:off )?)?to (?:the nearest [\d.,]+(?:th)?"
    r"|\d{1,2} ?(?:decimals?(?: places?)?|d\. ?p\.?|dp|s\. ?f\.?|sf|sig(?:nificant|\.)? ?(?:fig(?:ure)?s?|digits?)"
    r"|(?(said)(?:places?|fig(?:ure)?s?|digits?)|(?!))))(?!\w))"
    r"|(?<=[\d.%)])(?: ?\[\^?\d{1,3}\])+(?=[\s.,;:]|\Z)"
    r"|(?<=\n)\[\^?\d{1,3}\]:? (?![-+\u2212]?[\d.,]+(?:e[-+]?\d+)?\s*(?:\n|\Z)).*"
)
"""How exact a number is, as in `to 2 decimal places`; a mark of a footnote, as in `42 [1]`, and the note."""
_WITHIN = re.compile(rf"{_UNIT} in ", re.IGNORECASE)
_PER = re.compile(r"(?:(?<=\w)( per )|(?<=[^\W\d_])(/))10{1,6}(?= ?[^\W\d_])")
"""A number in a unit, as in `5 litres per 100 km`."""
_SAID_AGAIN = r"or|=|\u2248|~|about|approx\w*\.?|i\.e\.,?"
_AGAIN = re.compile(rf"{_UNIT} ?\((?:{_SAID_AGAIN})?{_NEXT}", re.IGNORECASE)
"""Between a number and the same one in brackets, in another form or unit."""
_BARE = re.compile(r" ?\( ?")
_BOTH = re.compile(rf"{_UNIT}(?P<comma>[ ]*[,;]?[ ]*)(?P<and>{_AND}(?!\w))?{_NEXT}", re.IGNORECASE)
_SYMBOL = r"\\(?:pi|theta|alpha|beta|gamma|lambda|phi|omega)(?![a-z])|[\u03b1-\u03bb\u03bd-\u03c9]"  # micro is a unit
_FUNCTION = r"(?:log|ln|sin|cos|tan|exp)"
_BOUND = r"[\u2264\u2265\u2260]|\\(?:[lg](?:e|eq|t|eqslant)|neq?)(?![a-z])"
_IN_UNIT = r"\{(?:[kcm]?m|mi|ft|[km]?g|k?mol|k?[JNW]|m?L|rad|s|h|hr|min)(?:\^\{?[23]\}?)?\}"
_BOUND_WORDS = (
    r"moins|menos|meno|mindestens|h\u00f6chstens|(?:mehr|weniger)[ ]als|(?:plus|m[a\u00e1]s)[ ]de"
    r"|\u043d\u0435[ ](?:\u043c\u0435\u043d|\u0431\u043e\u043b)\u0435\u0435"
)
"""Bounds in other languages, and `minus`, which stands in some of them."""
_MANY = (
    r"mil+[hijy]{0,2}(?:on|\u00f3n|\u00f5es|\u00e3o|oen|ard|ar(?!\w))\w*|(?:b|tr)il+[hijy]{0,2}(?:on|\u00f3n|\u00f5es|\u00e3o|oen)\w*"
    r"|mil|mille|mila|mln|mio|mrd|mld|lakhs?|crores?|t(?:au|u)send?|duizend|tsd|tys|tis\u00edc\w*|juta|ribu"
    r"|ngh\u00ecn|tri\u1ec7u|t\u1ef7|\u0442\u044b\u0441\w*|\u043c\u043b[\u043d\u0440]\u0434?|\u043c\u0438\u043b\u043b\u0438\w+"
    r"|\u0623\u0644\u0641|\u0645\u0644\u064a\u0648\u0646|\u0932\u093e\u0916|\u0915\u0930\u094b\u0921\u093c|\u0939\u091c\u093c?\u093e\u0930"
)
"""Thousands to billions in other languages, of which not all mean the same."""
_BEFORE = re.compile(
    rf"""(?:
        \u00b1|\\pm(?![a-z])|\+/?-|\d\.(?:\(|\\(?:overline|bar|dot)\{{?)
        |{_BOUND}|<=?|(?<![-=~>\u2013\u2014])>=?    # arrows are no bounds
        |\u221a|sqrt(?:\[\d+\])?[ ]?[{{(]?|(?<![A-Za-z]){_FUNCTION}(?:[_^](?:\{{[^{{}}]*\}}|\w+))*[ ]?[{{(]?
        |frac\{{|\}}\{{
        |[\w)\]}}]\$?[-+*/^](?![ ])|\w[ ][+*/^][ ]|[)\]}}][ ][-+*/^][ ]    # a dash behind a word may be a colon
        |(?:{_SYMBOL}|(?<![A-Za-z\\])[A-Za-z])[ ]?[-+/^][ ]?
        |\b(?i:than(?:[ ]or[ ]equal[ ]to)?|at[ ](?:the[ ])?(?:very[ ])?(?:least|most)|up[ ]to|over|under|above|below
            |not|base|{_BOUND_WORDS})
        |[pb]?mod[ ]?\{{?|-\(|[\u81f3\u6700][\u5c11\u591a]|\u4e0d[\u5c11\u591a]\u4e8e|\u8d85\u8fc7
    )[ ]?[$]?\Z""",
    re.VERBOSE,
)
_BEHIND = re.compile(
    rf"""[ ]?(?:
        {_SYMBOL}|\\?sqrt|\\(?:frac(?!{_IN_UNIT}{_IN_UNIT})|{_FUNCTION})
        |\u221a|\)[ ]?\^|!\$|\+|h\d|m\d\d|{_BOUND}|>|<(?![-!])
        |[-*/]?[ ]?(?!(?<=[ ])[aeiouyI][ ][A-Za-z]{{2}})    # a word of one letter before another word
            (?:(?<![ ])K|[abcdefijknopqrtuvwxyzBDEGHIMOPQRSTUXYZ])(?![^\W\d_]|'|\.[A-Za-z])  # but for units
        |-?\b(?i:dozens?|squared|cubed|factorial|halves|thirds|(?:ten|hundred|thousand|million|billion)ths?
            |{_MANY}|bn|mn|tn
            |(?:\w+[ ])?(?:below[ ]zero|or[ ](?:more|less|fewer|greater|higher|lower|above|below|over|under)
                |and[ ](?:a|one|three)[ -](?:half|third|quarters?)
                |at[ ](?:the[ ])?(?:very[ ])?(?:most|least)|max(?:imum)?|minimum|tops))\b(?!-)
    )|_[{{\w]|-?ish\b|(?:[abcxyz]{{2,3}}|bn|mn|tn|mio|mrd|mln)(?![^\W\d_])
    # ten to a trillion, in Chinese, Japanese and Korean, but in no unit, as kilogram
    |[ ]?[\u5341\u767e\u5343\u4e07\u842c\u4ebf\u5104\u5146\ub9cc\uc5b5\ucc9c\uc870]
        (?![\u514b\u7c73\u74e6\u5361\u5e15\u4f0f\u7126\u8d6b\u5206])""",
    re.VERBOSE,
)
"""Beside a number that is part of another value: it stands for two, for a bound, or in a formula."""


class NumericOptions(Section):
    """How near is near enough."""

    abs_tol: float = Field(default=0.0, ge=0)
    """Largest allowed difference."""
    rel_tol: float = Field(default=1e-9, ge=0)
    """Largest allowed difference as a share of the larger of the two numbers."""
    percent: Literal["drop", "fraction"] = "drop"
    """`drop` reads 45% as 45, `fraction` as 0.45; in answer and gold alike."""


class Numeric(AnswerScorer[NumericOptions]):
    r"""1 when the number in the answer equals a gold number, else 0.

    The number is what the last `\boxed{}` holds or the first one after the last `####`, whichever comes later, else
    the last one of the answer. Understood are fractions and mixed numbers (`2 1/2`, `2\frac12`, `2½`), powers
    (`10^2`, `1.5 x 10^3`, `1e5`), groups of digits (`1,000`, `1 000`, `1.000.000`), decimal commas (`1,5`), signs and
    words in front (`- 5`, `minus 5`), magnitudes (`5 million`), currency, percent, and units with exponents
    (`42 m^2`). A range, a sum or several numbers side by side (`5 to 10`, `5 or 6`) are no number, nor is a bound
    (`x < 5`, `at least 5`) or a part of a formula or of an amount (`x/2`, `2x`, `5 dozen`, `5k`). A gold answer holds
    exactly one.
    """

    name = "numeric"
    options_type = NumericOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1. Raises DataError when a gold answer does not read as one number."""
        values = [self._gold(task, gold) for gold in accepted(task)]
        got = read_number(answer, self.options.percent)
        shown = [f"{value:.12g}" for value in values]
        if got is None:
            return graded(False, 0.0, expected(shown, answer, "the answer does not read as one number"))
        near = {"rel_tol": self.options.rel_tol, "abs_tol": self.options.abs_tol}
        right = any(isclose(value, got, **near) for value in values)
        return graded(right, float(right), expected(shown, f"{got:.12g}"))

    def _gold(self, task: Task, gold: str) -> float:
        text, found, _ = _region(gold)
        value = read_number(gold, self.options.percent)
        if not found:
            raise DataError(f"task {task.id!r}: gold {gold[-80:]!r} holds no number", hint="use another scorer")
        if value is None or len(found) > 1:
            raise DataError(
                f"task {task.id!r}: gold {text[-80:].strip()!r} does not read as one number",
                hint="write the number alone, as in '2.5', or behind ####; several right answers are a list",
            )
        return value


def read_number(text: str, percent: Literal["drop", "fraction"] = "drop") -> float | None:
    r"""The number in the last `\boxed{}`, or the first one behind `####`, or the last one of a text; None when there
    is none, when several could be meant, or when it is too large."""
    text, found, place = _region(text)
    if not found or found[place].value is None:
        return None
    if 0 < place == len(found) - 1 and _is_again(text, *found[place - 1 :]):
        place -= 1
    start, end = found[place].start, found[place].end
    first = start + (text[start] in "+-")
    if _BEFORE.search(text[max(0, first - _FAR) : first]) or _BEHIND.match(text, end):
        return None
    if (place and _joined(text, *found[place - 1 : place + 1], last=True)) or (
        place + 1 < len(found) and _joined(text, *found[place : place + 2], last=False)
    ):
        return None
    value = found[place].value
    assert value is not None
    try:
        return float(value / 100 if found[place].percent and percent == "fraction" else value)
    except OverflowError:
        return None


def _region(text: str) -> tuple[str, list[Number], int]:
    """The part of a text that has its number, all numbers in it, and the place of the one that counts."""
    box, mark = last_box(text), text.rfind(_MARK)
    if box > mark and (inside := boxed(text)):
        return _read(_FACTORIAL.sub(" factorial", inside), -1)
    head, mark_sign, tail = text.rpartition(_MARK)
    read = _read(tail, 0 if mark_sign else -1)
    return read if read[1] or not mark_sign else _read(head, -1)


def _read(text: str, place: int) -> tuple[str, list[Number], int]:
    text = _NOTE.sub("", text)
    digit = _DIGIT.search(text if place == 0 else text[::-1])
    if digit is None:
        return text, [], 0
    middle = digit.start() if place == 0 else len(text) - digit.start()
    text = text[max(0, middle - _NEAR) : middle + _NEAR]
    text = _PER.sub(r"\1\2", with_points(plain(_TAG.sub(r" \1 ", _WORDS.sub(r"\1", text)))))
    return text, (found := numbers(text)), place % len(found) if found else 0


def _is_again(text: str, one: Number, other: Number) -> bool:
    """Whether the second number says the first one again, in brackets, as in `0.5 (50%)`."""
    inside = re.match(r"[^()\n]{0,20}\)", text[other.end : other.end + _FAR])
    return inside is not None and _AGAIN.fullmatch(text, one.end, other.start) is not None


def _is_same(one: Number, other: Number) -> bool:
    """Whether two numbers have one value, or one of them says it in percent."""
    if one.value is None or other.value is None:
        return False
    return one.value == other.value or one.value * (1 if one.percent else 100) == other.value * (
        1 if other.percent else 100
    )


def _joined(text: str, one: Number, other: Number, *, last: bool) -> bool:
    """Whether two neighbours are said as one range, sum or choice; `last`: the second one is that which counts."""
    between = text[one.end : other.start]
    if len(between) > _FAR:
        return False
    if _EQUALS.fullmatch(between) or (_is_same(one, other) and _is_again(text, one, other)):
        return False
    if _EITHER.fullmatch(between) or (last and _WITHIN.fullmatch(between)):
        return True
    if _is_again(text, one, other):
        bare = _BARE.fullmatch(between) and re.match(r" ?\)", text[other.end :])
        return bool(bare) and not other.percent and one.value != other.value
    if _MEASURE.fullmatch(re.sub(r",? ?(?:\band)? ?\Z", "", between)) and _MEASURE.match(text, other.end):
        return True
    both = _BOTH.fullmatch(between)
    if both is None:
        return False
    unit, rest = (both["unit"] or "").strip(), text[other.end : other.end + _FAR].partition("\n")[0].strip(" .!)]}$*")
    if both["and"] or not both["comma"].strip():
        return not unit or rest.startswith(unit) or bool(both["and"] and last)
    return not rest or (bool(unit) and rest.startswith(unit))
