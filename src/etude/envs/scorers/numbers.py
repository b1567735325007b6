"""Numbers as people and models write them: where they stand in a text, and what they are worth."""

import re
from fractions import Fraction
from typing import NamedTuple
from unicodedata import name as name_of
from unicodedata import normalize

from etude.envs.scorers.answer_words import IS
from etude.envs.splits import one_form

CURRENCY = "$€£¥₹₩₽₺"
UNITS = (
    "(?:[kcmµμ]?m|in|inch(?:es)?|ft|feet|foot|yd|yards?|mi|miles?|(?:milli|centi|kilo)?met(?:er|re)s?"
    "|[mkµμ]?g|lbs?|pounds?|oz|ounces?|stone|(?:kilo)?grams?|tons?|m?[lL]|lit(?:er|re)s?"
    "|m?s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|years?|jours?|mois|ans?|semaines?"
    "|stunden?|minuten?|sekunden?|jahre?|monate?|tage?|wochen?|heures?|horas?|minutos?|segundos?|días?|meses|años?"
    "|k?[JNW]|V|Hz|k?mol|mph|rad(?:ian)?s?|dollars?|cents?|euros?|degrees?)"
)
TEXT_COMMAND = re.compile(r"\\(?:text|math(?!bb)|operatorname|mbox|boldsymbol|bm)[a-z]*\s?\{([^{}]*)\}")
"""A text within a formula."""
FUNCTION = "(?:sin|cos|tan|ln|log|exp)"
_SIGNS_AND_COMMANDS = (
    "≤ le leq leqslant, ≥ ge geq geqslant, ≠ ne neq, < lt, > gt, ≈ approx, ± pm, ∞ infty, ∪ cup, ∩ cap, ∈ in, ° circ"
    ", ∓ mp, ° degree degrees, ∅ emptyset varnothing, ∖ setminus smallsetminus backslash, * times cdot, / div"
    ", ; lor vee, | vert lvert rvert mid, … dots ldots cdots, ∴ therefore, ∼ sim, ∠ angle, ⌊ lfloor, ⌋ rfloor"
    ", ⌈ lceil, ⌉ rceil, sin sin, cos cos, tan tan, ln ln, log log, exp exp"
)
_SIGN_OF_COMMAND = {
    name.title() if letter.isupper() else name.lower(): letter
    for letter in map(chr, range(0x391, 0x3CA))
    if (name := name_of(letter, "").rpartition(" ")[2].replace("LAMDA", "LAMBDA"))
} | {name: sign for sign, *names in map(str.split, _SIGNS_AND_COMMANDS.split(", ")) for name in names}
"""Of LaTeX, with the letters of Greek."""
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_MAGNITUDES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_LONGEST = 1000
"""Characters of one number; more are no number that anybody meant."""
_LARGEST = 400
"""Most digits that an exponent may add before or behind the point; a float has fewer."""

_SIGNS = str.maketrans(
    {
        **{chr(sign + 0xFEE0): chr(sign) for sign in range(0x21, 0x7F)},  # full width
        **dict.fromkeys("\u2010\u2011\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2044\u2215÷", "/"),
        **dict.fromkeys("×⋅·", "*"),
        "\u2019": "'",
        "〜": "~",
        **dict(zip("٪٫٬", "%.,", strict=True)),  # Arabic
    }
)
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_VULGAR = re.compile(r"((?<=\d) ?)?([¼-¾⅐-⅞])")
_SUPERSCRIPT = re.compile(r"(?<=[\w)\]}])[⁰¹²³⁴-⁻]+")
_SUBSCRIPT = re.compile(r"(?<=\w)[₀-₉]+")
_PART = r"\s?(\{(?:(?!\\[dtc]?frac)[^{}]){0,200}\}|\w)"
_FRACTION = re.compile(rf"\\[dtc]?frac{_PART}{_PART}")
_AHEAD = rf"(?=[{CURRENCY}]?(?:\.?\d|\\frac))"
_FORMS = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"\\([$%#])", r"\1"),
        (r"\\(?:text)?color\{\w+\}", ""),
        (r" ?\^ ?\{? ?° ?\}?", "°"),
        (r"\\!|\\(?:left|right|[bB]igg?[lr]?|displaystyle)(?![A-Za-z])", ""),
        (r"(?<!\\)\\[,;: ]|~|\\q?quad(?![A-Za-z])", " "),
        (r"\{([, ])\}", r"\1"),
        (r"\{([^{}]{1,200})\\over(?![A-Za-z])([^{}]{1,200})\}", r"\\frac{\1}{\2}"),
        (r"[^\S\n]{2,}", " "),
        (r"\bRs\.(?=\d)", "Rs "),
        # bold, and what is left of it: a power
        (r"(?<![\d)])(?<!\b[A-Za-z])\*\*|\*\*(?!\(?-?\d)", ""),
        (r"\*\*", "^"),
        (r"(?<!\w)__?(?=\S)|(?<=\w)__?(?![\w{(])", ""),
        # a sign apart from its number
        (rf"(?i)(?<![\w-])(?:minus|negative|минус)[^\S\n]{{1,3}}{_AHEAD}", "-"),
        (rf"(?<!正)[负負](?=\d)|(?:マイナス|마이너스)[ ]?{_AHEAD}", "-"),
        (rf"([=:(\[{{$≈][^\S\n]?|{IS}[^\S\n]?)-[^\S\n]{{1,3}}{_AHEAD}", r"\1-"),
        (r"\A(\s*)-\s{1,3}(?=[^\s\d]?[.\d\\][^A-Za-z\n]{0,40}\s*\Z)", r"\1-"),  # else it begins an item of a list
    )
)
_GROUPED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\d.,])(?<!\d['_])[1-9]\d{0,2}(?P<sep>[,'_])\d{3}(?:(?P=sep)\d{3}){0,110}(?!\d|(?P=sep)\d)",
        r"(?<![\d.,])(?<!\d )[1-9]\d{0,2}(?: \d{3}){1,110}(?!\d| \d| ?/)",
        r"(?<![\d.,])[1-9]\d?(?:,\d\d){1,8},\d{3}(?!\d|,\d)",
        r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3}){2,12}(?!\d|\.\d)",
    )
)
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(?:[1-9]\d{0,2}(?:\.\d{3}){1,12}|\d+),\d+(?!\d|[.,]\d)")

