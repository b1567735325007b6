"""Answers that a person labelled after a judge had scored them: how far that judge can be trusted.

They lie beside the runs, in a file for each judge, prompt and rubric, so that every score it gives later can say so.
"""

from math import hypot
from pathlib import Path

from pydantic import ValidationError

from etude.errors import DataError
from etude.files import write_atomically
from etude.intervals import mean_interval
from etude.records import Record, digest


class Label(Record):
    """What was said of an answer."""

    task: str
    answer: str
    """Its digest."""
    judge: bool
    """Whether it passes, by the judge."""
    person: bool


class JudgeLabels(Record):
    """All labels of one judge."""

    labels: tuple[Label, ...] = ()
    answers: tuple[int, int] = (0, 0)
    """Answers of the audit that the judge passed, and that it did not. As many of both are shown to a person, so a
    label stands for its share of its kind. Without them, labels are a plain sample."""

    def plus(self, label: Label) -> "JudgeLabels":
        """With a label, in place of an older one of the same answer."""
        others = (one for one in self.labels if (one.task, one.answer) != (label.task, label.answer))
        return self.model_copy(update={"labels": (*others, label)})

    @property
    def agreed(self) -> int:
        """Labels on which both say the same."""
        return sum(one.judge == one.person for one in self.labels)

    @property
    def kappa(self) -> tuple[float, float, float] | None:
        """Cohen's kappa (1960, Educational and Psychological Measurement 20:1) over the answers of the audit: the
        share of the agreement beyond chance that is reached, with its 95% interval from those of both kinds (Zou and
        Donner 2008, Statistics in Medicine 27:1693). None without labels of answers that the judge passed, and of
        others: chance alone agrees as often as a judge that says the same of all."""
        kinds = [[float(one.person) for one in self.labels if one.judge is passed] for passed in (True, False)]
        counts = self.answers if any(self.answers) else (len(kinds[0]), len(kinds[1]))
        if not all(counts) or not all(kinds):
            return None
        share = counts[0] / sum(counts)
        passed, failed = map(mean_interval, kinds)
        value = _kappa(share, passed.mean, failed.mean)
        low1, low2, high1, high2 = (
            _kappa(share, p, f) - value
            for p, f in (
                (passed.low, failed.mean),
                (passed.mean, failed.high),
                (passed.high, failed.mean),
                (passed.mean, failed.low),
            )
        )
        return value, max(-1.0, value - hypot(low1, low2)), min(1.0, value + hypot(high1, high2))

    @property
    def told(self) -> str:
        """For people; empty without labels."""
        if not self.labels:
            return ""
        kappa = self.kappa
        what = "kappa needs some that the judge passes, and some that it does not"
        if kappa is not None:
            weighted = ", weighted as the judge passes answers" if any(self.answers) else ""
            what = "Cohen's kappa {:.2f} [{:.2f}, {:.2f}]".format(*kappa) + weighted
        return f"the judge agrees with a person on {self.agreed} of {len(self.labels)} answers ({what})"


def _kappa(share: float, passed: float, failed: float) -> float:
    """Of a judge that passes `share` of the answers, above 0 and below 1, where a person passes so many of those, and
    of the others."""
    agreed = share * passed + (1 - share) * (1 - failed)
    person = share * passed + (1 - share) * failed
    chance = share * person + (1 - share) * (1 - person)
    return (agreed - chance) / (1 - chance)


def labels_of(folder: Path, scoring: str) -> JudgeLabels:
    """The labels in a folder of runs for a way of scoring (`Environment.fingerprint`); none where there is no file.
    Raises DataError: it cannot be read."""
    path = _path(folder, scoring)
    try:
        return JudgeLabels.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return JudgeLabels()
    except (OSError, ValidationError) as error:
        raise DataError(f"{path} cannot be read: {error}", hint="remove it, and label again") from None


def keep_labels(folder: Path, scoring: str, labels: JudgeLabels) -> Path:
    """Write them; returns the file."""
    path = _path(folder, scoring)
    write_atomically(path, (labels.model_dump_json(indent=2) + "\n").encode())
    return path


def _path(folder: Path, scoring: str) -> Path:
    return folder / f"judge-{digest(scoring)[:8]}.json"
