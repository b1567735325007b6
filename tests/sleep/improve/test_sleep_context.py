"""What an agent reads, what becomes of documents of every kind, and what one night leaves to the next."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_night import Counted, Small

from etude.errors import EtudeError
from etude.prompts import Prompts
from etude.records import ChatRequest, Skill
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.revert import revert
from etude.sleep.improve.context import Documents
from etude.sleep.report import NightReport
from etude.testing import ScriptedModel
from etude.workbench import Given

BLOCK = "<!-- etude:begin learned -->\n{}<!-- etude:end learned -->\n"
OLD = "---\nname: old\ndescription: Briefs.\n---\n\n# Briefs\n\n\n\n```\n\n\n\n```\nWrite   clearly.\t"


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


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


@pytest.mark.parametrize(
    "text",
    [OLD, OLD.replace("\n", "\r\n"), "\ufeff" + OLD + "\n", OLD + "\n\n\n", OLD.replace("Briefs.", "Brïefs ✓.")],
    ids=["no line end", "CRLF", "BOM", "blank lines", "not ASCII"],
)
def test_an_existing_skill_gets_a_block_at_its_end_and_keeps_every_other_byte(small: Small, text: str) -> None:
    path = small.project / ".claude" / "skills" / "old" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    report = small.night({"skill": str(path)})
    assert report.status == "proposed"
    assert path.read_bytes() == text.encode()
    adopted(small, report)
    now = path.read_bytes().decode()
    assert now.startswith(text)
    line_end = "\r\n" if "\r\n" in text else "\n"
    added = now.removeprefix(text).strip("\r\n").split(line_end)
    assert (added[0], added[-1]) == (BLOCK.split("\n")[0], BLOCK.format("").split("\n")[1])
    assert all(line.startswith("- ") for line in added[1:-1])
    assert line_end == "\n" or now.count("\n") == now.count("\r\n")
    revert("0001", small.state.folder)
    assert path.read_bytes() == text.encode()


def test_a_link_to_the_memory_file_is_followed_and_stays_a_link(small: Small) -> None:
    memory, agents = small.project / "CLAUDE.md", small.project / "AGENTS.md"
    memory.rename(agents)
    memory.symlink_to("AGENTS.md")
    before = agents.read_bytes()
    report = small.night({"skill": False, "memory": True})
    assert [(one.name, one.status) for one in report.documents] == [("memory", "accepted")]
    adopted(small, report)
    assert memory.is_symlink()
    assert agents.read_bytes().startswith(before)
    assert b"- " in agents.read_bytes().removeprefix(before)
    assert list(rules(small)) == [str(agents.resolve())]
    revert("0001", small.state.folder)
    assert agents.read_bytes() == before


def test_a_link_out_of_the_project_is_refused_before_anything_is_asked(small: Small) -> None:
    (small.root / "elsewhere.md").write_text("# Mine\n")
    (small.project / "CLAUDE.md").unlink()
    (small.project / "CLAUDE.md").symlink_to(small.root / "elsewhere.md")
    with pytest.raises(EtudeError, match="outside of the project"):
        small.night({"memory": True})
    assert small.answered == 0


def test_every_rule_names_the_attempts_tasks_and_sessions_behind_it(small: Small) -> None:
    small.night()
    known = {task["id"]: task for task in small.tasks()}
    ((rule,),) = rules(small).values()
    evidence = rule["evidence"]
    assert rule["night"] == "0001"
    assert evidence["attempts"]
    assert evidence["note"]
    # Training tasks whose failures the edit cites, and held-out ones that do worse without the rule.
    assert {known[task]["split"] for task in evidence["tasks"]} == {"train", "val"}
    assert set(evidence["trial"]["missed"]) <= set(evidence["tasks"])
    behind = {f"{one['source']}:{one['id']}" for task in evidence["tasks"] for one in known[task]["sessions"]}
    assert set(evidence["sessions"]) == behind


def test_rules_of_a_later_edit_have_its_attempts_too(small: Small) -> None:
    """The second of several edits in a night cites attempts under the document that the first one made."""
    known = _Steps(["Say yes.", "Say it loudly."])
    target = ScriptedModel(known.answer, name="x:target")
    report = small.night(_in_two_steps(small), given=Given(target=target, optimizer=known.optimizer))
    assert report.status == "proposed"
    for rule in rules(small).popitem()[1]:
        assert rule["evidence"]["tasks"], rule
        assert rule["evidence"]["sessions"] == ["plain:s1"], rule


def _in_two_steps(small: Small) -> dict[str, Any]:
    def task(name: str, split: str, word: str) -> dict[str, Any]:
        check = {"op": "contains", "arg": word}
        session = {"source": "plain", "id": "s1"}
        text = {"id": name, "intent": f"Answer question {name} as we do.", "split": split}
        return {**text, "checks": [check], "sessions": [session]}

    tasks = [
        task("t1", "train", "yes"),
        task("t2", "train", "LOUD"),
        task("v1", "val", "yes"),
        task("v2", "val", "LOUD"),
    ]
    path = small.root / "tasks.json"
    path.write_text(json.dumps({"format": "etude.tasks", "reviewed": True, "tasks": tasks}))
    return {"tasks": str(path)}


class Listening(Counted):
    """Writes down what it is asked."""

    def __init__(self, name: str, said: list[str]) -> None:
        super().__init__(name, lambda request: said.append("\n".join(one.text for one in request.messages)))


class _Steps:
    """A target that does what it reads, and an optimizer that says one thing after the other."""

    def __init__(self, says: list[str]) -> None:
        self._says = says
        self.optimizer = ScriptedModel(self.propose, name="x:optimizer")

    def answer(self, request: ChatRequest) -> str:
        said = request.messages[0].text
        return ("yes" if "Say yes." in said else "no") + (" LOUD" if "Say it loudly." in said else "")

    def propose(self, request: ChatRequest) -> str:
        said, shown = request.messages[0].text, request.messages[-1].text
        if "word OK" in said:
            return "OK"
        rule = next((text for text in self._says if f"- {text}" not in shown.partition("# ")[2]), self._says[-1])
        cites = [part.partition('"')[0] for part in shown.split('<attempt id="')[1:]]
        if Prompts()["return_document"] in said:
            return json.dumps({"reasoning": "r", "document": f"- {rule}\n", "cites": cites})
        edit = {"op": "append", "target": "", "content": f"- {rule}", "reason": "r", "cites": cites}
        return json.dumps({"reasoning": "r", "edits": [edit]})


def test_rejected_edits_are_known_to_the_next_night_and_to_its_optimizer_only(small: Small) -> None:
    useless = "Zebras 7712."
    steps = _Steps([useless])
    target = ScriptedModel(steps.answer, name="x:target")
    first = 0
    for night in (1, 2):
        report = small.night(_in_two_steps(small), given=Given(target=target, optimizer=steps.optimizer))
        assert (report.night, report.status) == (night, "no change")
        if night == 1:
            first = len(steps.optimizer.requests)
            asked = [
                request.messages[-1].text for request in steps.optimizer.requests if "Zebras" not in str(request)
            ]
            assert asked
    (tried,) = json.loads((small.state.folder / "known.json").read_text())["tried"].values()
    assert [entry["accepted"] for entry in tried][:1] == [False]
    later = [request.messages[-1].text for request in steps.optimizer.requests[first + 1 :]]
    assert useless in later[0]
    attempts = [request for request in target.requests if "Answer question" in request.messages[-1].text]
    # The candidates of both nights are tried, and nothing else brings it to the agent.
    assert sum(useless in request.messages[0].text for request in attempts) < len(attempts) / 2
    assert not any(useless in request.messages[-1].text for request in attempts)


def test_the_slow_update_compares_with_the_document_before_the_last_adoption_and_writes_into_the_block(
    small: Small,
) -> None:
    first = _Steps(["Say yes."])
    target = ScriptedModel(first.answer, name="x:target")
    report = small.night(_in_two_steps(small), given=Given(target=target, optimizer=first.optimizer))
    adopted(small, report)
    path = small.skill
    before = path.read_bytes().decode()
    compared: list[str] = []

    def reply(request: ChatRequest) -> str:
        if Prompts()["slow_update"] not in request.messages[0].text:
            return useless.propose(request)
        compared.append(request.messages[-1].text)
        return json.dumps({"reasoning": "r", "guidance": "- Say it loudly."})

    useless = _Steps(["Zebras 7712."])
    optimizer = ScriptedModel(reply, name="x:optimizer")
    night = {"given": Given(target=target, optimizer=optimizer), "slow_update": {"enabled": True}}
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
    steps = _Steps(["Say yes."])
    target = ScriptedModel(steps.answer, name="x:target")
    given = Given(target=target, optimizer=steps.optimizer)
    adopted(small, small.night(_in_two_steps(small), given=given))
    revert("0001", small.state.folder)
    report = small.night(_in_two_steps(small), given=given, slow_update={"enabled": True})
    assert report.status == "proposed"
    assert not any(Prompts()["slow_update"] in request.messages[0].text for request in steps.optimizer.requests)


def _zone(name: str) -> Callable[[], None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()

    def back() -> None:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()

    return back


def test_a_night_is_the_same_in_every_time_zone(tmp_path: Path) -> None:
    root, found = tmp_path / "here", []
    for zone in ("Pacific/Auckland", "America/Los_Angeles", "Europe/Berlin"):
        back = _zone(zone)
        try:
            small = Small(root)
            report = small.night({"lookback_hours": 24.0 * 297.5})
            proposal = (small.state.night(1) / "proposal" / "proposal.diff").read_text()
            found.append((report.model_dump_json(), proposal, small.tasks()))
        finally:
            back()
        root.rename(tmp_path / zone.replace("/", "-"))
    assert found[0] == found[1] == found[2]
    assert json.loads(found[0][0])["sessions"] == {"claude-code": 2}


def test_house_rules_reach_every_call_of_the_optimizer_about_documents(small: Small) -> None:
    house = "We write British English 7712."
    poor = {"optimizer": {"model": "simulated:optimizer-useless"}}
    said: list[str] = []
    optimizer = Listening("optimizer-useless", said)
    more = {"reflect": {"preferences": house}}
    small.night({"memory": True}, **more, given=Given(optimizer=optimizer), **poor, slow_update={"enabled": True})
    asked = [text for text in said if "# Current skill" in text]
    assert any("What was learned" in text or "name: learned" in text or "Use   tabs." in text for text in asked)
    assert len(asked) >= 4
    assert all(house in text for text in asked)
    assert not any(house in text for text in small.target.answered)
