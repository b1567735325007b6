"""`etude simulate`."""

import argparse
import socket
from typing import Any

from etude.cli.parsing.verb import UsageError
from etude.cli.terminal import output
from etude.config import parse
from etude.errors import ConfigError, raising
from etude.simulation import names
from etude.simulation.service import Faults

INTERRUPTED = 130


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from etude.simulation.endpoint import check_installed, serve

    faults = read_faults(args.fault, args.outage_after)
    check_installed()
    port = _free_port(args.host, args.port)
    _announce(args.host, port, args.json)
    try:
        serve(args.host, port, faults, args.latency, args.key)
    except KeyboardInterrupt:
        output.note("stopped")
        return INTERRUPTED
    return 0


def read_faults(given: list[str], outage_after: int | None) -> Faults:
    """Faults from `NAME=RATE` texts. Raises InputError: a name is unknown or a rate is not a number from 0 to 1."""
    values: dict[str, Any] = {"outage_after": outage_after}
    for text in given:
        name, equals, rate = text.partition("=")
        if not equals:
            raise UsageError(f"--fault {text!r} has no rate", hint="as in --fault rate_limit=0.1")
        values[name] = rate
    return parse(Faults, values, where="--fault")


def _free_port(host: str, port: int) -> int:
    """The port, or a free one for 0. Asked beforehand, since the server would end without a message."""
    with raising(ConfigError, f"cannot listen on {host}:{port}", "choose another --port"):
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])


def _announce(host: str, port: int, as_json: bool) -> None:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    base_url = f"http://{shown}:{port}/v1"
    if as_json:
        output.json_result({"base_url": base_url, "models": list(names())})
    else:
        output.line(f"base_url  {base_url}")
        output.line(f"models    {', '.join(names())}")
        output.line(f"counters  {base_url.removesuffix('/v1')}/stats")
        output.line("example   etude train \\")
        for role in ("target", "optimizer"):
            end = "" if role == "optimizer" else " \\"
            output.line(f"            --{role}.model openai:{role} --{role}.base_url {base_url}{end}")
        output.note("press Ctrl-C to stop")
    output.flush()
