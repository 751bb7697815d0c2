"""What a long operation reports, as server-sent events, while it works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ...errors import RemloomError
from ...jobs import Job
from ..problems import problem, unexpected
from .streams import Channel

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = 15.0  # seconds of silence after which a comment is sent
JOB_POLL = 0.5  # seconds between two looks at a job

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def wants_events(request: Request) -> bool:
    return MEDIA_TYPE in request.headers.get("accept", "")


def stream_events(
    work: Callable[[Callable[..., None]], Awaitable[Any]],
    request_id: str,
    *,
    check: Callable[[], Awaitable[None]],
) -> StreamingResponse:
    """Answer with `progress` events, then one `result` or `error`.

    A client that goes away ends the waiting, not the work.
    """

    async def events() -> AsyncIterator[bytes]:
        channel = Channel()
        task = asyncio.ensure_future(work(lambda *report: channel.put(report)))
        task.add_done_callback(channel.end)
        number = 0
        try:
            while True:
                number += 1
                heard = await _next_event(channel, number)
                await check()
                if not heard:
                    break
                yield heard
            yield await _last_event(number, task, request_id)
        except RemloomError as error:
            yield _event(number, "error", bytes(problem(error, request_id).body))
        finally:
            task.cancel()

    return StreamingResponse(events(), media_type=MEDIA_TYPE, headers=_HEADERS)


def follow_job(look: Callable[[], Awaitable[Job]], request_id: str) -> StreamingResponse:
    """Answer with a `job` event whenever a job has changed, then one `result` or `error`."""

    async def events() -> AsyncIterator[bytes]:
        known: Job | None = None
        number, silent = 0, 0.0
        while True:
            try:
                job = await look()
            except RemloomError as error:
                # it was taken out of the queue meanwhile, or the key was revoked
                yield _event(number + 1, "error", bytes(problem(error, request_id).body))
                return
            if job != known:
                known, silent = job, 0.0
                number += 1
                yield _event(number, "job", msgspec.json.encode(job))
            if job.state == "done":
                yield _event(number + 1, "result", msgspec.json.encode(job.result))
                return
            if job.state == "parked":
                parked = RemloomError(job.error, remedy="POST /v1/jobs/{id}/retry tries it again")
                yield _event(number + 1, "error", bytes(problem(parked, request_id).body))
                return
            await asyncio.sleep(JOB_POLL)
            silent += JOB_POLL
            if silent >= HEARTBEAT:
                silent = 0.0
                yield b": still waiting\n\n"

    return StreamingResponse(events(), media_type=MEDIA_TYPE, headers=_HEADERS)


async def _next_event(channel: Channel, number: int) -> bytes:
    """Give what is sent next; nothing when the work has ended."""
    try:
        report = await channel.take(HEARTBEAT)
    except TimeoutError:
        return b": still working\n\n"
    except EOFError:
        return b""
    return _event(number, "progress", msgspec.json.encode(report, enc_hook=str))


async def _last_event(number: int, task: asyncio.Future[Any], request_id: str) -> bytes:
    try:
        return _event(number, "result", msgspec.json.encode(await task, enc_hook=str))
    except RemloomError as error:
        return _event(number, "error", bytes(problem(error, request_id).body))
    except Exception:
        return _event(number, "error", bytes(unexpected(request_id).body))


def _event(number: int, kind: str, data: bytes) -> bytes:
    # JSON has no line ends in it, so that it is one line of data
    return f"id: {number}\nevent: {kind}\ndata: ".encode() + data + b"\n\n"
