"""The skills of a folder, each with the tasks that it brings."""

from pathlib import Path

from etude.cli.scaffold.table import Wishes
from etude.cli.scaffold.tasks import read_data
from etude.errors import InputError
from etude.measure.compare import need_untrained
from etude.measure.several import Suite
from etude.skill import load_skill
from etude.skill.blocks import is_hollow
from etude.skill.folder import DOCUMENT, EVALS, evals_of, has_provenance, skills_in


def folders_in(place: str) -> list[Path]:
    """The skill folders in a folder; none where it is a skill itself."""
    return [] if not place or Path(place, DOCUMENT).exists() else skills_in(Path(place))


def suite_of(folder: Path) -> Suite:
    """The skill, with all its evals as tasks of a test; or why it has none that can be used."""
    name, file = folder.name, evals_of(folder)
    try:
        skill = load_skill(folder)
        need_untrained(name, trained=has_provenance(folder))
        if is_hollow(skill.text):
            return Suite(name, problem="the skill is empty, or has headings only")
        if not file.is_file() or file.read_bytes().strip() in (b"", b"[]"):  # some are published empty
            return Suite(name, problem=f"it has no {EVALS}")
        data = read_data({"path": file}, Wishes(), split="0,0,1")
    except InputError as error:
        return Suite(name, problem=error.message)

    return Suite(name, skill, data.environment, data.made.metric)
