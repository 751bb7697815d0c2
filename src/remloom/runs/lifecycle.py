"""From the beginning of a run's work to its end, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BudgetError, RemloomError
from .heartbeat import heartbeat
from .reasons import reason_of
from .writer import Writer


@contextmanager
def run_to_end(writer: Writer) -> Iterator[None]:
    """Keep a run alive while the work inside is done, then end it.

    It ends as done, or as stopped with the reason (see `reasons`); then the same call resumes it. A
    budget that is used up stops it without an error. Any other error of ours gets the run as its
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
