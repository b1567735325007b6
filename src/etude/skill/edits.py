"""Edits on a skill document, one after the other, each with its fate.

An edit is done where its anchor is, or not at all. Front matter and protected regions are the same before and after,
whatever the edit says: what would change, move into, or imitate them is refused. In a document with a `learned` block
the same holds for everything that is not inside the block.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from etude.errors import SkillError
from etude.records import AppliedEdit, Edit, Skill
from etude.skill.anchors import (
    LIST_MARK,
    AnchorSpan,
    Refusal,
    editable_span,
    find_anchor,
    line_start,
    loose_pattern,
    occurrences,
)
from etude.skill.document import BOM, Document
from etude.skill.lines import (
    left_open,
    lines_of,
    next_line_end,
    with_line_ends,
    without_blank_edges,
    without_blank_end,
)
from etude.skill.markers import looks_like_marker, path_fault, read_file_mark
from etude.skill.parts import MOST_FILES, unfit

_SENTENCE_END = re.compile(r"[.!?]['\")*_`]*\s+\Z")
_LEFTOVER = re.compile(r"[ \t]*(?:[-*+>]|\d{1,9}[.)]|#{1,6})?[ \t]*")
"""What may be left of a line whose words are deleted: the mark of a list item, a quote or a heading."""


@dataclass(frozen=True)
class _Revision:
    text: str
    detail: str = ""
    files: bool = False
    """A file comes or goes."""


def apply_edits(text: str, edits: Sequence[Edit]) -> tuple[str, tuple[AppliedEdit, ...]]:
    """Apply `edits` in order, each to what the one before left; one fate for each. Same input, same result.
    Raises SkillError: `text` is a document that cannot be read."""
    Document.parse(text)
    applied: list[AppliedEdit] = []
    for edit in edits:
        text, fate = apply_edit(text, edit)
        applied.append(fate)
    return text, tuple(applied)


def revised(skill: Skill, edits: Sequence[Edit]) -> Skill:
    """The skill with `edits` applied, whatever their fates are. Raises SkillError, as `apply_edits`."""
    return skill.with_text(apply_edits(skill.text, edits)[0])


def apply_edit(text: str, edit: Edit) -> tuple[str, AppliedEdit]:
    """Apply one edit. `text` comes back unchanged unless the fate is `applied`.

    append        adds the content after the last editable text: before the regions at the tail, else at the end; at
                  the end of the `learned` block where there is one
    insert_after  adds the content below the line in which the anchor ends
    replace       puts the content in place of the anchor; empty content deletes it
    delete        removes the anchor, and the line with it when nothing else stands there

    Where files are trained, an anchor lies in one of them or in the body. `append` of a text whose first line has the
    path of a file adds the file. `delete` of that line, alone or with all of the file, takes it away, and so does
    what leaves nothing of it.

    Blank lines around the content do not count, its line ends become those of the document. Content that holds
    something like a region marker is `protected`. How anchors are found is in `etude.skill.anchors`.
    Raises SkillError: `text` is a document that cannot be read."""
    document = Document.parse(text)
    result = _revise(document, edit)
    if isinstance(result, _Revision):
        result = _checked(document, result)
    if isinstance(result, Refusal):
        return text, AppliedEdit(edit=edit, fate=result.fate, detail=result.detail)
    return result.text, AppliedEdit(edit=edit, fate="applied", detail=result.detail)


def _revise(document: Document, edit: Edit) -> _Revision | Refusal:
    if document.files_at is not None and edit.op in ("append", "delete"):
        whole = with_line_ends(without_blank_edges(edit.content if edit.op == "append" else edit.target), "\n")
        first, _, rest = whole.partition("\n")
        if mark := read_file_mark(first):
            return (_opened if edit.op == "append" else _closed)(document, mark, rest)
    content = "" if edit.op == "delete" else without_blank_edges(edit.content)
    content = with_line_ends(content, document.line_end)
    if edit.op in ("append", "insert_after") and not content.strip():
        return Refusal("no_change", "the edit adds nothing")
    if looks_like_marker(content):
        return Refusal("protected", "the content holds a region marker")
    if edit.op == "append":
        return _append(document, content)
    place = find_anchor(document, edit.target)
    if isinstance(place, Refusal):
        return place
    file = next((one for one in document.files if one.inner[0] <= place.start < one.inner[1]), None)
    if file is not None:
        content = with_line_ends(content, "\n")
    if edit.op == "insert_after":
        return _insert_after(document, place, content)
    if not content.strip():
        text = document.text
        if file and not (text[file.inner[0] : place.start] + text[place.stop : file.inner[1]]).strip():
            return _Revision(text[: file.span[0]] + text[file.span[1] :], place.detail, files=True)
        return _Revision(_deleted(document, place), place.detail)
    return _Revision(_replaced(document.text, place, content), place.detail)


def _opened(document: Document, mark: tuple[str, str], content: str) -> _Revision | Refusal:
    (path, says), paths = mark, [file.path for file in document.files]
    if path in paths:
        return Refusal("missed", f"{path!r} is there already: change it by its lines")
    fault = path_fault(path, paths) or ("a kept file has no text" if says == "kept" else "")
    if fault or looks_like_marker(content):
        return Refusal("protected", fault or "the content holds a region marker")
    if not content.strip():
        return Refusal("no_change", "the edit adds nothing")
    if len(paths) >= MOST_FILES:
        return Refusal("protected", f"the skill has {len(paths)} files, and no more are added")
    at = next((file.span[0] for file in document.files if file.path > path), len(document.text))
    first = f"<!-- etude:file {path}{says and f' {says}'} -->\n"
    return _Revision(f"{document.text[:at]}{first}{content}\n{document.text[at:]}", files=True)


def _closed(document: Document, mark: tuple[str, str], content: str) -> _Revision | Refusal:
    file = next((one for one in document.files if one.path == mark[0]), None)
    if file is None or file.says == "kept":
        return Refusal("missed" if file is None else "protected", f"{mark[0]!r} is no file that edits may take away")
    if content.strip() and content.strip() != document.text[slice(*file.inner)].strip():
        return Refusal("missed", f"{mark[0]!r} reads otherwise now")
    return _Revision(document.text[: file.span[0]] + document.text[file.span[1] :], files=True)


def _checked(before: Document, revision: _Revision) -> _Revision | Refusal:
    """The revision, if front matter and regions are what they were."""
    if revision.text == before.text:
        return Refusal("no_change", "the text already reads like this")
    try:
        after = Document.parse(revision.text)
    except SkillError as error:
        return Refusal("protected", f"the edit would break the document: {error.message}")
    for file in after.files:
        if why := unfit(after.text[slice(*file.inner)]):
            return Refusal("protected", f"{file.path!r} would not be kept: {why}")
    if _guarded(after, revision.files) != _guarded(before, revision.files):
        learned = before.learned is not None
        what = "text outside of the learned block" if learned else "the front matter or a protected region"
        return Refusal("protected", f"the edit would change {what}")
    if left_open(after.learned or "") and not left_open(before.learned or ""):
        return Refusal("protected", "the edit would open fenced code that does not end within the learned block")
    return revision


def _guarded(document: Document, files: bool) -> list[str]:
    """What edits must leave alone; with `files`, not the lines above files. The line end after its last line may be
    added, so that text can follow; but not around a `learned` block, which has its line ends."""
    if document.learned_span:
        start, stop = document.learned_span
        return [document.text[:start], document.text[stop:]]
    regions = [document.text[slice(*region.span)] for region in document.regions]
    marks = [] if files else [document.text[file.span[0] : file.inner[0]] for file in document.files]
    return [part.rstrip("\r\n") for part in (document.front_matter, *regions, *marks)]


def _append(document: Document, content: str) -> _Revision | Refusal:
    if _stands_in(document.body, content):
        return Refusal("no_change", "the content already stands in the text")
    text, line_end = document.text, document.line_end
    if document.learned_span:
        start, stop = document.learned_span
        written = without_blank_end(text[start:stop])
        if not written.strip():
            return _Revision(text[:start] + content + line_end + text[stop:])
        between = _separator(written, content, line_end)
        return _Revision(text[:start] + written + between + content + text[start + len(written) :])
    cut = document.body_stop
    for region in reversed(document.regions):
        if text[region.span[1] : cut].strip():
            break
        cut = region.span[0]
    floor = len(document.front_matter) or (len(BOM) if text.startswith(BOM) else 0)
    written = without_blank_end(text[floor:cut])
    gap = text[floor + len(written) : cut]
    if written.strip():
        head = text[:floor] + written + _separator(written, content, line_end)
    else:
        head, gap = text[:cut], ""
        if head not in ("", BOM) and not head.endswith(("\n", "\r")):
            head += line_end
    tail = text[cut:]
    least = 2 if text[cut : document.body_stop] else 1
    if len(lines_of(gap)) < least:
        gap = line_end * least
    return _Revision(head + content + gap + tail)


def _separator(written: str, content: str, line_end: str) -> str:
    """What goes between a text and the content below it: a blank line, but none within a list."""
    both_items = LIST_MARK.match(content) and _ends_in_list(written)
    return line_end * (1 if both_items else 2)


def _ends_in_list(text: str) -> bool:
    """Whether the last line of `text` belongs to a list item."""
    for line in reversed(lines_of(text)):
        if LIST_MARK.match(line.text):
            return True
        if not line.text.startswith((" ", "\t")) or not line.text.strip():
            return False
    return False


def _stands_in(body: str, content: str) -> bool:
    """Whether the content is already there as whole lines or whole sentences, list marks aside."""
    mark = LIST_MARK.match(content)
    statement = content[mark.end() if mark else 0 :].strip()
    if not statement:
        return False
    for start, stop in occurrences(loose_pattern(statement), body):
        before = body[line_start(body, start) : start]
        after = body[stop : next_line_end(body, stop)[0]]
        begins = not before.strip() or LIST_MARK.fullmatch(before) or _SENTENCE_END.search(before)
        ends = not after.strip() or (statement[-1] in ".!?" and after[0].isspace())
        if begins and ends:
            return True
    return False


def _insert_after(document: Document, place: AnchorSpan, content: str) -> _Revision | Refusal:
    text, line_end = document.text, document.line_end if place.start < document.body_stop else "\n"
    stop, below = next_line_end(text, place.stop)
    rest = text[below:]
    if rest.startswith(content) and rest[len(content) : len(content) + 1] in ("", "\n", "\r"):
        return Refusal("no_change", "the content already stands below the anchor")
    if stop == below:
        return _Revision(text + line_end + content, place.detail)
    return _Revision(text[:below] + content + line_end + rest, place.detail)


def _replaced(text: str, place: AnchorSpan, content: str) -> str:
    """The text with `content` for the anchor; an indentation or list mark that both have comes once."""
    start = place.start
    first = line_start(text, start)
    before = text[first:start]
    if not before.strip(" \t") or (LIST_MARK.fullmatch(before) and LIST_MARK.match(content)):
        start = first if content[0] in " \t" else first + len(before) - len(before.lstrip(" \t"))
    return text[:start] + content + text[place.stop :]


def _deleted(document: Document, place: AnchorSpan) -> str:
    """The text without the anchor, and without the empty line or doubled space that would leave."""
    text, start, stop = document.text, place.start, place.stop
    low, high = editable_span(document, start, stop) or (start, stop)
    first = max(low, line_start(text, start))
    line_stop, below = next_line_end(text, stop)
    before, after = text[first:start], text[stop:line_stop]
    if after.strip() or not _LEFTOVER.fullmatch(before):
        if before.endswith(" ") and (not after or after.startswith(" ")):
            start -= 1
        return text[:start] + text[stop:]
    start, stop = first, below
    above = lines_of(text[low:start])
    following = lines_of(text[stop:high])
    blank_above = bool(above) and not above[-1].text.strip()
    bounded = document.learned_span is not None or start >= document.body_stop
    at_start = start == low if bounded else start in (0, len(BOM))
    at_end = stop == (high if bounded else document.body_stop)
    if following and not following[0].text.strip() and (blank_above or at_start):
        stop += following[0].stop
    elif blank_above and at_end:
        start = low + above[-1].start
    return text[:start] + text[stop:]
