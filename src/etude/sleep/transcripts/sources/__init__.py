"""Where transcripts come from: one source for each agent program, by name."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from etude.errors import ConfigError, did_you_mean
from etude.sleep.transcripts.sources.base import Source

__all__ = ["SOURCES", "Source", "source_of"]

SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "claude-code": "claude_code:ClaudeCode",
        "codex": "codex:Codex",
        "copilot-cli": "copilot_cli:CopilotCli",
        "cursor": "cursor:Cursor",
        "gemini-cli": "gemini:GeminiCli",
        "jsonl": "plain:Plain",
        "opencode": "opencode:OpenCode",
        "pi": "pi:Pi",
        "qwen-code": "qwen:QwenCode",
        "vscode-copilot": "vscode_copilot:VSCodeCopilot",
    }
)
"""Name to module of this package and class, imported when it is asked for."""


def source_of(name: str) -> Source:
    """The source of that name.

    Raises:
        ConfigError: there is none.
    """
    if name not in SOURCES:
        raise ConfigError(f"{name!r} is no source of transcripts", hint=did_you_mean(name, SOURCES))
    module, _, class_name = SOURCES[name].partition(":")
    made = cast(type[Source], getattr(import_module(f"{__name__}.{module}"), class_name))
    return made()
