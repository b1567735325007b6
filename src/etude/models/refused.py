"""Parameters that a server refuses by name: what it said is read, and how requests go without them."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from etude.config import ModelSection
from etude.records import ChatRequest, Message, TextPart

LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
"""The names that the limit of a reply has in Chat Completions: some servers know one of them, some the other."""

_REFUSED = (
    r"unsupported|unknown (?!error|value)|unrecogni[sz]ed|unexpected (?!error|value)|was unexpected|extra_forbidden"
    r"|unknown_|extra(?:neous)? (?:key|input|field|propert|param|argument)|additional ?propert|deprecated"
    r"|(?:not|n't|no longer|cannot) (?:\w+ )?(?:be )?(?:a valid )?"
    r"(?:support|accept|permit|allow|implement|available|enabled|recogni[sz]|known|exist|take|have|set\b|used|specif"
    r"|param|argument|field|found|find|valid (?:for|with|in)\b|provid|sen[dt]\b|pass|includ|given|applicable"
    r"|in the (?:schema|enum))"
    r"|not one of the \w+ (?:param|field|argument)|(?:is|are) (?:disabled|fixed)"
    r"|not (?:configur|adjust|modifi|chang)\w*able"
    r"|must be (?:unset|omitted|removed|absent|null)|invalid (?:param|argument|field|key|name)"
    r"|unavailable|incompatible|prohibited|forbidden|rejects\b|renamed|rather than|no such|only available"
    r"|\u4e0d\u652f\u6301|\u4e0d\u5141\u8bb8"  # not supported, not allowed
    r"|(?:remove|omit|drop|leave out) (?:the )?\W*\w+"
)
_ONE_VALUE = (
    r"may only be|only supports? (?:the default|\S*\d)|only \w+ value is"
    r"|only (?:the )?\(?default|\bonly \S*\d[\d.]* is|(?:must|should|can only) (?:be |equal )?(?:set to )?=*\d"
    r"|locked to"
)
"""What is said where a parameter has one value, which is the one that it has without being sent."""
_VALUE = re.compile(
    r"[<>]=?\s*\d|[≤≥]|(?:less|greater|more|fewer|lower|higher|larger|smaller) than|at (?:most|least)|exceed"
    r"|too (?:large|long|many|small|high|low|big)|maximum|minimum|\branges?\b|\bbetween\b|\babove\b|\bbelow\b"
    r"|must be (?:an? |positive|non-?negative|strictly|finite|in )|should be (?:an? |less|greater|in )"
    r"|or (?:more|less|fewer|greater|lower|higher|smaller|larger|above|below|under)\b|\b(?:up to|under|over) \d"
    r"|\d\s*(?:,|/|\u2013|\.\.+|,?\s*\b(?:or|and|to|through)\b)\s*\d|\d - \d|(?<![\w.-])[\d.]+-[\d.]+(?![\w-])"
    r"|limit(?:ed to| is| of)|valid (?:integer|number)|context (?:length|window)",
    re.IGNORECASE,
)
"""What is said of a value that is out of range, or not on a list: another one would be taken."""
_LEVEL = r"\b(?:none|minimal|low|medium|x?high|max)\b"
_OTHER_VALUES = re.compile(
    r"unknown variant|unrecogni[sz]ed value"
    r"|\b(?:expected|one of|be|are|only|use|takes?|accepts?|support(?:s|ed)?|allowed|permitted|valid|enum\w*)\W{0,8}"
    rf"{_LEVEL}\W{{1,8}}(?:(?:or|and|to|through)\W{{1,4}})?{_LEVEL}"
    r"|(?:supported|allowed|valid|possible|available) (?:values|options|levels)|(?:be|are) one of"
    r"|\b(?:use|choose|pick|try) (?:one of|an?(?:other)? (?:\w+ )?(?:value|level)"
    r"|(?:an? )?(?:lower|higher|smaller|larger)|\W?(?:none|minimal|low|medium|high)\b|\d)",
    re.IGNORECASE,
)
_CONFLICT = re.compile(
    r"\b(?:both|when|while|unless|if|together|mutually|combin\w+|conjunction|same time)\b", re.IGNORECASE
)
"""What is said where parameters do not go together: any of them could be left out."""
_FORM = re.compile(
    r"response_format|json_schema|json_object|structured output|\bschema\b|tool_choice|\btools?\b|grammar",
    re.IGNORECASE,
)
"""What is said of the form of an answer, which has other ways (`Structured`)."""
_ONLY_STREAMED = (
    r"non-?stream|only supports? (?:\w+ )?stream|only \W*stream|(?:enable|requires?|use) (?:the )?\W*stream"
    r"|\bstream\w*\W+(?:mode |parameter )?(?:is |are )?(?:required|only|mandatory)"
    r"|stream\W+(?:parameter )?(?:must|should|needs)|stream\W{0,3}(?:[=:]\W*false|(?:[=:]|to)?\W*true)"
)
_OF_CONTENT = (
    r"\bcontent|empty|blank|\bnull\b|missing|\btokens?\b|characters|length|too (?:long|many|large)|exceed"
    r"|polic(?:y|ies)|violat|moderat|flagged|harmful|safety"
)
"""What is said of what a message says, which would be said of it in every other place."""
_NO_SYSTEM = (
    rf"(?s:\A(?!.*(?:{_OF_CONTENT})).*(?:{_REFUSED}|must alternate|first message must"
    r"|(?:only|must be|should be) (?:one of)?\W*user|without system|no system|not match"
    r"|(?:invalid|unexpected).{0,60}\broles?\b|\broles?\b.{0,60}(?:invalid|unexpected)))"
)


class Sent(NamedTuple):
    """What a refused request was made of."""

    given: ModelSection
    """The settings as the user has them."""
    settings: ModelSection
    """As they were sent."""
    request: ChatRequest


Change = Callable[[ModelSection], Mapping[str, Any]]
"""What of the settings becomes another value."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of requests that servers refuse by name."""

    named: str
    """Pattern of what servers call it."""
    sent: Callable[[Sent], object]
    """Whether a request has it."""
    change: Change
    """How the settings are without it, or with its other name."""
    instead: str
    """What is done then."""
    setting: str
    """The setting that says so from the start; empty where there is none. `.` stands before names of settings."""
    advice: str = ""
    """What else to do where it cannot be left out; the same when not given."""
    refused: str = _REFUSED
    """Pattern of what is said of it where it is not taken at all."""


