"""Running code and untrusted programs.

async def grade(code: str) -> Finished:
    with Workspace() as workspace:
        workspace.fill({"solution.py": File(data=code.encode())})
        box = Box(workspace=workspace.work, writable=(workspace.home, workspace.tmp))
        return await run(["python3", "solution.py"], box=box, limits=Limits(seconds=60), sandbox=find_sandbox(),
                         env={"PATH": "/usr/bin:/bin", "HOME": str(workspace.home)})
"""

from etude.sandbox.box import Box, Limits
from etude.sandbox.find import find_sandbox
from etude.sandbox.pipes import Lines
from etude.sandbox.process import run
from etude.sandbox.sandbox import Finished, Sandbox
from etude.sandbox.workspace import NotKept, Workspace

__all__ = ["Box", "Finished", "Limits", "Lines", "NotKept", "Sandbox", "Workspace", "find_sandbox", "run"]
