"""Why a held-out task failed is told to the person, and never to the optimizer."""

import json
from pathlib import Path
from typing import Any

from scripted import rewriting, task_file
from small_night import run_night

from etude.sleep.config import make_sleep_config
from etude.sleep.state import Surroundings
from etude.testing import ScriptedModel
from etude.workbench import Given

SECRETS = ("quokka", "wombat", "numbat")
"""In the check, the rubric and the judge's reason of held-out tasks."""


def test_the_person_reads_what_failed_and_the_optimizer_does_not(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "CLAUDE.md").write_text("# House rules\n")
    check, rubric, reason = SECRETS
    held_out: dict[str, Any] = {"checks": [{"op": "contains", "arg": check}], "rubric": f"It is a {rubric}."}
    tasks = [
        {"id": f"t{number}", "intent": f"Write about {topic}.", "split": "train"}
        | {"checks": [{"op": "contains", "arg": "good"}]}
        for number, topic in enumerate(("ships", "kilns", "trees"))
    ]
    tasks.append({"id": "held", "intent": "Write about salt.", "split": "val", **held_out})
    config = make_sleep_config(
        {
            **{role: {"model": f"x:{role}"} for role in ("target", "optimizer", "judge")},
            "sleep": {"project": str(project), "skill": False, **task_file(tmp_path, tasks)},
            "search": {"attempts": 2, "slow_update": True, "meta_skill": True},
        }
    )
    models = {
        "target": ScriptedModel(lambda request: "bad words", name="x:target"),
        "optimizer": rewriting("- Say good.\n"),
        "judge": ScriptedModel(lambda request: json.dumps({"reason": f"no {reason}", "score": 0}), name="x:judge"),
    }
    around = Surroundings(home=tmp_path, environ={})
    report = run_night(config, around, given=Given(**models))
    assert report.status == "no change"

    asked = [message.text for request in models["optimizer"].requests for message in request.messages]
    assert len(asked) > 2
    assert not [text for text in asked for secret in SECRETS if secret in text]
