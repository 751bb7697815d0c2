"""From the beginning of a run's work to its end, however it ends.

A message of an error may quote what was read, and what a model said of it; a run outlasts both. So
what is kept of an error is its kind, a status, and the numbers of a budget; the caller that began
the run gets the error itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .. import errors
from ..errors import BudgetError, ModelError, RemloomError
from .writer import Writer

INTERVAL = 60.0  # seconds; `run` takes a run for dead that was silent ten times as long
_REASONS: dict[type[BaseException], str] = {
    KeyboardInterrupt: "interrupted",
    errors.LeaseLostError: "another process took over",
    errors.GoneError: "what it rested on was forgotten",
    errors.ConflictError: "something was changed, or going on, at the same moment",
    errors.SourceError: "the source could not be read",
    errors.NotFoundError: "something that it needs is not there",
    errors.InvalidInputError: "something in it is not as it must be",
    errors.MissingExtraError: "an extra is not installed",
    errors.EmbedderError: "the embedder failed",
    errors.StoreBusyError: "the store was busy",
    errors.StoreFullError: "there was no space left",
    errors.StoreClosedError: "the memory was closed",
    errors.StoreError: "the store could not be read or written",
    errors.ModelNotConfiguredError: "no model is set",
    errors.ModelCallsForbiddenError: "calls of models are switched off",
    errors.ModelUnavailableError: "the model did not answer",
    errors.ModelRefusedError: "the model refused",
    errors.ReplyError: "the model replied with what is not asked for",
    errors.ModelError: "the model failed",
    errors.RemloomError: "it failed",
}


@contextmanager
def run_to_end(writer: Writer) -> Iterator[None]:
    """Keep a run alive while the work inside is done, then end it.

    It ends as done, or as stopped with the reason (see `reason_of`); then the same call resumes it.
    A budget that is used up stops it without an error. Any other error of ours gets the run as its
    field `run`.
    """
    try:
        with heartbeat(writer):
            yield
    except BudgetError as error:
        writer.finish("stopped", reason_of(error))
    except BaseException as error:
        run = writer.finish("stopped", reason_of(error))
        if isinstance(error, RemloomError):
            error.fields["run"] = run
        raise
    else:
        writer.finish()


@contextmanager
def heartbeat(writer: Writer) -> Iterator[None]:
    """Save the run every minute while the work inside goes on."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(INTERVAL):
            try:
                writer.save()
            except RemloomError:
                # the run's own next write meets the error, too, and reports it
                return

    thread = threading.Thread(target=beat, name="remloom-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def reason_of(error: BaseException) -> str:
    """Say why a run stopped that an error ended; nothing of what was read is in it.

    >>> reason_of(errors.ModelRefusedError("cannot speak of Bob", status=402))
    'the model refused (402)'
    >>> reason_of(KeyError("Bob"))
    'it failed by KeyError'
    """
    if isinstance(error, BudgetError):
        return str(error)
    for kind in type(error).__mro__:
        if kind in _REASONS:
            status = error.fields.get("status") if isinstance(error, ModelError) else None
            return f"{_REASONS[kind]} ({status})" if isinstance(status, int) else _REASONS[kind]
    return f"it failed by {type(error).__name__}"
