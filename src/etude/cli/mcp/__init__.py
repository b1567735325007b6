"""`etude mcp`."""

import argparse

from etude.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    """Serve tools for agents over standard input and output, until the agent ends."""
    from etude.cli.mcp.tools import Cap, VerbRunner

    try:
        from etude.cli.mcp.server import serve
    except ImportError as error:
        raise ConfigError("the MCP server needs the package 'mcp'", hint="pip install 'etude[mcp]'") from error
    serve(VerbRunner(Cap(usd=args.usd, tokens=args.tokens, calls=args.calls)))
    return 0
