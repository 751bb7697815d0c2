"""Requests in flight: made in the event loop, made again after ever longer waits if they may
succeed later, and handed to a waiting thread as they end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..errors import (
    MissingExtraError,
    ModelCallsForbiddenError,
    ModelError,
    ModelFailedError,
    ModelUnavailableError,
    RemloomError,
)
from . import event_loop
from .contract import Model, Priced, Reply, Request
from .ledger import Usage, reply_entry

if TYPE_CHECKING:
    from ..kv import Entry
    from .budget import Spending


# seconds that a finished request waits for others, as every write costs the disk as much again
_TOGETHER = 0.003
# seconds before a failed request is made again; doubled each time, and a little at random
WAIT = 0.5
_LONGEST = 60.0  # seconds of such a wait
# seconds that an endpoint may ask us to wait: when it asks for more, the call fails
_PATIENCE = 300.0
_SILENT = logging.NullHandler()


class PendingCall(Struct, frozen=True):
    """A request that is to be made."""

    position: int  # among the calls that were asked for
    request: Request
    model: Model
    identity: str  # of the reply, if it is to be kept
    subjects: tuple[str, ...]


class Finished(Struct, frozen=True):
    """A request that has ended; without an outcome if what went wrong is not an error of the
    model."""

    pending: PendingCall
    outcome: Reply | ModelError | None
    usage: Usage | None = None  # None: nothing was called

    def entries(self, run: str) -> list[Entry]:
        """The entries to write: the call in the ledger, and the reply if it is to be kept."""
        entries = []
        if self.usage is not None:
            entries.append(replace(self.usage, run=run).entry())
        pending = self.pending
        if pending.identity and isinstance(self.outcome, Reply):
            entry = reply_entry(run, pending.identity, self.outcome, pending.subjects)
            entries.append(entry)
        return entries


class InFlight:
    """Some requests, from when they are made until the last has ended. One thread waits for them.

    Args:
        slots: the limit of requests at once.
        spending: the run's budget.

    Attributes:
        error: what went wrong that is not an error of a model, once all have ended.
    """

    def __init__(
        self,
        pending: Sequence[PendingCall],
        slots: asyncio.Semaphore,
        spending: Spending | None,
        complete: Callable[[Model, Request], Awaitable[Reply]],
    ) -> None:
        self._slots = slots
        self._spending = spending
        self._complete = complete
        self._finished: list[Finished] = []  # in the loop: not yet handed over
        # None: nothing is in flight any more
        self._batches: SimpleQueue[list[Finished] | None] = SimpleQueue()
        self._over = False
        self.error: BaseException | None = None
        self._cancel = event_loop.start(partial(self._make_all, pending), self._end)

    def finished(self, wait: float | None = None) -> Iterator[list[Finished]]:
        """Yield the requests that end, several at a time, until nothing is in flight; raises Empty
        after `wait`."""
        while not self._over:
            batches = [self._batches.get(timeout=wait)]
            while not self._batches.empty():
                batches.append(self._batches.get())
            # the end comes last, whatever else has come meanwhile
            self._over = batches[-1] is None
            yield [item for batch in batches for item in batch or ()]

    def stop(self) -> list[Finished]:
        """Cancel what is in flight, and return what had ended meanwhile, or does so now."""
        self._cancel()
        stopped: list[Finished] = []
        # A model may not let itself be cancelled: after the grace it is left to itself.
        with suppress(Empty):
            for batch in self.finished(event_loop.GRACE):
                stopped += batch
        return stopped

    # -- in the loop -------------------------------------------------------------------------------

    async def _make_all(self, pending: Sequence[PendingCall]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for one in pending:
                    group.create_task(self._make(one))
        except BaseExceptionGroup as errors:
            # the others were cancelled for its sake
            raise errors.exceptions[0] from None

    async def _make(self, pending: PendingCall) -> None:
        request, model = pending.request, pending.model
        price = partial(_price, model)
        async with self._slots:
            try:
                reserved = await self._spending.reserve(request, price) if self._spending else None
            except ModelError as error:
                self._add(Finished(pending, error))
                return
            usage = Usage(task=request.task, model=model.name, at=datetime.now(UTC), seconds=0.0)
            started = time.monotonic()
            outcome: Reply | ModelError | None = None
            try:
                outcome = await self._complete(model, request)
            except ModelError as error:
                outcome = error
                usage = replace(usage, error=type(error).__name__)
            except BaseException as error:
                usage = replace(usage, error=type(error).__name__)
                raise
            finally:
                # What was called is in the ledger, whatever became of it: it may have been paid.
                usage = replace(usage, seconds=time.monotonic() - started)
                if isinstance(outcome, Reply):
                    usage = replace(
                        usage,
                        input_tokens=outcome.input_tokens,
                        output_tokens=outcome.output_tokens,
                        cost=price(outcome.input_tokens, outcome.output_tokens),
                    )
                if self._spending and reserved:
                    tokens = usage.input_tokens + usage.output_tokens
                    self._spending.settle(reserved, tokens, usage.cost)
                called = not isinstance(outcome, ModelCallsForbiddenError)
                self._add(Finished(pending, outcome, usage if called else None))

    def _add(self, item: Finished) -> None:
        self._finished.append(item)
        if len(self._finished) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER, self._dispatch)

    def _dispatch(self) -> None:
        if self._finished:
            self._batches.put(self._finished)
            self._finished = []

    def _end(self, error: BaseException | None) -> None:
        self.error = error
        self._dispatch()
        self._batches.put(None)


def _price(model: Model, input_tokens: int, output_tokens: int) -> float | None:
    return model.price(input_tokens, output_tokens) if isinstance(model, Priced) else None


# -- retries -------------------------------------------------------------------------------------


class Retries(Struct, frozen=True):
    """How often a request is made again, and after how many seconds the first time."""

    count: int
    wait: float = WAIT

    async def complete(self, model: Model, request: Request) -> Reply:
        """Get the model's reply, at the first attempt or a later one."""
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
    """Get the model's reply at one attempt; what it raises that is not ours fails this call
    alone."""
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
