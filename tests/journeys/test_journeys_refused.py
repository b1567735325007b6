"""A whole training at a server that refuses parameters: it learns, and says what it left out, or stops."""

import json
from pathlib import Path
from typing import Any

import pytest
from http_run import make_project
from misbehaving import Answer, Asked, Behaviour, misbehaving
from small_run import PAPER

from etude import Trainer, load_config
from etude.errors import StopRun
from etude.records.summary import Summary

SIZES = (6, 4, 2)


def train(folder: Path, behaviour: Behaviour, **target: Any) -> Summary:
    with misbehaving(behaviour) as server:
        search = {**PAPER["search"], "meta_skill": False, "slow_update": False}
        path = make_project(folder, server.url, sizes=SIZES, search=search)
        flags = [("train.epochs", "1"), ("limits.concurrency", "4")]
        flags += [(f"target.{name}", json.dumps(value)) for name, value in target.items()]
        return Trainer(load_config(path, flags=flags, environ={})).train()


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = (folder / "runs/run/events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


def refusing(*fields: str) -> tuple[Behaviour, list[dict[str, Any]]]:
    """A server that refuses each of the fields, and what it is sent."""
    heard: list[dict[str, Any]] = []

    def refuse(asked: Asked) -> Answer | None:
        heard.append(asked.sent)
        found = next((field for field in fields if field in asked.sent), None)
        message = f"Unrecognized request argument supplied: {found}"
        return None if found is None else Answer({"error": {"message": message}}, 400)

    return refuse, heard


def test_a_training_goes_on_without_what_is_refused_and_its_warnings_name_the_settings(tmp_path: Path) -> None:
    fields = ["temperature", "max_tokens"]
    refuse, heard = refusing(*fields)
    summary = train(tmp_path, refuse, temperature=0.2)
    warnings = [event["text"] for event in events(tmp_path, "notice") if "does not take" in event["text"]]
    assert len(warnings) == 3
    for hint in ("leave target.temperature unset", "target.extra_body", "optimizer.extra_body"):
        assert sum(hint in text for text in warnings) == 1
    refused = [asked for asked in heard if any(field in asked for field in fields)]
    assert len(refused) <= 6 * len(fields)  # those in flight when it was not known yet
    calls = summary.cost.target_calls + summary.cost.optimizer_calls
    assert calls == len(heard)  # the refused ones included
    assert not [event for event in events(tmp_path, "attempt_finished") if event["outcome"] == "void"]


def test_a_training_at_temperature_0_stops_where_the_model_has_another_one(tmp_path: Path) -> None:
    refuse, heard = refusing("temperature")
    with pytest.raises(StopRun, match=r"leave target\.temperature unset"):
        train(tmp_path, refuse, temperature=0)
    assert len(heard) <= 12