def _unset(name: str, named: str, *fields: str, then: str, setting: str, refused: str = _REFUSED) -> Parameter:
    """One that is sent where the setting `name` has a value, and the user's own `fields` of the body do not."""
    own = {name, *fields}
    return Parameter(
        named,
        sent=lambda sent: getattr(sent.settings, name) is not None and not own & sent.given.extra_body.keys(),
        change=lambda settings: {name: None},
        instead=then,
        setting=setting,
        refused=refused,
    )


def _other_limit(settings: ModelSection) -> Mapping[str, Any]:
    body = dict(settings.extra_body)
    if body.pop("max_completion_tokens", None) is None:
        body["max_completion_tokens"] = settings.max_output_tokens
    return {"extra_body": body}


_SAMPLED = f"{_REFUSED}|{_ONE_VALUE}"
PARAMETERS: Mapping[str, Parameter] = {
    "seed": Parameter(
        r"(?:random[ _])?seed",
        sent=lambda sent: (
            sent.settings.send_seed and sent.request.seed is not None and "seed" not in sent.given.extra_body
        ),
        change=lambda settings: {"send_seed": False},
        instead="requests are sent without one, and the server draws as it likes",
        setting="set .send_seed: false",
    ),
    "temperature": _unset(
        "temperature",
        "temperature",
        then="requests are sent without one, so answers come at the model's own temperature",
        setting="leave .temperature unset",
        refused=_SAMPLED,
    ),
    "top_p": _unset(
        "top_p",
        "top[ _-]?p",
        then="requests are sent without one, so answers come at the model's own",
        setting="leave .top_p unset",
        refused=_SAMPLED,
    ),
    "reasoning_effort": _unset(
        "reasoning_effort",
        r"reasoning[_. -]?effort|output_config(?:\.effort|(?!\.\w))|effort|(?<=['\"`])reasoning(?=['\"`])"
        r"|body\.reasoning|reasoning(?= is)|(?<=support )reasoning(?! model)"
        r"|(?:think|reasoning) value|(?<=support )thinking",
        *("reasoning", "output_config"),
        then="requests are sent without one, so the model thinks as much as it does by itself",
        setting="leave .reasoning_effort unset",
    ),
    "thinking": _unset(
        "thinking",
        r"chat_template_kwargs|enable_thinking|(?:adaptive )?thinking(?:\.\w+)*",
        *("chat_template_kwargs", "enable_thinking"),
        then="requests are sent without the switch, so the model thinks or not as it does by itself",
        setting="leave .thinking unset, and put the server's own switch into .extra_body",
    ),
    "max_output_tokens": Parameter(
        r"max_(?:output_|completion_|new_)?tokens|max(?:Output)?Tokens|maximum tokens|context (?:length|window)",
        sent=lambda sent: not LIMITS & sent.given.extra_body.keys(),
        change=_other_limit,
        instead="the limit is sent under its other name in Chat Completions",
        setting="put it into .extra_body under the name that the server knows, as in {max_completion_tokens: 4096}",
        advice="set .max_output_tokens to what the server takes, or put the limit into .extra_body under the name "
        "that it knows, as in {max_completion_tokens: 4096}",
    ),
    "system": Parameter(
        r"(?:system|developer)\W{0,2}[ _-]?(?:role|message|prompt|instruction)s?|roles?\W.*\W(?:system|developer)"
        r"|roles? must alternate|first message|messages?\W{1,2}0\W{1,2}role"
        r"|'system' found using 'role'|only \W*user.*roles?|roles? must be (?:one of)?\W*user",
        sent=lambda sent: any(message.role == "system" for message in sent.request.messages),
        change=lambda settings: {},
        instead="system messages stand at the beginning of the first user message",
        setting="",
        advice="take a model, or a chat template, that knows system messages",
        refused=_NO_SYSTEM,
    ),
    "plain": Parameter(
        r"(?:non-?)?stream(?:ing|ed)?",
        sent=lambda sent: not sent.settings.stream and "stream" not in sent.given.extra_body,
        change=lambda settings: {"stream": True},
        instead="answers are streamed",
        setting="set .stream: true",
        refused=_ONLY_STREAMED,
    ),
    "stream": Parameter(
        r"(?<!non-)(?<!non)stream(?:ing|ed|_options)?(?!\W*false\W+\w)",
        sent=lambda sent: sent.given.stream and sent.settings.stream and "stream" not in sent.given.extra_body,
        change=lambda settings: {"stream": False},
        instead="answers are not streamed",
        setting="set .stream: false",
        refused=rf"{_REFUSED}|stream\W+(?:must |should )?(?:be )?(?:set to )?\W*false",
    ),
}
"""By the names under which they are remembered."""

