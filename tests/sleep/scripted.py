"""Nights over models that say what a test has thought out, and over tasks and words of its own."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from briefs_sessions import write_claude
from small_night import Small

from etude.prompts import Prompts
from etude.records import ChatRequest
from etude.testing import ScriptedModel


def written(request: ChatRequest, rules: str) -> str:
    """The reply of an optimizer that writes these rules: as an edit, or as the whole document, as it is asked."""
    cites = [part.partition('"')[0] for part in request.messages[-1].text.split('<attempt id="')[1:]]
    if Prompts()["return_document"] in request.messages[0].text:
        return json.dumps({"reasoning": "r", "document": rules, "cites": cites})
    edit = {"op": "append", "target": "", "content": rules, "reason": "r", "cites": cites}
    return json.dumps({"reasoning": "r", "edits": [edit] if rules else []})


def rewriting(block: str) -> ScriptedModel:
    """An optimizer that believes what it read: it writes these rules whatever it is shown."""
    return ScriptedModel(lambda request: written(request, block), name="x:optimizer")


def obeying(*pairs: tuple[str, str]) -> ScriptedModel:
    """A target that says a word for each rule that it reads."""

    def reply(request: ChatRequest) -> str:
        read = request.messages[0].text
        return " ".join(["Well:", *(word for rule, word in pairs if rule in read)])

    return ScriptedModel(reply, name="x:target")


def task_file(root: Path, tasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The setting of a night on these tasks, which a person has reviewed."""
    path = root / "tasks.json"
    path.write_text(json.dumps({"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": list(tasks)}))
    return {"tasks": str(path)}


def wanting(id: str, split: str, word: str, **more: Any) -> dict[str, Any]:
    """A task that an answer with a word solves."""
    check = {"op": "contains", "arg": word}
    return {"id": id, "intent": f"Answer question {id} as we do.", "split": split, "checks": [check], **more}


def tasks_that_want(small: Small, words: Sequence[str], each: int = 4) -> dict[str, Any]:
    """So many tasks to train on and as many to hold out, which want one of the words each."""
    rows = [wanting(f"{split}{n}", split, words[n % len(words)]) for split in ("train", "val") for n in range(each)]
    return task_file(small.root, rows)


def said_outright(small: Small, words: Callable[[int], str], n: int = 5) -> None:
    """Sessions in which the user adds these words to the complaint."""
    turns = [turn._replace(feedback=f"{turn.feedback}\n{words(at)}") for at, turn in enumerate(small.turns[:n])]
    write_claude(small.home, turns, str(small.project))
