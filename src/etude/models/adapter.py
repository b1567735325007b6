"""Further providers (Gemini, Bedrock, Mistral, Groq, ...) through one adapter: the models of pydantic-ai."""

import asyncio
import json
import os
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError, not_installed
from etude.formats.errors import ServerError, as_model_error
from etude.models.adapter_checks import check_thinking, make_model, takes
from etude.models.adapter_messages import model_messages, parameters, read_reply
from etude.models.provider_model import ProviderModel, check_headers, shorten
from etude.models.refused import PARAMETERS, Sending
from etude.records import ChatRequest, Reply

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model


class AdapterModel(ProviderModel):
    """A model that pydantic-ai knows by `provider:name`, as in `adapter:google:gemini-3-pro`.

    Keys are read where pydantic-ai reads them (GOOGLE_API_KEY, MISTRAL_API_KEY, the AWS configuration, ...) unless
    `api_key_env` names a variable. `base_url`, `temperature`, `top_p`, `max_output_tokens`, `reasoning_effort`,
    `thinking`, `headers`, `extra_body` and `stream` reach the provider where pydantic-ai can carry them, the seed
    where there is one. Thinking that it would leave out for this model is refused. Raises ConfigError:
    pydantic-ai or the provider's package is not installed, the name is unknown, a key is missing, a header cannot be
    sent, the effort is unknown, the model has no such thinking, or a setting of another provider is given."""

    can_leave_out = frozenset(PARAMETERS) - {"max_output_tokens"}

    def __init__(self, name: str, settings: ModelSection, model: "Model | None" = None) -> None:
        if find_spec("pydantic_ai") is None:
            raise not_installed(f"adapter:{name}", "the package 'pydantic-ai-slim'", "providers")
        if settings.api != "chat" or settings.api_key_command is not None:
            given = "api_key_command" if settings.api_key_command is not None else f"api = {settings.api!r}"
            raise ConfigError(f"{given} is not a setting of adapter: models", hint="leave it out")
        check_headers(settings.headers)
        super().__init__(f"adapter:{name}", settings)
        self._model = name
        self._given = model
        self._spare: Model | None = self._make()
        check_thinking(self.name, self._spare, settings)
        self._takes_seed = takes(self._spare, "seed")
        self._entered: Model | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.endpoint = self._secrets.hide(self._spare.base_url or "")

    async def complete(self, request: ChatRequest) -> Reply:
        from pydantic_ai import exceptions

        model = await self._of_this_loop()
        sending = self._sending
        request = sending.fit(request)
        if request.response_schema is not None and not model.profile.get("supports_json_schema_output"):
            raise RejectedRequest(f"{self._model} takes no JSON schema")
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._ask(model, request, sending.settings)
        except (TimeoutError, exceptions.ModelRequestTimeout, exceptions.ModelTimeoutError):
            message = f"no answer within {self._settings.timeout:g} seconds"
            raise TransientError(message, unreachable=True) from None
        except exceptions.ModelAPIError as error:
            raise self._model_error(error, sending, request) from None
        except exceptions.ContentFilterError as error:
            return Reply(text=str(error), finish="refusal")
        except exceptions.UnexpectedModelBehavior as error:
            raise TransientError(self._short(f"the answer cannot be read: {error}")) from None
        except exceptions.UserError as error:
            raise RejectedRequest(self._short(str(error))) from None
        return read_reply(response)

    async def _ask(self, model: "Model", request: ChatRequest, given: ModelSection) -> "ModelResponse":
        from pydantic_ai.direct import model_request, model_request_stream

        arguments: dict[str, Any] = {
            "messages": model_messages(request),
            "model_settings": self._model_settings(model, request, given),
            "model_request_parameters": parameters(request),
        }
        if not given.stream:
            return await model_request(model, **arguments)
        async with model_request_stream(model, **arguments) as stream:
            async for _ in stream:
                pass
        return stream.get()

    def _model_settings(self, model: "Model", request: ChatRequest, given: ModelSection) -> dict[str, Any]:
        effort = given.reasoning_effort
        thinking = False if given.thinking == "off" else True if given.thinking == "on" and effort is None else effort
        wanted: dict[str, Any] = {
            "max_tokens": given.max_output_tokens,
            "temperature": given.temperature,
            "top_p": given.top_p,
            "seed": request.seed if given.send_seed and self._takes_seed else None,
            "thinking": thinking,
            "extra_headers": given.headers or None,
            "extra_body": given.extra_body or None,
            "tool_choice": [request.forced_tool] if request.forced_tool is not None else None,
            "cache": {"messages": False},
            # Retrying is done where the budget sees it.
            "max_retries": None if "max_retries" in model.unsupported_settings else 0,
        }
        return {key: value for key, value in wanted.items() if value is not None}

    def _model_error(self, error: Any, sending: Sending, request: ChatRequest) -> ModelError:
        from pydantic_ai import exceptions

        message = self._short(str(error))
        account = "check the provider's key and its account"
        if isinstance(error, exceptions.ModelQuotaExceededError):
            return RejectedRole(message, hint=account)
        if isinstance(error, exceptions.ModelHTTPError):
            failure = ServerError(error.status_code, message, said=_said(error))
            place = f"check the model name {self._model!r}"
            refused = self._refused(failure, message, sending, request)
            return refused or as_model_error(failure, error.retry_after, account=account, place=place)
        # Older versions have no class for all rejections.
        rejected: Any = getattr(exceptions, "ModelRequestRejectedError", exceptions.ModelContextWindowExceededError)
        if isinstance(error, rejected):
            return RejectedRequest(message)
        limited = isinstance(error, exceptions.ModelRateLimitError)
        lost = isinstance(error, exceptions.ModelConnectionError)
        return TransientError(message, retry_after=error.retry_after, rate_limited=limited, unreachable=lost)

    async def aclose(self) -> None:
        entered, self._entered = self._entered, None
        if entered is not None and self._loop is asyncio.get_running_loop():
            await entered.__aexit__(None, None, None)

    async def _of_this_loop(self) -> "Model":
        """The model of the running loop: connections cannot move from one loop to another. The first one was made
        to check the settings."""
        loop = asyncio.get_running_loop()
        if self._entered is not None and self._loop is loop:
            return self._entered
        model, self._spare = self._spare or self._make(), None
        self._entered, self._loop = model, loop
        await model.__aenter__()
        return model

    def _make(self) -> "Model":
        return make_model(self._model, self._provider) if self._given is None else self._given

    def _provider(self, provider: str) -> Any:
        from pydantic_ai.providers import infer_provider, infer_provider_class

        variable = self._settings.api_key_env
        options: dict[str, str] = {}
        if variable != type(self._settings).model_fields["api_key_env"].default:
            options["api_key"] = os.environ.get(variable, "").strip()
            if not options["api_key"]:
                raise ConfigError(f"environment variable {variable!r} is not set", hint="put the key there")
            self._secrets.add(variable, options["api_key"])
        if self._settings.base_url is not None:
            options["base_url"] = self._settings.base_url
        if not options:
            return infer_provider(provider)
        try:
            return cast(Any, infer_provider_class(provider))(**options)
        except TypeError:
            raise ConfigError(
                f"{self.name} takes no {' or '.join(sorted(options))}", hint="configure it as its provider does"
            ) from None

    def _short(self, message: str) -> str:
        return shorten(self._secrets.hide(re.sub(r"\s+", " ", message)))


def _said(error: Any) -> str:
    """The body of an error, as JSON where it is data."""
    return error.body if isinstance(error.body, str) else json.dumps(error.body, default=str)
