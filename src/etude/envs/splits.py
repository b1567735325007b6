"""Splits one can trust: no task in two of them, and a seeded way to make them."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from os.path import commonprefix
from unicodedata import normalize

from rapidfuzz import fuzz, process

from etude.errors import ConfigError, DataError
from etude.protocols import Environment
from etude.readable import some
from etude.records import SPLITS, Split, Task, canonical, digest

NEAR = 95.0
"""Similarity in percent, words in any order, from which two inputs are near duplicates."""
MAX_PAIRS = 4_000_000
MAX_CHARACTER_PAIRS = 10**11
"""Above either the search for near duplicates would take longer than a few seconds, and is left out."""
SHOWN = 5
_SHOWN_CHARS = 40
_MANY = 10
"""Tasks; what fewer have in common need not be a template."""


_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, marks of direction and of byte order, selectors of a glyph: nobody sees them."""
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_HYPHENS = re.compile("[\u2010\u2011\u2212]")
_MARKS = "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a]"
_PILED = re.compile(f"({_MARKS}{{30}}){_MARKS}+")
"""More marks on one letter than the 30 that Unicode's stream-safe form has: sorting them takes quadratic time."""
_FORBIDS = re.compile(r"\(\?<?!|\[\^")


def one_form(text: str) -> str:
    """Text in the one form of what looks the same: composed letters (NFC), nothing unseen, plain spaces, hyphens and
    signs."""
    if text.isascii():
        return text
    return composed(_HYPHENS.sub("-", _SPACES.sub(" ", _UNSEEN.sub("", text))))


def composed(text: str) -> str:
    """Text with composed letters (NFC) and all else as it is."""
    return normalize("NFC", _PILED.sub(r"\1", text))


def forms(text: str, pattern: str) -> tuple[str, ...]:
    """What a pattern may match: a text as it is and, where that differs, in its one form. Where the pattern forbids
    something, only the text itself: leaving out what is not seen could leave out what is forbidden."""
    return (composed(text),) if _FORBIDS.search(pattern) else tuple(dict.fromkeys((text, one_form(text))))


def fold(text: str) -> str:
    """Text without differences in Unicode form, case and white space."""
    return " ".join(one_form(text).casefold().split())


def content(task: Task) -> str:
    """What makes a task the same as another: its input, folded, its pictures and files."""
    pictures = sorted(image.rpartition("#sha256=")[2] for image in task.images)
    return "\n".join((fold(task.input), *pictures, *file_marks(task)))


def file_marks(task: Task) -> list[str]:
    """A line for each file of a task, which changes with its content."""
    return [f"{path} {hashlib.sha256(file.data).hexdigest()}" for path, file in sorted(task.files.items())]


def check_splits(
    splits: Mapping[Split, Sequence[Task]],
    *,
    need: Sequence[Split] = ("train", "val"),
    names: Mapping[Split, str] | None = None,
    places: Mapping[str, str] | None = None,
) -> list[str]:
    """Refuse splits that would make a score worthless; return what is merely doubtful, one sentence each.

    `names` says where each split comes from (file names), and `places` where each task stands, for the messages.
    Without any training and validation tasks skills can be scored and compared, and none trained.
    Raises DataError: a split that is needed is empty; the same input, folded, is in two splits; two tasks have the
    same id."""
    labels: dict[Split, str] = {
        split: f"{split} ({names[split]})" if names and names.get(split) else split for split in SPLITS
    }
    for split in () if splits["test"] and not splits["train"] and not splits["val"] else need:
        if not splits[split]:
            hint = "give it at least one task"
            every = [content(task) for tasks in splits.values() for task in tasks]
            hint += "; tasks with the same input stay in one split" * (len(set(every)) < len(every))
            raise DataError(f"{labels[split]}: the {split} split is empty", hint=hint)
    warnings = _check_inputs(splits, labels, places or {})
    _check_ids(splits, labels)
    return [*warnings, *_near_duplicates(splits, places or {}, one_file=len(set((names or {}).values())) == 1)]


