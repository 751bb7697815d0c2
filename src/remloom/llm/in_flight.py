"""Requests under way: made in the event loop, counted, and told of as they end to the thread that
waits for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from ..errors import ModelCallsForbiddenError, ModelError
from . import event_loop, reply_cache
from .contract import Model, Priced, Reply, Request
from .ledger import Usage

if TYPE_CHECKING:
    from ..kv import Entry
    from .budget import Spending

__all__ = ["AskResult", "Ended", "Underway"]

# seconds that what has ended waits for more, as every note costs the disk as much again
_TOGETHER = 0.003


class AskResult(Struct, frozen=True):
    """A request on its way."""

    place: int
    request: Request
    model: Model
    identity: str  # of the reply, if it is to be kept
    subjects: tuple[str, ...]


class Ended(Struct, frozen=True):
    """What became of it: a reply, an error, or neither, when something else went wrong."""

    asked: AskResult
    outcome: Reply | ModelError | None
    usage: Usage | None = None  # None: nothing was called

    def entries(self, run: str) -> list[Entry]:
        """What is noted of it."""
        noted = [] if self.usage is None else [replace(self.usage, run=run).entry()]
        if self.asked.identity and isinstance(self.outcome, Reply):
            noted.append(
                reply_cache.kept(run, self.asked.identity, self.outcome, self.asked.subjects)
            )
        return noted


class Underway:
    """Some requests, from when they are asked until the last has ended. To be waited for by one
    thread.

    Args:
        waiting: the requests.
        places: the limit of requests at once.
        spending: the run's budget.
        complete: has a model complete a request, at the first attempt or a later one.

    Attributes:
        error: what went wrong that is no error of a model, once nothing is under way any more.
    """

    def __init__(
        self,
        waiting: Sequence[AskResult],
        places: asyncio.Semaphore,
        spending: Spending | None,
        complete: Callable[[Model, Request], Awaitable[Reply]],
    ) -> None:
        self._places = places
        self._spending = spending
        self._complete = complete
        self._untold: list[Ended] = []  # in the loop
        # None: nothing is under way any more
        self._told: SimpleQueue[list[Ended] | None] = SimpleQueue()
        self._over = False
        self.error: BaseException | None = None
        self._cancel = event_loop.start(partial(self._all, waiting), self._finish)

    def ended(self, wait: float | None = None) -> Iterator[list[Ended]]:
        """What ends, as it comes, several at a time, until nothing is under way.

        Raises:
            Empty: nothing ended within so many seconds.
        """
        while not self._over:
            told = [self._told.get(timeout=wait)]
            while not self._told.empty():
                told.append(self._told.get())
            self._over = told[-1] is None
            yield [item for some in told for item in some or ()]

    def stop(self) -> list[Ended]:
        """Cancel what is under way; returns what had ended meanwhile, or did so now."""
        self._cancel()
        found: list[Ended] = []
        # of a model that does not let itself be cancelled
        with suppress(Empty):
            for some in self.ended(event_loop.GRACE):
                found += some
        return found

    # -- in the loop -------------------------------------------------------------------------------

    async def _all(self, waiting: Sequence[AskResult]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for asked in waiting:
                    group.create_task(self._one(asked))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # the others were cancelled for its sake

    async def _one(self, asked: AskResult) -> None:
        price = partial(_price, asked.model)
        async with self._places:
            try:
                held = await self._spending.hold(asked.request, price) if self._spending else None
            except ModelError as error:
                self._end(Ended(asked, error))
                return
            usage = Usage(
                task=asked.request.task, model=asked.model.name, at=datetime.now(UTC), seconds=0.0
            )
            began = time.monotonic()
            outcome: Reply | ModelError | None = None
            try:
                outcome = await self._complete(asked.model, asked.request)
            except ModelError as error:
                outcome, usage = error, replace(usage, error=type(error).__name__)
            except BaseException as error:
                usage = replace(usage, error=type(error).__name__)
                raise
            finally:
                usage = replace(usage, seconds=time.monotonic() - began)
                if isinstance(outcome, Reply):
                    tokens = outcome.input_tokens, outcome.output_tokens
                    usage = replace(
                        usage, input_tokens=tokens[0], output_tokens=tokens[1], cost=price(*tokens)
                    )
                if self._spending and held:
                    self._spending.settle(
                        held, usage.input_tokens + usage.output_tokens, usage.cost
                    )
                called = not isinstance(outcome, ModelCallsForbiddenError)
                self._end(Ended(asked, outcome, usage if called else None))

    def _end(self, item: Ended) -> None:
        self._untold.append(item)
        if len(self._untold) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER, self._tell)

    def _tell(self) -> None:
        if self._untold:
            self._told.put(self._untold)
            self._untold = []

    def _finish(self, error: BaseException | None) -> None:
        self.error = error
        self._tell()
        self._told.put(None)


def _price(model: Model, input_tokens: int, output_tokens: int) -> float | None:
    # issubclass, as Python remembers its answer: isinstance of a protocol looks at every attribute
    # each time
    return (
        cast("Priced", model).price(input_tokens, output_tokens)
        if issubclass(type(model), Priced)
        else None
    )
