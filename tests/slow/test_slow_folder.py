"""A skill whose files are trained: learnt with tools in the sandbox, exported, and used by real agent programs."""

from pathlib import Path
from typing import Any

import pytest
from folder_world import RUN_IT, SKILL, parcel_optimizer, parcel_target, settings, tasks, world

from etude import ListEnvironment, Trainer, load_skill
from etude.cli.main import main
from etude.config import make_config
from etude.measure.evaluate import evaluate_skill

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learnt")
    config = settings(str(folder), agent={"name": "tools"})
    given: Any = {"target": parcel_target(), "optimizer": parcel_optimizer()}
    summary = Trainer(config, env=world(), skill=SKILL, **given).train()
    assert summary.test_gain is not None
    assert (summary.test_gain.mean, summary.verdict) == (1, "ship")
    assert summary.voids == 0
    assert main(["export", str(folder / "run"), "--to", str(folder / "skills")]) == 0
    return folder / "skills/parcels"


def test_what_was_learnt_with_tools_is_a_folder_with_its_files(exported: Path) -> None:
    skill = load_skill(exported)
    assert sorted(skill.files) == ["references/rates.md", "scripts/check.py"]
    assert skill.text.endswith(f"{RUN_IT}\n")


@pytest.mark.programs
@pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them")
@pytest.mark.parametrize(
    ("program", "delivery"), [("claude-code", "inline"), ("claude-code", "install"), ("codex", "inline")]
)
def test_a_real_program_reads_the_reference_and_runs_the_script(
    exported: Path, tmp_path: Path, program: str, delivery: str
) -> None:
    config = {"agent": {"name": program, "delivery": delivery}, "run": {"folder": str(tmp_path)}}
    env = ListEnvironment([], [], tasks(40, 2), scorer="exact")
    found = evaluate_skill(make_config(config), "test", env=env, skill=load_skill(exported), target=parcel_target())
    assert (found.score.mean, found.score.n) == (1, 2)
