"""What the HTTP servers on this machine have in common. Starlette and uvicorn are imported when one is made."""

import json
import socket
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from etude.errors import not_installed

if TYPE_CHECKING:
    from starlette.responses import Response


def need_server(what: str, extra: str) -> None:
    """Raises ConfigError: starlette or uvicorn is not installed, which `what` needs and this extra brings."""
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise not_installed(what, "starlette and uvicorn", extra)


def server_settings(app: Any, **more: Any) -> Any:
    """The `uvicorn.Config` of a server that answers HTTP and nothing else, and logs nothing."""
    import uvicorn

    return uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False, **more)


def loopback(port: int = 0) -> socket.socket:
    """Listens at 127.0.0.1; at any free port for 0. Raises OSError: the port is taken."""
    listener = socket.create_server(("127.0.0.1", port))
    # Connections inherit it. Without it each answer waits 40 milliseconds for its second packet.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def json_response(data: Any, status: int = 200) -> "Response":
    """An answer in JSON."""
    from starlette.responses import Response

    return Response(json.dumps(data), status, media_type="application/json")


async def client_left(receive: Callable[[], Awaitable[Any]]) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
