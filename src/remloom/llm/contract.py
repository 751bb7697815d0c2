"""What a language model must do, for whoever brings one.

A model does no more than complete one request: prompts, validation, repair, retries, limits, the
ledger and budgets are `LLM`'s. `remloom.testing.ScriptedModel` is a model that needs no network.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

__all__ = ["Closing", "Model", "Priced", "Reply", "Request", "Turn"]


class Turn(Struct, frozen=True):
    """A reply the model gave before, and what was said about it."""

    reply: str
    remark: str


class Request(Struct, frozen=True, kw_only=True):
    """One thing asked of a model."""

    task: str
    system: str
    prompt: str
    turns: tuple[Turn, ...] = ()  # after the prompt, in order
    # JSON schema of the reply, an object; the system text tells it in words too
    schema: dict[str, Any] | None = None
    temperature: float = 0.0
    max_tokens: int = 512  # of the reply
    seed: int | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """What came back. `finish` is "length" when the reply was cut off at `max_tokens`."""

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
        """The model's reply. It ends by itself, by a timeout if need be, and holds the schema as
        well as it can.

        Raises:
            ModelUnavailableError: the same request may succeed later; it is made again.
            ModelRefusedError: it never will.
            ModelCallsForbiddenError: calls are switched off.

        Whatever else it raises becomes a `ModelFailedError` of this one call: the work that wanted
        it is parked.
        """
        ...


@runtime_checkable
class Priced(Protocol):
    """What a model can do besides, when it knows what it costs."""

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens; None when not even the model knows."""
        ...


@runtime_checkable
class Closing(Protocol):
    """What a model can do besides, when it holds connections or memory."""

    async def close(self) -> None:
        """Let go of them, in the event loop of the calls; a later call takes them again."""
        ...
