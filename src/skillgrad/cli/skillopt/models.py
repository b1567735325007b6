"""The models of a SkillOpt file, each role with what its backend needs."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

USUAL_MODEL = "gpt-5.5"
USUAL_EFFORT = "medium"
_USUAL_BACKENDS = (None, "", "openai_chat", "azure_openai")
_PROGRAMS = {
    "copilot_chat": "GitHub Copilot",
    "codex_exec": "Codex",
    "claude_code_exec": "Claude Code",
    "cursor_exec": "Cursor",
    "copilot_exec": "GitHub Copilot",
}
_TOKEN_COMMAND = (
    "az account get-access-token --resource https://cognitiveservices.azure.com --query accessToken -o tsv"
)


def take_models(rest: MutableMapping[str, Any], left: MutableMapping[str, str], notes: list[str]) -> dict[str, Any]:
    """The sections `target` and `optimizer`. Takes the settings it carries over out of `rest`, tells of the others in
    `left` and `notes`."""
    effort = rest.pop("model.reasoning_effort", None) or USUAL_EFFORT
    usual = rest.pop("model.backend", None)
    sections: dict[str, Any] = {}
    used: set[str] = set()
    for role in ("target", "optimizer"):
        name = str(rest.pop(f"model.{role}", None) or USUAL_MODEL)
        key = f"model.{role}_backend"
        backend = rest.pop(key, None)
        key = "model.backend" if backend in (None, "", "openai_chat") and usual else key
        backend = usual if backend in (None, "", "openai_chat") and usual else backend
        sections[role] = _section(name, backend, _Settings(rest, role, used), notes)
        if backend in _PROGRAMS:
            left[f"{key} ({role})"] = (
                f"{backend!r} runs {_PROGRAMS[backend]}; here the {role} is the model {sections[role]['model']!r}"
            )
        elif backend not in (*_USUAL_BACKENDS, "openai_compatible", "claude_chat", "qwen_chat", "minimax_chat"):
            left[f"{key} ({role})"] = f"unknown backend {backend!r}; {sections[role]['model']!r} is written instead"
        elif backend in _USUAL_BACKENDS:
            sections[role]["reasoning_effort"] = effort
    for key in used & set(rest):
        del rest[key]
    return sections


@dataclass(frozen=True)
class _Settings:
    """The settings of a backend, a role's own before those of both; notes which were looked at."""

    rest: MutableMapping[str, Any]
    role: str
    used: set[str]

    def __call__(self, key: str) -> Any:
        names = (f"model.{self.role}_{key}", f"model.{key}")
        self.used.update(names)
        return next((self.rest[name] for name in names if name in self.rest), None)


def _section(name: str, backend: Any, setting: _Settings, notes: list[str]) -> dict[str, Any]:
    if backend == "claude_chat":
        _say(notes, "claude_chat ran the program `claude`; `anthropic:` models are asked directly, with a key")
        return {"model": f"anthropic:{name}"}
    if backend == "qwen_chat":
        return {
            "model": f"openai:{name}",
            "base_url": setting("qwen_chat_base_url") or "http://localhost:8000/v1",
            **_chat(setting, "qwen_chat"),
        }
    if backend == "minimax_chat":
        if not setting("minimax_base_url"):
            _say(notes, "minimax_chat: set base_url of the role to the address of your region")
        name = setting("minimax_model") or name
        return {
            "model": f"openai:{name}",
            "api_key_env": "MINIMAX_API_KEY",
            **({"base_url": setting("minimax_base_url")} if setting("minimax_base_url") else {}),
            **_chat(setting, "minimax"),
        }
    if backend == "openai_compatible":
        _say(notes, "openai_compatible: its address came from the environment; set base_url and api_key_env")
        return {"model": f"openai:{name}"}
    if backend not in _USUAL_BACKENDS:
        return {"model": f"openai:{name}"}
    endpoint, mode = setting("azure_openai_endpoint"), setting("azure_openai_auth_mode")
    if not endpoint:
        _say(notes, "no azure_openai_endpoint: `openai:` is written; for Azure write azure:DEPLOYMENT and base_url")
        return {"model": f"openai:{name}"}
    if mode == "openai_compatible":
        return {"model": f"openai:{name}", "base_url": endpoint}
    if mode in ("azure_cli", None, ""):
        return {"model": f"azure:{name}", "base_url": endpoint, "api_key_command": _TOKEN_COMMAND}
    if mode == "managed_identity":
        _say(notes, "azure_openai_auth_mode managed_identity: set api_key_command to a command that prints a token")
    return {"model": f"azure:{name}", "base_url": endpoint}


def _chat(setting: _Settings, prefix: str) -> dict[str, Any]:
    """What Qwen and MiniMax have in common; SkillOpt's defaults where nothing is set."""
    temperature, tokens = setting(f"{prefix}_temperature"), setting(f"{prefix}_max_tokens")
    section: dict[str, Any] = {
        "temperature": 0.7 if temperature is None else temperature,
        "max_output_tokens": 8000 if tokens is None else tokens,
    }
    seconds = setting(f"{prefix}_timeout_seconds")
    if prefix == "qwen_chat":
        section["timeout"] = 300 if seconds is None else seconds
    thinking = setting(f"{prefix}_enable_thinking")
    if isinstance(thinking, bool):
        section["thinking"] = "on" if thinking else "off"
    return section


def _say(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)
