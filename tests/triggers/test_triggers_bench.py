"""The benchmark of trained descriptions, on a few of the real skills."""

import asyncio
import shutil
from pathlib import Path

import pytest
import triggers as bench

from etude.measure.triggers.catalogue import read_catalogue
from etude.records import ChatRequest, system, user

SKILLS = Path(__file__).parents[3] / "shared" / "data" / "skills"


@pytest.mark.skipif(not SKILLS.is_dir(), reason="the real skills are no part of this project")
@pytest.mark.parametrize("judge", ["lexical", "listing"])
def test_trained_descriptions_open_more_at_no_more_characters(tmp_path: Path, judge: str) -> None:
    for pattern in ("cuopt-*", "accelerated*", "dynamo-*"):
        for place in SKILLS.glob(pattern):
            shutil.copytree(place, tmp_path / place.name)
    found = asyncio.run(bench.run(tmp_path, judge, "test"))
    before, after = found["training"]["opened"]
    assert after > before
    assert found["characters"][1] <= found["characters"][0]
    assert found["changed"] >= 1
    assert found["held_out"]["needing"] > 10


def test_the_simulated_chat_model_names_what_looks_most_like_the_request() -> None:
    listed = "- bake: Bake bread in an oven.\n- sew: Mend clothes.\n- hidden"
    model = bench.LetterModel(luck=0.0)
    reply = asyncio.run(model.complete(ChatRequest(messages=(system(listed), user("The bread is not baked")))))
    assert (reply.text, reply.simulated) == ("bake", True)


@pytest.mark.skipif(not SKILLS.is_dir(), reason="the real skills are no part of this project")
def test_requests_are_divided_once_and_for_all() -> None:
    corpus = bench.Corpus(SKILLS)
    seen, kept = bench.divided(corpus.requests, "triggers")
    assert (len(seen), len(kept)) == (468, 312)
    assert not {one.text for one in seen} & {one.text for one in kept}
    assert corpus.bodies.keys() == read_catalogue(SKILLS).keys()
