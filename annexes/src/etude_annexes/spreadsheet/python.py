"""The Python that runs a model's code and reads the workbooks it leaves, in the sandbox."""

import json
import os
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from etude.envs.scorers.answer_scorer import shorten
from etude.errors import BoundaryError, ConfigError, not_installed
from etude.own_process import last_lines
from etude.programs.installed import installed, interpreter
from etude.records import File, canonical
from etude.sandbox import Finished, Limits, Sandbox, Workspace, run
from etude_annexes.spreadsheet import cells

OUTPUT_CHARS = 4_000
"""How much of what code prints, and of its errors, a model is shown."""
READING_MEMORY = 4
"""How much more memory than code the program may use that reads workbooks."""


class CodeResult(NamedTuple):
    """What became of a piece of code."""

    ok: bool
    printed: str
    feedback: str
    """All of it, for the model that wrote the code."""


class Python:
    """An interpreter with openpyxl. Raises ConfigError: there is no such program, or it lacks openpyxl."""

    def __init__(self, name: str | None, limits: Limits, sandbox: Sandbox, where: str) -> None:
        self.program = found = interpreter(name, where)
        self._limits = limits
        self._reading = Limits(
            seconds=limits.seconds, memory_mb=READING_MEMORY * limits.memory_mb, processes=8, output_kb=100_000
        )
        self._sandbox = sandbox
        self._readable = installed(found).readable
        _check_openpyxl(found, name, where)

    def fingerprint(self) -> str:
        """What decides whether code gets through."""
        return canonical(self._limits.identity())

    async def execute(self, code: str, number: int, workspace: Workspace) -> CodeResult:
        """Run code in the workspace; its source is next to it, where no code can put anything, such as a link in the
        place of the next piece. `number` tells the pieces of an attempt apart."""
        sources = workspace.folder / "code"
        sources.mkdir(exist_ok=True)
        script = sources / f"code_{number}.py"
        script.write_text(code, encoding="utf-8", errors="replace")
        finished = await self._run([str(script)], workspace, self._limits, sources=sources)
        # Paths change from one attempt to the next, and would make other requests of the same ones.
        folders = (sources, workspace.tmp, workspace.work, workspace.home)
        out, err = (_shown(stream, folders) for stream in (finished.stdout, finished.stderr))
        parts = [self._ending(finished)]
        parts += [
            f"{name}:\n{shorten(text, OUTPUT_CHARS)}" for name, text in (("Output", out), ("Errors", err)) if text
        ]
        ok = finished.code == 0 and not finished.over
        return CodeResult(ok, printed=shorten(out, OUTPUT_CHARS), feedback="\n\n".join(parts))

    async def read(self, file: File, ranges: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """What `cells.read_cells` finds in a workbook that need not be one, or `error`.
        Raises BoundaryError: reading broke."""
        request = json.dumps({"path": "workbook.xlsx", "ranges": [list(each) for each in ranges]})
        with Workspace() as workspace:
            workspace.fill({"workbook.xlsx": file})
            script = workspace.tmp / "read_cells.py"
            script.write_bytes(Path(cells.__file__).read_bytes())
            finished = await self._run([str(script)], workspace, self._reading, stdin=request.encode())
        if finished.over:  # a workbook can be made so that it never ends
            return {"error": f"reading it was ended for its {finished.over}"}
        if finished.signal is not None:
            return {"error": f"reading it was ended by signal {finished.signal}"}
        if finished.cut:
            return {"error": "its cells hold too much text"}
        if finished.code != 0:
            problem = last_lines(finished.stderr) or f"exit code {finished.code}"
            raise BoundaryError("reading the workbook", ChildProcessError(problem))
        return json.loads(finished.stdout)

    async def _run(
        self,
        arguments: list[str],
        workspace: Workspace,
        limits: Limits,
        *,
        stdin: bytes | None = None,
        sources: Path | None = None,
    ) -> Finished:
        readable = self._readable if sources is None else (*self._readable, sources)
        return await run(
            [str(self.program), *arguments],
            box=workspace.box(readable),
            limits=limits,
            sandbox=self._sandbox,
            # The same code should print the same each time: what it prints is part of the next request.
            env=workspace.env | {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "TZ": "UTC"},
            stdin=stdin,
        )

    def _ending(self, finished: Finished) -> str:
        if finished.timed_out:
            return f"The code was stopped after {self._limits.seconds:g} seconds."
        if finished.over:
            return f"The code was stopped for its {finished.over}."
        if finished.code is None:
            return f"The code was ended by signal {finished.signal}."
        return f"The code ended with exit code {finished.code}."


def _shown(stream: bytes, folders: Sequence[Path]) -> str:
    text = stream.decode("utf-8", "replace")
    for folder in folders:
        text = text.replace(f"{folder}/", "").replace(str(folder), ".")
    return text.strip()


def _check_openpyxl(program: Path, name: str | None, where: str) -> None:
    if name is None:
        if find_spec("openpyxl") is None:
            raise not_installed("the environment 'spreadsheet'", "openpyxl", "spreadsheet")
        return
    # Outside of the sandbox: without keys, and without modules of the current folder.
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        words = [program, "-I", "-c", "import openpyxl"]
        done = subprocess.run(words, env=env, capture_output=True, timeout=60, check=False)
        problem = (last_lines(done.stderr) or f"exit code {done.returncode}") if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        raise ConfigError(
            f"{where}: python = {name!r} cannot be used for workbooks: {problem}"[:400],
            hint="install openpyxl there, or leave it out",
        )
