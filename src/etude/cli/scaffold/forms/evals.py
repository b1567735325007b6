"""Evals of a skill: requests, and what is expected of the answers."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.forms.chat import transcript, turns
from etude.cli.scaffold.forms.made import SAYS, MadeTasks, built, said, task
from etude.cli.scaffold.table import Table, fold_name
from etude.envs.files import Row
from etude.errors import DataError
from etude.measure.triggers.environment import Request
from etude.readable import counted, word_count

_ASKED = (
    *("prompt", "question", "query", "input", "task", "request", "instruction", "instructions", "user_input"),
    *("user_prompt", "message", "scenario", "user", "ask", "turns", "messages", "conversation"),
)
_SURE = re.compile(r"expectations|expected_behaviou?r|assertions|(success|acceptance|evaluation)_criteria")
"""Nothing but evals has columns of these names."""
_MUST_NOT = "It must not: "
_CRITERIA: tuple[tuple[str, str], ...] = (
    (r"(.+_)?not_(contains?|include)", "It does not contain: "),
    (r"((.+_)?(contains|keywords)|must_(include|contain))", "It contains: "),
    (r"(.+_)?output_matches", "It matches the pattern: "),
    (
        r"(.+_)?(must|should)_not(_do)?|traps|negative_expectations|anti_patterns|forbidden|avoid|prohibited",
        _MUST_NOT,
    ),
    (r"(.+_)?(expect|expectations|assertions|criteria|rubric|checks|checklist|behaviou?r|should|must)", ""),
)
"""What columns of criteria are called, and the words that each criterion needs before it."""
_FILE = re.compile(r"(\bevals?\.jsonl?|\.ya?ml)\b")
"""Files that hold evals."""
_EXPECTED = (
    *("expected_output", "ground_truth", "expected_workflow", "expected", "answer", "output", "expected_answer"),
    *("expected_outcome", "expected_result", "expected_response", "reference", "reference_answer", "gold"),
    *("golden_answer", "ideal", "ideal_answer", "ideal_response", "response"),
)
_OPENS = r"(?:rout|select|trigger|read|load|activat|identif|invok|consult|open|match|recogni[sz])\w*"
_OPENED = re.compile(
    rf"\b{_OPENS}\b.*(\bskill\b|SKILL\.md)"
    r"|(\bskill\b|SKILL\.md).*\b(selected|triggered|loaded|activated|invoked|opened|used|read)\b",
    re.IGNORECASE,
)
"""What expectations say of a skill that is to be used, and not of the answer: without the skill none is met, so that
one that teaches nothing would seem to help."""
_USES = re.compile(rf"{_OPENS}|us(?:e|es|ed|ing)", re.IGNORECASE)
_BESIDE = frozenset(
    re.findall(
        r"\S+",
        "the a an agent model assistant it this that its as to of for in from on with by and is was be been are "
        "should must can will correctly first skill's relevant applicable appropriate right correct matching proper "
        "best suited primary request question prompt task user user's without being told explicitly naming named "
        "name phrasing implicit before taking any action acting responding answering response instructions file",
    )
)
"""Words that say no more than that a skill is used."""
WHICH_SKILL = ("expected_skill", "acceptable_skills", "should_trigger")
"""Columns that say which skill a request needs, so whether it is a task of this one."""
_NONE = ("", "none", "null")
_YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_ITEM = re.compile(r"\s*([-*•]|\d+[.)])\s+")
_SHORT = 8
"""Words of an answer that can be compared as it is; a longer one describes what is wanted."""


def fits(table: Table) -> bool:
    """Requests with criteria or prose that says what is expected. Short answers alone are compared as they are."""
    asked, criteria, expected = _found(table, _ASKED), _of_criteria(table), _found(table, _EXPECTED)
    named = all(_FILE.search(row.place) for row in table.rows)
    if not asked or table.wishes.scorer or table.wishes.rubric:
        return False
    if not named and not any(map(_SURE.fullmatch, map(fold_name, criteria))):
        return False
    compared = all(_is_answer(_first(row, table, expected)) for row in table.rows)
    return not compared or any(_criteria(row, table, criteria) for row in table.rows)


def tasks(table: Table) -> MadeTasks:
    """Each criterion is judged by itself."""
    asked, criteria, expected = _found(table, _ASKED), _of_criteria(table), _found(table, _EXPECTED)
    files = table.find("files")
    if (before := table.find("setup")) is not None:
        raise DataError(
            f"{table.rows[0].place}: {before!r} prepares a place for the agent, and is not read",
            hint='put its files beside the skill and name them, as in "files": ["evals/files/a.csv"]',
        )
    rows, asking = list[Row](), list[str]()
    for row in table.rows:
        text, every = _request(row, table, asked), _criteria(row, table, criteria)
        wanted = _first(row, table, expected)
        opening = [each for each in every if _only_opens(each, table.folder.parent.name)]
        texts = [each for each in every if each not in opening]
        asking += opening
        if all(text.startswith(_MUST_NOT) for text in texts):
            texts = [*(f"What is expected: {each}" for each in _texts(wanted)), *texts]
        if every and not texts:
            continue
        if not texts:
            more_to_do = "; `etude trigger` measures when the skill is opened" * bool(table.find("should_trigger"))
            raise DataError(
                f"{row.place}: neither expectations nor an expected output say what a good answer is",
                hint=f'add "expectations": a list of sentences{more_to_do}',
            )
        more: dict[str, JsonValue] = {"expectations": list[JsonValue](texts)}
        if files and (found := table.value(row, files)):
            more["files"] = _places(found, row, table.folder)
        rows.append(task(table, row, text, wanted, **more))
    if not rows:
        raise DataError(
            f"{table.rows[0].place.partition(':')[0]}: all expectations ask that the skill is used, as {asking[0]!r}",
            hint="add what a good answer says or does; `etude trigger` measures whether the skill is opened",
        )
    return built(
        "prompts, judged by their expectations",
        rows,
        ("rubric", "a model judges each expectation; solved is an answer that meets them all"),
        {"column": "expectations", "threshold": 1},
        notes=_notes(asking, [text for row in rows for text in _texts(row.columns["expectations"])], table, rows),
    )


def _only_opens(text: str, skill: str) -> bool:
    """Whether an expectation says that a skill is used, and nothing of the answer."""
    words = {word for each in re.findall(r"[\w'./-]+", text) if (word := each.strip("'./-").lower())}
    skills = {word for word in words if "skill" in word or word == skill.lower()}
    left = {word for word in words - skills - _BESIDE if not {"-", "/"} & set(word)}
    return bool(skills and left) and all(map(_USES.fullmatch, left))


def _notes(asking: Sequence[str], kept: Sequence[str], table: Table, rows: Sequence[Row]) -> list[str]:
    """On expectations that no answer without the skill can meet, whatever the skill is worth."""
    found: list[str] = []
    if asking:
        gone = len(table.rows) - len(rows)
        some = f"{counted(len(asking), 'expectation')} left out, as {asking[0]!r}"
        some += f", and {counted(gone, 'row')} without others" if gone else ""
        found.append(f"{some}: no answer shows that the skill was used; `etude trigger` measures it")
    if also := [text for text in kept if _OPENED.search(text)]:
        some = f"{len(also)} of {len(kept)} expectations also ask that the skill is used, as {also[0][:80]!r}"
        found.append(f"{some}: without it they fail in any case, so it seems to help")
    return found


def needing_the_skill(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Rows without those that ask that the skill is not used, `expected_skill: null` or `should_trigger: false`, or
    that name another skill than most rows do, and a note on them. They tell when a skill is opened, not what it is
    worth. Raises DataError: no row is left."""
    own = _skill_of(rows)
    off = [_quiet(row) or bool(own and own not in (_named(row) or [own])) for row in rows]
    quiet = [row for row, is_off in zip(rows, off, strict=True) if is_off]
    if not quiet:
        return list(rows), []
    if len(quiet) == len(rows):
        raise DataError(
            f"{rows[0].place.partition(':')[0]}: each row asks that the skill is not used",
            hint="add requests that need the skill: the others show only when it is opened",
        )
    rest = [row for row, is_off in zip(rows, off, strict=True) if not is_off]
    some = "1 row asks" if len(quiet) == 1 else f"{len(quiet)} rows ask"
    return rest, [f"{some} that the skill is not used, as {quiet[0].place}: no task is made of them"]


