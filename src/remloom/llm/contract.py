"""The contract of language models, for those who bring one.

A model does no more than complete one request: prompts, validation, repair, retries, limits, the
ledger and budgets are `LLM`'s. `remloom.testing.ScriptedModel` is a model that needs no network.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct


class Turn(Struct, frozen=True):
    """A reply that the model gave before, and the remark about it."""

    reply: str
    remark: str


class Image(Struct, frozen=True):
    """An image that a model is shown."""

    data: bytes
    media_type: str = "image/jpeg"


class Request(Struct, frozen=True, kw_only=True):
    """A prompt for a model, with the limits of its reply."""

    task: str
    system: str
    prompt: str
    images: tuple[Image, ...] = ()  # beside the prompt; for models that see
    turns: tuple[Turn, ...] = ()  # after the prompt, in order
    # JSON schema of the reply, an object; the system text tells it in words too
    schema: dict[str, Any] | None = None
    temperature: float = 0.0
    max_tokens: int = 512  # of the reply
    seed: int | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """The reply of a model; `finish` is "length" if it was cut off at `max_tokens`."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str  # as the endpoint calls what answered
    finish: Literal["stop", "length"] = "stop"


class Model(Protocol):
    """A language model. `complete` may be called many times at once, always from one event loop."""

    @property
    def name(self) -> str:
        """`<provider>:<model>`, for the ledger, prices and kept replies."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Complete a request, holding its schema as well as the model can.

        It ends by itself, by a timeout if need be.

        Raises:
            ModelUnavailableError: the same request may succeed later; it is made again.
            ModelRefusedError: it never will.
            ModelCallsForbiddenError: calls are switched off.

        Any other exception becomes a `ModelFailedError` of this one call.
        """
        ...


@runtime_checkable
class Priced(Protocol):
    """A model that knows its price."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Price tokens in US dollars; None when not even the model knows."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A model that knows how much it can take at once."""

    @property
    def context(self) -> int:
        """Tokens of a prompt and its reply together, at most."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A model that holds connections or memory."""

    async def close(self) -> None:
        """Let go of them, in the event loop of the calls; a later call takes them again."""
        ...


class Watch(Protocol):
    """What was forgotten since a run began."""

    @property
    def expected(self) -> dict[tuple[str, str], int]:
        """Entries, by namespace and key, with the versions that they have until more is forgotten
        than was at the last look."""
        ...

    def forgotten(self, names: Iterable[str]) -> tuple[str, ...] | None:
        """Those of these ids of records and refs of labels that were forgotten, as of now; None if
        another process goes on with the run."""
        ...
