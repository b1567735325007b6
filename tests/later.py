"""Packages that take seconds to import, and few tests use: only the worker that runs those pays for them."""

import importlib
from typing import Any


class Later:
    """Stands for a module, which is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks each name of a test file whether it is a fixture
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)


anthropic, mcp, openai = (Later(name) for name in ("anthropic", "mcp", "openai"))
