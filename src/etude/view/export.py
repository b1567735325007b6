"""The page with its data as one file, which opens from disk without a network.

Documents stand in it as JSON that no parser of HTML can take for markup. Attempts are many: they stand compressed in
shards that the page unpacks when one is asked for. The modules are data addresses in an import map, as a page from
disk may not load other files; a policy in the file lets nothing else run and nothing be sent.
"""

import base64
import gzip
import hashlib
import json
import posixpath
import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, Literal

from etude.errors import EtudeError
from etude.view.server import page_files
from etude.view.shelf import Shelf

Excluded = Literal["attempts", "gold"]

MOST_BYTES = 20_000_000
"""Of a file without its page: GitHub takes attachments of up to 25 MB."""
_IN_SHARD = 200
_IMPORT = re.compile(r'(\bfrom ?|\bimport )"(\.[^"]+)"')


def export_page(shelf: Shelf, exclude: Collection[Excluded] = (), most: int = MOST_BYTES) -> str:
    """The file as text, without what `exclude` names. Raises DataError: a run cannot be read."""
    documents: dict[str, Any] = {"runs": json.loads(shelf.document("runs"))}
    left_out: list[str] = []
    shards: list[str] = []
    places: dict[str, int] = {}
    if "gold" in exclude:
        left_out.append(
            "Gold answers, feedback of scorers and replies in the journal are left out. "
            "What the optimizer wrote may still quote them."
        )
    if "attempts" in exclude:
        left_out.append("Attempts are left out.")
    for run in shelf.runs():
        for name in shelf.documents(run):
            try:
                documents[name] = _without(json.loads(shelf.document(name)), name, exclude)
            except EtudeError as error:
                left_out.append(f"{name}: {error.message}.")
    if "attempts" not in exclude:
        room = max(0, most - len(_safe(documents))) // max(1, len(shelf.runs()))
        for run in shelf.runs():
            left_out += _add_attempts(shelf, run, exclude, (room, most), (shards, places))
    return _file({"documents": documents, "shards": places, "left_out": left_out}, shards)


def _add_attempts(
    shelf: Shelf,
    run: str,
    exclude: Collection[Excluded],
    sizes: tuple[int, int],
    into: tuple[list[str], dict[str, int]],
) -> Iterator[str]:
    """Add the attempts of a run and say what found no room."""
    (room, most), (shards, places) = sizes, into
    names = shelf.attempts(run)
    used, kept = 0, 0
    found = map(json.loads, shelf.many(run, names))
    while some := list(islice(found, _IN_SHARD)):
        pages = {f"runs/{run}/attempts/{page['name']}": page for page in some}
        data = json.dumps({name: _without(page, name, exclude) for name, page in pages.items()}, ensure_ascii=False)
        shard = base64.b64encode(gzip.compress(data.encode(errors="replace"), mtime=0)).decode()
        used += len(shard)
        if used > room:
            yield (
                f"{len(names) - kept:,} of {len(names):,} attempts of {run} are left out: with them the file would "
                f"be larger than {most / 1e6:,.0f} MB."
            )
            return
        kept += len(some)
        places.update(dict.fromkeys(pages, len(shards)))
        shards.append(shard)


def _without(document: Any, name: str, exclude: Collection[Excluded]) -> Any:
    """A document without what must not leave the house."""
    part = name.split("/")[2] if name.count("/") > 1 else ""
    if part == "steps" and exclude:  # feedback quotes answers and gold
        for attempt in document["attempts"]:
            attempt["feedback"] = ""
    if part == "attempts" and "gold" in exclude:
        for fact in document["facts"]:  # a judge is shown the gold answer, and quotes it
            fact.update(said="", asked=[])
    if part == "attempts" and "gold" in exclude and document["attempt"] is not None:
        document["attempt"]["task"]["gold"] = None
        document["attempt"]["task"]["data"] = {}
        if document["attempt"]["score"] is not None:
            document["attempt"]["score"].update(feedback="", criteria=[])
    return document


def _file(data: Any, shards: list[str]) -> str:
    files = {name: text.decode() for name, text in page_files().items()}
    modules = {
        f"etude/{name}": "data:text/javascript;base64," + base64.b64encode(_named(name, text).encode()).decode()
        for name, text in files.items()
        if name.endswith(".js")
    }
    imports, start = _safe({"imports": modules}), 'import "etude/main.js";'
    style = files["vendor/uplot.css"] + files["style.css"]
    icon = "data:image/svg+xml;base64," + base64.b64encode(files["icon.svg"].encode()).decode()
    allowed = " ".join(map(_digest, (imports, start)))
    policy = (
        f"default-src 'none'; script-src data: {allowed}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    blocks = "\n".join(
        f'<script type="application/octet-stream" id="shard-{number}">{shard}</script>'
        for number, shard in enumerate(shards)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>etude</title>
<link rel="icon" href="{icon}">
<style>{style}</style>
<script type="importmap">{imports}</script>
</head>
<body>
<div id="app"><p class="wait">loading ...</p></div>
<noscript>This page draws itself with JavaScript.</noscript>
<script type="application/json" id="documents">{_safe(data)}</script>
{blocks}
<script type="module">{start}</script>
</body>
</html>
"""


def _named(name: str, text: str) -> str:
    """A module whose imports by path are imports by name: a data address has no path."""

    def named(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))
        return f'{found[1]}"etude/{path}"'

    return _IMPORT.sub(named, text)


def _safe(data: Any) -> str:
    """JSON that ends no script element and begins no comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").encode(errors="replace").decode()


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