def _quiet(row: Row) -> bool:
    """Whether the skill must stay closed; `should_trigger` decides where it is given. Raises DataError: it is neither
    true nor false."""
    columns = _folded(row)
    told = str(columns.get("should_trigger")).strip().casefold()  # in a table it is text
    if told in _YES_OR_NO:
        return not _YES_OR_NO[told]
    if told not in _NONE:
        raise DataError(f"{row.place}: should_trigger = {told!r} says neither", hint="write true or false")
    return "expected_skill" in columns and not _names(columns["expected_skill"])


def _named(row: Row, skill: str = "") -> list[str]:
    """The skills that a row names as right; `skill` where it expects no other."""
    columns = _folded(row)
    expected = _names(columns.get("expected_skill")) or ([skill] if skill else [])
    return [*expected, *_names(columns.get("acceptable_skills"))]


def _names(value: JsonValue) -> list[str]:
    return [name for name in _texts(value or None) if name.casefold() not in _NONE]


def _folded(row: Row) -> dict[str, JsonValue]:
    return {fold_name(name): value for name, value in row.columns.items()}


def _skill_of(rows: Sequence[Row]) -> str:
    """The skill that most rows name, half of those that name one or more; empty where there is none."""
    counts = Counter(name for row in rows if not _quiet(row) for name in _named(row)[:1])
    (most, times), (_, second), *_ = [*counts.most_common(2), ("", 0), ("", 0)]
    return most if times > second and 2 * times >= counts.total() else ""


