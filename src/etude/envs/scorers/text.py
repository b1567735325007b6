"""Scorers that compare words: exact match, token F1 and ANLS."""

import re
from collections import Counter
from collections.abc import Sequence

from pydantic import Field
from rapidfuzz.distance import Levenshtein

from etude.config import Section
from etude.envs.scorers.answer_scorer import AnswerScorer, accepted, expected, graded
from etude.envs.splits import composed, one_form
from etude.records import Score, Task

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.IGNORECASE)
_PUNCTUATION = re.compile(
    r"""(?<=\d),(?=\d{3}(?!\d))               # between thousands
    |(?!(?<=\d)[-+.,/:^*](?=\d)              # but what makes a number another number stays: inside it,
      |(?<=\de)-(?=\d)                      # in an exponent,
      |(?<![\w.])[-.]{1,2}(?=[$€£¥₹]?\d)   # or in front
      |[<>]=?(?=[ ]?\d)|!(?==)             # that bounds it,
      |(?<=[A-Za-z+])[+\#](?!\w)           # and what ends a name: C++, C#,
      |(?<=\b[A-Za-z])-(?!\w))             # or a mark: A-
    [!-/:-@\[-`{-~]""",
    re.VERBOSE,
)
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb", '\'\'"""""')


class TextOptions(Section):
    """What does not count when answer and gold are compared."""

    casefold: bool = True
    """Ignore case."""
    whitespace: bool = True
    """Ignore white space at the ends, how much and which of it there is between words, and signs that are not seen;
    False compares them as they are."""
    punctuation: bool = False
    """Ignore ASCII punctuation and quotation marks, except the signs, points and bars of numbers, and those that end
    a name: `-5` is not `5`, nor `1.5` `15`, `A-` `A`, `C++` `C`."""
    articles: bool = False
    """Ignore the English articles a, an and the."""
    answer_after: str = ""
    """Compare only what follows the last occurrence of this text, in answer and gold; all of it where absent."""
    answer_until: str = ""
    """Then compare only what precedes the first occurrence of this text."""

    def part(self, text: str) -> str:
        """The part of an answer that is compared."""
        form = one_form if self.whitespace else composed
        text, after, until = map(form, (text, self.answer_after, self.answer_until))
        if after and after in text:
            text = text.rpartition(after)[2]
        return text.partition(until)[0] if until else text

    def feedback(self, golds: Sequence[str], answer: str, note: str = "") -> str:
        """The gold answers and the answer, as far as they are compared."""
        return expected([self.part(gold) for gold in golds], self.part(answer), note)

    def normal(self, text: str) -> str:
        """Text without what does not count."""
        text = self.part(text)
        if self.casefold:
            text = text.casefold()
        if self.punctuation:
            text = _PUNCTUATION.sub("", text.translate(_QUOTES))
        if self.articles:
            text = _ARTICLES.sub(" ", text)
        return " ".join(text.split()) if self.whitespace else text


class SquadOptions(TextOptions):
    """The same, with the normalisation of the SQuAD benchmark switched on."""

    punctuation: bool = True
    """Ignore ASCII punctuation."""
    articles: bool = True
    """Ignore the English articles a, an and the."""


class Exact(AnswerScorer[TextOptions]):
    """1 when the answer equals a gold answer, else 0. With `punctuation` and `articles` it is SQuAD exact match."""

    name = "exact"
    options_type = TextOptions

    def compare(self, task: Task, answer: str) -> Score:
        """hard = soft: 0 or 1."""
        golds, options = accepted(task), self.options
        right = options.normal(answer) in {options.normal(gold) for gold in golds}
        return graded(right, float(right), options.feedback(golds, answer))


class F1(AnswerScorer[SquadOptions]):
    """Overlap of words, as in SQuAD: hard is the exact match, soft the F1 of the best gold answer."""

    name = "f1"
    options_type = SquadOptions

    def compare(self, task: Task, answer: str) -> Score:
        """soft is 2PR/(P+R) over words, counted as often as they occur; no words on both sides are a match."""
        golds, options = accepted(task), self.options
        got = options.normal(answer)
        normals = [options.normal(gold) for gold in golds]
        best = max(normals, key=lambda gold: _f1(gold, got))
        note = ""
        if 0 < _f1(best, got) < 1:
            wanted, said = Counter(best.split()), Counter(got.split())
            parts = [("missing", wanted - said), ("not expected", said - wanted)]
            note = "; ".join(f"{what}: {' '.join(words.elements())[:100]}" for what, words in parts if words)
        return graded(got in normals, _f1(best, got), options.feedback(golds, answer, note))


def _f1(gold: str, got: str) -> float:
    one, other = gold.split(), got.split()
    if not one or not other:
        return float(one == other)
    common = (Counter(one) & Counter(other)).total()
    return 2 * common / (len(one) + len(other))


class AnlsOptions(TextOptions):
    """Settings of ANLS."""

    threshold: float = Field(default=0.5, ge=0, le=1)
    """A similarity below this counts as 0."""
    solved_at: float = Field(default=0.999, ge=0, le=1)
    """The similarity from which hard is 1."""


class ANLS(AnswerScorer[AnlsOptions]):
    """Average normalised Levenshtein similarity (Biten et al. 2019): forgives slips of reading, not other answers."""

    name = "anls"
    options_type = AnlsOptions

    def compare(self, task: Task, answer: str) -> Score:
        """soft is 1 - edit distance / longer length of the nearest gold answer, or 0 below the threshold."""
        golds, options = accepted(task), self.options
        got = options.normal(answer)
        nearest = max(Levenshtein.normalized_similarity(options.normal(gold), got) for gold in golds)
        soft = nearest if nearest >= options.threshold else 0.0
        feedback = options.feedback(golds, answer, f"similarity {nearest:.2f}")
        return graded(soft >= options.solved_at, soft, feedback)
