"""A scorer for numbers, as people and models write them."""

import re
from math import isclose
from typing import Literal

from pydantic import Field

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, boxed, expected, graded
from etude.envs.scorers.answer_words import AND, IS, NOT, OR, TO, any_of
from etude.envs.scorers.numbers import CURRENCY, FUNCTION, TEXT_COMMAND, UNITS, Number, numbers, plain, with_points
from etude.errors import DataError
from etude.records import Score, Task

_MARK = "####"
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,20}(?: [^<>\n]{0,80}=[^<>\n]{0,80})? ?/?>|<([-+]?[\d.,]+)>")
"""A tag, or a number that is written like one; any other `<` compares."""
_DIGIT = re.compile(r"[\d¼-¾⅐-⅞]")
_NEAR = 2000
"""Characters around the number that counts which are looked at."""
_FACTORIAL = re.compile(r"(?<=\d)!")
"""Behind a number in a box it is no exclamation."""
_FAR = 60
"""Characters between two numbers of which one is not said of the other any more."""
_OPERATOR = r"\b(?:through|thru|till|until|versus|vs|of|by|per|plus|times|over|choose|mod)\b"
_UNIT = (
    rf"[ ]?(?!{AND}|{OR}|{IS}|{_OPERATOR}|\b(?:gives|makes|answer|in(?=[ ]\Z))\b)"
    rf"(?:[^\W\d_]{{1,15}}(?![^\W\d_])|°[CF]?|[%{CURRENCY}])(?:[/^][\w{{}}^-]{{1,8}})?"
)
_KIND = r"(?:square|cubic|sq\.?|cu\.?|metric|nautical|fluid|light)[ ]"
_SCALE = r"[ ](?:celsius|fahrenheit|kelvin|squared|cubed)"
_COMPOUND = rf"[ ]?(?:{_KIND}{UNITS}|{UNITS}(?:{_SCALE}|[ ](?:per|an?)[ ]{UNITS}))(?![^\W\d_])"
"""A unit of several words."""
_NEXT = rf"[ ]?(?:\b[A-Za-z](?:_?\w?|_\{{\w{{1,5}}\}})[ ]?=[ ]?)?[{CURRENCY}]?"
_BETWEEN = re.compile(
    rf"""(?P<unit>{_COMPOUND}|{_UNIT})?(?:
        (?P<again>[ ]?\((?P<or>{OR})?(?:=|≈|~|about|approx\w*\.?|i\.e\.,?)?)
        |(?P<within>[ ]in[ ])
        |(?P<either>
            [\s?!.,;()*$]*(?:{OR}|{TO}|{_OPERATOR})
                [\s,(:*$.]*(?:up[ ]to|about|maybe|perhaps|possibly|even|rather|is[ ]it|also)?
            |[ ,;(]+(?:maybe|perhaps|possibly|(?:and[ ]|but[ ])?{NOT}|(?:rather[ ]than|instead[ ]of|out[ ]of)\b)
            |[ ]?(?:[-–—+*&|/'、]|\+[-/]{{1,2}}|±|∼|…|\.\.\.?|\\to(?![a-z])|\bx\b)[ ]?
            |:(?!\s)
        )
        |(?P<comma>[ ]*[,;][ ]*)
        |[ ,;]*(?P<and>{AND})
    ){_NEXT}|(?P<alone>{_UNIT})?[ ]*[{CURRENCY}]?""",
    re.VERBOSE | re.IGNORECASE,
)
"""What may stand between two numbers that are said together: the first one `again`, in brackets and another form or
unit; what it is counted `within`; `either` of them, as the ends of a range or the parts of a sum; or both."""
_MEASURE = re.compile(
    rf" ?(?:(?:{UNITS}|d|час\w*|ч|мин\w*)(?![^\W\d_])|[°'′\"年月天日分秒元角米]|小时|時間|시간|[분초년월일])",
    re.IGNORECASE,
)
"""Of an amount that has several numbers, as in `5 ft 10 in`."""
_NOTE = re.compile(
    r"(?i:\b(?P<said>(?:round\w*|correct|accurate|given) (?:off )?)?to (?:the nearest [\d.,]+(?:th)?"
    r"|\d{1,2} ?(?:decimals?(?: places?)?|d\. ?p\.?|dp|s\. ?f\.?|sf|sig(?:nificant|\.)? ?(?:fig(?:ure)?s?|digits?)"
    r"|(?(said)(?:places?|fig(?:ure)?s?|digits?)|(?!))))(?!\w))"
    r"|\((?:see|cf\.?) [^()\n]{1,40}\)"
    r"|(?<=[\d.%)])(?: ?\[\^?\d{1,3}\])+(?=[\s.,;:]|\Z)"
    r"|(?<=\n)\[\^?\d{1,3}\]:? (?![-+\u2212]?[\d.,]+(?:e[-+]?\d+)?\s*(?:\n|\Z)).*"
)
"""How exact a number is, as in `to 2 decimal places`; a mark of a footnote, as in `42 [1]`, and the note;
where to look, as in `(see step 2)`."""
_PER = re.compile(r"(?:(?<=\w)( per )|(?<=[^\W\d_])(/))10{1,6}(?= ?[^\W\d_])")
"""A number in a unit, as in `5 litres per 100 km`."""
_GREEK = "[\u0370-\u03ff\u1f00-\u1fff]"
_SYMBOL = "[α-λνξπ-ω]"  # micro is a unit, and omicron no symbol
_IN_UNIT = rf"\{{{UNITS}(?:\^\{{?[23]\}}?)?\}}"
_BOUND_WORDS = any_of(
    "than than_or_equal_to least most up_to over under above below not base"
    " mindestens höchstens mehr_als weniger_als moins plus_de menos más_de mas_de mais_de meno più_di almeno"
    " minstens hoogstens meer_dan minder_dan minst högst mer_än mindre_än nejméně nejvíce co_najmniej co_najwyżej"
    " bis_zu bis jusqu'à au_plus au_maximum hasta como_máximo como_mucho fino_a al_massimo al_più até no_máximo tot"
    " maximal maximaal op_til upp_till až enintään vähintään korkeintaan legalább legfeljebb cel_mult cel_puțin"
    " en_az en_fazla en_çok paling_sedikit paling_banyak minimal maksimal ít_nhất nhiều_nhất tối_đa tối_thiểu"
    " до не_меньше το_πολύ τουλάχιστον έως μέχρι कम_से_कम ज़्यादा_से_ज़्यादा अधिकतम อย่างน้อย ไม่เกิน มากกว่า น้อยกว่า"
    " على_الأقل على_الأكثر أكثر_من أقل_من"
    " не_менее не_более больше меньше 至少 最少 最多 不少于 不多于 不超过 超过 少なくとも 最大 최소 최대"
)
"""In front of a number; some of them are `minus`, too."""
_OR_MORE = any_of(
    "oder_mehr oder_weniger ou_plus ou_moins o_más o_menos o_più o_meno ou_mais ou_menos of_meer of_minder eller_mer"
    " eller_mere eller_flere eller_fler eller_mindre eller_færre nebo_více nebo_méně lub_więcej lub_mniej tai_enemmän"
    " tai_vähemmän sau_mai_mult sau_mai_puțin atau_lebih atau_kurang hoặc_hơn veya_daha_fazla veya_daha_az"
    " или_более или_больше или_менее или_меньше ή_περισσότερα ή_λιγότερα أو_أكثر أو_أقل"
)
"""Behind a number."""
_MANY = (
    r"mil+[hijy]{0,2}(?:on|ón|ões|ão|oen|ard|ar(?!\w))\w*|(?:b|tr)il+[hijy]{0,2}(?:on|ón|ões|ão|oen)\w*"
    r"|mil|mille|mila|mln|mio|mrd|mld|lakhs?|crores?|t(?:au|u)send?|duizend|tsd|tys|tisíc\w*|juta|ribu"
    r"|mil+[ij]o(?:on|an|ó)\w*|mil+ió\w*|milliárd\w*|ezer|tuhat\w*|tuhan\w*|mii|bin|(?:δισ)?εκατομμύρι\w*|χιλιάδες"
    r"|nghìn|triệu|tỷ|тыс\w*|мл[нр]д?|милли\w+"
    r"|ألف|مليون"
)
"""Thousands to billions in other languages, of which not all mean the same."""
_BEFORE = re.compile(
    rf"""(?:
        ±|\+/?-|[≤≥≠]|<=?|(?<![-=~>–—])>=?    # arrows are no bounds
        |√|sqrt(?:\[\d+\])?[ ]?[{{(]?|(?<![A-Za-z]){FUNCTION}(?:[_^](?:\{{[^{{}}]*\}}|\w+))*[ ]?[{{(]?
        |frac\{{|\}}\{{|\d\.(?:\(|\\\w+\{{?)    # in a fraction, or the part of a decimal that repeats
        |[\w)\]}}]\$?[-+*/^](?![ ])|\w[ ][+*/^][ ]|[)\]}}][ ][-+*/^][ ]    # a dash behind a word may be a colon
        |{_SYMBOL}(?![ ])|(?<!{_GREEK}){_SYMBOL}|(?:{_SYMBOL}|(?<![A-Za-z\\])[A-Za-z])[ ]?[-+/^][ ]?
        |(?i:{_BOUND_WORDS}|n't\b)|[pb]?mod[ ]?\{{?|-\(
    )[ ]?[$]?\Z""",
    re.VERBOSE,
)
_BEHIND = re.compile(
    rf"""[ ]?(?:
        (?<![ ]){_SYMBOL}|{_SYMBOL}(?!{_GREEK})|\\?sqrt|\\frac(?!{_IN_UNIT}{_IN_UNIT})|{FUNCTION}(?![a-z])
        |√|\)[ ]?\^|!\$|\+|h\d|m\d\d|[≤≥≠>]|<(?![-!])
        |[-*/]?[ ]?(?!(?<=[ ])[aeiouyI][ ][A-Za-z]{{2}})    # a word of one letter before another word
            (?:(?<![ ])K|[abcdefijknopqrtuvwxyzBDEGHIMOPQRSTUXYZ])(?![^\W\d_]|'|\.[A-Za-z])  # but for units
        |-?\b(?i:dozens?|squared|cubed|factorial|halves|thirds|(?:ten|hundred|thousand|million|billion)ths?
            |{_MANY}|bn|mn|tn
            |(?:\w+[ ])?(?:below[ ]zero|{_OR_MORE}
                |or[ ](?:more|less|fewer|greater|higher|lower|above|below|over|under)
                |and[ ](?:a|one|three)[ -](?:half|third|quarters?)
                |at[ ](?:the[ ])?(?:very[ ])?(?:most|least)|max(?:imum)?|minimum|tops))\b(?!-)
    )|_[{{\w]|-?ish\b|(?:[abcxyz]{{2,3}}|bn|mn|tn|mio|mrd|mln)(?![^\W\d_])
    |[ ]?(?:\w?(?:以[上下内內]|未[満满滿])|[^\W\d_]?[ ]?(?:이상|이하|미만|초과)|หรือมากกว่า)
    |[ ]?(?:लाख|करोड|हज़?ार|พัน|หมื่น|แสน|ล้าน)
    # ten to a trillion, in Chinese, Japanese and Korean, but in no unit, as kilogram
    |[ ]?[十百千万萬亿億兆만억천조]
        (?![克米瓦卡帕伏焦赫分])""",
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
    if not found:
        return None
    if 0 < place == len(found) - 1 and (between := _between(text, *found[place - 1 :])) and between["again"]:
        place -= 1
    number = found[place]
    value = number.share if percent == "fraction" else number.value
    before, behind = found[place - 1 : place] if place else [], found[place + 1 : place + 2]
    first = number.start + (text[number.start] in "+-")
    if (
        value is None
        or _BEFORE.search(text[max(0, first - _FAR) : first])
        or _BEHIND.match(text, number.end)
        or any(_joined(text, one, number, last=True) for one in before)
        or any(_joined(text, number, other, last=False) for other in behind)
    ):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _region(text: str) -> tuple[str, list[Number], int]:
    """The part of a text that has its number, all numbers in it, and the place of the one that counts."""
    head, mark, tail = text.rpartition(_MARK)
    if inside := boxed(tail):
        return _read(_FACTORIAL.sub(" factorial", inside), -1)
    read = _read(tail, 0 if mark else -1)
    return read if read[1] or not mark else _read(head, -1)


def _read(text: str, place: int) -> tuple[str, list[Number], int]:
    text = _NOTE.sub("", text)
    digit = _DIGIT.search(text if place == 0 else text[::-1])
    if digit is None:
        return text, [], 0
    middle = digit.start() if place == 0 else len(text) - digit.start()
    text = text[max(0, middle - _NEAR) : middle + _NEAR]
    text = _PER.sub(r"\1\2", with_points(plain(_TAG.sub(r" \1 ", TEXT_COMMAND.sub(r"\1", text)))))
    return text, (found := numbers(text)), place % len(found) if found else 0


def _between(text: str, one: Number, other: Number) -> re.Match[str] | None:
    """How two neighbours are said together; None where they are not."""
    between = _BETWEEN.fullmatch(text[one.end : other.start]) if other.start - one.end <= _FAR else None
    closes = re.match(r"[^()\n]{0,40}\)", text[other.end : other.end + _FAR])
    return None if between and between["again"] and not closes and not between["or"] else between


def _joined(text: str, one: Number, other: Number, *, last: bool) -> bool:
    """Whether two neighbours are said as one range, sum or choice; `last`: the second one is that which counts."""
    between = _between(text, one, other)
    if between is None:
        return False
    behind = text[other.end : other.end + _FAR]
    if between["again"]:
        alone = not other.percent and behind.lstrip(" ").startswith(")")
        alone &= text[other.start] not in CURRENCY or text[other.start] == text[one.start]
        return one.value != other.value and one.share != other.share and (between["or"] is not None or alone)
    if between["either"] or between["within"]:
        return between["either"] is not None or last
    unit, rest = (between["unit"] or between["alone"] or "").strip(), behind.partition("\n")[0].strip(" .!)]}$*")
    if unit and (rest.startswith(unit) or (_MEASURE.fullmatch(unit) and (not rest or _MEASURE.match(behind)))):
        return True
    return not rest if between["comma"] else not unit or (between["and"] is not None and last)