def requests(table: Table, skill: str) -> list[Request]:
    """What each row asks, and the skill that it needs: the one it names, else `skill`, which the rows came with and
    may be empty. Raises DataError: a row asks nothing, or nothing says which skill it needs."""
    asked = _found(table, _ASKED)
    found: list[Request] = []
    for row in table.rows:
        text, quiet = _request(row, table, asked), _quiet(row)
        needs = () if quiet else tuple(dict.fromkeys(_named(row, skill)))
        if not needs and not quiet:
            raise DataError(f"{row.place}: it does not say which skill it needs", hint='add "expected_skill"')
        found.append(Request(id=row.place, text=text, needs=needs, quiet="" if needs else skill))
    return found


def _found(table: Table, names: Sequence[str]) -> dict[str, str]:
    """The columns that the table has of these names."""
    return {name: column for name in names if (column := table.find(name)) is not None}


def _request(row: Row, table: Table, columns: Mapping[str, str]) -> str:
    """The first of these that asks something, also as the messages of a chat. Raises DataError: none does."""
    for column in columns.values():
        value = table.value(row, column)
        text = value if isinstance(value, str) else transcript(turns(value))
        if text.strip():
            return text
    where = f" in {' or '.join(map(repr, columns.values()))}" if columns else ""
    raise DataError(f"{row.place}: nothing is asked{where}", hint=f"write it as {' or '.join(_ASKED[:3])}")


def _first(row: Row, table: Table, columns: Mapping[str, str]) -> JsonValue:
    """The first of these that says something."""
    return next((value for column in columns.values() if (value := table.value(row, column)) not in (None, "")), None)


def _of_criteria(table: Table) -> dict[str, str]:
    """The columns of criteria, with what stands before each; none that is a part of another one."""
    found: dict[str, str] = {}
    for name, column in table.folded.items():
        lead = next((lead for pattern, lead in _CRITERIA if re.fullmatch(pattern, name)), None)
        if lead is not None and column.partition(".")[0] not in found:
            found[column] = lead
    return found


def _criteria(row: Row, table: Table, columns: Mapping[str, str]) -> list[str]:
    """What an answer has to fulfil, and must not do. Raises DataError: an entry says nothing."""
    found: list[str] = []
    for column, lead in columns.items():
        texts = _texts(table.value(row, column))
        if not all(texts):
            raise DataError(
                f"{row.place}: {column!r} holds something else than texts", hint="write each as a sentence"
            )
        found += [f"{lead}{text}" for text in texts]
    return list(dict.fromkeys(found))


def _is_answer(value: JsonValue) -> bool:
    """Whether it can be compared as it is."""
    if isinstance(value, str):
        return 0 < word_count(value) <= _SHORT
    return value is not None and not isinstance(value, list)


def _texts(value: JsonValue) -> list[str]:
    """What each entry says; an empty text for one that says nothing."""
    if isinstance(value, dict) and value and all(map(str.isdigit, value)):  # levels, of which the highest is wanted
        levels = "; ".join(f"{level}: {said(value[level])}" for level in sorted(value, key=int, reverse=True))
        return [f"It reaches the highest of these levels: {levels}"]
    if isinstance(value, dict) and not value.keys() & {"type", *SAYS}:
        value = list(value.values())
    if isinstance(value, str) and all(map(_ITEM.match, value.strip().splitlines())):
        value = [_ITEM.sub("", line) for line in value.strip().splitlines()]
    return [said(each) for each in (value if isinstance(value, list) else [] if value is None else [value])]


def _places(value: JsonValue, row: Row, folder: Path) -> list[JsonValue]:
    """Paths of files from the folder of the data; they are named from the folder of the skill."""
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) for name in names):
        raise DataError(f"{row.place}: files = {value!r} are not paths", hint='as in ["evals/files/a.csv"]')
    there = {name: folder.parent / name for name in map(str, names)}
    return [
        os.path.relpath(path, folder) if path.exists() or name.startswith(f"{folder.name}/") else name
        for name, path in there.items()
    ]
