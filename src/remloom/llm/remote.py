"""Models behind an endpoint, OpenAI-compatible or of a provider that pydantic-ai knows (extra
`llm`)."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import (
    ModelCallsForbiddenError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
)
from ..settings import Settings, calls_forbidden
from .contract import Reply, Request

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as Client
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings


_USER = re.compile(r"(?<=//)[^/@]*@")  # within a URL
_SHOWN = 500  # characters of an endpoint's own words
_ENDPOINTS = {"ollama": "http://localhost:11434/v1"}  # of providers that have none of their own
_OF_SCHEMA = (400, 404, 415, 422, 501)  # what endpoints answer that do not take a JSON schema
_REMEDIES = {
    401: "check REMLOOM_LLM_API_KEY, and that it belongs to this endpoint",
    402: "the account's quota or credit is used up",
    403: "check REMLOOM_LLM_API_KEY, and what it may do",
    404: "check REMLOOM_LLM_MODEL, and REMLOOM_LLM_BASE_URL (it mostly ends in /v1)",
    413: "the request is too long for this model: choose one with a larger context",
}


class RemoteModel:
    """A model behind an endpoint. See `contract.Model`.

    A schema is handed to the endpoint (`response_format` and its like) until it refuses one; from
    then on it is told in words only, which the system text does anyway.

    Args:
        name: `<provider>:<model>`; without a provider that is known, the model of an
            OpenAI-compatible endpoint.
        base_url: of the endpoint; the provider's own when empty. A key in the environment
            (`OPENAI_API_KEY`, …) is sent to the provider's own endpoint only.
        api_key: appears in no message.
        settings: the timeout, and whether models may be called.

    Raises:
        ImportError: pydantic-ai is not installed.
        SettingsError: it cannot be used so.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = "",
        api_key: str = "",
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._base_url = base_url
        self._key = api_key
        self.name, self._client = _client(name, base_url, api_key)
        self._connected = False
        self._takes_schema = bool(self._client.profile.get("supports_json_schema_output"))

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r}, base_url={self._base_url!r})"

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return cost(self.name, self._base_url, input_tokens, output_tokens)

    async def close(self) -> None:
        if self._connected:
            self._connected = False
            await self._client.__aexit__(None, None, None)

    async def complete(self, request: Request) -> Reply:
        if calls_forbidden(self._settings):
            raise ModelCallsForbiddenError(self.name)
        if not self._connected:
            self._connected = True
            await self._client.__aenter__()
        if request.schema and self._takes_schema:
            try:
                return await self._complete(request, with_schema=True)
            except ModelRefusedError as error:
                if error.fields["status"] not in _OF_SCHEMA:
                    raise
            reply = await self._complete(request, with_schema=False)
            # It takes the same request without one: the schema was what it refused.
            self._takes_schema = False
            return reply
        return await self._complete(request, with_schema=False)

    async def _complete(self, request: Request, *, with_schema: bool) -> Reply:
        import anyio
        from pydantic_ai.exceptions import AgentRunError, UserError

        try:
            with anyio.fail_after(self._settings.llm_timeout):
                response = await self._client.request(
                    _messages(request),
                    self._model_settings(request),
                    _parameters(request, with_schema=with_schema),
                )
        except TimeoutError:
            raise ModelUnavailableError(
                f"{self.name} gave no reply within {self._settings.llm_timeout:g} seconds"
            ) from None
        except (AgentRunError, UserError) as error:
            # without its cause: what the client says may have the key in it
            raise self._translated(error) from None
        return self._reply(response)

    def _model_settings(self, request: Request) -> ModelSettings:
        settings: ModelSettings = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        }
        # `LLM` makes requests again itself
        if "max_retries" not in self._client.unsupported_settings:
            settings["max_retries"] = 0
        if request.seed is not None:
            settings["seed"] = request.seed
        return settings

    def _reply(self, response: ModelResponse) -> Reply:
        from pydantic_ai.messages import TextPart

        if response.finish_reason == "content_filter":
            raise ModelRefusedError(
                f"{self.name} filtered its reply",
                remedy="the endpoint does not want to speak of this",
                status=None,
            )
        texts = [part.content for part in response.parts if isinstance(part, TextPart)]
        return Reply(
            text="".join(texts),
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            model=response.model_name or self.name,
            finish="length" if response.finish_reason == "length" else "stop",
        )

    def _translated(self, error: Exception) -> ModelError:
        from pydantic_ai import exceptions as theirs

        status = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
        message = f"{self.name}: {self._message(error)}"
        if isinstance(error, theirs.ModelConnectionError) and status is None:
            url = _USER.sub("", str(self._client.base_url))
            return ModelUnavailableError(
                f"{self.name} cannot be reached at {url}: {self._message(error)}"
            )
        # Used-up quota comes as 429 too, but waiting does not mend it.
        if isinstance(error, theirs.ModelQuotaExceededError):
            return ModelRefusedError(message, remedy=_REMEDIES[402], status=status)
        temporary = (
            theirs.ModelRateLimitError,
            theirs.ModelUnavailableError,
            theirs.ModelServerError,
            theirs.ModelRequestTimeout,
        )
        if isinstance(error, temporary) or _is_temporary(status):
            wait = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
            if wait:
                message += f" (it asks to wait {wait:g} seconds)"
            return ModelUnavailableError(message, status=status, retry_after=wait)
        if isinstance(error, theirs.ModelContextWindowExceededError):
            return ModelRefusedError(message, remedy=_REMEDIES[413], status=status)
        remedy = _REMEDIES.get(
            status or 0, "check that the endpoint speaks the protocol of this provider"
        )
        return ModelRefusedError(message, remedy=remedy, status=status)

    def _message(self, error: Exception) -> str:
        """The endpoint's own words, on one line, without the key."""
        body = getattr(error, "body", None)
        inner = body.get("error", body) if isinstance(body, dict) else body
        text = inner.get("message") if isinstance(inner, dict) else None
        status = getattr(error, "status_code", None)
        prefix = f"HTTP {status}: " if status else ""
        message = " ".join(f"{prefix}{text or inner or error}".split())
        if self._key:
            message = message.replace(self._key, "***")
        return message if len(message) <= _SHOWN else message[: _SHOWN - 1] + "…"


