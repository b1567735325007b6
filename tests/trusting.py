"""A user who has said yes to what settings name."""

from contextlib import chdir
from pathlib import Path

from etude.cli.trust import foreign, remember
from etude.config import load_config
from etude.sleep.config import load_sleep_config


def trust(settings: str | Path = "etude.yaml", folder: Path | None = None) -> None:
    """Trust what they name, in the folder where the command will be called: by default the current one."""
    with chdir(folder or Path()):
        night = Path(settings).name == "sleep.yaml"
        remember(foreign(load_sleep_config(settings) if night else load_config(settings)))
