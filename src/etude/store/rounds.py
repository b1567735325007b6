"""A run whose skill was exported to where it was taken from: the run begins from its own initial skill, which it
keeps, and a further round begins from the skill as it stands now."""

from pathlib import Path

from etude.config import TrainConfig
from etude.errors import DataError
from etude.records import Skill
from etude.records.provenance import Provenance
from etude.skill import load_skill
from etude.skill.folder import PROVENANCE, initial_skill, place_of
from etude.store.views import JOURNAL, is_run, read_run, read_view, trained_in


def run_folder(config: TrainConfig) -> Path:
    """Where the run of these settings is, or will be."""
    return Path(config.run.folder) / config.run.name


def exported_over(config: TrainConfig) -> bool:
    """Whether the skill that the settings name is what the run of the same settings handed out.
    Raises DataError: a provenance file is damaged."""
    if config.skill.path is None or not is_run(run_folder(config)):
        return False
    stands = read_view(place_of(Path(config.skill.path)) / PROVENANCE, Provenance)
    made = read_view(run_folder(config) / PROVENANCE, Provenance)
    return stands is not None and made is not None and stands.identity == made.identity


def own_initial(config: TrainConfig) -> Skill | None:
    """The skill that the run began with, where the one that it handed out stands in its place; else None.
    Raises DataError: as `exported_over`."""
    return initial_skill(run_folder(config)) if exported_over(config) else None


def next_round(config: TrainConfig) -> TrainConfig:
    """The settings of the round after a finished run, or a further round of it, whose skill stands where it was taken
    from: the round that has begun from it, else one of the next free name. Those that were given in every other case.
    Raises DataError: as `exported_over`."""
    number, made = 1, config
    while not exported_over(made):
        number, made = number + 1, _numbered(config, number + 1)
        if not is_run(run_folder(made)):
            return config
    try:
        summary = read_run(run_folder(made)).summary
    except DataError:
        return made  # which writes again what is damaged
    if summary is None or summary.stopped:
        return made
    stands = load_skill(config.skill.path).hash
    while True:
        number += 1
        further = _numbered(config, number)
        folder = run_folder(further)
        measured_only = (folder / JOURNAL).exists() and not trained_in(folder)
        kept = initial_skill(folder)
        if not folder.exists() or measured_only or (kept is not None and kept.hash == stands):
            return further


def _numbered(config: TrainConfig, number: int) -> TrainConfig:
    run = config.run.model_copy(update={"name": f"{config.run.name}-{number}"})
    return config.model_copy(update={"run": run})