_CALLED = {"plain": "answers that are not streamed", "system": "system messages", "stream": "streaming"}
"""What is not called by its own name."""


@dataclass(frozen=True)
class Sending:
    """How a model's requests are sent: as the settings say, but for what the server refused."""

    given: ModelSection
    settings: ModelSection
    left_out: frozenset[str] = frozenset()

    def without(self, parameter: str) -> "Sending":
        """The same without a parameter of `PARAMETERS`, or with its other name."""
        change = PARAMETERS[parameter].change(self.settings)
        return replace(self, settings=self.settings.model_copy(update=change), left_out=self.left_out | {parameter})

    def fit(self, request: ChatRequest) -> ChatRequest:
        """The request as it is sent."""
        if "system" not in self.left_out or all(message.role != "system" for message in request.messages):
            return request
        return request.model_copy(update={"messages": _joined(request.messages)})

    def told(self, parameter: str) -> str:
        """What is said of a server that refused it."""
        value = getattr(self.given, parameter, None) if parameter not in ("max_output_tokens", "stream") else None
        called = "the limit of a reply" if parameter == "max_output_tokens" else _CALLED.get(parameter, parameter)
        shown = f" = {value!r}" if value is not None else ""
        return f"does not take {called}{shown}: {PARAMETERS[parameter].instead}"


