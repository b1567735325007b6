"""Versions of agent programs, which some take a second to say: remembered for as long as their files are the same."""

import json
import os
from contextlib import suppress
from pathlib import Path

from etude.files import private_folder, write_atomically
from etude.programs.installed import Installed
from etude.programs.program import Program
from etude.user_state import user_state


def known_version(program: Program, there: Installed) -> str:
    """The version of a program, asked for where it is not known; ConfigError as `Program.version`. One that is too
    old is asked for each time: an update may leave the file as it is, where that only starts another one."""
    memory, path, known = user_state(os.environ, Path.home()) / "versions.json", there.path.resolve(), {}
    with suppress(OSError, ValueError, AttributeError, TypeError):  # none yet, or not ours
        known = {name: tuple(entry) for name, entry in json.loads(memory.read_bytes()).items()}
    file = path.stat()
    same = (file.st_size, file.st_mtime_ns, file.st_ctime_ns)
    if known.get(str(path), ())[:-1] == same:
        return str(known[str(path)][-1])
    version = program.version(there)
    if program.too_old(version) is None:
        with suppress(OSError):
            private_folder(memory.parent)
            write_atomically(memory, json.dumps({**known, str(path): (*same, version)}).encode())
    return version
