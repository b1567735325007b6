"""What servers say of parameters that they do not take, and what is read out of it."""

import json
from typing import Any

from etude.config import ModelSection
from etude.models.refused import PARAMETERS, RefusedParameters, Sending, read_refusal
from etude.records import ChatRequest, ResponseSchema, assistant, system, user
from rows import rows

SETTINGS = ModelSection(
    model="openai:m", temperature=0.2, top_p=0.9, reasoning_effort="high", thinking="off", max_output_tokens=900
)
REQUEST = ChatRequest(messages=(system("Be brief."), user("2 + 3?")), seed=7)


def read(said: Any, settings: ModelSection = SETTINGS, request: ChatRequest = REQUEST) -> RefusedParameters:
    text = said if isinstance(said, str) else json.dumps(said)
    return read_refusal(text, Sending(settings, settings), request, PARAMETERS)


def error(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def forbidden(*names: str) -> dict[str, Any]:
    message = "Extra inputs are not permitted"
    return {
        "detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": message, "input": 1} for name in names]
    }


_UNUSED = "Additional properties are not allowed ('seed' was unexpected)"
_REPEATED = (
    "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 7}]"
)
_LISTED = "unknown field `seed`, expected one of `model`, `temperature`, `top_p` at line 1"
_PASSED_ON = {"message": "Provider returned error", "metadata": {"raw": json.dumps(error("seed is not supported"))}}
_ROLE = {"type": "literal_error", "loc": ["messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'"}
REFUSED: dict[str, list[Any]] = {
    "seed": [
        error("Unknown parameter: 'seed'.", "seed", "unknown_parameter"),
        error("The request has a field that this model has not.", "seed", "unsupported_parameter"),
        forbidden("seed"),
        error("Unrecognized request argument supplied: seed"),
        error("acme does not support parameters: ['seed'], for model=m. To drop these set drop_params."),
        [error('Invalid JSON payload received. Unknown name "seed": Cannot find field.')],
        {"message": "Malformed input request: extraneous key [seed] is not permitted, please reformat it."},
        {"error": 'json: unknown field "seed"'},
        _LISTED,
        error("property 'seed' is unsupported"),
        {"detail": _UNUSED},
        "create_chat_completion() got an unexpected keyword argument 'seed'",
        error(_REPEATED),
        error("Setting a seed is disabled for this deployment"),
        {"error": {"issues": [{"code": "unrecognized_keys", "message": 'Unrecognized key: "seed"'}]}},
        error("'seed' is not one of the allowed parameters"),
        {"error": _PASSED_ON},
        {"message": "Validation failed", "errors": {"seed": ["is not allowed"]}},
        error("'seed' : this field is not in the schema"),
        error("This endpoint rejects seed"),
        error("Deterministic sampling (seed) is unavailable for this model"),
        error("No such parameter: seed"),
        error("do not send `seed`"),
        error("please remove the seed parameter"),
        error("seed must not be provided"),
        error("\u4e0d\u652f\u6301seed\u53c2\u6570"),
    ],
    "temperature": [
        error("temperature: only the default of 1 is taken", "temperature", "unsupported_value"),
        error("'temperature' does not support 0.2 here. Only the default (1) value is supported."),
        error("`temperature` is deprecated for this model."),
        error("invalid temperature: only 1 is allowed for this model"),
        error("no temperature=0.2 here, it is not supported. Elsewhere it is when reasoning_effort='none'."),
        error("Temperature is not supported with reasoning models."),
        error("Sampling parameters (temperature) are not configurable for this model"),
        error("The temperature of this model is fixed"),
        error("This model only supports the default temperature"),
        error("Invalid temperature 0.2: the only supported value is 1"),
        error("temperature must be set to 1.0"),
        error("temperature must be 1"),
        error("temperature: only the default (1) value is supported, use the default value"),
        error("temperature is not supported in API version 2024-12-01-preview"),
        error("temperature is not supported by claude-4-1, leave it out"),
        error("temperature must equal 1 for this model"),
        error("temperature is locked to 1"),
        error("Cannot specify temperature for this model"),
        error("Parameter temperature not applicable to reasoning models"),
        error("Setting 'temperature' is prohibited for this model"),
    ],
    "top_p": [
        forbidden("top_p"),
        error("Unsupported parameter: 'top_p' is not supported with this model."),
        error("topP is not available for this model"),
        error("`top_p` is incompatible with this model"),
    ],
    "seed top_p": [
        forbidden("seed", "top_p"),
        error("acme does not support parameters: ['seed', 'top_p'], for model=m."),
    ],
    "reasoning_effort": [
        error("Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort"),
        error("Model m does not support parameter reasoningEffort."),
        error("This model does not support the effort parameter."),
        error("reasoning is not supported for this model"),
        error("reasoning_effort is only available for reasoning models"),
        {"error": 'think value "high" is not supported for this model'},
        error("reasoning_effort (low, medium, high) is not supported by this model"),
        error("output_config: Extra inputs are not permitted"),
        error("output_config.effort: Extra inputs are not permitted"),
        error("Unknown field output_config."),
        error("unknown field `reasoning_effort`, expected one of `model`, `temperature`"),
    ],
    "thinking": [
        forbidden("chat_template_kwargs"),
        error("adaptive thinking is not supported on this model"),
        error("Unrecognized request argument supplied: chat_template_kwargs"),
    ],
    "max_output_tokens": [
        error("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        error("Unrecognized request argument supplied: max_completion_tokens"),
        forbidden("max_tokens"),
        error("This model requires 'max_completion_tokens' rather than 'max_tokens'"),
        error("'max_tokens' was renamed: send 'max_completion_tokens'"),
    ],
    "system": [
        error("System role not supported"),
        error("Conversation roles must alternate user/assistant/user/assistant/..."),
        error("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        error("Developer instruction is not enabled for models/small"),
        error("Only user and assistant roles are supported!"),
        error("This model doesn't support system messages. Try again without them."),
        {"detail": [_ROLE]},
        error("The first message must be from the user"),
        error('messages: Unexpected role "system". Allowed: user, assistant'),
        error("Invalid role: system"),
        error("role 'system' is not in the enumeration ['user', 'assistant']"),
        error("Message role must be one of: user, assistant"),
        error("The system role is unavailable"),
        error("Only 'user', 'assistant' and 'tool' roles are allowed"),
        error("Input tag 'system' found using 'role' does not match any of the expected tags: 'user', 'assistant'"),
        error("Invalid value: 'system'.", "messages[0].role", "invalid_value"),
        error("messages[0].role: unknown variant `system`, expected `user` or `assistant`"),
    ],
    "plain": [
        error("Only stream mode is supported"),
        error("This model only support stream mode, please enable the stream parameter to access the model."),
        error("parameter.enable_thinking must be set to false for non-streaming calls"),
        {"detail": "Stream must be set to true"},
        error("stream=false is not supported"),
        error("Streaming is required for this model"),
        error("Please set stream=true"),
        error("Non-streaming requests are not supported for this model"),
        error("Requests with max_tokens > 512 must have stream=true"),
    ],
}
EACH = [(said, names) for names, texts in REFUSED.items() for said in texts]


@rows(("said", "names"), EACH)
def test_a_refusal_with_one_reading_names_what_to_leave_out(said: Any, names: str) -> None:
    assert read(said) == RefusedParameters(tuple(names.split()), curable=True)


@rows("said", ["Streaming is not supported for this model", "This model requires stream=false"])
def test_streaming_that_is_refused_is_switched_off(said: str) -> None:
    streamed = SETTINGS.model_copy(update={"stream": True})
    assert read(error(said), streamed) == RefusedParameters(("stream",), curable=True)


def test_a_model_that_cannot_think_gets_no_effort() -> None:
    settings = ModelSection(model="openai:m", reasoning_effort="low")
    said = error('registry.ollama.ai/library/llama3:latest "llama3" does not support thinking')
    assert read(said, settings) == RefusedParameters(("reasoning_effort",), curable=True)


_TOO_LARGE = "'max_tokens' or 'max_completion_tokens' is too large: 900. The maximum context length is 512."
_LEVELS = "'reasoning_effort' does not support 'high' with this model. Supported values are: 'low' and 'medium'."
_LESS = {"type": "less_than_equal", "loc": ["temperature"], "msg": "Input should be less than or equal to 0.1"}
COMPLAINTS: list[tuple[Any, str]] = [
    (error("max_tokens must be <= 512", "max_tokens", "invalid_value"), "max_output_tokens"),
    (error("max_tokens is too large: 900. This model supports at most 512."), "max_output_tokens"),
    (error("`max_tokens`: 900 > 512, which is the maximum allowed number of tokens"), "max_output_tokens"),
    (error(_TOO_LARGE), "max_output_tokens"),
    (error("`max_tokens` of 900 is not supported, the limit is 512"), "max_output_tokens"),
    (error("This model's maximum context length is 512 tokens; the messages have 600."), "max_output_tokens"),
    ({"message": "The maximum tokens you requested exceeds the model limit of 512."}, "max_output_tokens"),
    (error("temperature must be between 0 and 0.1"), "temperature"),
    (error("`temperature` must be strictly positive"), "temperature"),
    ({"detail": [_LESS]}, "temperature"),
    (error(_LEVELS, "reasoning_effort", "unsupported_value"), "reasoning_effort"),
    (error("`temperature` and `top_p` cannot both be specified. Please use only one."), "temperature top_p"),
    (error("`temperature` may only be set to 1 when thinking is enabled."), "temperature thinking"),
    (error("temperature is not supported when reasoning_effort is not 'none'"), "temperature reasoning_effort"),
    (error("temperature must be 0 to 1"), "temperature"),
    (error("temperature must be 0-1"), "temperature"),
    (error("temperature must be [0, 1]"), "temperature"),
    (error("temperature must be 0..2"), "temperature"),
    (error("temperature must be 0 or 1"), "temperature"),
    (error("temperature must be 2 or lower"), "temperature"),
    (error("temperature must be under 2"), "temperature"),
    (error("temperature can only be 0.0, 0.5 or 1.0"), "temperature"),
    (error("temperature 3.0 not supported, use 0 to 1"), "temperature"),
    (error("temperature 3.0 is not supported, use 0.7"), "temperature"),
    (error("temperature 3.0 is not supported. Choose another value."), "temperature"),
    (error("temperature 3.0 is not supported: use a lower one"), "temperature"),
    (error("reasoning_effort 'high' is not supported, use 'low'"), "reasoning_effort"),
    (
        error("reasoning_effort: unknown variant 'minimal', expected one of 'low', 'medium', 'high'"),
        "reasoning_effort",
    ),
    (
        "Failed: reasoning_effort: unknown variant `max`, expected `low` or `high` at line 1 column 9",
        "reasoning_effort",
    ),
    (error("thinking.type: unknown variant `off`, expected `enabled` or `disabled`"), "thinking"),
    (error("reasoning_effort: 'max' is not in the enumeration ['low', 'medium']"), "reasoning_effort"),
    (error("'minimal' is not valid for reasoning_effort; expected low, medium or high"), "reasoning_effort"),
    (error('Unsupported reasoning_effort "max". Expected one of: "low", "high"'), "reasoning_effort"),
    (error("reasoning_effort=minimal is not allowed; must be low|medium|high"), "reasoning_effort"),
    (error("Unsupported value for reasoning_effort: only low and medium"), "reasoning_effort"),
    (error("Unrecognized value 'minimal' for reasoning_effort"), "reasoning_effort"),
    (error("reasoning_effort max is not available. Supported: low, high"), "reasoning_effort"),
    (error("effort 'max' is unavailable: it takes low to high"), "reasoning_effort"),
    (
        {"error": 'invalid reasoning value: \'xhigh\' (must be "high", "medium", "low", true, or false)'},
        "reasoning_effort",
    ),
    ({"error": 'invalid think value: \'xhigh\' (must be "high", "low", true, or false)'}, "reasoning_effort"),
    (error("output_config.format: Extra inputs are not permitted"), ""),
    (error("The reasoning values of this model are unsupported here"), ""),
    (error("Invalid system message: content is empty"), "system"),
    (error("Invalid system message: null"), "system"),
    (error("Invalid system prompt"), "system"),
    (error("System messages are not allowed to be empty"), "system"),
    (error("The first message must not be blank"), "system"),
    (error("System message has too many tokens: this is not supported"), "system"),
    (error("This system prompt is not permitted by our usage policy"), "system"),
    (error("Invalid prompt: the system message was flagged and is not accepted"), "system"),
    (error("Invalid prompt: your system message is unexpected"), "system"),
]


@rows(("said", "names"), COMPLAINTS)
def test_a_complaint_about_a_value_or_a_pair_is_named_and_nothing_is_left_out(said: Any, names: str) -> None:
    assert read(said) == RefusedParameters(tuple(names.split()), curable=False)


@rows(("said", "names"), EACH)
def test_what_was_not_sent_or_stands_in_the_users_own_fields_is_not_left_out(said: Any, names: str) -> None:
    own = {"seed": 1, "temperature": 1, "top_p": 1, "reasoning_effort": "low", "chat_template_kwargs": {}}
    plain = ModelSection(model="openai:m", send_seed=False, extra_body={"max_tokens": 5}, stream=True)
    body = {**own, "max_completion_tokens": 5, "output_config": {}, "stream": False}
    theirs = SETTINGS.model_copy(update={"extra_body": body})
    for settings in (plain, theirs):
        assert not read(said, settings, ChatRequest(messages=(user("2 + 3?"),), seed=7)).curable


def test_a_word_about_the_form_of_an_answer_is_left_to_the_form() -> None:
    said = error("response_format is not supported together with reasoning_effort, and temperature is ignored")
    form = REQUEST.model_copy(update={"response_schema": ResponseSchema(name="a", body={})})
    assert read(said, request=form) == RefusedParameters()
    assert read(said).parameters == ("temperature", "reasoning_effort")


def test_nothing_is_left_out_twice() -> None:
    said = error("Unrecognized request argument supplied: max_completion_tokens")
    sending = Sending(SETTINGS, SETTINGS).without("max_output_tokens")
    assert sending.settings.extra_body == {"max_completion_tokens": 900}
    assert read_refusal(json.dumps(said), sending, REQUEST, PARAMETERS) == RefusedParameters(("max_output_tokens",))


def test_system_messages_move_into_the_first_user_message() -> None:
    messages = (system("One."), assistant("Yes?"), user("Go."), system("Two."), user("On."))
    sending = Sending(SETTINGS, SETTINGS).without("system")
    fit = sending.fit(ChatRequest(messages=messages))
    assert [(message.role, message.text) for message in fit.messages] == [
        ("assistant", "Yes?"),
        ("user", "One.\n\nTwo.\n\nGo."),
        ("user", "On."),
    ]
    alone = sending.fit(ChatRequest(messages=(system("One."),)))
    assert [(message.role, message.text) for message in alone.messages] == [("user", "One.")]
