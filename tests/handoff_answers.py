"""Answers the questions of a handoff as the simulated world does."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from etude.models.handoff import waiting
from etude.records import ChatRequest, Message, ResponseSchema, user
from etude.simulation import respond

HEADINGS = {"Instructions": "system", "User": "user", "Assistant": "assistant"}
ROLES: Mapping[str, str] = MappingProxyType({"target": "target", "optimizer": "optimizer"})


def read_back(page: str) -> ChatRequest:
    """The conversation on a page, as somebody who answers reads it."""
    sections = re.findall(r"^## (\w+)\n\n(`{3,})text\n(.*?)\n\2$", page, re.MULTILINE | re.DOTALL)
    messages = [Message(role=HEADINGS[title], content=user(text).content) for title, _, text in sections]  # type: ignore[arg-type]
    schema = re.search(r"^(`{3,})json\n(.*)\n\1\n\Z", page, re.MULTILINE | re.DOTALL)
    body = None if schema is None else ResponseSchema.model_validate_json(f'{{"name": "reply", "body": {schema[2]}}}')
    return ChatRequest(messages=tuple(messages), response_schema=body)


def answer_open(folder: Path, models: Mapping[str, str] = ROLES) -> int:
    """Answers whatever has no answer yet; how many questions that were."""
    still = waiting(folder)
    for one in still:
        page = one.question.read_text(encoding="utf-8")
        role = "optimizer" if "\n## Form of the answer\n" in page else "target"
        reply = respond(models[role], read_back(page))
        one.answer.parent.mkdir(exist_ok=True)
        one.answer.write_text(reply.text, encoding="utf-8")
    return len(still)
