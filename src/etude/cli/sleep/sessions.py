"""`etude sleep show --sessions`."""

import argparse
import os

from etude.cli.sleep.settings import settings_in
from etude.cli.sleep.text import harvest_rows, print_rows
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.cli.trust import open_folder, trusted
from etude.sleep.adoption.structure import plain
from etude.sleep.config import make_sleep_config
from etude.sleep.state import Surroundings
from etude.sleep.transcripts.harvest import SessionQuery, harvest
from etude.sleep.transcripts.sources import sources_named

_NO_MODELS = {role: {"model": f"simulated:{role}"} for role in ("target", "optimizer")}
_MOST = 100
"""Sessions that are shown, the newest."""


def show_sessions(args: argparse.Namespace) -> int:
    """Print the newest sessions that are found, without secrets, whether or not a night has used them. What the
    command line leaves open is as the settings here say, where there are any."""
    around = Surroundings()
    sleep = settings_in(args.config)
    if sleep is not None:
        trusted(make_sleep_config({**_NO_MODELS, "sleep": {"sources": list(sleep.sources)}}), args)
        open_folder()  # a source may be named by its import path
    project = args.project if args.project is not None or sleep is None else sleep.project
    asked = SessionQuery(now=around.now(), scope=None if project is None else os.path.realpath(project))
    if sleep is not None:
        same = {"other_paths": sleep.other_paths, "scripts": sleep.scripts, "hours": sleep.lookback_hours}
        asked = asked.model_copy(update=same)
    sources = sources_named(() if sleep is None else sleep.sources)
    found = harvest(sources, None, asked, home=around.home, environ=around.environ)
    older = max(0, len(found.taken) - _MOST)
    table = [("source", "session", "started (UTC)", "turns", "project", "first request")]
    newest = found.taken[older:][::-1]
    for session in newest:
        started = "" if session.started is None else f"{session.started:%Y-%m-%d %H:%M}"
        first, project = plain(session.turns[0].prompt, 60), plain(session.project, 40)
        table.append((session.source, plain(session.id, 36), started, str(len(session.turns)), project, first))
    if args.json:
        data = found.model_dump(mode="json", exclude={"entries", "taken"})
        output.json_result({**data, "sessions": [session.model_dump(mode="json") for session in newest]})
        return 0
    for line in text_lines(table) if found.taken else ("no session was found",):
        output.line(line)
    print_rows(
        *harvest_rows(found),
        ("", f"{older:,} older ones are not shown" if older else ""),
        *(("hint       ", hint) for hint in found.hints),
    )
    return 0
