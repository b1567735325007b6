"""The page with its data as one file, which opens from disk without a network.

What is seen first stands in it as JSON that no parser of HTML can take for markup. All else stands compressed in
shards, which the page unpacks when a document of one is asked for. The modules are data addresses in an import map,
as a page from disk may not load other files; a policy in the file lets nothing else run and nothing be sent.
"""

import base64
import gzip
import hashlib
import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal

from etude.errors import EtudeError
from etude.view.gold import HIDDEN, SHORTEST, GoldMask
from etude.view.server import page_files
from etude.view.shelf import Shelf

Excluded = Literal["attempts", "gold"]

MOST_BYTES = 24_500_000
"""Of a file: GitHub, and most mail, takes attachments of up to 25 MB."""
_IN_SHARD = 200
_AROUND, _IN_INDEX = 100, 12
"""About how many characters a shard takes besides, and a name in the index."""
_TOLD: Mapping[Excluded, str] = MappingProxyType(
    {
        "gold": "Gold answers, feedback of scorers and replies in the journal are left out. Where a text quotes a "
        f"gold answer of {SHORTEST} characters or more, {HIDDEN} stands there. A shorter one, or one in other words, "
        "may still be quoted.",
        "attempts": "Attempts are left out.",
    }
)
_IMPORT = re.compile(r'(\bfrom ?|\bimport )"(\.[^"]+)"')


def export_page(shelf: Shelf, exclude: Collection[Excluded] = (), most: int = MOST_BYTES) -> str:
    """The file as text, without what `exclude` names. Raises DataError: a run cannot be read."""
    documents: dict[str, Any] = {"runs": json.loads(shelf.document("runs"))}
    packed, left_out = _Packed(), [told for name, told in _TOLD.items() if name in exclude]
    golds = {run: GoldMask(shelf.golds(run)) if "gold" in exclude else None for run in shelf.runs()}
    for run, gold in golds.items():
        for name in shelf.documents(run):
            try:
                text = _without(shelf.document(name), name, exclude, gold)
            except EtudeError as error:
                left_out.append(f"{name}: {error.message}.")
                continue
            if name == f"runs/{run}":
                documents[name] = json.loads(text)  # it is seen first, and so does not have to be unpacked
            else:
                packed.add({name: text})
    if "attempts" not in exclude:
        shell = len(_file(documents, _Packed(), left_out))
        for number, (run, gold) in enumerate(golds.items()):
            room = (most - shell - packed.size) // (len(golds) - number)
            left_out += _add_attempts(shelf, run, (exclude, gold), (room, most), packed)
    return _file(documents, packed, left_out)


class _Packed:
    """Documents in shards, each compressed for itself, and which shard each document is in."""

    def __init__(self) -> None:
        self.shards: list[str] = []
        self.places: dict[str, int] = {}
        self.size = 0
        """Characters that they take in the file."""

    def add(self, documents: Mapping[str, str], room: int | None = None) -> bool:
        """Add a shard with these, if it finds room; says whether it did."""
        fields = (f"{json.dumps(name)}:{text}" for name, text in documents.items())
        shard = _compressed("{" + ",".join(fields) + "}")
        size = len(shard) + _AROUND + _IN_INDEX * len(documents)
        if room is not None and size > room:
            return False
        self.places.update(dict.fromkeys(documents, len(self.shards)))
        self.shards.append(shard)
        self.size += size
        return True


def _add_attempts(
    shelf: Shelf,
    run: str,
    without: tuple[Collection[Excluded], GoldMask | None],
    sizes: tuple[int, int],
    packed: _Packed,
) -> Iterator[str]:
    """Add the attempts of a run and say what found no room."""
    room, most = sizes
    names = shelf.attempts(run)
    found, end, kept = zip(names, shelf.many(run, names), strict=True), packed.size + room, 0
    while some := list(islice(found, _IN_SHARD)):
        pages = {f"runs/{run}/attempts/{name}": _without(text, "attempts", *without) for name, text in some}
        if not packed.add(pages, end - packed.size):
            yield (
                f"{len(names) - kept:,} of {len(names):,} attempts of {run} are left out, those that solved their "
                f"task first: with them the file would be larger than {most / 1e6:g} MB."
            )
            return
        kept += len(some)


def _without(text: str, name: str, exclude: Collection[Excluded], gold: GoldMask | None) -> str:
    """A document, of that name, without what must not leave the house."""
    part = name.split("/")[2] if name.count("/") > 1 else name
    if not exclude or (gold is None and part != "steps"):
        return text
    document = json.loads(text)
    if part == "steps":  # feedback quotes answers and gold
        for attempt in document["attempts"]:
            attempt["feedback"] = ""
    if part == "attempts":
        for fact in document["facts"]:  # a judge is shown the gold answer, and quotes it
            fact.update(said="", asked=[])
        document["gold"] = None
        if document["attempt"] is None:
            document["answer"] = None  # where it is right, it is the gold answer
        else:
            document["attempt"]["task"].update(gold=None, data={})
            if document["attempt"]["score"] is not None:
                document["attempt"]["score"].update(feedback="", criteria=[])
    return json.dumps(document if gold is None else gold.hidden(document), ensure_ascii=False)


def _file(documents: Mapping[str, Any], packed: _Packed, left_out: Sequence[str]) -> str:
    data = {"documents": documents, "index": len(packed.shards), "left_out": left_out}
    shards = [*packed.shards, _compressed(json.dumps(packed.places))]
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


def _compressed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(errors="replace"), mtime=0)).decode()


def _safe(data: Any) -> str:
    """JSON that ends no script element and begins no comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").encode(errors="replace").decode()


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
