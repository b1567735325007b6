"""Where etude keeps what it knows of a user. Imports nothing heavy: every command looks there."""

import os
from collections.abc import Mapping
from pathlib import Path


def user_state(environ: Mapping[str, str], home: Path) -> Path:
    """`etude` in `$XDG_STATE_HOME` where that is an absolute path, else in `~/.local/state`."""
    given = environ.get("XDG_STATE_HOME", "")
    return (Path(given) if os.path.isabs(given) else home / ".local" / "state") / "etude"