def check_tasks(
    env: Environment, tasks: Mapping[Split, Sequence[Task]], *, need_test: bool, trains: bool = False
) -> Sequence[str]:
    """What is doubtful about the splits of an environment, one sentence each. Raises DataError: as `check_splits`,
    or the test split is empty and needed, or there is nothing to train on where that is wanted."""
    if trains:
        need_training_tasks(tasks)
    if need_test and not tasks["test"]:
        raise DataError("the test split is empty", hint="give it tasks, or set test.enabled to false")
    # Built-in environments have checked their splits, and know the files to name.
    return check_splits(tasks) if env.warnings is None else env.warnings


def need_training_tasks(tasks: Mapping[Split, Sequence[Task]]) -> None:
    """Raises DataError: all tasks are for the test."""
    if tasks["test"] and not tasks["train"] and not tasks["val"]:
        count = len(tasks["test"])
        raise DataError(
            f"there are no training tasks: {'the only one is' if count == 1 else f'all {count} are'} for the test",
            hint="`etude evaluate` and `etude compare` use them; to train a skill, bring more tasks",
        )


def _check_inputs(
    splits: Mapping[Split, Sequence[Task]], labels: Mapping[Split, str], at: Mapping[str, str]
) -> list[str]:
    places: dict[str, list[tuple[Split, str]]] = {}
    golds: dict[str, set[str]] = {}
    for split, tasks in splits.items():
        for task in tasks:
            places.setdefault(content(task), []).append((split, task.id))
            golds.setdefault(content(task), set()).add(canonical(task.gold))
    repeated = [found for found in places.values() if len(found) > 1]
    crossing = [found for found in repeated if len({split for split, _ in found}) > 1]
    if crossing:
        shown = [" = ".join(f"{labels[split]} {task!r}" for split, task in found) for found in crossing]
        raise DataError(
            f"the same input, case and white space apart, is in two splits: {some(shown, SHOWN)}",
            hint="remove it from one of them, or give the tasks one `group` and split by ratio",
        )
    if not repeated:
        return []
    shown = [f"{found[0][0]} " + " = ".join(at.get(task, repr(task)) for _, task in found) for found in repeated]
    torn = sum(len(found) > 1 for found in golds.values())
    which = f"; {torn} of {len(shown)} with different gold answers, which no skill can solve" if torn else ""
    return [f"the same input occurs more than once within a split: {some(shown, SHOWN)}{which}"]


def _check_ids(splits: Mapping[Split, Sequence[Task]], labels: Mapping[Split, str]) -> None:
    places: dict[str, list[str]] = {}
    for split, tasks in splits.items():
        for task in tasks:
            places.setdefault(task.id, []).append(labels[split])
    shown = [f"{task!r} {_named_places(found)}" for task, found in places.items() if len(found) > 1]
    if shown:
        raise DataError(f"duplicate task ids: {some(shown, SHOWN)}", hint="give every task an id of its own")


def _named_places(found: Sequence[str]) -> str:
    often = f"{len(found)} times, as " if len(found) > SHOWN else ""
    return f"{often}in {' and '.join(found[:2] if often else found)}"


def _near_duplicates(
    splits: Mapping[Split, Sequence[Task]], places: Mapping[str, str], *, one_file: bool
) -> list[str]:
    # Words in sorted order turn the plain ratio into a comparison that does not care for their order.
    # Questions about pictures and files can be worded alike and have nothing in common.
    splits = {
        split: [task for task in tasks if not task.images and not task.files] for split, tasks in splits.items()
    }
    around = _shared([fold(task.input) for tasks in splits.values() for task in tasks])
    texts = {split: [_own_words(task, around) for task in tasks] for split, tasks in splits.items()}
    sizes = {split: sum(map(len, found)) for split, found in texts.items()}
    couples = list(combinations(SPLITS, 2))
    pairs = sum(len(texts[one]) * len(texts[other]) for one, other in couples)
    if pairs > MAX_PAIRS or sum(sizes[one] * sizes[other] for one, other in couples) > MAX_CHARACTER_PAIRS:
        return [f"near duplicates across splits were not looked for: {pairs:,} pairs of tasks are too many"]
    found: list[tuple[Split, Task, Split, Task]] = []
    for one, other in couples:
        for text, task in zip(texts[other], splits[other], strict=True):
            match = process.extractOne(text, texts[one], scorer=fuzz.ratio, score_cutoff=NEAR)
            if match is not None:
                found.append((one, splits[one][match[2]], other, task))
    if not found:
        return []

    def named(split: Split, task: Task) -> str:
        text = " ".join(task.input.split())
        text = text[around[0] : max(around[0], len(text) - around[1])].strip()
        text = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
        return f"{split} {places.get(task.id, repr(task.id))} {text!r}"

    pairs_of = "1 pair" if len(found) == 1 else f"{len(found)} pairs"
    first = f"{named(*found[0][:2])} ~ {named(*found[0][2:])}"
    cure = "move one of each pair into the split of the other"
    if one_file and any(task.group for tasks in splits.values() for task in tasks):
        cure = "give both the same group, and they stay in one split"
    elif one_file:
        cure = "add a column 'group' to the data, with one value for tasks that belong together, and `group: group` "
        cure += "below env.fields: they stay in one split then"
    return [f"nearly the same in two splits: {pairs_of} of tasks ({NEAR:.0f}% alike), as {first}: {cure}"]


