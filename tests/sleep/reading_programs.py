"""What real agent programs read at their start: each is asked one question, and the model behind it tells what it was
sent."""

import shutil
from pathlib import Path

from etude.gateway import Gateway
from etude.programs.known import known_programs
from etude.programs.program import Order
from etude.records import ChatRequest, Skill
from etude.testing import ScriptedModel
from whole_group import run_to_its_end

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"
_SECONDS = 300.0


def installed(agent: str) -> str | None:
    """Where a program is, which scripts/programs installs."""
    return shutil.which(known_programs()[agent].command, path=str(INSTALLED))


async def read_by(agent: str, folder: Path, home: Path, path: str | None = None) -> str:
    """All that an agent program sends its model before it does anything in a folder."""
    seen: list[ChatRequest] = []

    def answer(request: ChatRequest) -> str:
        seen.append(request)
        return "Done."

    program, gateway = known_programs()[agent], Gateway(ScriptedModel(answer, name="x:stub"), model_name="stub")
    temporary = home.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    async with gateway.session(seed=0) as session:
        order = Order(
            installed=program.find(path or installed(agent)),
            prompt="Say that you are done.",
            skill=Skill(text=""),
            instructions="",
            delivery="inline",
            home=home,
            temporary=temporary,
            workspace=folder,
            url=session.url,
            key=session.key,
            model="claude-sonnet-4-5" if agent == "claude-code" else "gemini-2.5-flash",
            seconds=_SECONDS,
        )
        launch = program.launch(order)
        ended = await run_to_its_end(launch.argv, _SECONDS, launch.stdin, cwd=folder, env=dict(launch.env))
    await gateway.aclose()
    assert seen, (ended.out + ended.err)[-2000:]
    return "\n".join(message.text for request in seen for message in request.messages)
