import json
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from etude.models.wrappers.schema import is_shown, skeleton, strict_schema


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool = True


class Home(BaseModel):
    """Where animals live."""

    title: str = Field(default="home", min_length=1, description="name on the door")
    size: float | None = None
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []
    mood: Literal["calm", "loud"] = "calm"
    first: Cat = Cat(kind="cat")
    nothing: None = None
    counts: tuple[int, ...] = ()


def test_the_skeleton_shows_the_form_with_one_of_each():
    assert json.loads(skeleton(strict_schema(Home))) == {
        "title": "name on the door",
        "size": 0.0,
        "pets": [{"kind": "cat", "lives": 0}],
        "mood": "calm | loud",
        "first": {"kind": "cat", "lives": 0},
        "nothing": None,
        "counts": [0],
    }


class Node(BaseModel):
    children: "list[Node]" = []


class Inner(BaseModel):
    nodes: Node


class Free(BaseModel):
    extra: dict[str, int] = {}


@pytest.mark.parametrize("reply_type", [Node, Inner])
def test_a_type_that_refers_to_itself_is_refused(reply_type: type[BaseModel]):
    with pytest.raises(TypeError, match="Node refers to itself"):
        strict_schema(reply_type)


def test_a_type_with_a_free_form_mapping_is_refused():
    with pytest.raises(TypeError, match="Free: Free has a free-form mapping"):
        strict_schema(Free)


class Street(BaseModel):
    street: str
    cats: list[Cat]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Be kind.\nReply with JSON: {"street": string, "cats": [{"kind": string, "lives": integer}]}', True),
        ('Reply with JSON: {"street": string, "cats": []}', False),
        ('Reply with JSON: {"street": string,\n"cats": [{"kind": string, "lives": integer}]}', False),
        ('{"street": string, "cats": [{"kind": string, "lives": integer}]}', False),
        ("", False),
    ],
    ids=["in one line", "without what is inside", "in two lines", "not asked for", "nothing"],
)
def test_a_form_is_shown_where_a_line_that_asks_for_json_names_all_of_it(text: str, shown: bool):
    assert is_shown(strict_schema(Street), ["Something else.", text]) is shown
