"""200 attempts through codex, 8 at the same time. Prints what this process holds after 50 and after all, as JSON."""

import asyncio
import gc
import json
import os
from pathlib import Path

from program_contract import ProgramContract

from etude.agents.program import CodexAgent
from etude.prompts import Prompts
from etude.records import ChatRequest, File, Reply, Skill, Task
from etude.testing import ScriptedModel

PARALLEL = 8


def turn(request: ChatRequest) -> Reply:
    if any(message.role == "tool" for message in request.messages):
        return Reply(text="done")
    return ProgramContract().shell(request, "echo 1 > a.txt")


def held() -> dict[str, float]:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"mb": pages * os.sysconf("SC_PAGE_SIZE") / 2**20, "files": len(os.listdir("/proc/self/fd"))}


async def main() -> None:
    model = ScriptedModel(turn)
    mark = {"MANY_MARK": os.environ["TMPDIR"]}
    agent = CodexAgent.from_options({"env": mark}, model, Prompts(), where="agent")
    room = asyncio.Semaphore(PARALLEL)

    async def one(number: int) -> None:
        async with room:
            trajectory = await agent.attempt(Task(id=f"t{number}", input=f"Item {number}?"), Skill(text="Rule."), 0)
            assert trajectory.files == {"a.txt": File(data=b"1\n")}, trajectory
            model.requests.clear()

    found = []
    for many in (50, 150):
        await asyncio.gather(*(one(number) for number in range(many)))
        found.append(held())
    await agent.aclose()
    print(json.dumps(found))


asyncio.run(main())
