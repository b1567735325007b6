"""Answers that a person labelled after a judge had scored them: how far that judge can be trusted.

They lie beside the runs, in a file for each judge, prompt and rubric, so that every score it gives later can say so.
"""

from pathlib import Path
from statistics import fmean

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

    def plus(self, label: Label) -> "JudgeLabels":
        """With a label, in place of an older one of the same answer."""
        others = (one for one in self.labels if (one.task, one.answer) != (label.task, label.answer))
        return JudgeLabels(labels=(*others, label))

    @property
    def agreed(self) -> int:
        """Labels on which both say the same."""
        return sum(one.judge == one.person for one in self.labels)

    @property
    def kappa(self) -> tuple[float, float, float] | None:
        """Cohen's kappa (1960, Educational and Psychological Measurement 20:1): the share of the agreement beyond
        chance that is reached; and the same for both ends of the 95% interval of the agreement. None where chance
        alone agrees always, as where both say `passes` every time."""
        if not self.labels:
            return None
        judge, person = (fmean(each) for each in zip(*((one.judge, one.person) for one in self.labels), strict=True))
        chance = judge * person + (1 - judge) * (1 - person)
        if chance >= 1:
            return None
        seen = mean_interval([float(one.judge == one.person) for one in self.labels])
        value, low, high = ((share - chance) / (1 - chance) for share in (seen.mean, seen.low, seen.high))
        return value, max(-1.0, low), high

    @property
    def told(self) -> str:
        """For people; empty without labels."""
        if not self.labels:
            return ""
        kappa = self.kappa
        what = "all of one kind: kappa is not defined"
        if kappa is not None:
            what = "Cohen's kappa {:.2f} [{:.2f}, {:.2f}]".format(*kappa)
        return f"the judge agrees with a person on {self.agreed} of {len(self.labels)} answers ({what})"


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
