"""What an agent reads, what becomes of documents of every kind, and what one night leaves to the next."""

import json
from pathlib import Path
from typing import Any

from scripted import obeying, task_file, wanting, written
from small_night import Counted, Finished, Small

from etude.prompts import Prompts
from etude.records import ChatRequest, Skill
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.revert import revert
from etude.sleep.improve.context import Documents
from etude.sleep.report import NightReport
from etude.testing import ScriptedModel
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


def test_every_rule_names_the_attempts_tasks_and_sessions_behind_it(finished: Finished) -> None:
    known = {task["id"]: task for task in finished.small.tasks()}
    ((rule,),) = rules(finished.small).values()
    evidence = rule["evidence"]
    assert rule["night"] == "0001"
    assert evidence["attempts"]
    assert evidence["note"]
    # Training tasks whose failures the edit cites, and held-out ones that do worse without the rule.
    assert {known[task]["split"] for task in evidence["tasks"]} == {"train", "val"}
    assert set(evidence["trial"]["missed"]) <= set(evidence["tasks"])
    behind = {f"{one['source']}:{one['id']}" for task in evidence["tasks"] for one in known[task]["sessions"]}
    assert set(evidence["sessions"]) == behind


def _in_two_steps(small: Small) -> dict[str, Any]:
    behind = {"sessions": [{"source": "plain", "id": "s1"}]}
    rows = [("t1", "train", "yes"), ("t2", "train", "LOUD"), ("v1", "val", "yes"), ("v2", "val", "LOUD")]
    return task_file(small.root, [wanting(*row, **behind) for row in rows])


class _Steps:
    """A target that does what it reads, and an optimizer that says one thing after the other."""

    def __init__(self, *says: str) -> None:
        self._says = says
        self.target = obeying(("Say yes.", "yes"), ("Say it loudly.", "LOUD"))
        self.optimizer = ScriptedModel(self.propose, name="x:optimizer")

    def propose(self, request: ChatRequest) -> str:
        shown = request.messages[-1].text
        rule = next((text for text in self._says if f"- {text}" not in shown.partition("# ")[2]), self._says[-1])
        return written(request, f"- {rule}\n")


def test_rules_of_a_later_edit_have_its_attempts_too(small: Small) -> None:
    """The second of several edits in a night cites attempts under the document that the first one made."""
    known = _Steps("Say yes.", "Say it loudly.")
    report = small.night(_in_two_steps(small), given=Given(target=known.target, optimizer=known.optimizer))
    assert report.status == "proposed"
    for rule in rules(small).popitem()[1]:
        assert rule["evidence"]["tasks"], rule
        assert rule["evidence"]["sessions"] == ["plain:s1"], rule


def test_the_slow_update_compares_with_the_document_before_the_last_adoption_and_writes_into_the_block(
    small: Small,
) -> None:
    first, useless = _Steps("Say yes."), _Steps("Zebras 7712.")
    report = small.night(_in_two_steps(small), given=Given(target=first.target, optimizer=first.optimizer))
    adopted(small, report)
    path = small.skill
    before = path.read_bytes().decode()
    compared: list[str] = []

    def reply(request: ChatRequest) -> str:
        if Prompts()["slow_update"] not in request.messages[0].text:
            return useless.propose(request)
        compared.append(request.messages[-1].text)
        return json.dumps({"reasoning": "r", "guidance": "- Say it loudly."})

    optimizer = ScriptedModel(reply, name="x:optimizer")
    night = {"given": Given(target=first.target, optimizer=optimizer), "search": {"slow_update": True}}
    report = small.night(_in_two_steps(small), **night)
    previous, _, current = compared[0].partition("# Current skill")
    assert "Say yes." not in previous
    assert "Say yes." in current
    assert (report.status, report.documents[0].candidate) == ("proposed", 1.0)
    adopted(small, report)
    start, _, end = before.partition("- Say yes.\n")
    assert path.read_bytes().decode() == f"{start}- Say yes.\n- Say it loudly.\n{end}"
    revert("0002", small.state.folder)
    assert path.read_bytes().decode() == before


def test_what_was_reverted_is_nothing_to_compare_with(small: Small) -> None:
    steps = _Steps("Say yes.")
    given = Given(target=steps.target, optimizer=steps.optimizer)
    adopted(small, small.night(_in_two_steps(small), given=given))
    revert("0001", small.state.folder)
    report = small.night(_in_two_steps(small), given=given, search={"slow_update": True})
    assert report.status == "proposed"
    assert not any(Prompts()["slow_update"] in request.messages[0].text for request in steps.optimizer.requests)


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
