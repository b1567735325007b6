"""`etude view`."""

import argparse
import errno
import os
import secrets
import sys
import webbrowser
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from etude.cli.lookup import RUNS, find_run, names_run
from etude.cli.parsing.arguments import VIEW_PORT
from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import find_project, settings_in
from etude.cli.terminal import output
from etude.config import RunSection
from etude.errors import ConfigError, DataError, raising
from etude.files import private_file, private_folder, write_atomically
from etude.sleep.page import Reviews
from etude.sleep.state import Surroundings, state_in
from etude.store.views import runs_in
from etude.user_state import user_state
from etude.view.export import export_page
from etude.view.server import ViewServer
from etude.view.shelf import Shelf


def run(args: argparse.Namespace) -> int:
    """Serve the page until interrupted, or write it as a file."""
    shelf = _shelf(args.runs)
    if args.export is not None:
        return _export(shelf, args)
    if args.exclude:
        raise UsageError("--exclude is about a file, and --export was not given", hint="add --export report.html")
    server = _open(shelf, args.port)
    server.start()
    try:
        if args.json:
            output.json_result({"url": server.url})
        else:
            output.line(server.url)
        output.flush()
        if not args.no_open:
            webbrowser.open(server.url)
        output.note("serving until Ctrl-C; only this machine can reach it, and only with this link")
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0


@contextmanager
def viewed(run: RunSection) -> Generator[None]:
    """A page about a run of this process, as long as it goes on; in a terminal until Ctrl-C. Raises as `_open`."""
    server = _open(Shelf([], Path(run.folder), output.program()), None)
    server.start()
    link = f"{server.url}#/runs/{quote(run.name, safe='')}"
    output.note(f"the run in a browser: {link}")
    webbrowser.open(link)
    try:
        yield
        if sys.stderr.isatty():
            output.note("the page is served until Ctrl-C")
            with suppress(KeyboardInterrupt):
                server.wait()
    finally:
        server.stop()


def _open(shelf: Shelf, port: int | None) -> ViewServer:
    """A server on `port`; when none is asked for, on the usual one, else on any that is free.
    Raises ConfigError: the port is taken, or starlette or uvicorn is not installed."""
    token = _token(os.environ, Path.home())
    try:
        return ViewServer(shelf, VIEW_PORT if port is None else port, token)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return ViewServer(shelf, 0, token)
        raise ConfigError(
            f"--port {port} cannot be used: {error.strerror}", hint="leave it out for any free port"
        ) from error


def _token(environ: Mapping[str, str], home: Path) -> str:
    """The token of this user's links. It is kept, so that a page that is open finds the next server."""
    file = user_state(environ, home) / "view-token"
    try:
        private_folder(file.parent)
        with os.fdopen(private_file(file, os.O_RDWR | os.O_CREAT), "r+") as stream:
            token = stream.read().strip()
            if len(token) < 32:
                token = secrets.token_urlsafe(24)
                stream.seek(0)
                stream.write(token)
            return token
    except OSError:
        return secrets.token_urlsafe(24)


def _reviews() -> Reviews | None:
    """The nights of the project here; None where there were none yet."""
    sleep = settings_in(None)
    project = find_project(None, sleep)
    state = state_in(project, Surroundings())
    named = () if sleep is None else tuple(Path(path) for path in sleep.named_paths)
    return Reviews(project, state, named) if state.numbers() else None


def _shelf(names: list[str]) -> Shelf:
    """The runs of these names, or those of a folder; those here and the nights of the project, unless names are
    given. Raises DataError: there are none of that name."""
    program = output.program()
    if not names:
        return Shelf([], RUNS, program, _reviews())
    if len(names) == 1 and Path(names[0]).is_dir() and not names_run(names[0]):
        return Shelf([], Path(names[0]), program)
    paths = [Path(find_run(name).path) for name in names]
    known: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name
        if name in known and known[name].resolve() != path.resolve():
            raise DataError(
                f"{str(known[name])!r} and {str(path)!r} have the same name",
                hint="the page knows runs by name: show them one by one, or rename a folder",
            )
        known[name] = path
    return Shelf(list(known.values()), None, program)


def _export(shelf: Shelf, args: argparse.Namespace) -> int:
    if not shelf.runs():
        raise DataError("there is no run to write", hint=runs_in(RUNS))
    file = Path(args.export)
    data = export_page(shelf, args.exclude).encode()
    with raising(ConfigError, f"--export {str(file)!r} cannot be written", "give another file"):
        write_atomically(file, data, mode=0o666)
    if args.json:
        output.json_result({"file": str(file), "bytes": len(data)})
    else:
        output.line(f"wrote {file}, {len(data) / 1e6:.1f} MB")
    return 0
