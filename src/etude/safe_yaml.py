"""YAML from anywhere: what is too large, too deep or multiplied by aliases is an error before it costs anything."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import yaml

MOST_CHARACTERS = 100_000
MOST_VALUES = 5_000
"""Values and keys, those that an alias repeats counted each time."""
DEEPEST = 40
LONGEST_NUMBER = 1_000
"""Characters. One of base 60 costs the square of its length."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LIKE_TEXT = (*_NUMBERS, "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
"""What YAML takes plain words for that a person may mean as words."""


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._values = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        alias, before = self.check_event(yaml.AliasEvent), self._values
        self._depth, self._values = self._depth + 1, before + 1
        if self._depth > DEEPEST:
            self._refuse(f"nested more than {DEEPEST} deep")
        if self._values > MOST_VALUES:
            self._refuse(f"more than {MOST_VALUES:,} values, aliases counted as what they stand for")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, yaml.ScalarNode) and not node.value.isascii():  # JSON spells an emoji as a pair of halves
            node.value = node.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and len(node.value) > LONGEST_NUMBER:
            self._refuse(f"a number of more than {LONGEST_NUMBER:,} characters")
        if not alias:
            self._sizes[id(node)] = self._values - before
        elif id(node) not in self._sizes:
            self._refuse("an alias inside of what it stands for")
        else:
            self._values += self._sizes[id(node)]
        return node

    def fetch_more_tokens(self) -> None:
        if self.flow_level > DEEPEST:  # the scanner goes on for a while, and looks at all open brackets each time
            self._refuse(f"nested more than {DEEPEST} deep")
        super().fetch_more_tokens()

    def _refuse(self, problem: str) -> NoReturn:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.get_mark())


IsText = Callable[[tuple[str, ...]], bool]
"""Whether the value under these keys is text, whatever it looks like."""


def dump_yaml(value: Any) -> str:
    """Data as YAML, keys in their order; by the library in C where it is there, which is ten times as fast. It writes
    emoji by their numbers, and cannot write half of a surrogate pair, which a path may have."""
    form = partial(yaml.dump, value, sort_keys=False, allow_unicode=True)
    with suppress(UnicodeEncodeError):
        text = str(form(Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
        if "\\U" not in text:
            return text
    return form(Dumper=yaml.SafeDumper)


def load_yaml(text: str, is_text: IsText = lambda keys: False) -> Any:
    """The value of one YAML document. Raises yaml.YAMLError: it is not YAML, or more than the limits above."""
    if len(text) > MOST_CHARACTERS:
        raise yaml.YAMLError(f"more than {MOST_CHARACTERS:,} characters")
    try:
        loader: Any = _Loader(text)
        node: yaml.Node | None = loader.get_single_node()
        if node is None:
            return None
        _keep_text(node, (), is_text)
        return loader.construct_document(node)
    # PyYAML lets these out for values that look like a date, a number or a tag but are none.
    except (ArithmeticError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise yaml.YAMLError(str(error)) from None


def _keep_text(node: yaml.Node, keys: tuple[str, ...], is_text: IsText) -> None:
    """Let numbers, dates and truth values be text where text is expected. What is empty or null stays nothing."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _keep_text(value, (*keys, str(key.value)), is_text)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _keep_text(value, keys, is_text)
    elif node.tag in _LIKE_TEXT and is_text(keys):
        node.tag = "tag:yaml.org,2002:str"


def read_yaml(path: Path, is_text: IsText = lambda keys: False) -> Any:
    """The value of a file; no more of it is read than may be in it. Raises yaml.YAMLError as `load_yaml` does,
    OSError, UnicodeDecodeError."""
    with path.open(encoding="utf-8") as file:
        return load_yaml(file.read(MOST_CHARACTERS + 1), is_text)
