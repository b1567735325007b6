"""Where the protected regions of a document go when the text around them is rewritten, and what of a new text
goes into the one block that may be edited.

A pair of marker lines in the new text stands for the region of that name, whatever is between them. Where the pairs
are not exactly those of the document, once each and in their order, they do not count: regions that came first stay
first, the others go to the end.
"""

from collections.abc import Sequence
from itertools import pairwise

from etude.skill.lines import lines_of, without_blank_edges
from etude.skill.markers import is_marker_comment, made_harmless, pretends, read_marker


def divided(old: Sequence[str], names: Sequence[str], text: str) -> list[str]:
    """`text` in pieces: what goes before each of the regions with these names, and after the last, in place of the
    `old` pieces. None has a marker, or blank lines at its edges."""
    pieces, marked = _passages(text, familiar={line for piece in old for line in statements(piece)})
    places = [index for index, name in enumerate(marked, start=1) if name in names]
    if [marked[place - 1] for place in places] == list(names):
        bounds = [0, *places, len(pieces)]
        parts = [_joined(pieces[start:stop]) for start, stop in pairwise(bounds)]
    else:
        first = next((index for index, piece in enumerate(old) if piece.strip()), 0)
        parts = [_joined(pieces) if index == first else [] for index in range(len(old))]
    return [without_blank_edges("\n".join(part)) if any(map(str.strip, part)) else "" for part in parts]


def inside(name: str, old: str, text: str, above: str, below: str) -> str:
    """What `text` has for the inside of the region `name`, in place of `old`: without markers, or blank lines at its
    edges.

    What stands between the region's marker lines, if there is one such pair and something between them. Else all of
    the text, without its copy of all that stands above the region and of all that stands below it."""
    lines = [line.text for line in lines_of(text)]
    markers = [(index, marker) for index, line in enumerate(lines) if (marker := read_marker(line))]
    pairs = [
        (begin, end)
        for (begin, opens), (end, closes) in pairwise(markers)
        if opens == ("begin", name) and closes == ("end", name)
    ]
    if len(pairs) == 1:
        between = divided([old], [], "\n".join(lines[pairs[0][0] + 1 : pairs[0][1]]))[0]
        if between:
            return between
    (plain,) = divided([old], [], text)
    return _without_copies(plain, divided([above], [], above)[0], divided([below], [], below)[0])


def _without_copies(text: str, above: str, below: str) -> str:
    lines = [line.text for line in lines_of(text)]
    head, tail = statements(above), statements(below)
    said = [index for index, line in enumerate(lines) if line.strip()]
    first, stop = 0, len(lines)
    if head and [lines[index].rstrip() for index in said[: len(head)]] == head:
        first = said[len(head) - 1] + 1
        said = said[len(head) :]
    if tail and [lines[index].rstrip() for index in said[-len(tail) :]] == tail:
        stop = said[-len(tail)]
    return without_blank_edges("\n".join(lines[first:stop])) if any(map(str.strip, lines[first:stop])) else ""


def statements(text: str) -> list[str]:
    """The lines of a text that say something."""
    return [line.text.rstrip() for line in lines_of(text) if line.text.strip()]


def _passages(text: str, familiar: set[str]) -> tuple[list[list[str]], list[str]]:
    """The lines around pairs of markers, and the names of the pairs. Other markers are left out; what else could pass
    for one is made harmless, unless it is `familiar`."""
    lines = [line.text for line in lines_of(text)]
    markers = [read_marker(line) for line in lines]
    pieces: list[list[str]] = [[]]
    names: list[str] = []
    index = 0
    while index < len(lines):
        marker, line = markers[index], lines[index]
        index += 1
        if marker is not None and marker[0] == "begin":
            following = next((later for later in range(index, len(lines)) if markers[later]), None)
            if following is not None and markers[following] == ("end", marker[1]):
                names.append(marker[1])
                pieces.append([])
                index = following + 1
        elif marker is None and not is_marker_comment(line):
            kept = line.rstrip() in familiar and not pretends(line)
            pieces[-1].append(line if kept else made_harmless(line))
    return pieces, names


def _joined(pieces: Sequence[list[str]]) -> list[str]:
    """All lines, with one blank line where a passage stood between two."""
    lines: list[str] = []
    for piece in pieces:
        doubled = bool(lines) and not lines[-1].strip() and bool(piece) and not piece[0].strip()
        lines += piece[1:] if doubled else piece
    return lines
