"""Requests to the page's server over real HTTP."""

import http.client

from etude.view.server import ViewServer


def ask(
    server: ViewServer, path: str, method: str = "GET", body: str = "", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Ask for a path below the link, or for one that begins with `/` as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    whole = path if path.startswith("/") else f"/{server.token}/{path}"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, whole, body=body or None, headers={"Host": f"127.0.0.1:{server.port}", **named})
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found
