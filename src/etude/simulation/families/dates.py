"""Dates: counting days and months, and writing dates in a format.

Counting days from a date always passes the end of exactly one month that a hasty reader may think a day too long:
that mistake, and counting the starting day, give the same wrong date.
"""

import random
import re
from dataclasses import dataclass

from etude.simulation.families.family import Family, Faults, Solution, rules_of

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
FORMATS = ("MM/DD/YYYY", "DD/MM/YYYY", "YYYY-MM-DD")
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE = rf"(?:{'|'.join(MONTHS)})\s+\d{{1,2}},\s+\d{{4}}"
_FORMAT = "|".join(FORMATS)


@dataclass(frozen=True, order=True)
class _Day:
    year: int
    month: int
    day: int


class Dates(Family):
    """Date arithmetic, number of days between dates, and date formats."""

    name = "dates"
    subject = r"\b(?:date|day|calendar|month)"
    rules = rules_of("dates")
    pattern = re.compile(
        rf"What\s+date\s+is\s+(?P<count>\d+)\s+(?P<unit>day|month)s?\s+(?P<way>after|before)\s+(?P<base>{_DATE})\?"
        rf"\s+Answer\s+in\s+(?:{_FORMAT})\."
        rf"|How\s+many\s+days\s+are\s+there\s+from\s+(?P<since>{_DATE})\s+to\s+(?P<till>{_DATE})"
        rf"(?P<both>,\s+counting\s+both\s+days)?\?"
        rf"|Write\s+the\s+date\s+(?P<plain>{_DATE})\s+in\s+the\s+format\s+(?:{_FORMAT})\."
        rf"|Write\s+the\s+British\s+date\s+(?P<british>\d\d/\d\d/\d{{4}})\s+in\s+the\s+format\s+(?:{_FORMAT})\."
    )

    def solve(self, text: str, faults: Faults) -> Solution:
        found = self.match(text)
        if found["since"]:
            days = _between(_read(found["since"]), _read(found["till"]), faults)
            extra = 1 if found["both"] and "dates.both_ends" not in faults else 0
            return Solution(str(days + extra), f"The dates are {days} days apart.")
        if found["british"]:
            result, work = _british(found["british"], faults), "Read the date and wrote it anew."
        elif found["plain"]:
            result, work = _read(found["plain"]), "Wrote the date anew."
        else:
            base, count = _read(found["base"]), int(found["count"])
            sign = 1 if found["way"] == "after" else -1
            result = _shift(base, sign, count, found["unit"], faults)
            work = f"Went {count} {found['unit']}s from {found['base']}."
        shape = next(shape for shape in FORMATS if shape in text)
        return Solution(_write(result, shape, faults), work)

    def make(self, rng: random.Random) -> str:
        draw = rng.random()
        shape = rng.choice(FORMATS)
        if draw < 0.38:
            return _days_task(rng, shape)
        if draw < 0.58:
            return _months_task(rng, shape)
        if draw < 0.76:
            return _between_task(rng)
        day = _any_day(rng)
        if draw < 0.82:
            return f"Write the date {_name(day)} in the format {shape}."
        day = _Day(day.year, day.month, rng.randint(1, 12))
        return f"Write the British date {day.day:02}/{day.month:02}/{day.year} in the format {shape}."


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _length(year: int, month: int, faults: Faults) -> int:
    if month == 2:
        return 29 if _is_leap(year) or "dates.february" in faults else 28
    length = _LENGTHS[month - 1]
    return 31 if length == 30 and "dates.thirty" in faults else length


def _next_month(year: int, month: int, step: int) -> tuple[int, int]:
    index = year * 12 + month - 1 + step
    return index // 12, index % 12 + 1


def _shift(base: _Day, sign: int, count: int, unit: str, faults: Faults) -> _Day:
    if unit == "month":
        moved = _add_months(base, sign * count, faults)
    else:
        moved = _add_days(base, sign * (count - 1 if "dates.first_day" in faults else count), faults)
    return _Day(base.year, moved.month, moved.day) if "dates.year" in faults else moved


