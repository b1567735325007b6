"""Which tasks a text is most likely about: those with its rarest words."""

from collections import Counter
from collections.abc import Sequence

from etude.records import Task
from etude.stages.shared.word_list import words_of


def nearest_first(tasks: Sequence[Task], texts: Sequence[str]) -> list[Task]:
    """The tasks, one for each text first: that in which a word of the text stands which the fewest tasks have. A text
    with no word that half of the tasks lack is about none of them."""
    words = {task.id: set(words_of(task.input)) for task in tasks}
    owners = Counter(word for own in words.values() for word in own)
    left, first = list(tasks), list[Task]()
    for said in (set(words_of(text)) for text in texts):
        shared = [min((owners[word] for word in words[task.id] & said), default=len(tasks)) for task in left]
        if shared and min(shared) < len(tasks) / 2:
            first.append(left.pop(shared.index(min(shared))))
    return first + left


def common_words(tasks: Sequence[Task]) -> frozenset[str]:
    """Words that half of the tasks have, or more."""
    owners = Counter(word for each in tasks for word in set(words_of(each.input)))
    return frozenset(word for word, count in owners.items() if count >= len(tasks) / 2)


def about(task: Task, common: frozenset[str], texts: Sequence[str]) -> list[int]:
    """Numbers of the texts with a word of this task that is not common."""
    rare = set(words_of(task.input)) - common
    return [number for number, text in enumerate(texts) if rare.intersection(words_of(text))]
