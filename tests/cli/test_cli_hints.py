"""What messages tell a person to type exists: verbs, and options that the verb has."""

import ast
import re
import shlex
from collections.abc import Iterator

import pytest

from etude.cli.parsing.parser import VERBS
from etude.cli.parsing.verb import UsageError, Verb
from source_trees import SOURCE, tree_of

BY_NAME = {verb.name: verb for verb in VERBS}
OPTION = re.compile(r"(?<![\w-])--[a-z][\w.-]*\w")
OF_OTHER_PROGRAMS = ("config", "model", "output", "resume", "continue", "verbose", "force", "night", "rule", "epochs")


def shown(node: ast.AST) -> str | None:
    """The text of a literal, with `1` for a value that is put into it; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(shown(part) or put_in(ast.unparse(part)) for part in node.values)


def put_in(value: str) -> str:
    if "output.program()" in value:
        return "etude"
    return "" if re.search(r"elsewhere|\b(?:rest|where)\b", value) else "1"  # options that tests of the verb hold


def literals(tree: ast.AST) -> Iterator[str]:
    """All but docstrings."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        text = None if id(node) in inner else shown(node)
        if text is not None:
            yield text


def commands(text: str) -> Iterator[str]:
    """What stands behind the name of the program, where that is a command and not a sentence."""
    yield from re.findall(r"`etude ([a-z][^`]*)`", text)
    yield from re.findall(r"`(sleep [^`]*)`", text)
    first = {name.split()[0] for name in BY_NAME}
    for found in re.findall(r"(?<![`\w./'-])etude ([a-z][^\n`&;|()]*)", text):
        yield from [found] if found.split()[0] in first else []


def wrong_with(command: str) -> str:
    """Why nobody can type it; empty for a command that can be typed."""
    words = shlex.split(command.rstrip(". \\"))
    name = words[0] if words[0] != "sleep" else " ".join(words[:2])
    if words[0] == "help" or name == "sleep" or name.startswith("sleep 1"):
        return ""  # its verb is put in: the hints of tests hold it
    if name not in BY_NAME:
        return f"there is no verb {name!r}"
    try:
        args = BY_NAME[name].parse([word for word in words[len(name.split()) :] if word != "--help"])
    except UsageError as error:
        return "" if "needs " in error.message else str(error)
    sections = BY_NAME[name].sections()
    return next((f"no setting {key!r}" for key, _ in args.flags if key.partition(".")[0] not in sections), "")


def test_every_command_in_a_message_can_be_typed() -> None:
    found = [
        (str(path.relative_to(SOURCE)), command)
        for path in sorted(SOURCE.rglob("*.py"))
        if re.search(r"`(?:etude|sleep) |program\(\)|\"etude [a-z]", path.read_text())
        for text in literals(tree_of(path))
        for command in commands(text)
    ]
    assert len(found) > 60
    assert [(*one, wrong) for one in found if (wrong := wrong_with(one[1]))] == []


def options(verb: Verb) -> set[str]:
    return set(OPTION.findall(verb.parser.format_help())) | {"--help"}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_hints_of_a_verb_name_options_that_it_has(verb: Verb) -> None:
    known = options(verb)
    path = SOURCE / "cli" / f"{verb.name.replace('-', '_').replace(' ', '/')}.py"
    tree = tree_of(path) if path.exists() else ast.Module([], [])
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for hint in (one.value for one in call.keywords if one.arg == "hint"):
            for text in literals(hint):
                named = set() if list(commands(text)) else set(OPTION.findall(text))
                assert {name for name in named if "." not in name} <= known, text


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_what_is_said_of_an_unknown_option_names_options_of_the_verb(verb: Verb) -> None:
    known = options(verb)
    for name in OF_OTHER_PROGRAMS:
        if f"--{name}" in known:
            continue
        with pytest.raises(UsageError) as error:
            verb.parse([f"--{name}", "1"])
        for option in OPTION.findall(error.value.hint):
            assert option in known or (verb.dotted and "." in option), error.value.hint
        assert [wrong for one in commands(error.value.hint) if (wrong := wrong_with(one))] == []