def _joined(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What the system says at the beginning of the first user message."""
    told = "\n\n".join(message.text for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    at = next((place for place, message in enumerate(rest) if message.role == "user"), None)
    if at is None:
        return (Message(role="user", content=(TextPart(text=told),)), *rest)
    content = (TextPart(text=f"{told}\n"), *rest[at].content)
    return (*rest[:at], rest[at].model_copy(update={"content": content}), *rest[at + 1 :])


def advice(parameters: Collection[str], place: str = "", *, refused: bool = False) -> str:
    """What to set; `place` is where the model stands in the settings, as in `target`. Where they are `refused`, the
    settings that leave them out."""
    rows = [PARAMETERS[name] for name in parameters]
    texts = [row.setting if refused else row.advice or row.setting for row in rows]
    names = re.compile(r"(?<= )\.(?=\w)")
    return ", or ".join(names.sub(f"{place}." if place else "", text) for text in texts if text)


class RefusedParameters(NamedTuple):
    """The parameters that a server complains of."""

    parameters: tuple[str, ...] = ()
    curable: bool = False
    """It does not take them at all, and only one reading is possible: the request may pass without them."""


def read_refusal(said: str, sending: Sending, request: ChatRequest, able: Collection[str]) -> RefusedParameters:
    """What a server complains of that was asked with these settings for this request: the body of its answer, or a
    text. `able` are the parameters that the model's interface has and can do without."""
    sent = Sent(sending.given, sending.settings, request)
    there = {name: row for name, row in PARAMETERS.items() if row.sent(sent)}
    asks_form = request.response_schema is not None or request.forced_tool is not None
    named: dict[str, None] = {}
    refused: dict[str, None] = {}
    for text in _statements(said):
        if asks_form and _FORM.search(text):
            continue
        found = [name for name, row in there.items() if _names(row, text)]
        named |= dict.fromkeys(name for name in found if name != "plain")
        refused |= dict.fromkeys(_refused_in(text, found))
    if _OTHER_VALUES.search(said):
        refused = {name: None for name in refused if name in ("plain", "system")}
    curable = tuple(name for name in refused if name in able and name not in sending.left_out)
    return RefusedParameters(curable, curable=True) if curable else RefusedParameters(tuple(named | refused))


def _names(row: Parameter, text: str) -> bool:
    return re.search(rf"(?<![a-z0-9_])(?:{row.named})(?![a-z0-9_])", text, re.IGNORECASE) is not None


def _refused_in(text: str, found: Collection[str]) -> list[str]:
    """Those of the named parameters that the statement says are not taken at all."""
    refused = [name for name in found if re.search(PARAMETERS[name].refused, text, re.IGNORECASE)]
    if "plain" in refused:  # streaming changes nothing of an answer, whatever else could be left out
        return ["plain"]
    if _VALUE.search(text) or (len(found) > 1 and _CONFLICT.search(text)):
        return []
    return refused


_TOLD = ("error", "errors", "issues", "detail", "details", "message", "msg", "metadata", "raw")
"""Where bodies have what servers say; elsewhere they repeat the request."""
_PYDANTIC = re.compile(r"""'type': '(\w+)', 'loc': \(([^)]*)\), 'msg': ("[^"]*"|'[^']*')""")
_SENTENCES = re.compile(r"(?<=[.!;])\s+|\n")
_LISTED = re.compile(r"(?<=[`'\"]), expected .*", re.DOTALL)
"""The fields that a server knows, listed behind the one that it does not know."""


def _statements(data: Any) -> Iterator[str]:
    """What is said in a body, sentence by sentence, with nothing that it repeats of the request."""
    if isinstance(data, list):
        for one in cast(list[Any], data):
            yield from _statements(one)
    elif isinstance(data, dict):
        yield from _of_object(cast(dict[str, Any], data))
    elif isinstance(data, str):
        yield from _of_text(data)


def _of_object(data: dict[str, Any]) -> Iterator[str]:
    if isinstance(data.get("loc"), list):
        yield f"{data.get('type')}: {'.'.join(map(str, data['loc']))}: {data.get('msg')}"
        return
    if isinstance(data.get("param"), str):
        yield f"{data.get('code')}: {data['param']}"
    if isinstance(data.get("errors"), dict):  # by the names of fields
        for name, told in data["errors"].items():
            yield from (f"{name}: {statement}" for statement in _statements(told))
    for key in _TOLD:
        yield from _statements(data.get(key))


def _of_text(text: str) -> Iterator[str]:
    if problems := _PYDANTIC.findall(text):
        yield from (f"{kind}: {re.sub('[^.a-z_0-9]+', '.', where)}: {message}" for kind, where, message in problems)
        return
    data = _data(text)
    if isinstance(data, str):
        yield from (_LISTED.sub("", sentence) for sentence in _SENTENCES.split(data))
    else:
        yield from _statements(data)


def _data(text: str) -> Any:
    """What is written as JSON, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
