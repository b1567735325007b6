"""What etude sends at night is never taken for a user's words in a later one."""

import asyncio
from pathlib import Path

import pytest
from small_night import Small

from etude.config import ModelSection
from etude.models import build_model
from etude.records import ChatRequest, user
from etude.simulation.endpoint import running_endpoint
from etude.sleep.transcripts.cleaning import OWN, cleaned
from etude.sleep.transcripts.sessions import Session, Turn

INSTALLED = Path(__file__).resolve().parents[3] / ".tools" / "programs" / "bin"


@pytest.mark.programs
@pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them")
@pytest.mark.parametrize("program", ["claude-code", "codex", "opencode", "pi"])
def test_programs_that_answer_leave_no_transcript_in_the_users_home(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with running_endpoint() as endpoint:
        settings = ModelSection(model=f"agent:{program}/target", base_url=endpoint.url, api_key_env="NO_SUCH_KEY")
        reply = asyncio.run(build_model(settings).complete(ChatRequest(messages=(user("What is 2 + 3?"),))))
    assert reply.text
    assert list(tmp_path.rglob("*")) == []


def test_whatever_is_asked_at_night_is_known_for_etudes_own(tmp_path: Path) -> None:
    small = Small(tmp_path)
    asked: list[ChatRequest] = []
    small.before = asked.append
    report = small.night({"memory": True, "dream": 1})
    assert report.status == "proposed"
    told = ["\n\n".join(message.text for message in request.messages) for request in asked]
    for text in told:
        session = Session(source="codex", id="1", turns=(Turn(prompt=text, answer="Done."),))
        assert cleaned(session).own, text[:300]
    assert {text[:12] for text in told if OWN in text} == {
        "Reply with t",
        "You read one",
        "You reword a",
        "Do the task ",
    }
    assert any(OWN not in text for text in told)
