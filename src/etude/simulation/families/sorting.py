"""Sorting words alphabetically.

A list where one word begins another is always made so that a hasty reader finds another reason for a wrong place:
either sorting by first letters only, or a capital letter, gives the same wrong answer.
"""

import random
import re

from etude.simulation.families.family import Family, Faults, Solution, rules_of, table

WORDS, MARKED_WORDS = (tuple(table("sorting")[name].split()) for name in ("words", "marked"))
PREFIX_PAIRS = tuple((short, long) for short, long in map(str.split, table("sorting")["pairs"].split(",")))
_OPENINGS = (
    "Sort the following words alphabetically: List: {}",
    "Put these words in alphabetical order: {}",
    "Arrange the words below alphabetically: {}",
)
_MARK = re.compile(r"[^A-Za-z].*")
LONG_LIST = 8
"""From this many words on, the last one is easily forgotten."""


class Sorting(Family):
    """Words in alphabetical order, whatever their case, on one line."""

    name = "sorting"
    subject = r"\b(?:sort|word|alphabet)"
    rules = rules_of("sorting")
    pattern = re.compile(
        r"\b(?:sort|put|arrange|order)\b(?=[^\n:]*alphabet)[^\n:]{0,60}?\bwords\b[^\n:]{0,40}:"
        r"\s*(?:list:\s*)?(?P<words>[^\s<.?!\"\\:]+(?:,?[ \t]+[^\s<.?!\"\\:]+)+)",
        re.IGNORECASE,
    )

    def solve(self, text: str, faults: Faults) -> Solution:
        words: list[str] = self.match(text)["words"].replace(",", " ").split()
        if "sorting.complete" in faults and len(words) >= LONG_LIST:
            words.pop()
        if "sorting.repeats" in faults:
            words = list({word.casefold(): word for word in reversed(words)}.values())[::-1]
        if "sorting.marks" in faults:
            words = [_MARK.sub("", word) or word for word in words]
        words.sort(key=lambda word: _place(word, faults))
        if "sorting.format" in faults:
            words = [f"{place}. {word}" for place, word in enumerate(words, start=1)]
        return Solution(" ".join(words), f"Compared {len(words)} words; the first one is {words[0]}.")

    def make(self, rng: random.Random) -> str:
        draw = rng.random()
        if draw < 0.35:
            words = _pair_in_wrong_order(rng)
        elif draw < 0.6:
            words = _pair_with_capital(rng)
        else:
            words = _mixed(rng)
        return rng.choice(_OPENINGS).format(" ".join(words))


def _place(word: str, faults: Faults) -> tuple[str, bool, str]:
    folded = word.casefold()
    small_after_capital = "sorting.case" in faults and word[0] == folded[0]
    if "sorting.letters" in faults:
        return folded[0], small_after_capital, ""
    return folded[0], small_after_capital, folded + ("\uffff" if "sorting.prefix" in faults else "")


def _initials_apart(rng: random.Random, count: int, taken: str) -> list[str]:
    """Words of which none begins with the letter `taken`."""
    return rng.sample([word for word in WORDS if word[0] != taken], count)


def _pair_in_wrong_order(rng: random.Random) -> list[str]:
    """The long word of a pair stands before the short one; words with equal first letters are in order otherwise."""
    short, long = rng.choice(PREFIX_PAIRS)
    others = _initials_apart(rng, rng.randint(3, 9), short[0])
    _decorate(rng, others, marks=0.3, repeats=0.3)
    letters = {word[0] for word in others}
    in_order = {letter: sorted(word for word in others if word[0] == letter) for letter in letters}
    words = [in_order[word[0]].pop(0) for word in others]
    first, second = sorted(rng.sample(range(len(words) + 1), 2))
    words.insert(second, short)
    words.insert(first, long)
    return words


def _pair_with_capital(rng: random.Random) -> list[str]:
    """The long word of a pair has a capital letter; first letters alone do not sort the others."""
    short, long = rng.choice(PREFIX_PAIRS)
    others = _initials_apart(rng, rng.randint(2, 8), short[0])
    _decorate(rng, others, marks=0.25, repeats=0.25)
    words = [*others, short, long.capitalize()]
    rng.shuffle(words)
    twins = [word for word in WORDS if word[0] != short[0] and word not in words]
    later, earlier = sorted(_same_initial(rng, twins), reverse=True)
    return [later, *words[:1], earlier, *words[1:]]


def _mixed(rng: random.Random) -> list[str]:
    words = rng.sample(WORDS, rng.randint(4, 12))
    _decorate(rng, words, marks=0.35, repeats=0.45)
    if rng.random() < 0.5:
        later, earlier = sorted(_same_initial(rng, [word for word in WORDS if word not in words]), reverse=True)
        words += [earlier, later.capitalize()]
    rng.shuffle(words)
    return words


def _same_initial(rng: random.Random, words: list[str]) -> list[str]:
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word)
    return rng.sample(rng.choice([group for group in by_letter.values() if len(group) > 1]), 2)


def _decorate(rng: random.Random, words: list[str], *, marks: float, repeats: float) -> None:
    """Add a word with a mark in it and repeat a word, each with its probability."""
    initials = {word[0].lower() for word in words}
    marked = [word for word in MARKED_WORDS if word[0] in initials]
    if marked and rng.random() < marks:
        words.insert(rng.randrange(len(words)), rng.choice(marked))
    if rng.random() < repeats:
        words.insert(rng.randrange(len(words)), rng.choice([word for word in words if word.islower()]))