_N = r"(?:\d+(?:\.\d+)*|(?<![\w.])\.\d+)"


def _exponent(name: str) -> str:
    return rf"\^[ ]?[{{(]?[ ]?(?P<{name}>[-+]?\d{{1,6}})(?!\d|\.\d|/)[ ]?[)}}]?"


_NUMBER = re.compile(
    rf"""
    [\^_][{{(]?[-+]?\w*                                     # an exponent or index of something else
    |(?P<sign>(?<![\w)\]}}])[-+]|(?<![^\s(\[{{=:$])–)?  # behind a word or a bracket it is an operator or a range
    (?:[{CURRENCY}][ ]?)?
    (?<![A-Za-z_\d])(?<!\w\.)                                       # not inside a word or another number
    (?P<number>
        (?:(?P<whole>\d+)[ ]?)?\\frac\{{[ ]?(?P<top>-?{_N})[ ]?\}}\{{[ ]?(?P<bottom>-?{_N})[ ]?\}}
        |(?:(?P<and>\d+)[ ])?(?P<over>{_N})[ ]?/[ ]?(?P<under>{_N})
        |(?P<base>{_N})(?:[ ]?{_exponent("power")}|[eE](?P<e>[-+]?\d{{1,6}})
            |[ ]?[xX*][ ]?10{_exponent("ten")})?
    )
    (?P<odd>[ ]?/[ ]?\d[\d/.]*|\^(?:\{{[^{{}}]{{0,50}}\}}|\S{{0,10}})|[eE]\d|\u0305)?
    (?P<many>(?:[ -]?(?i:hundred|thousand|million|billion|trillion)s?(?![\w-])){{1,3}})?
    (?P<percent>[ ]?%|[ ]per[ ]?cent\b)?
    """,
    re.VERBOSE,
)


class Number(NamedTuple):
    """A number in a text."""

    value: Fraction | None
    """None for what is no single number, as a date, or too large."""
    percent: bool
    start: int
    end: int

    @property
    def share(self) -> Fraction | None:
        """The same, with percent read as hundredths."""
        return self.value / 100 if self.percent and self.value is not None else self.value


def plain(text: str) -> str:
    """A text with its numbers written in one way: signs in front, no groups of digits, `^` for powers."""
    text = _VULGAR.sub(
        lambda found: f"{'' if found[1] is None else ' '}{normalize('NFKC', found[2])}", one_form(text)
    )
    text = _SUBSCRIPT.sub(lambda found: f"_{{{normalize('NFKC', found[0])}}}", text)
    text = _SUPERSCRIPT.sub(lambda found: f"^{{{normalize('NFKC', found[0])}}}", text).translate(_SIGNS)
    text = _OTHER_DIGIT.sub(lambda found: str(int(found[0])), text)
    text = _COMMAND.sub(lambda found: _SIGN_OF_COMMAND.get(found[1], found[0]), text)
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    text = _FRACTION.sub(lambda found: rf"\frac{{{found[1].strip('{}')}}}{{{found[2].strip('{}')}}}", text)
    for grouped in _GROUPED:
        text = grouped.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    return text


def with_points(text: str) -> str:
    """A plain text whose decimal commas are points; a pair in brackets is none."""

    def point(found: re.Match[str]) -> str:
        around = text[found.start() - 1 : found.start()] + text[found.end() : found.end() + 1]
        return found[0] if around in ("()", "[]", "{}", "(]", "[)") else found[0].replace(".", "").replace(",", ".")

    return _DECIMAL_COMMA.sub(point, text)


def numbers(text: str) -> list[Number]:
    """The numbers of a plain text."""
    return [
        Number(_value(found), bool(found["percent"]), *found.span())
        for found in _NUMBER.finditer(text)
        if found["number"]
    ]


def number(text: str) -> Fraction | None:
    """What a plain text is worth that is one number and nothing else; None for any other."""
    found = _NUMBER.fullmatch(text)
    return _value(found) if found is not None and found["number"] else None


def _value(found: re.Match[str]) -> Fraction | None:
    if found["odd"] or len(found[0]) > _LONGEST:
        return None
    try:
        value = _mixed(found) if found["base"] is None else _powered(found)
    except (ArithmeticError, ValueError):  # something over 0, or several points
        return None
    many = (found["many"] or "").lower()
    zeros = sum(many.count(word) * zeros for word, zeros in _MAGNITUDES.items())
    sign = -1 if found["sign"] in ("-", "–") else 1
    return None if value is None else sign * value * 10**zeros


def _mixed(found: re.Match[str]) -> Fraction | None:
    whole = found["whole"] or found["and"]
    part = Fraction(found["top"] or found["over"]) / Fraction(found["bottom"] or found["under"])
    if whole is None:
        return part
    return int(whole) + part if 0 < part < 1 else None


def _powered(found: re.Match[str]) -> Fraction | None:
    base = Fraction(found["base"])
    ten = int(found["ten"] or found["e"] or 0)
    power = int(found["power"] or 1)
    if abs(ten) > _LARGEST or abs(power) * len(found["base"]) > _LARGEST:
        return base if power == 1 and not ten else None
    return base**power * Fraction(10) ** ten
