"""Other processes of etude, in a folder that somebody else may have filled."""

import ast
import re

from etude.own_process import command, how_ended, last_lines
from rows import rows
from source_trees import SOURCE, all_nodes

ROOT = SOURCE.parent.parent
SAFE = ("-P", "-I")


def test_a_module_is_not_looked_for_in_the_current_folder() -> None:
    _, *words = command("runs", "--json")
    assert words == ["-P", "-m", "etude", "runs", "--json"]
    assert command(module="etude_annexes.workers.ray")[1:] == ["-P", "-m", "etude_annexes.workers.ray"]


def code_is_named(node: ast.AST) -> bool:
    """Whether it is a command line that names a module or code for Python."""
    return isinstance(node, ast.List | ast.Tuple) and any(
        isinstance(word, ast.Constant) and word.value in ("-m", "-c") for word in node.elts
    )


def unsafe(words: list[ast.expr]) -> bool:
    """Whether it starts Python, which then looks into the current folder first."""
    if isinstance(words[0], ast.Constant) and words[0].value in ("/bin/sh", "bash"):
        return False
    if len(words) == 2:  # it is what follows, or is compared with
        return False
    return not any(isinstance(word, ast.Constant) and word.value in SAFE for word in words)


def test_nothing_starts_python_so_that_it_looks_into_the_current_folder() -> None:
    named = [(file, node) for file, node in all_nodes() if code_is_named(node)]
    found = [str(file.relative_to(SOURCE)) for file, node in named if unsafe(node.elts)]  # type: ignore[attr-defined]
    # words of a check, which runs in the sandbox, and starts what an attempt left in the current folder
    looked_at = {"envs/grading.py", "envs/judge/sitecustomize.py", "envs/judge/etude_attempt.py"}
    assert [place for place in found if place not in looked_at] == []


def test_there_is_one_command_line_of_our_own_modules() -> None:
    found = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if '"-m"' in file.read_text()}
    assert found == {"own_process.py", "envs/judge/sitecustomize.py", "envs/grading.py"}


def test_pages_and_integrations_start_etude_by_its_name() -> None:
    # what Python compiled beside an integration is no text, and says nothing that its source does not say
    integrations = [path for path in (ROOT / "integrations").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *integrations]
    found = [path for path in pages if re.search(r"python3? +-m +etude\b(?!_)", path.read_text())]
    assert [path.name for path in found] == ["sandbox.md"]  # it says why not


@rows(
    ("said", "shown"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"Traceback ...\n  line\nImportError: no\n\n", "Traceback ... | line | ImportError: no"),
        (b"a\nb\nc\nd\n", "b | c | d"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_what_a_process_said_last_is_one_line(said: bytes, shown: str) -> None:
    assert last_lines(said) == shown


def test_how_a_process_ended_is_its_code_or_its_signal_which_may_have_no_name() -> None:
    assert [how_ended(3, None), how_ended(None, 6), how_ended(None, 40)] == ["exit code 3", "SIGABRT", "signal 40"]
