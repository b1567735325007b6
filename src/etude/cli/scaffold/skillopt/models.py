"""The models of a SkillOpt file, each role with what its backend needs."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from etude.cli.scaffold.skillopt.converted import Converted, named

USUAL_MODEL = "gpt-5.5"
USUAL_EFFORT = "medium"
ROLES = ("target", "optimizer")
_USUAL_BACKENDS = ("openai_chat", "azure_openai")
_CHAT_BACKENDS = ("openai_compatible", "claude_chat", "qwen_chat", "minimax_chat")
_USUAL_MINIMAX = "MiniMax-M3"
_PROGRAMS = {
    "copilot_chat": "GitHub Copilot",
    "codex_exec": "Codex",
    "claude_code_exec": "Claude Code",
    "cursor_exec": "Cursor",
    "copilot_exec": "GitHub Copilot",
}
_AGENTS = {"codex_exec": "codex", "claude_code_exec": "claude-code"}
"""The agents here that run the program of a backend."""
_TOKEN_COMMAND = (
    "az account get-access-token --resource https://cognitiveservices.azure.com --query accessToken -o tsv"
)


def take_models(rest: MutableMapping[str, Any], result: Converted) -> dict[str, str]:
    """Fill the sections `target` and `optimizer`. Takes the settings it carries over out of `rest`, and those that it
    names in `result.left` itself. Returns the backend of each role."""
    backends: dict[str, str] = {}
    effort = rest.pop("model.reasoning_effort", None)
    label = rest.pop("model.backend", None)
    label_counts = False
    looked_at: set[str] = set()
    used: set[str] = set()
    for name in ROLES:
        key = f"model.{name}_backend"
        backend = str(rest.pop(key, "openai_chat"))
        if backend == "openai_chat" and label is not None:
            key, backend, label_counts = "model.backend", str(label), True
        backends[name] = "azure_openai" if backend in _USUAL_BACKENDS else backend
        role = _Role(name, rest, result, looked_at, used)
        _fill(role, backend)
        if backend in _PROGRAMS:
            runs_here = name == "target" and backend in _AGENTS
            result.left[f"{key} ({name})"] = (
                f"{backend!r} runs {_PROGRAMS[backend]}; here the {name} is the model {role.section['model']!r}"
                + (f", and agent.name = {_AGENTS[backend]!r} has it work in that program" if runs_here else "")
            )
        elif backend not in (*_USUAL_BACKENDS, *_CHAT_BACKENDS):
            result.left[f"{key} ({name})"] = (
                f"unknown backend {backend!r}; {role.section['model']!r} is written instead"
            )
        if backend in _USUAL_BACKENDS:
            role.put("reasoning_effort", USUAL_EFFORT if effort is None else effort, "model.reasoning_effort")
        elif effort is not None:
            result.left[f"{named('model.reasoning_effort', effort)} ({name})"] = (
                f"not every model behind {backend!r} takes it: set {name}.reasoning_effort if yours does"
            )
    if label is not None and not label_counts:
        result.left[named("model.backend", label)] = "both roles have a backend of their own"
    for key in sorted(looked_at & set(rest)):
        if key not in used:
            result.left[named(key, rest[key])] = "a setting that comes before it is there"
        del rest[key]
    return backends


@dataclass
class _Role:
    """The section of a role, and the settings of the file that it may be made of."""

    name: str
    rest: MutableMapping[str, Any]
    result: Converted
    looked_at: set[str]
    used: set[str]
    """Those of them that count, for this role or the other."""
    section: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.section = self.result.settings.setdefault(self.name, {})

    def put(self, key: str, value: Any, theirs: str | None = None) -> None:
        self.result.put(f"{self.name}.{key}", value, theirs)

    def find(self, key: str) -> tuple[str | None, Any]:
        """Name and value of a setting, the role's own before that of both."""
        names = (f"model.{self.name}_{key}", f"model.{key}")
        self.looked_at.update(names)
        found = next((name for name in names if name in self.rest), None)
        if found is None:
            return None, None
        self.used.add(found)
        return found, self.rest[found]

    def take(self, ours: str, key: str, usual: Any = None) -> bool:
        """Write a setting under our name, else `usual` if there is one; whether it is in the file."""
        found, value = self.find(key)
        if found is not None:
            self.put(ours, value, found)
        elif usual is not None:
            self.put(ours, usual)
        return found is not None

    def take_name(self, provider: str, usual: str = USUAL_MODEL) -> None:
        """`model` from the name of the role's model, else `usual`."""
        name = self.rest.pop(f"model.{self.name}", None)
        self.put("model", f"{provider}:{usual if name is None else name}", f"model.{self.name}")


def _fill(role: _Role, backend: str) -> None:
    say = role.result.say
    if backend == "claude_chat":
        say("claude_chat ran the program `claude`; `anthropic:` models are asked directly, with a key")
        role.take_name("anthropic")
    elif backend == "qwen_chat":
        role.take_name("openai")
        role.take("base_url", "qwen_chat_base_url", "http://localhost:8000/v1")
        _fill_chat(role, "qwen_chat")
        role.take("timeout", "qwen_chat_timeout_seconds", 300)
    elif backend == "minimax_chat":
        _fill_minimax(role)
    elif backend in _USUAL_BACKENDS:
        _fill_azure(role)
    else:
        if backend == "openai_compatible":
            say("openai_compatible: its address came from the environment; set base_url and api_key_env")
        role.take_name("openai")


def _fill_minimax(role: _Role) -> None:
    key, model = role.find("minimax_model")
    if key is None:
        role.take_name("openai", _USUAL_MINIMAX)
    else:
        own = f"model.{role.name}"
        if own in role.rest:
            role.result.left[named(own, role.rest.pop(own))] = f"{key} comes before it"
        role.put("model", f"openai:{model}", key)
    role.put("api_key_env", "MINIMAX_API_KEY")
    if not role.take("base_url", "minimax_base_url"):
        role.result.say("minimax_chat: set base_url of the role to the address of your region")
    _fill_chat(role, "minimax")


def _fill_azure(role: _Role) -> None:
    say = role.result.say
    key, endpoint = role.find("azure_openai_endpoint")
    if key is None:
        say("no azure_openai_endpoint: `openai:` is written; for Azure write azure:DEPLOYMENT and base_url")
        role.take_name("openai")
        return
    mode = role.find("azure_openai_auth_mode")[1]
    role.take_name("openai" if mode == "openai_compatible" else "azure")
    role.put("base_url", endpoint, key)
    keys = (f"model.{role.name}_azure_openai_api_key", "model.azure_openai_api_key")
    if mode is None and any(key in role.rest for key in keys):
        mode = "api_key"
    if mode in ("azure_cli", None):
        role.put("api_key_command", _TOKEN_COMMAND)
    elif mode == "managed_identity":
        say("azure_openai_auth_mode managed_identity: set api_key_command to a command that prints a token")
    elif mode not in ("openai_compatible", "api_key"):
        role.result.left[named("model.azure_openai_auth_mode", mode)] = (
            "unknown; the key is read from the environment variable that `doctor` names"
        )


def _fill_chat(role: _Role, prefix: str) -> None:
    """What Qwen and MiniMax have in common; SkillOpt's defaults where nothing is set."""
    role.take("temperature", f"{prefix}_temperature", 0.7)
    role.take("max_output_tokens", f"{prefix}_max_tokens", 8000)
    key, thinking = role.find(f"{prefix}_enable_thinking")
    if isinstance(thinking, bool):
        role.put("thinking", "on" if thinking else "off", key)
    elif key is not None:
        role.result.left[named(key, thinking)] = "neither true nor false: the server's own way holds"