def _shared(texts: Sequence[str]) -> tuple[int, int]:
    """How many characters all tasks begin and end with, as a template has them: they say nothing of what is alike."""
    if len(texts) < _MANY:
        return 0, 0
    before, after = commonprefix(texts), commonprefix([text[::-1] for text in texts])  # noqa: RUF071 - no paths
    return len(before), len(after)


def _own_words(task: Task, around: tuple[int, int]) -> str:
    text = fold(task.input)
    return " ".join(sorted(text[around[0] : max(around[0], len(text) - around[1])].split()))


def split_by_ratio(
    tasks: Sequence[Task], ratio: Sequence[float] = (2, 1, 7), seed: int = 42
) -> dict[Split, tuple[Task, ...]]:
    """Divide tasks into train, val and test. The result depends on the tasks and the seed, not on their order.

    Every `type` is divided in the ratio, and what does not divide evenly is carried over to the next type, so that
    the totals differ from the ratio by less than one task. Tasks of one `group`, and tasks with the same input (case
    and white space apart), stay together; large groups can shift the totals. Each split comes in a random order, so
    that any first part of it is a sample. Raises ConfigError: the ratio is not three numbers of which none is
    negative and the first two are positive."""
    weights = _weights(ratio)
    taken: dict[Split, Fraction] = dict.fromkeys(SPLITS, Fraction(0))
    due: dict[Split, Fraction] = dict.fromkeys(SPLITS, Fraction(0))
    result: dict[Split, list[Task]] = {split: [] for split in SPLITS}
    names: list[Split] = [split for split in SPLITS if weights[split]]
    for bundle in _bundles(tasks, seed):
        for split in SPLITS:
            due[split] += weights[split] * len(bundle)
        # The split that lacks most; on ties the smaller one, which would otherwise stay empty in small data.
        neediest = max(names, key=lambda split: (due[split] - taken[split], -weights[split]))
        taken[neediest] += len(bundle)
        result[neediest].extend(bundle)
    return {split: tuple(sorted(found, key=lambda task: _lot(seed, task.id))) for split, found in result.items()}


def _weights(ratio: Sequence[float]) -> dict[Split, Fraction]:
    finite = all(0 <= part < float("inf") for part in ratio)
    if len(ratio) != 3 or not finite or (0 in ratio[:2] and list(ratio[:2]) != [0, 0]) or not sum(ratio):
        raise ConfigError(
            f"ratio = {list(ratio)!r}: expected three numbers for train, val and test; train and val more than 0",
            hint="for example [2, 1, 7], or [0, 0, 1] for tasks that are not trained on",
        )
    parts = [Fraction(part).limit_denominator(10**6) for part in ratio]
    return {split: part / sum(parts) for split, part in zip(SPLITS, parts, strict=True)}


def _lot(seed: int, key: str) -> str:
    return digest([seed, key])


def _bundles(tasks: Sequence[Task], seed: int) -> Iterator[list[Task]]:
    """Tasks that stay together: by type, large bundles first, else in random order."""
    together: dict[tuple[str, str], list[Task]] = {}
    for task in sorted(tasks, key=lambda task: task.id):
        key = ("group", task.group) if task.group else ("input", content(task))
        together.setdefault(key, []).append(task)

    def rank(bundle: list[Task]) -> tuple[str, int, str]:
        types = Counter(task.type for task in bundle)
        kind = max(sorted(types), key=lambda name: types[name])
        return kind, -len(bundle), _lot(seed, bundle[0].id)

    yield from sorted(together.values(), key=rank)
