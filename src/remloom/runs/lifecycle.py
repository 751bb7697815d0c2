"""From the beginning of a run's work to its end, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BudgetError, RemloomError
from ..store.contract import Store
from .cleanup import forgotten_leftovers
from .heartbeat import heartbeat
from .run import Run
from .writer import Writer

__all__ = ["run_to_end"]


@contextmanager
def run_to_end(store: Store, writer: Writer) -> Iterator[None]:
    """Keep a run alive while the work inside is done, then end it.

    It ends as done, or as stopped with the reason; then the same call resumes it. A budget that is
    used up stops it without an error. Any other error of ours gets the run as its field `run`.
    """
    try:
        with heartbeat(writer):
            yield
    except BudgetError as error:
        _stop(store, writer, str(error))
    except BaseException as error:
        run = _stop(store, writer, _describe(error))
        if isinstance(error, RemloomError):
            error.fields["run"] = run
        raise
    else:
        writer.finish()


def _stop(store: Store, writer: Writer, reason: str) -> Run:
    run = writer.finish("stopped", reason)
    # a reply that came after its record was forgotten must not wait for the run to go on
    keys = forgotten_leftovers(store, run.id)
    if keys:
        store.kv.put([], deleted=keys)
    return run


def _describe(error: BaseException) -> str:
    if isinstance(error, RemloomError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"{type(error).__name__}: {error}"
