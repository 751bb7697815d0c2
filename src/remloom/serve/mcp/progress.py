"""Progress of what takes long, told to a client that asks for it while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext

from ...ask.result import AskTurn
from ...dream.context import LearnProgress
from ...reader.loop.events import ReadEvent
from ..http.channel import Channel

T = TypeVar("T")
# a call that is given what to report to
Work = Callable[[Callable[..., None]], Awaitable[T]]


def asks_for_progress(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether a request has a token, under which its progress is told."""
    return context.meta is not None and "progress_token" in context.meta


async def tell_progress(context: ServerRequestContext[Any, Any], work: Work[T]) -> T:
    """Do work, and send what it reports before its result, on the same stream.

    Raises:
        AuthenticationError: the caller's key has ended meanwhile.
    """
    state = context.request.scope["state"] if context.request is not None else {}
    check_again = state.get("check_again")
    channel = Channel()
    task = asyncio.ensure_future(work(lambda *told: channel.put(told)))
    task.add_done_callback(channel.end)
    steps = _Steps()
    try:
        with suppress(EOFError):
            while True:
                step = steps.next(await channel.take())
                if check_again is not None:
                    await check_again()
                if step is not None:
                    await context.session.report_progress(*step)
        return await task
    finally:
        task.cancel()


class _Steps:
    """Makes numbers that only grow of what is reported: each phase begins its count anew."""

    def __init__(self) -> None:
        self._sent = -1.0
        self._done = 0
        self._before = 0  # of the phases that are over

    def next(self, told: tuple[Any, ...]) -> tuple[float, float | None, str | None] | None:
        """Give progress, total and a line of text; None for what is no progress."""
        done, total, message = _read(told, self._done + 1)
        if done < self._done:
            self._before += self._done
        self._done = done
        progress = self._before + done
        if progress <= self._sent:
            return None
        self._sent = progress
        return progress, None if total is None else self._before + total, message


def _read(told: tuple[Any, ...], following: int) -> tuple[int, int | None, str | None]:
    first = told[0]
    if isinstance(first, int):
        return first, told[1] if len(told) > 1 else None, None
    if isinstance(first, LearnProgress):
        return first.done, first.total, f"{first.phase} {first.name}".strip()
    if isinstance(first, AskTurn):
        return following, None, first.statement
    return following, None, first.type if isinstance(first, ReadEvent) else None