def _is_temporary(status: int | None) -> bool:
    return status is not None and (status in (408, 409, 429) or status >= 500)


def provider_of(name: str) -> str:
    """The provider that a model's name begins with; empty if it is the name of a model alone."""
    from pydantic_ai.providers import infer_provider_class

    provider, _, model = name.partition(":")
    try:
        infer_provider_class(provider)
    except ValueError:
        return ""
    except ImportError:
        # it is known, and its client is not installed
        pass
    return provider if model else ""


def _client(name: str, base_url: str, api_key: str) -> tuple[str, Client]:
    from pydantic_ai import exceptions
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    provider = provider_of(name)
    if not provider and not base_url:
        raise SettingsError(
            f"{name!r} names no provider that is known",
            setting="llm_model",
            remedy="write <provider>:<model>, such as openai:gpt-5-mini, "
            "anthropic:claude-haiku-4-5, ollama:qwen3, local:smollm2; or set REMLOOM_LLM_BASE_URL "
            "to an OpenAI-compatible endpoint",
        )
    model = name.partition(":")[2] if provider else name
    provider = provider or "openai"
    base_url = base_url or _ENDPOINTS.get(provider, "")

    def build(_: str) -> Provider[Any]:
        kind = infer_provider_class(provider)
        # Without a key the client looks for one in the environment, which is not for this endpoint.
        key = api_key or ("none" if base_url else "")
        arguments = {"base_url": base_url, "api_key": key}
        parameters = inspect.signature(kind).parameters
        if base_url and "base_url" not in parameters:
            raise SettingsError(
                f"the provider {provider} has an endpoint of its own",
                setting="llm_base_url",
                remedy="unset it",
            )
        return kind(
            **{name: value for name, value in arguments.items() if value and name in parameters}
        )

    try:
        if provider == "openai":
            client = _compatible(model, build(""), base_url)
        else:
            client = infer_model(name, build)
    except ImportError as error:
        raise SettingsError(
            f"{name} needs a client that is not installed",
            setting="llm_model",
            remedy=str(error),
        ) from error
    except exceptions.UserError as error:
        message = str(error).partition(". ")[0].replace(api_key or "\0", "***")
        raise SettingsError(
            f"{name} cannot be used: {message}",
            setting="llm_api_key",
            remedy="set REMLOOM_LLM_API_KEY, or REMLOOM_LLM_BASE_URL for an endpoint of your own",
        ) from None
    return f"{provider}:{model}", client


def _compatible(model: str, provider: Provider[Any], base_url: str) -> Client:
    # OpenAI changed the name of the limit of tokens, the others often did not
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    new = not base_url or "//api.openai.com" in base_url
    limit = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=new)
    return OpenAIChatModel(
        model,
        provider=provider,
        profile=merge_profile(provider.model_profile(model), limit),
    )


def _messages(request: Request) -> list[ModelMessage]:
    from pydantic_ai import messages as m

    content: str | list[m.UserContent] = request.prompt
    if request.images:
        content = [request.prompt]
        content += [m.BinaryContent(one.data, media_type=one.media_type) for one in request.images]
    first = m.ModelRequest([m.SystemPromptPart(request.system), m.UserPromptPart(content)])
    messages: list[ModelMessage] = [first]
    for turn in request.turns:
        messages.append(m.ModelResponse([m.TextPart(turn.reply)]))
        messages.append(m.ModelRequest([m.UserPromptPart(turn.remark)]))
    return messages


def _parameters(request: Request, *, with_schema: bool) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if not with_schema or request.schema is None:
        return ModelRequestParameters()
    shape = OutputObjectDefinition(json_schema=request.schema, name=request.task)
    return ModelRequestParameters(output_mode="native", output_object=shape, allow_text_output=True)


def cost(model: str, base_url: str, input_tokens: int, output_tokens: int) -> float | None:
    """Price the tokens of a `<provider>:<model>` in US dollars, if the price of the provider, or of
    the company that runs the endpoint at `base_url`, is known."""
    provider, _, name = model.partition(":")
    price = _price(provider, name, base_url)
    return None if price is None else input_tokens * price[0] + output_tokens * price[1]


@cache
def _price(provider: str, name: str, base_url: str) -> tuple[float, float] | None:
    """US dollars for a token in and a token out."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    # The list gives prices of whole calls: a thousand tokens of each make them exact enough.
    some = Usage(input_tokens=1_000, output_tokens=1_000)
    try:
        if base_url:
            price = calc_price(some, name, provider_api_url=base_url)
        else:
            price = calc_price(some, name, provider_id=provider)
    except LookupError:
        return None
    return float(price.input_price) / 1_000, float(price.output_price) / 1_000