def _add_months(base: _Day, count: int, faults: Faults) -> _Day:
    year, month = _next_month(base.year, base.month, count)
    length = _length(year, month, frozenset())
    if base.day <= length:
        return _Day(year, month, base.day)
    if "dates.month_end" not in faults:
        return _Day(year, month, length)
    later_year, later = _next_month(year, month, 1)
    return _Day(later_year, later, base.day - length)


def _add_days(base: _Day, count: int, faults: Faults) -> _Day:
    year, month, day = base.year, base.month, base.day + count
    while day > _length(year, month, faults):
        day -= _length(year, month, faults)
        year, month = _next_month(year, month, 1)
    while day < 1:
        year, month = _next_month(year, month, -1)
        day += _length(year, month, faults)
    return _Day(year, month, day)


def _between(since: _Day, till: _Day, faults: Faults) -> int:
    days, year, month = till.day - since.day, since.year, since.month
    while (year, month) < (till.year, till.month):
        days += _length(year, month, faults)
        year, month = _next_month(year, month, 1)
    return days


def _british(text: str, faults: Faults) -> _Day:
    first, second, year = (int(part) for part in text.split("/"))
    if "dates.british" in faults and first <= 12:
        return _Day(year, first, second)
    return _Day(year, second, first)


def _read(text: str) -> _Day:
    month, day, year = text.replace(",", " ").split()
    return _Day(int(year), MONTHS.index(month) + 1, int(day))


def _name(day: _Day) -> str:
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def _write(day: _Day, shape: str, faults: Faults) -> str:
    width = 1 if "dates.padding" in faults else 2
    month, number, year = f"{day.month:0{width}}", f"{day.day:0{width}}", str(day.year)
    if shape == "MM/DD/YYYY" or "dates.order" in faults:
        return f"{month}/{number}/{year}"
    return f"{number}/{month}/{year}" if shape == "DD/MM/YYYY" else f"{year}-{month}-{number}"


def _any_day(rng: random.Random) -> _Day:
    return _Day(rng.randint(1951, 2049), rng.randint(1, 12), rng.randint(1, 28))


def _passed(since: _Day, till: _Day) -> list[str]:
    """The rules about month lengths that matter between two days."""
    rules: list[str] = []
    year, month = since.year, since.month
    while (year, month) < (till.year, till.month):
        if month == 2 and not _is_leap(year):
            rules.append("dates.february")
        if _LENGTHS[month - 1] == 30:
            rules.append("dates.thirty")
        year, month = _next_month(year, month, 1)
    return rules


def _days_task(rng: random.Random, shape: str) -> str:
    """Exactly one month is passed whose length a hasty reader gets wrong, by a day that shows."""
    while True:
        base, count = _any_day(rng), rng.randint(8, 60)
        month = rng.choice((base.month, 2, 11))
        base = _Day(base.year, month, base.day)
        sign, way = rng.choice(((1, "after"), (-1, "before")))
        end = _add_days(base, sign * count, frozenset())
        if len(_passed(min(base, end), max(base, end))) == 1:
            task = f"What date is {count} days {way} {_name(base)}? Answer in {shape}."
            if _ambiguous(task):
                return task


def _ambiguous(task: str) -> bool:
    family = Dates()
    counted = family.solve(task, frozenset(("dates.first_day",))).answer
    lengths = (family.solve(task, frozenset((rule,))).answer for rule in ("dates.thirty", "dates.february"))
    return counted in lengths


def _months_task(rng: random.Random, shape: str) -> str:
    base, count = _any_day(rng), rng.randint(1, 9)
    if rng.random() < 0.6:
        base = _Day(base.year, rng.choice((1, 3, 5, 7, 8, 10, 12)), 31)
        count = next(
            step
            for step in rng.sample(range(1, 12), 11)
            if _LENGTHS[_next_month(base.year, base.month, step)[1] - 1] < 31
        )
    return f"What date is {count} month{'s' if count > 1 else ''} after {_name(base)}? Answer in {shape}."


def _between_task(rng: random.Random) -> str:
    since = _any_day(rng)
    till = _add_days(since, rng.randint(5, 90), frozenset())
    both = ", counting both days" if rng.random() < 0.75 else ""
    return f"How many days are there from {_name(since)} to {_name(till)}{both}?"
