"""The benchmark of trained descriptions, on a few of the real skills."""

import asyncio
import shutil
from pathlib import Path

import pytest
import triggers as bench

SKILLS = Path(__file__).parents[3] / "shared" / "data" / "skills"


@pytest.mark.skipif(not SKILLS.is_dir(), reason="the real skills are no part of this project")
def test_trained_descriptions_open_more_at_no_more_characters(tmp_path: Path) -> None:
    for pattern in ("cuopt-*", "accelerated*", "dynamo-*"):
        for place in SKILLS.glob(pattern):
            shutil.copytree(place, tmp_path / place.name)
    found = asyncio.run(bench.run(tmp_path, "lexical", "test"))
    before, after = found["training"]["opened"]
    assert after > before
    assert found["characters"][1] <= found["characters"][0]
    assert found["changed"] >= 1
    assert found["held_out"]["needing"] > 10
