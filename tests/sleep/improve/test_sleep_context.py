"""What an agent reads, what becomes of documents of every kind, and what one night leaves to the next."""

import json
from pathlib import Path
from typing import Any

from small_night import Counted, Finished, Small

from etude.records import Skill
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.revert import revert
from etude.sleep.improve.context import Documents
from etude.sleep.report import NightReport
from etude.workbench import Given

BLOCK = "<!-- etude:begin learned -->\n{}<!-- etude:end learned -->\n"


def adopted(small: Small, report: NightReport) -> None:
    adopt(Path(report.proposal), small.project, small.state.folder)


def rules(small: Small, night: int = 1) -> dict[str, Any]:
    documents = json.loads((small.state.night(night) / "proposal" / "proposal.json").read_text())["documents"]
    return {one["live"]["real"]: one["rules"] for one in documents}


def test_an_agent_reads_the_skill_and_then_the_memory_without_markers() -> None:
    skill = Skill(text="---\nname: a\ndescription: b\n---\n# A\n\n" + BLOCK.format("- One.\n"))
    memory = Skill(text="\ufeff# M\r\n\r\n" + BLOCK.format("- Two.\n"))
    assert Documents(skill=skill, memory=memory).shown == (
        "---\nname: a\ndescription: b\n---\n# A\n\n- One.\n\n# Memory\n\n# M\r\n\r\n- Two.\n"
    )
    assert Documents(memory=Skill(text=BLOCK.format(""))).shown.strip() == ""


def test_an_existing_skill_gets_a_block_at_its_end_and_keeps_every_other_byte(small: Small) -> None:
    old = "\ufeff---\nname: old\ndescription: Brïefs ✓.\n---\n\n# Briefs\n\n\n\n```\n\n\n\n```\nWrite   clearly.\t"
    text = old.replace("\n", "\r\n")
    path = small.project / ".claude" / "skills" / "old" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    report = small.night({"skill": str(path)})
    assert report.status == "proposed"
    assert path.read_bytes() == text.encode()
    adopted(small, report)
    now = path.read_bytes().decode()
    assert now.startswith(text)
    added = now.removeprefix(text).strip("\r\n").split("\r\n")
    assert (added[0], added[-1]) == (BLOCK.split("\n")[0], BLOCK.format("").split("\n")[1])
    assert all(line.startswith("- ") for line in added[1:-1])
    assert now.count("\n") == now.count("\r\n")
    revert("0001", small.state.folder)
    assert path.read_bytes() == text.encode()


def test_every_rule_names_the_tasks_that_miss_it(finished: Finished) -> None:
    known = {task["id"]: task for task in finished.small.tasks()}
    ((rule,),) = rules(finished.small).values()
    assert rule["night"] == "0001"
    missed = rule["evidence"]["trial"]["missed"]
    assert missed
    assert all(known[name]["sessions"] for name in missed)


def test_house_rules_reach_every_call_of_the_optimizer_about_documents(small: Small) -> None:
    house = "We write British English 7712."
    poor = {"optimizer": {"model": "simulated:optimizer-useless"}}
    optimizer = Counted("optimizer-useless", lambda request: None)
    more = {"reflect": {"preferences": house}}
    small.night({"memory": True}, **more, given=Given(optimizer=optimizer), **poor, search={"slow_update": True})
    asked = [text for text in optimizer.answered if "# Current skill" in text]
    assert any("What was learned" in text or "name: learned" in text or "Use   tabs." in text for text in asked)
    assert len(asked) >= 4
    assert all(house in text for text in asked)
    assert not any(house in text for text in small.target.answered)
