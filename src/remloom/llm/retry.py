"""Retries: a request that may succeed later is made again, after ever longer waits."""

from __future__ import annotations

import logging

from msgspec import Struct

from ..errors import MissingExtraError, ModelFailedError, ModelUnavailableError, RemloomError
from .contract import Model, Reply, Request

# seconds before a failed request is made again; doubled each time, and a little at random
WAIT = 0.5
_LONGEST = 60.0  # seconds of such a wait
# seconds that an endpoint may ask us to wait: when it asks for more, the call fails
_PATIENCE = 300.0
_SILENT = logging.NullHandler()


class Retries(Struct, frozen=True):
    """How often a request is made again, and after how many seconds the first time."""

    count: int
    wait: float = WAIT

    async def complete(self, model: Model, request: Request) -> Reply:
        """Get the model's reply, at the first attempt or a later one.

        Raises:
            ModelError: what the last attempt raised.
        """
        try:
            return await _completed(model, request)
        except ModelUnavailableError as error:
            first = error
        try:
            import stamina
        except ImportError as error:
            raise MissingExtraError("calling a language model", "llm") from error

        # else every wait is a line on the terminal
        logging.getLogger("stamina").addHandler(_SILENT)
        async for attempt in stamina.retry_context(
            on=_again,
            attempts=self.count + 1,
            timeout=None,
            wait_initial=self.wait,
            wait_max=_LONGEST,
            wait_jitter=self.wait,
        ):
            with attempt:
                # the attempt that was made already, so that it waits before the next
                if attempt.num == 1:
                    raise first
                return await _completed(model, request)
        raise AssertionError("unreachable")


async def _completed(model: Model, request: Request) -> Reply:
    """Get the model's reply at one attempt.

    Raises:
        RemloomError: what the model raised of these; anything else is a ModelFailedError, which
            fails this call and no other.
    """
    try:
        reply = await model.complete(request)
    except RemloomError:
        raise
    except Exception as error:
        raise _failed(model, f"raised {type(error).__name__}: {error}") from error
    if not isinstance(reply, Reply):
        raise _failed(model, f"gave back a {type(reply).__name__}, and no Reply")
    return reply


def _failed(model: Model, how: str) -> ModelFailedError:
    return ModelFailedError(
        f"the model {model.name} {how}", remedy="mend the object; the call can be made again"
    )


def _again(error: Exception) -> bool | float:
    """Whether to make a request again; or after how many seconds, if the endpoint says so."""
    if not isinstance(error, ModelUnavailableError):
        return False
    wait = error.fields["retry_after"]
    if wait is None:
        return True
    return float(wait) if wait <= _PATIENCE else False
